"""Spanning trees in which each given group of rows is a branch, also if other rows are between its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shade._base.arrays import FloatArray, IntArray
from shade._base.ranks import ALONE, Ranks
from shade._kernels.merge_tree import find_root
from shade.density.order import canonical_order
from shade.density.spanning_tree import SpanningTree, minimum_spanning_tree

TreeOfRows = Callable[[IntArray], SpanningTree]


def tree_of_rows(
    points: FloatArray,
    min_samples: int,
    rows: IntArray,
    *,
    n_jobs: int | None = None,
    device: str = "cpu",
    ranks: Ranks = ALONE,
) -> SpanningTree:
    """Return the minimum spanning tree of some rows. It does not depend on the order of the rows."""
    ordered = rows[canonical_order(points[rows])]
    tree = minimum_spanning_tree(points[ordered], min_samples, n_jobs=n_jobs, device=device, ranks=ranks)
    return SpanningTree(ordered[tree.edges], tree.weights)


def grouped_spanning_tree(tree_of: TreeOfRows, groups: IntArray, known: SpanningTree | None = None) -> SpanningTree:
    """Return the minimum spanning tree of each group, joined by edges between groups.

    The joining edges are the shortest ones. If they are not longer than all edges within both groups, they are made
    longer, so that each group is a branch of the tree. If each group is a branch of the tree of all rows, that tree is
    returned: then the neighbours that give a row its core distance are all in its group. Rows of group −1 are in no
    group. Each joins on its own, at twice the largest distance of the tree. `known` is the tree of the same rows
    without groups, if it was built before. `tree_of` builds the tree of at least `min_samples` rows, like
    `tree_of_rows`.
    """
    outside = np.flatnonzero(groups < 0)
    by_group = np.argsort(groups, kind="stable")[len(outside) :]
    if known is None:
        across = tree_of(np.sort(by_group))
    else:
        within = (groups[known.edges] >= 0).all(axis=1)
        across = SpanningTree(known.edges[within], known.weights[within])
    parts = [across]
    if not _are_branches(groups, across):
        parts = [tree_of(rows) for rows in np.split(by_group, np.cumsum(np.bincount(groups[by_group]))[:-1])]
        parts.append(_joining_edges(across, groups, parts))
    if len(outside) == 0 and len(parts) == 1:
        return across
    edges, weights = np.vstack([part.edges for part in parts]), np.concatenate([part.weights for part in parts])
    above = np.column_stack([np.full(len(outside), by_group.min()), outside])
    return SpanningTree(np.vstack([edges, above]), np.append(weights, np.full(len(outside), 2.0 * weights.max())))


def _are_branches(groups: IntArray, tree: SpanningTree) -> bool:
    """Return whether all edges within a group are shorter than those that join it with other groups."""
    n_groups, ends = int(groups.max()) + 1, groups[tree.edges]
    within = ends[:, 0] == ends[:, 1]
    if np.sum(~within) != n_groups - 1:
        return False
    longest, shortest = np.zeros(n_groups), np.full(n_groups, np.inf)
    np.maximum.at(longest, ends[within, 0], tree.weights[within])
    np.minimum.at(shortest, ends[~within].ravel(), np.repeat(tree.weights[~within], 2))
    return bool(np.all(longest < shortest))


def _joining_edges(across: SpanningTree, groups: IntArray, within: Sequence[SpanningTree]) -> SpanningTree:
    """Return the shortest edges of a tree that join the groups, lengthened where needed to exceed those within."""
    ends = groups[across.edges]
    between = np.flatnonzero(ends[:, 0] != ends[:, 1])
    edges, ends, weights = across.edges[between], ends[between], across.weights[between]
    longest = np.array([tree.weights.max() for tree in within])[ends].max(axis=1)
    positive = across.weights[across.weights > 0]
    least = positive.min() if len(positive) else 1.0  # if groups coincide, any positive distance will do
    weights = np.where(weights > longest, weights, np.maximum(np.nextafter(longest, np.inf), least))
    parent, kept = np.arange(len(within)), []
    for edge in np.argsort(weights, kind="stable"):
        first, second = (find_root(parent, group) for group in ends[edge])
        if first != second:
            parent[first] = second
            kept.append(edge)
    return SpanningTree(edges[kept], weights[kept])
