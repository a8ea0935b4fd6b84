"""Clusters where the data shows groups: each group is one, unless the embedding clearly shows several in it."""

from __future__ import annotations

import numpy as np

from shade._arrays import FloatArray, IntArray
from shade._kernels import condense
from shade.stability.evidence import more_than_chance
from shade.stability.selection import FlatClustering, find_branches, flatten_branches
from shade.stability.structure_tree import StructureTree

CLEARLY = 2.5  # times what chance explains: what divides a group that the data shows as one


def select_in_groups(
    tree: StructureTree, groups: IntArray, expected: IntArray, points: FloatArray, n_jobs: int | None = None
) -> FlatClustering:
    """The groups, or the most stable clusters within.

    Parameters
    ----------
    tree : StructureTree
        In which each group is a branch.
    groups : ndarray of shape (n_samples,)
        −1 is background.
    expected : ndarray of shape (n_groups,)
        How many clusters each group would have if it were not known. A group of one is not divided: without the rows
        of other groups around it, its own differences in density would look larger than they are.
    points : ndarray of shape (n_samples, n_columns)
    n_jobs : int, optional
    """
    merges, along = tree.merges, groups[tree.order]
    start, stop = merges.start[tree.node], merges.stop[tree.node]
    size = np.bincount(groups[groups >= 0])
    own = np.where(along[start] == along[stop - 1], along[start], -1)
    inside = (own >= 0) & (tree.size < size[own])
    selected = np.empty(tree.n_candidates, np.bool_)
    condense.select_candidates(tree.parent, np.where(inside, tree.stability, 0.0), selected)
    selected &= inside
    nodes: list[int] = []
    for group, whole in enumerate(find_branches(tree, groups)[0].tolist()):
        parts = tree.node[selected & (own == group)]
        divided = expected[group] > 1 and len(parts) > 1
        if divided and more_than_chance(tree, flatten_branches(tree, parts), points[groups == group], n_jobs, CLEARLY):
            nodes += parts.tolist()
        else:
            nodes.append(whole)
    return flatten_branches(tree, np.array(nodes))


def clusters_in_groups(labels: IntArray, groups: IntArray) -> IntArray:
    """How many clusters have more than half of their rows in each group."""
    clustered = (labels >= 0) & (groups >= 0)
    counts = np.zeros((int(labels.max()) + 1, int(groups.max()) + 1), np.int64)
    np.add.at(counts, (labels[clustered], groups[clustered]), 1)
    most: IntArray = (2 * counts > counts.sum(axis=1, keepdims=True)).sum(axis=0)
    return most
