"""Spanning trees in which given groups of rows stay together, whatever lies between them."""

from __future__ import annotations

import numpy as np

from shade._arrays import FloatArray, IntArray
from shade._kernels.merge_tree import find_root
from shade.density.spanning_tree import SpanningTree, minimum_spanning_tree


def grouped_spanning_tree(
    points: FloatArray, groups: IntArray, min_points: int, *, n_jobs: int | None = None, device: str = "cpu"
) -> SpanningTree:
    """The minimum spanning tree of each group, joined by the shortest edges between groups.

    Where groups mix, an edge between them is made longer than all edges within, so that each group is a branch of the
    tree. Rows of group −1 belong nowhere: they join an octave above everything, a row at a time.
    """
    outside = np.flatnonzero(groups < 0)
    if len(outside) == 0 and not groups.any():
        return minimum_spanning_tree(points, min_points, n_jobs=n_jobs, device=device)
    inside = np.flatnonzero(groups >= 0)
    across = _tree_of(points, inside, min_points, n_jobs, device)
    parts = [across]
    if groups.max() > 0:
        members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
        parts = [_tree_of(points, rows, min(min_points, len(rows)), n_jobs, device) for rows in members]
        parts.append(_joining_edges(across, groups, np.array([part.weights.max(initial=0.0) for part in parts])))
    edges, weights = np.vstack([part.edges for part in parts]), np.concatenate([part.weights for part in parts])
    above = np.column_stack([np.full(len(outside), inside[0]), outside])
    return SpanningTree(np.vstack([edges, above]), np.append(weights, np.full(len(outside), 2.0 * weights.max())))


def _tree_of(points: FloatArray, rows: IntArray, min_points: int, n_jobs: int | None, device: str) -> SpanningTree:
    tree = minimum_spanning_tree(points[rows], min_points, n_jobs=n_jobs, device=device)
    return SpanningTree(rows[tree.edges], tree.weights)


def _joining_edges(across: SpanningTree, groups: IntArray, longest: FloatArray) -> SpanningTree:
    """The shortest edges of a tree that join the groups; `longest` is the longest edge within each."""
    ends = groups[across.edges]
    between = np.flatnonzero(ends[:, 0] != ends[:, 1])
    parent, longest = np.arange(len(longest)), longest.copy()
    edges, weights = [], []
    for edge in between[np.argsort(across.weights[between], kind="stable")]:
        first, second = (find_root(parent, group) for group in ends[edge])
        if first == second:
            continue
        weight = max(across.weights[edge], np.nextafter(max(longest[first], longest[second]), np.inf))
        parent[first], longest[second] = second, weight
        edges.append(across.edges[edge])
        weights.append(weight)
    return SpanningTree(np.array(edges), np.array(weights))
