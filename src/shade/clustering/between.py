"""Rows between clusters: they belong to the nearest cluster, unless they are far outside of it.

A branch of the tree ends where it meets another branch. So its rows depend on how near the next cluster is. Beyond the
end of the branch there are sparser rows around the cluster, and outliers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade.clustering.links import follow_links
from shade.clustering.selection import FlatClustering, number_by_size
from shade.clustering.structure_tree import StructureTree

FENCE = 3.0  # Tukey's: a row is far outside if its log distance is 3 quartile ranges above the third quartile


def assign_between(
    tree: StructureTree, clustering: FlatClustering, links: AnyArray, groups: IntArray
) -> FlatClustering:
    """Add the rows around each cluster that are not far outside; cluster 0 is the largest again.

    Parameters
    ----------
    tree : StructureTree
    clustering : FlatClustering
        Clusters that are branches of the tree.
    links : ndarray of shape (n_links, 2)
        Pairs of rows, in the order in which they join. A row between clusters gets the cluster that it reaches first.
    groups : ndarray of shape (n_samples,)
        Rows of different groups are never in one cluster. Rows of group −1 are background and stay noise.
    """
    if clustering.n_clusters == 0:
        return clustering
    leaving, top = tree.leaving_distances(), max(float(tree.merges.height[-1]), tree.floor)
    if groups.any():
        links = links[(groups[links[:, 0]] == groups[links[:, 1]]) & (groups[links[:, 0]] >= 0)]
    reached = np.where(groups < 0, -1, follow_links(clustering.labels, links))
    limit = np.minimum(_find_limits(clustering, reached, leaving, tree.floor), np.nextafter(top, np.inf))
    # Rows that coincide are never far outside. Rows of a branch that meets another branch stay in it.
    near = (leaving < limit[reached]) | (leaving <= tree.floor)
    inside = (reached >= 0) & (near | ((clustering.labels >= 0) & (clustering.n_clusters > 1)))
    labels = np.where(inside, reached, -1)
    added = (clustering.labels < 0) & inside
    birth, death = np.clip(clustering.limit, tree.floor, top), clustering.death
    # Beyond the branch, the strength decreases further, also if rows lead to a cluster that is sparser than they are.
    beyond = death[labels] / np.maximum(leaving, birth[labels])
    strengths = np.where(added, beyond, np.where(inside, clustering.strengths, 0.0))
    exemplars = tuple(rows[inside[rows]] for rows in clustering.exemplars)
    return number_by_size(
        replace(clustering, labels=labels, strengths=strengths, limit=limit, exemplars=exemplars, outskirts=added)
    )


def _find_limits(clustering: FlatClustering, reached: IntArray, leaving: FloatArray, floor: float) -> FloatArray:
    """Return Tukey's outer fence of the distances at which the rows of each cluster, and around it, leave the tree.

    If a branch meets another branch, the fence is at least the limit of the branch. If there is only one cluster, it
    may lose rows.
    """
    limit = clustering.limit.copy()
    by_label = np.argsort(reached, kind="stable")[np.sum(reached < 0) :]
    sizes = np.bincount(reached[by_label], minlength=clustering.n_clusters)
    for label, rows in enumerate(np.split(by_label, np.cumsum(sizes)[:-1])):
        apart = np.sort(leaving[rows])
        apart = apart[apart > floor]  # coinciding rows have no information on how the density decreases
        if last := len(apart):
            low, high = apart[(last - 1) // 4], apart[-(-3 * (last - 1) // 4)]
            fence = float(np.nextafter(high * (high / low) ** FENCE, np.inf))
            limit[label] = fence if clustering.n_clusters == 1 else max(limit[label], fence)
    return limit
