"""Core distances and mutual reachability."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import FloatArray
from shade._base.validation import check_extent, check_min_samples, check_points
from shade._kernels import prim
from shade.density.search import KDTree, make_search


def core_distances(X: object, min_samples: int = 5, *, n_jobs: int | None = None) -> FloatArray:
    """Return the distance from each point to its `min_samples`-th nearest point, counting the point itself.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    min_samples : int, default=5
        If 1, all core distances are zero.
    n_jobs : int, optional
        Number of threads; all cores if None.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from shade.density import core_distances
    >>> core_distances([[0.0], [1.0], [3.0], [7.0]], min_samples=2)
    array([1., 1., 2., 4.])
    """
    points = check_points(X)
    check_extent(points)
    check_min_samples(min_samples, len(points), smallest=1)
    search = make_search(points)
    core = np.sqrt(search.core_distances(min_samples, n_jobs))
    return core[np.argsort(search.indices)] if isinstance(search, KDTree) else core


def mutual_reachability(X: object, min_samples: int = 5, *, indices: object = None) -> FloatArray:
    """Return the matrix of mutual-reachability distances between some points, with zeros on the diagonal.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    min_samples : int, default=5
    indices : array-like of int, optional
        The points to compare; core distances still use all of X. All points if None: the result then has n × n entries.

    Returns
    -------
    ndarray of shape (len(indices), len(indices))
    """
    points = check_points(X)
    core = core_distances(points, min_samples)
    chosen = np.arange(len(points)) if indices is None else np.asarray(indices)
    columns = np.ascontiguousarray(points[chosen].T)
    result = np.empty((len(chosen), len(chosen)))
    for row, index in enumerate(chosen):
        prim.squared_distances_to(columns, points[index], 0, len(chosen), result[row])
    np.sqrt(result, out=result)
    np.maximum(result, core[chosen], out=result)
    np.maximum(result, core[chosen][:, None], out=result)
    np.fill_diagonal(result, 0.0)
    return result
