"""Clusters where the data shows groups: each group is one, unless the embedding clearly shows several in it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shade._arrays import BoolArray, IntArray
from shade._distributed import arrays_from_first
from shade._kernels import condense
from shade.stability.selection import FlatClustering, find_branches, find_candidates, flatten_branches
from shade.stability.structure_tree import StructureTree

CLEARLY = 1.5  # times as stable as the group that the data shows as one, its parts must be to divide it


def select_in_groups(tree: StructureTree, groups: IntArray, count_clusters: Callable[[], IntArray]) -> FlatClustering:
    """The groups, or the most stable clusters within.

    Parameters
    ----------
    tree : StructureTree
        In which each group is a branch.
    groups : ndarray of shape (n_samples,)
        −1 is background.
    count_clusters : callable
        How many clusters each group has where groups are not known. One that has a single cluster is not divided:
        without the rows of other groups around it, its own differences in density look larger than they are.
    """
    parts = _clusters_within(tree, groups)
    own = groups[tree.order[tree.merges.start[tree.node]]]
    whole = find_branches(tree, groups)[0]
    stability = tree.stability[find_candidates(tree, whole)]
    of_parts = np.bincount(own[parts], tree.stability[parts], minlength=len(whole))
    divided = (of_parts > CLEARLY * stability) & (np.bincount(own[parts], minlength=len(whole)) > 1)
    arrays_from_first(divided)  # all ranks count, or none
    if divided.any():
        divided &= count_clusters() > 1
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


def clusters_in_groups(labels: IntArray, groups: IntArray) -> IntArray:
    """How many clusters have more than half of their rows in each group."""
    n_groups, clustered = int(groups.max()) + 1, (labels >= 0) & (groups >= 0)
    pairs, rows = np.unique(labels[clustered] * n_groups + groups[clustered], return_counts=True)
    most = 2 * rows > np.bincount(labels[clustered])[pairs // n_groups]
    return np.bincount(pairs[most] % n_groups, minlength=n_groups)
