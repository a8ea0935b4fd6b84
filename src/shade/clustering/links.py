"""Links between neighbouring rows, over which noise reaches a cluster."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade._kernels import merge_tree
from shade.density.spanning_tree import SpanningTree

CHUNK_ENTRIES = 1 << 22  # of both ends of links, read at once


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
        The values of the rows in each space: the embedding, the data. The length of a link is measured in all spaces
        together. Each space is divided by its total deviation, so that units do not matter.

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
    """Give each row without a label the label that it reaches over the shortest links; return new labels.

    Links join rows from the shortest link on, but never two rows that have a label. Where clusters meet, the longest
    link on the way between them is left out.
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
    """Return the sum of the variances of the columns, in slices: so float32 data is not copied as a whole."""
    mean = space.mean(axis=0, dtype=np.float64)
    step = max(1, CHUNK_ENTRIES // space.shape[1])
    squares = sum(float(np.square(space[at : at + step] - mean).sum()) for at in range(0, len(space), step))
    return squares / len(space)
