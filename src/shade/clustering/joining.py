"""Joining clusters: the two nearest clusters become one, then the next two, and so on.

Branches of the density tree that hold several clusters would be a bad choice. In many dimensions, the large branch
loses one small cluster after the other, so nearly all rows would be in one cluster.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shade._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from shade._kernels import condense
from shade.clustering.links import follow_links
from shade.clustering.selection import FlatClustering, number_by_size
from shade.density.dc_tree import DCTree


def joining_order(clustering: FlatClustering, links: AnyArray, tree: DCTree, floor: float) -> IntArray:
    """Return the pairs of clusters in the order in which they are joined. The first of a pair has the largest part.

    Two clusters are near each other if there are many short links between them, relative to their sizes: the sum of 1 /
    dc-distance over these links is divided by the product of the sizes.

    Parameters
    ----------
    clustering : FlatClustering
    links : ndarray of shape (n_links, 2)
        Pairs of neighbouring rows, the shortest first. If pairs of clusters are equally near, the one with the shortest
        link is joined first.
    tree : DCTree
    floor : float
        The distance that is used for rows that coincide.

    Returns
    -------
    ndarray of shape (n_clusters - 1, 2)
    """
    labels, k = follow_links(clustering.labels, links), clustering.n_clusters
    ends, links = _between(np.sort(labels[links], axis=1), links)
    nearness = 1.0 / np.maximum(tree.dc_distances_of_pairs(links[:, 0], links[:, 1]), floor)
    size, order = np.bincount(labels, minlength=k).astype(np.float64), np.empty((max(k - 1, 0), 2), np.int64)
    for step in range(k - 1):
        pairs, first, place = np.unique(ends[:, 0] * k + ends[:, 1], return_index=True, return_inverse=True)
        into, joined = np.divmod(pairs, k)
        total = np.bincount(place, nearness) / (size[into] * size[joined])
        best = np.lexsort((first, -total))[0]
        order[step] = into[best], joined[best]
        size[into[best]] += size[joined[best]]
        ends = np.sort(np.where(ends == joined[best], into[best], ends), axis=1)
        ends, nearness = _between(ends, nearness)
    return order


def choose_number(index: FloatArray) -> int:
    """Return the number of clusters with the highest index, at least two; of equal ones, the largest number."""
    return len(index) + 1 - int(np.flatnonzero(index[::-1] >= index.max() * (1.0 - condense.TIE))[0])


def variance_index(labels: IntArray, order: IntArray, points: FloatArray, dimension: float) -> FloatArray:
    """Return how well 2, 3, … joined clusters explain the variance of a settled embedding.

    Squared distances in an embedding of SHADE follow dc-distances, so the variance within clusters says how
    density-connected they are. For k clusters of n points, B is the variance between the clusters and W the variance
    within them. The index is

        B / W · (n − k) / (k − 1)^(2 / D)

    In D = 2 dimensions it is the index of Calinski and Harabasz (1974). More clusters lower W even where there is no
    structure: cutting a cloud of D dimensions into k equal pieces leaves k^(−2 / D) of its variance. The exponent takes
    that into account. It is at most 1.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        The clusters before any are joined, at least two; −1 is noise, which is left out.
    order : ndarray of shape (n_clusters - 1, 2)
        Made by `joining_order`.
    points : ndarray of shape (n_samples, n_columns)
    dimension : float
        Number of dimensions that the points fill.

    Returns
    -------
    ndarray of shape (n_clusters - 1,)
    """
    k, inside = len(order) + 1, labels >= 0
    own, points = labels[inside], points[inside]
    points = points - points.mean(axis=0)
    size = np.bincount(own, minlength=k).astype(np.float64)
    sums = np.stack([np.bincount(own, column, k) for column in points.T], axis=1)
    of_cluster = np.square(sums).sum(axis=1) / size
    between = [of_cluster.sum()]
    for kept, joined in order[:-1]:
        sums[kept] += sums[joined]
        size[kept] += size[joined]
        of_cluster[kept], of_cluster[joined] = np.square(sums[kept]).sum() / size[kept], 0.0
        between.append(of_cluster.sum())
    number, explained = np.arange(2, k + 1), np.array(between[::-1])
    total = max(float(np.square(points).sum()), np.finfo(np.float64).tiny)
    within = np.maximum(total - explained, np.finfo(np.float64).eps * total)  # 0 if each cluster is a single place
    index: FloatArray = explained / within * (len(points) - number) / (number - 1.0) ** (2.0 / max(dimension, 2.0))
    return index


def _between(ends: IntArray, values: AnyArray) -> tuple[IntArray, AnyArray]:
    """Return the links between two different clusters."""
    different: BoolArray = ends[:, 0] != ends[:, 1]
    return ends[different], values[different]


def join_clusters(clustering: FlatClustering, order: IntArray, n_clusters: int, tree: DCTree) -> FlatClustering:
    """Join clusters in the order of `joining_order` until there are `n_clusters`. Noise stays noise.

    The death of a cluster of several parts is the distance at which the smallest branch with all of them splits. Its
    birth is the distance at which it meets another cluster. If it meets one within that branch, its persistence is 0.
    """
    k, into = clustering.n_clusters, np.arange(clustering.n_clusters)
    for kept, joined in order[: k - n_clusters]:
        into[into == joined] = kept
    largest, group = np.unique(into, return_inverse=True)
    rows = clustering.branch_rows  # the first row of each part
    meeting, own = tree.dc_distances(rows[largest], rows), group == np.arange(n_clusters)[:, None]
    several = own.sum(axis=1) > 1
    death = np.where(own, np.maximum(clustering.death, np.where(several[:, None], meeting, 0.0)), 0.0).max(axis=1)
    birth = np.where(own, np.inf, meeting).min(axis=1)
    lasting = 1.0 - death / np.maximum(np.minimum(birth, tree.height[-1]), death)
    limit = np.where(own, clustering.limit, 0.0).max(axis=1)
    ratio = np.append(death[group] / clustering.death, 1.0)
    return number_by_size(
        replace(
            clustering,
            labels=np.append(group, -1)[clustering.labels],
            strengths=np.minimum(clustering.strengths * ratio[clustering.labels], 1.0),
            outskirts=clustering.outskirts | np.append(into != np.arange(k), False)[clustering.labels],
            stability=np.where(several, np.nan, clustering.stability[largest]),
            persistence=np.where(several, lasting, clustering.persistence[largest]),
            death=death,
            limit=np.where(several, np.maximum(limit, death), limit),
            exemplars=tuple(np.sort(np.concatenate([clustering.exemplars[part] for part in np.flatnonzero(parts)]))
                            for parts in own),
        )
    )  # fmt: skip
