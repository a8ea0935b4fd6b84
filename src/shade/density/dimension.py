"""How many dimensions the points fill around where they lie, whatever the number of columns."""

from __future__ import annotations

import numpy as np

from shade._arrays import FloatArray
from shade.density.search import make_search

NEIGHBOURS = 100  # enough to look beyond a small cluster, which may be a line among others in all directions
NEIGHBOURS_SHARE = 0.25  # of the points, at most
MOST_QUERIES = 500  # their mean is known to two parts in a hundred, which is enough
MOST_ENTRIES = 1e9  # differences taken: a second or two; fewer queries for many or wide rows


def intrinsic_dimension(points: FloatArray, n_jobs: int | None = None) -> float:
    """The maximum-likelihood estimate from distances to the nearest neighbours (Levina and Bickel, 2004).

    The inverses are averaged, as MacKay and Ghahramani advise. Points that coincide with their nearest neighbour tell
    nothing and are left out. At least 1, the answer where too few distinct points are left.
    """
    neighbours = min(NEIGHBOURS, int(NEIGHBOURS_SHARE * len(points)))
    if neighbours < 3:
        return 1.0
    wanted = int(np.clip(MOST_ENTRIES / points.size, 20, MOST_QUERIES))
    queries = points[:: -(-len(points) // wanted)]
    _, squared = make_search(points).nearest(queries, neighbours + 1, n_jobs)
    squared = squared[squared[:, 1] > 0, 1:]
    if len(squared) == 0:
        return 1.0
    mean_logarithms = 0.5 * np.log(squared[:, -1:] / squared[:, :-1]).mean(axis=1)
    inverse = float(mean_logarithms.mean()) * (neighbours - 1) / (neighbours - 2)
    return max(1.0, 1.0 / inverse) if inverse > 0 else 1.0
