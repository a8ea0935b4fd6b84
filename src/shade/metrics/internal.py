"""Indices of density-based clusterings that need no true classes: DISCO and DBCV."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from shade._base.parallel import run_chunks
from shade._base.validation import check_min_samples, check_points
from shade._kernels import cluster_distances, merge_tree, prim
from shade.density.dc_tree import DCTree
from shade.density.reachability import core_distances
from shade.density.search import make_search
from shade.metrics._classes import check_labels, split_classes


def disco_score(X: object, labels: object, *, min_samples: int = 5, tree: DCTree | None = None) -> float:
    """Return the mean DISCO value of all points (Beer et al., 2025): from −1 to 1, the higher the better.

    Parameters
    ----------
    X, labels, min_samples, tree
        See :func:`disco_samples`.

    Returns
    -------
    float

    Examples
    --------
    >>> from shade.metrics import disco_score
    >>> disco_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1], min_samples=2)
    0.888...
    """
    return float(np.mean(disco_samples(X, labels, min_samples=min_samples, tree=tree)))


def disco_samples(X: object, labels: object, *, min_samples: int = 5, tree: DCTree | None = None) -> FloatArray:
    """Return the DISCO value of each point: how well the density supports its label.

    For a clustered point it is the silhouette under dc-distances. For a noise point there are two values per cluster:
    how much larger its core distance is than the largest one in the cluster, and how much larger its dc-distance to the
    cluster is than that. The result is the smallest of these values over all clusters.


    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of int of shape (n_samples,)
        Clusters; negative is noise.
    min_samples : int, default=5
    tree : DCTree, optional
        The tree of X, if it has been built before.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    points = check_points(X)
    check_min_samples(min_samples, len(points), 1, "disco_samples")
    found = check_labels(labels, len(points))
    noise = found < 0
    if noise.all():
        return np.full(len(points), -1.0)
    codes = np.full(len(points), -1)
    codes[~noise] = np.unique(found[~noise], return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1
    if n_clusters == 1 and not noise.any():
        return np.zeros(len(points))
    tree = DCTree.from_points(points, min_samples) if tree is None else tree
    values = _silhouettes(tree, codes, n_clusters)
    if noise.any():
        values[noise] = _noise_values(tree, core_distances(points, min_samples), codes, n_clusters)
    return values


def _silhouettes(tree: DCTree, codes: IntArray, n_clusters: int) -> FloatArray:
    """Return (b − a) / max(a, b): a is the mean dc-distance to the own cluster, b the least to another; 0 if alone."""
    sizes = np.bincount(codes[codes >= 0])
    own, other = np.zeros(len(codes)), np.full(len(codes), np.inf)
    for cluster in range(n_clusters):
        cluster_distances.mean_dc_distances(
            tree.left, tree.right, tree.height, codes, sizes, own, other, cluster, cluster + 1
        )
    if n_clusters == 1:  # there is no other cluster, so each noise point is a cluster of its own
        other = _least_dc_distances(tree, codes < 0)
    larger = np.maximum(own, other)
    values: FloatArray = np.divide(other - own, larger, out=np.zeros_like(own), where=(larger > 0) & (codes >= 0))
    values[(codes >= 0) & (sizes[codes] == 1)] = 0.0
    return values


def _noise_values(tree: DCTree, core: FloatArray, codes: IntArray, n_clusters: int) -> FloatArray:
    """Return the smaller of how sparse and how far away noise points are, over all clusters."""
    noise = codes < 0
    values = np.full(int(noise.sum()), np.inf)
    for cluster in range(n_clusters):
        sparsest = core[codes == cluster].max()
        for reach in (core[noise], _least_dc_distances(tree, codes == cluster)[noise]):
            larger = np.maximum(reach, sparsest)
            values = np.minimum(values, np.divide(reach - sparsest, larger, out=np.zeros_like(reach), where=larger > 0))
    return values


def _least_dc_distances(tree: DCTree, marked: BoolArray) -> FloatArray:
    """Return the dc-distance of each row to the nearest marked row."""
    n = tree.n_points
    before, after = np.empty(n, np.int64), np.empty(n, np.int64)
    before_distance, after_distance = np.empty(n), np.empty(n)
    merge_tree.nearest_marked(marked[tree.order], tree.reachability, before, before_distance, after, after_distance)
    least = np.empty(n)
    least[tree.order] = np.minimum(before_distance, after_distance)
    return least


def dbcv_score(X: object, labels: object) -> float:
    """Density-based clustering validation (Moulavi et al., 2014): from −1 to 1, the higher the better.

    Within each cluster, the core distance of a point is the mean of distance^−d to all others, to the power −1/d. The
    sparseness of a cluster is the longest inner edge of the minimum spanning tree under mutual reachability. The
    distance of two clusters is that of their nearest inner points. The value of noise is zero. Time is quadratic in the
    largest cluster, and memory is linear in the points. If edges have equal length, there are several such trees with
    different inner points. The score can then depend on the order of the rows: be careful with comparisons.


    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of int of shape (n_samples,)
        Clusters; negative is noise. Clusters of one point are treated as noise.

    Returns
    -------
    float
        NaN for fewer than two clusters.

    Examples
    --------
    >>> from shade.metrics import dbcv_score
    >>> round(dbcv_score([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], [0, 0, 0, 1, 1, 1]), 3)
    0.867
    """
    points, clusters = split_classes(X, labels, smallest=2)
    if len(clusters) < 2:
        return float("nan")
    sparseness, inner, core = np.empty(len(clusters)), [], []
    for i, rows in enumerate(clusters):
        sparseness[i], members, distances = _inner_tree(points[rows])
        inner.append(points[rows][members])
        core.append(distances[members])
    gap = np.full(len(clusters), np.inf)
    for i in range(len(clusters)):
        search = make_search(inner[i])
        for j in range(len(clusters)):
            if i != j:
                _, squares = search.nearest_reachable(core[i], inner[j], core[j])
                gap[i] = min(gap[i], float(np.sqrt(squares.min())))
    larger = np.maximum(gap, sparseness)
    validity = np.divide(gap - sparseness, larger, out=np.zeros_like(gap), where=larger > 0)
    return float(np.dot([len(rows) for rows in clusters], validity) / len(points))


def _inner_tree(points: FloatArray) -> tuple[float, AnyArray, FloatArray]:
    """Return the longest inner edge of a cluster's tree, its inner points (all if none), and squared core distances."""
    n = len(points)
    columns, core = np.ascontiguousarray(points.T), np.empty(n)
    run_chunks(cluster_distances.density_core_distances, columns, points, core, count=n, chunk=64)
    tails, heads, weights = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    prim.spanning_tree(columns, points, core, tails, heads, weights)
    degree = np.bincount(np.concatenate([tails, heads]), minlength=n)
    inside = degree > 1
    inner_edges = inside[tails] & inside[heads]
    longest = weights[inner_edges if inner_edges.any() else slice(None)].max()
    return float(np.sqrt(longest)), np.flatnonzero(inside) if inside.any() else np.arange(n), core
