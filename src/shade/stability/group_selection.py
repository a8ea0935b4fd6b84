"""Clusters where the data shows groups: each group is one, unless the embedding clearly shows several in it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from shade._arrays import BoolArray, FloatArray, IntArray
from shade._distributed import arrays_from_first
from shade._kernels import condense
from shade.density.dimension import intrinsic_dimension
from shade.stability.evidence import stand_out
from shade.stability.selection import FlatClustering, find_branches, flatten_branches
from shade.stability.structure_tree import StructureTree

# Parts divide a group that the data shows as one where they stand out by so many times what chance explains, and are
# together more than so many times as stable as the group in a tree that knows no groups.
CLEARLY, AHEAD = 2.5, 1.5


def select_in_groups(
    tree: StructureTree,
    groups: IntArray,
    points: FloatArray,
    divides: Callable[[], BoolArray],
    n_jobs: int | None = None,
) -> FlatClustering:
    """The groups, or the most stable clusters within.

    Parameters
    ----------
    tree : StructureTree
        In which each group is a branch.
    groups : ndarray of shape (n_samples,)
        −1 is background.
    points : ndarray of shape (n_samples, n_columns)
    divides : callable
        Which groups the embedding divides where it is not told of groups, `find_divided`: without the rows of other
        groups around it, the differences in density within a group look larger than they are.
    n_jobs : int, optional
    """
    parts = _clusters_within(tree, groups)
    own = groups[tree.order[tree.merges.start[tree.node]]]
    divided = np.zeros(int(groups.max()) + 1, np.bool_)
    for group in np.flatnonzero(np.bincount(own[parts], minlength=len(divided)) > 1):
        of_group = parts & (own == group)
        mass, size = tree.fall[of_group] * tree.size[of_group], tree.size[of_group]
        dimension = partial(intrinsic_dimension, points[groups == group], n_jobs)
        divided[group] = stand_out(mass, size, dimension, CLEARLY)
    arrays_from_first(divided)  # all ranks ask, or none
    if divided.any():
        divided &= divides()
    whole = find_branches(tree, groups)[0]
    return flatten_branches(tree, np.concatenate([whole[~divided], tree.node[parts & divided[own]]]))


def _clusters_within(tree: StructureTree, groups: IntArray) -> BoolArray:
    """The most stable candidates that are parts of a group and not all of it."""
    first, last = tree.merges.start[tree.node], tree.merges.stop[tree.node] - 1
    own = groups[tree.order[first]]
    size = np.bincount(groups[groups >= 0])
    inside = (own >= 0) & (own == groups[tree.order[last]]) & (tree.size < size[own])
    selected = np.empty(tree.n_candidates, np.bool_)
    condense.select_candidates(tree.parent, np.where(inside, tree.stability, 0.0), selected)
    selected &= inside
    return selected


def find_divided(tree: StructureTree, clustering: FlatClustering, groups: IntArray) -> BoolArray:
    """Which groups have several clusters that are well ahead of the group as one, in a tree that knows no groups.

    Parameters
    ----------
    tree : StructureTree
    clustering : FlatClustering
        What is chosen from it, without outskirts.
    groups : ndarray of shape (n_samples,)
    """
    own = _groups_of_clusters(clustering.labels, groups)
    counts = np.bincount(own[own >= 0], minlength=int(groups.max()) + 1)
    of_parts = np.bincount(own[own >= 0], clustering.stability[own >= 0], minlength=len(counts))
    divided = counts > 1
    for group in np.flatnonzero(divided):
        divided[group] = of_parts[group] > AHEAD * _stability_as_one(tree, groups == group)
    return divided


def _groups_of_clusters(labels: IntArray, groups: IntArray) -> IntArray:
    """The group that more than half of the rows of each cluster are of, −1 if there is none."""
    n_groups, clustered = int(groups.max()) + 1, labels >= 0
    pairs, rows = np.unique(labels[clustered] * n_groups + groups[clustered], return_counts=True)
    sizes = np.bincount(labels[clustered])
    most = pairs[2 * rows > sizes[pairs // n_groups]]
    own = np.full(len(sizes), -1)
    own[most // n_groups] = most % n_groups
    return own


def _stability_as_one(tree: StructureTree, group: BoolArray) -> float:
    """That of the most stable candidate which holds more than half of a group's rows and fewer others; or 0."""
    before = np.concatenate([[0], np.cumsum(group[tree.order])])
    members = before[tree.merges.stop[tree.node]] - before[tree.merges.start[tree.node]]
    as_one = (2 * members > group.sum()) & (2 * members > tree.size)
    return float(tree.stability[as_one].max(initial=0.0))
