"""Local dimension: how many dimensions the points fill, which does not depend on the number of columns."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade.density.order import canonical_order
from shade.density.search import make_search

FEW, MANY = 10, 100  # neighbours: within a small cluster, which may be a line, and beyond it
SHARE = 0.25  # MANY is at most this fraction: distances to farther points depend on the extent of the data
MOST_QUERIES = 500  # enough to know the mean with an error of 2 %
ENOUGH_ROWS = 20_000  # enough to estimate the dimension of all rows
MOST_ENTRIES = 1e9  # differences computed: one or two seconds; with many or wide rows there are fewer queries


def dimension_of_rows(points: AnyArray, rows: IntArray | None = None, n_jobs: int | None = None) -> float:
    """Return the number of dimensions that some rows fill, or all. If there are many rows, a sample of them is used."""
    some = points if rows is None or len(rows) == len(points) else points[rows]
    if len(some) > ENOUGH_ROWS:
        sample = np.random.default_rng(0).permutation(len(some))[:ENOUGH_ROWS]
        some = some[canonical_order(some)[np.sort(sample)]]
    return intrinsic_dimension(some.astype(np.float64, copy=False), n_jobs)


def intrinsic_dimension(points: FloatArray, n_jobs: int | None = None) -> float:
    """Return the larger of two maximum-likelihood estimates from nearest-neighbour distances (Levina and Bickel, 2004).

    One estimate uses few neighbours, the other many. Clusters may be lines that point in different directions: only
    many neighbours reveal the other directions. Clusters may also be smaller than the neighbourhood: then many
    neighbours include the gap between clusters, which looks like a line. The inverses are averaged, following MacKay
    and Ghahramani. Points that coincide with their nearest neighbour have no information and are left out. The result
    is at least 1, and exactly 1 if too few distinct points remain.
    """
    counted = count_neighbours(len(points))
    wanted = int(np.clip(MOST_ENTRIES / points.size, 20, MOST_QUERIES))
    queries = points if len(points) <= wanted else points[canonical_order(points)[:: -(-len(points) // wanted)]]
    _, squared = make_search(points).nearest(queries, counted + 1, n_jobs)
    return dimension_of_neighbours(squared[:, 1:])


def count_neighbours(n: int) -> int:
    """Return how many neighbours of each of n points the estimate uses."""
    return max(min(FEW, n - 1), min(MANY, int(SHARE * n)))


def dimension_of_neighbours(squared: FloatArray) -> float:
    """Return the same estimate from squared distances: to the nearest neighbour, the second nearest, and so on."""
    squared, neighbours = squared[squared[:, 0] > 0], squared.shape[1]
    if len(squared) == 0 or neighbours < 3:
        return 1.0
    return max(1.0, *(_estimate(squared[:, :counted]) for counted in {min(FEW, neighbours), neighbours}))


def _estimate(squared: FloatArray) -> float:
    """Return the estimate from squared distances to the nearest neighbour, the second nearest, and so on."""
    neighbours = squared.shape[1]
    mean_logarithms = 0.5 * np.log(squared[:, -1:] / squared[:, :-1]).mean(axis=1)
    inverse = float(mean_logarithms.mean()) * (neighbours - 1) / (neighbours - 2)
    return 1.0 / inverse if inverse > 0 else 1.0
