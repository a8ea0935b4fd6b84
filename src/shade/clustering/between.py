"""Rows between clusters: they belong to the nearest cluster, unless they lie far outside it.

A branch of the tree ends where it meets another, so how much of a cluster it holds depends on how near the next cluster
is, not on the rows. Beyond it lie the sparser rows around the cluster, and outliers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade.clustering.links import follow_links
from shade.clustering.selection import FlatClustering, number_by_size
from shade.clustering.structure_tree import StructureTree

FENCE = 3.0  # Tukey's: a row is far outside if the logarithm of its distance lies so many quartile ranges beyond


def assign_between(
    tree: StructureTree, clustering: FlatClustering, links: AnyArray, groups: IntArray
) -> FlatClustering:
    """The same clusters with the rows around them that are not far outside; cluster 0 is the largest again.

    Parameters
    ----------
    tree : StructureTree
    clustering : FlatClustering
        Clusters that are branches of the tree.
    links : ndarray of shape (n_links, 2)
        Pairs of rows, in the order in which they join; a row between clusters belongs to the one it reaches first.
    groups : ndarray of shape (n_samples,)
        Rows of different groups never come together; those of −1 are background and stay noise.
    """
    if clustering.n_clusters == 0:
        return clustering
    leaving, top = tree.leaving_distances(), max(float(tree.merges.height[-1]), tree.floor)
    if groups.any():
        links = links[(groups[links[:, 0]] == groups[links[:, 1]]) & (groups[links[:, 0]] >= 0)]
    reached = np.where(groups < 0, -1, follow_links(clustering.labels, links))
    limit = np.minimum(_find_limits(clustering, reached, leaving, tree.floor), np.nextafter(top, np.inf))
    # Rows that coincide are far from nothing, whatever the limit, and rows of a branch that ends at another stay in it.
    near = (leaving < limit[reached]) | (leaving <= tree.floor)
    inside = (reached >= 0) & (near | ((clustering.labels >= 0) & (clustering.n_clusters > 1)))
    labels = np.where(inside, reached, -1)
    added = (clustering.labels < 0) & inside
    birth, death = np.clip(clustering.limit, tree.floor, top), clustering.death
    # Beyond the branch strength goes on falling, also where rows lead to a cluster that is sparser than they are.
    beyond = death[labels] / np.maximum(leaving, birth[labels])
    strengths = np.where(added, beyond, np.where(inside, clustering.strengths, 0.0))
    exemplars = tuple(rows[inside[rows]] for rows in clustering.exemplars)
    return number_by_size(
        replace(clustering, labels=labels, strengths=strengths, limit=limit, exemplars=exemplars, outskirts=added)
    )


def _find_limits(clustering: FlatClustering, reached: IntArray, leaving: FloatArray, floor: float) -> FloatArray:
    """Tukey's outer fence of the distances at which the rows of each cluster, or around it, leave the tree.

    Never below the limit of a branch that ends at another; the one cluster of everything may lose rows.
    """
    limit = clustering.limit.copy()
    by_label = np.argsort(reached, kind="stable")[np.sum(reached < 0) :]
    sizes = np.bincount(reached[by_label], minlength=clustering.n_clusters)
    for label, rows in enumerate(np.split(by_label, np.cumsum(sizes)[:-1])):
        apart = np.sort(leaving[rows])
        apart = apart[apart > floor]  # rows that coincide tell nothing about how density falls
        if last := len(apart):
            low, high = apart[(last - 1) // 4], apart[-(-3 * (last - 1) // 4)]
            fence = float(np.nextafter(high * (high / low) ** FENCE, np.inf))
            limit[label] = fence if clustering.n_clusters == 1 else max(limit[label], fence)
    return limit
