"""How many dimensions the points fill around where they lie, whatever the number of columns."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade.density.order import canonical_order
from shade.density.search import make_search

FEW, MANY = 10, 100  # neighbours: within a small cluster, which may be a line, and beyond it
SHARE = 0.25  # of the points that MANY may be: the farthest of all tell the extent of the data, not its dimension
MOST_QUERIES = 500  # their mean is known to two parts in a hundred, which is enough
ENOUGH_ROWS = 20_000  # to tell how many dimensions all of them fill
MOST_ENTRIES = 1e9  # differences taken: a second or two; fewer queries for many or wide rows


def dimension_of_rows(points: AnyArray, rows: IntArray | None = None, n_jobs: int | None = None) -> float:
    """The number of dimensions that some rows fill, or all; of many, a sample is looked at."""
    some = points if rows is None or len(rows) == len(points) else points[rows]
    if len(some) > ENOUGH_ROWS:
        sample = np.random.default_rng(0).permutation(len(some))[:ENOUGH_ROWS]
        some = some[canonical_order(some)[np.sort(sample)]]
    return intrinsic_dimension(some.astype(np.float64, copy=False), n_jobs)


def intrinsic_dimension(points: FloatArray, n_jobs: int | None = None) -> float:
    """The larger of two maximum-likelihood estimates from distances to nearest neighbours (Levina and Bickel, 2004).

    One looks at few neighbours, one at many: clusters may be lines that lie apart in all directions, which the first
    does not see, or smaller than the neighbourhood, where the second sees the gap between them as if it were a line.
    The inverses are averaged, as MacKay and Ghahramani advise. Points that coincide with their nearest neighbour tell
    nothing and are left out. At least 1, the answer where too few distinct points are left.
    """
    few, many = min(FEW, len(points) - 1), min(MANY, int(SHARE * len(points)))
    if few < 3:
        return 1.0
    wanted = int(np.clip(MOST_ENTRIES / points.size, 20, MOST_QUERIES))
    queries = points if len(points) <= wanted else points[canonical_order(points)[:: -(-len(points) // wanted)]]
    _, squared = make_search(points).nearest(queries, max(few, many) + 1, n_jobs)
    squared = squared[squared[:, 1] > 0, 1:]
    if len(squared) == 0:
        return 1.0
    return max(1.0, *(_estimate(squared[:, :neighbours]) for neighbours in {few, max(few, many)}))


def _estimate(squared: FloatArray) -> float:
    """From squared distances to the nearest, the second nearest, and so on."""
    neighbours = squared.shape[1]
    mean_logarithms = 0.5 * np.log(squared[:, -1:] / squared[:, :-1]).mean(axis=1)
    inverse = float(mean_logarithms.mean()) * (neighbours - 1) / (neighbours - 2)
    return 1.0 / inverse if inverse > 0 else 1.0
