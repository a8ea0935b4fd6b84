"""The density cluster separability index."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import FloatArray
from shade._base.validation import Whole, check_parameter
from shade.density.reachability import core_distances
from shade.density.search import make_search
from shade.density.spanning_tree import minimum_spanning_tree
from shade.metrics._classes import split_classes


def dcsi_score(X: object, labels: object, *, min_samples: int = 5, squared: bool = False) -> float:
    """Density cluster separability index (Gauss, Scheipl and Herrmann, 2023): 1 is best, 0 is worst.

    A core point of a class has at least `min_samples` other points of its class within some radius. The radius is the
    median distance of the points of the class to their 2 · `min_samples`-th neighbour in it. For two classes, s is the
    smallest distance between core points of one and of the other, and c is the longest edge in the minimum spanning
    trees of their core points. The index is the mean of s / (s + c) over all pairs of classes.


    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of int of shape (n_samples,)
        Classes. Negative labels are noise and ignored, and so are classes of one point.
    min_samples : int, default=5
        Number of other points within the radius of a core point.
    squared : bool, default=False
        Whether distances are squared, as in the published program of the SHADE paper and its results.

    Returns
    -------
    float
        NaN for fewer than two classes.

    Examples
    --------
    >>> from shade.metrics import dcsi_score
    >>> dcsi_score([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1], min_samples=1)
    0.75
    """
    check_parameter("min_samples", min_samples, Whole(1), "dcsi_score")
    points, classes = split_classes(X, labels, smallest=2)
    if len(classes) < 2:
        return float("nan")
    core = [_core_points(points[rows], min_samples) for rows in classes]
    longest = np.array([float(minimum_spanning_tree(part, 1).weights.max(initial=0.0)) for part in core])
    connection = np.maximum(longest[:, None], longest)
    separation = _separations(core)
    if squared:
        connection, separation = connection**2, separation**2
    pairs = np.triu_indices(len(core), 1)
    above, below = separation[pairs], separation[pairs] + connection[pairs]
    # If both are zero, points of the two classes coincide: nothing separates them.
    return float(np.mean(np.divide(above, below, out=np.zeros_like(above), where=below > 0)))


def _core_points(points: FloatArray, min_samples: int) -> FloatArray:
    """Return the core points of a class. In a small class, the farthest point is the neighbour."""
    radius = np.median(core_distances(points, min(2 * min_samples + 1, len(points))))
    return points[core_distances(points, min(min_samples + 1, len(points))) <= radius]


def _separations(core: list[FloatArray]) -> FloatArray:
    """Return the smallest distance between the points of each pair of classes."""
    result = np.zeros((len(core), len(core)))
    stacked = np.concatenate(core)
    starts = np.cumsum([0, *map(len, core)])
    for i in range(len(core) - 1):
        _, squares = make_search(core[i]).nearest(stacked[starts[i + 1] :], 1)
        others = starts[i + 1 : -1] - starts[i + 1]
        result[i, i + 1 :] = np.sqrt(np.minimum.reduceat(squares[:, 0], others))
    return result
