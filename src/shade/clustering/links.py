"""Links between rows that lie next to each other, along which noise finds a cluster."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade._kernels import merge_tree
from shade.density.spanning_tree import SpanningTree

CHUNK_ENTRIES = 1 << 22  # of both ends of links, looked at in one go


def links_of(tree: SpanningTree) -> AnyArray:
    """The edges of a spanning tree, lightest first, as int32."""
    return tree.edges[np.argsort(tree.weights, kind="stable")].astype(np.int32, copy=False)


def sort_links(trees: Sequence[IntArray], spaces: Sequence[AnyArray]) -> AnyArray:
    """The edges of spanning trees of the same rows, shortest first.

    Parameters
    ----------
    trees : sequence of ndarray of shape (n_samples - 1, 2)
        The rows that edges join.
    spaces : sequence of ndarray of shape (n_samples, n_columns)
        What is known of the rows: their embedding, the data. The length of a link is measured in all of them at once,
        each divided by its total deviation, so that the unit of none matters.

    Returns
    -------
    ndarray of int32 of shape (n_links, 2)
    """
    edges = np.vstack(trees).astype(np.int32, copy=False)
    squares = np.zeros(len(edges))
    for space in spaces:
        variance = _total_variance(space)
        if variance > 0:
            squares += _squared_lengths(edges, space) / variance
    return edges[np.argsort(squares, kind="stable")]


def follow_links(labels: IntArray, links: AnyArray) -> IntArray:
    """Give rows without a label the one that they reach over the shortest links; returns new labels.

    Links join rows from the shortest on, but never two that have a label: where clusters meet, the longest link on
    the way between them is left out.
    """
    reached = labels.copy()
    merge_tree.spread_labels(links, reached)
    return reached


def _squared_lengths(edges: AnyArray, space: AnyArray) -> FloatArray:
    lengths = np.empty(len(edges))
    step = max(1, CHUNK_ENTRIES // space.shape[1])
    for start in range(0, len(edges), step):
        ends = edges[start : start + step]
        difference = space[ends[:, 0]].astype(np.float64) - space[ends[:, 1]]
        lengths[start : start + step] = np.einsum("ij,ij->i", difference, difference)
    return lengths


def _total_variance(space: AnyArray) -> float:
    """Sum of the variances of the columns, a slice at a time, so that single precision needs no copy of all."""
    mean = space.mean(axis=0, dtype=np.float64)
    step = max(1, CHUNK_ENTRIES // space.shape[1])
    squares = sum(float(np.square(space[at : at + step] - mean).sum()) for at in range(0, len(space), step))
    return squares / len(space)
