"""Groups of rows that the data shows before any network has seen it, where it shows them beyond doubt.

The tree of the data holds such groups exactly, while an embedding has to learn them: it brings small groups too close
to large ones, above all among rows that are mostly noise, and draws the dense places of a loose group apart. No cluster
of the embedding may hold rows of two groups, and a group falls apart only where the embedding is sure of its parts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shade._arrays import AnyArray, IntArray
from shade.density.dc_tree import DCTree
from shade.density.spanning_tree import SpanningTree
from shade.stability.links import follow_links
from shade.stability.structure_tree import StructureTree

# By how much the logarithm of distance falls from where a branch joins others to where its rows leave it, on average.
# Chance reaches up to 2 / D² in D dimensions, measured on samples of one group (docs/experiments.md).
CLEAR_FALL, CHANCE_ON_A_LINE = 0.5, 2.0


def find_groups(tree: DCTree, rows: IntArray, dimension: Callable[[], float], smallest: int) -> IntArray:
    """The group of some rows by the tree of the data.

    Parameters
    ----------
    tree : DCTree
        The tree of all rows.
    rows : ndarray of shape (n_rows,)
        Those that are no background, in ascending order.
    dimension : callable
        How many dimensions they fill; asked where the answer depends on it.
    smallest : int
        Fewest rows of a branch that counts.

    Returns
    -------
    ndarray of shape (n_rows,)
        All 0 unless at least two groups are clear; −1 for rows between groups.
    """
    structure = StructureTree.from_dc_tree(_tree_among(tree, rows), "information", min_cluster_size=smallest)
    branches = _clear_branches(structure, CLEAR_FALL)
    if len(branches) > 1 and (by_chance := CHANCE_ON_A_LINE / dimension() ** 2) > CLEAR_FALL:
        branches = _clear_branches(structure, by_chance)
    groups = np.full(len(rows), -1)
    for group, branch in enumerate(branches):
        groups[structure.rows(branch)] = group
    return groups


def _tree_among(tree: DCTree, rows: IntArray) -> DCTree:
    """The tree of some rows, by their distances over all."""
    if len(rows) == tree.n_points:
        return tree
    ordered, steps = tree.sort_batch(rows)
    along = np.searchsorted(rows, ordered)
    return DCTree.from_spanning_tree(SpanningTree(np.column_stack([along[:-1], along[1:]]), steps[1:]))


def _clear_branches(tree: StructureTree, clear_fall: float) -> IntArray:
    """The branches of all splits with at least two clear branches, down to those without such a split; or the root.

    A branch is also clear if there is such a split within.
    """
    clear = tree.fall >= clear_fall
    within = np.zeros(tree.n_candidates, np.int64)  # the last clear branches below each; a single one is no split
    for branch in range(tree.n_candidates - 1, 0, -1):
        clear[branch] |= within[branch] > 1
        if clear[branch]:
            within[tree.parent[branch]] += max(1, within[branch])
    split = within > 1
    reached = np.zeros(tree.n_candidates, np.bool_)
    reached[0] = True
    for branch in range(1, tree.n_candidates):
        parent = tree.parent[branch]
        reached[branch] = reached[parent] and split[parent] and clear[branch]
    return np.flatnonzero(reached & ~split)


def join_small_groups(groups: IntArray, smallest: int, links: AnyArray) -> IntArray:
    """Groups of at least so many rows; rows of smaller ones go with the group that they reach over short links."""
    large = np.bincount(groups[groups >= 0]) >= smallest
    if large.all() or not large.any():
        return groups if large.all() else np.where(groups < 0, -1, 0)
    number = np.append(np.where(large, np.cumsum(large) - 1, -1), -1)  # background, −1, reads the last entry
    return np.where(groups < 0, -1, follow_links(number[groups], links))
