"""The density-connectivity tree."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from shade._base.arrays import FloatArray, IntArray
from shade._kernels import merge_tree
from shade.density.spanning_tree import SpanningTree, minimum_spanning_tree


@dataclass(frozen=True)
class DCTree:
    """The merge tree of a spanning tree, and the order of its leaves.

    The dc-distance of two points is the largest reachability between them in the order. So `order` and `reachability`
    hold all dc-distances. The other arrays hold the same tree as merges.

    Attributes
    ----------
    order : ndarray of shape (n_samples,)
        The rows in the order of the leaves, from left to right.
    reachability : ndarray of shape (n_samples,)
        dc-distance of each row in `order` to the one before it; infinity for the first.
    left, right : ndarray of shape (n_samples - 1,)
        The two nodes of each merge: rows are 0 … n − 1, merge t makes node n + t.
    height : ndarray of shape (n_samples - 1,)
        Distance of each merge, in ascending order.
    size : ndarray of shape (n_samples - 1,)
        Number of rows below each merge.

    Examples
    --------
    >>> from shade.density import DCTree
    >>> tree = DCTree.from_points([[0.0], [1.0], [3.0], [7.0]], min_samples=2)
    >>> tree.dc_distance(0, 3)
    4.0
    """

    order: IntArray
    reachability: FloatArray
    left: IntArray
    right: IntArray
    height: FloatArray
    size: IntArray

    @classmethod
    def from_points(
        cls, X: object, min_samples: int = 5, *, algorithm: str = "auto", n_jobs: int | None = None, device: str = "cpu"
    ) -> DCTree:
        """Build the tree of some points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        min_samples : int, default=5
            Number of neighbours (counting the point itself) used to estimate the density at a point.
        algorithm, n_jobs, device
            See :func:`minimum_spanning_tree`.
        """
        return cls.from_spanning_tree(
            minimum_spanning_tree(X, min_samples, algorithm=algorithm, n_jobs=n_jobs, device=device)
        )

    @classmethod
    def from_spanning_tree(cls, spanning_tree: SpanningTree) -> DCTree:
        """Build the tree from a spanning tree."""
        n = spanning_tree.n_points
        by_weight = np.argsort(spanning_tree.weights, kind="stable")
        height = spanning_tree.weights[by_weight].astype(np.float64, copy=False)
        edges = spanning_tree.edges[by_weight].astype(np.int64, copy=False)
        left, right, size = (np.empty(n - 1, np.int64) for _ in range(3))
        if not merge_tree.merge_edges(edges, left, right, size):
            raise ValueError("The edges do not span all points: some of them close a cycle. Give a connected tree.")
        order, reachability = np.empty(n, np.int64), np.empty(n)
        merge_tree.leaf_order(left, right, height, order, reachability)
        return cls(order, reachability, left, right, height, size)

    def to_arrays(self) -> dict[str, FloatArray | IntArray]:
        """Return the arrays of the tree; `DCTree(**arrays)` builds it again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return len(self.order)

    @cached_property
    def position(self) -> IntArray:
        """Position of each row in the order."""
        position = np.empty_like(self.order)
        position[self.order] = np.arange(len(self.order))
        return position

    @cached_property
    def range_maxima(self) -> FloatArray:
        """Sparse table of range maxima of the reachability: n log n floats, computed at the first use."""
        levels = max(1, len(self.order).bit_length())
        table = np.empty((levels, len(self.order)))
        table[0] = self.reachability
        merge_tree.fill_sparse_table(table)
        return table

    def dc_distance(self, i: int, j: int) -> float:
        """Return the dc-distance between two rows."""
        return float(self.dc_distances_of_pairs([i], [j])[0])

    def dc_distances_of_pairs(self, first: object, second: object) -> FloatArray:
        """Return the dc-distances between first[k] and second[k] for each k."""
        rows, others = np.asarray(first, np.int64), np.asarray(second, np.int64)
        out = np.empty(len(rows))
        merge_tree.pair_distances(self.range_maxima, self.position[rows], self.position[others], out)
        return out

    def dc_distances(self, indices: object = None, others: object = None) -> FloatArray:
        """Return the matrix of dc-distances between some rows, or between some rows and others.

        Parameters
        ----------
        indices : array-like of int, optional
            All rows if None. The result then has n × n entries.
        others : array-like of int, optional
            The columns of the matrix; the same as `indices` if None.

        Returns
        -------
        ndarray of shape (len(indices), len(others))
        """
        rows = np.arange(self.n_points) if indices is None else np.asarray(indices, np.int64)
        columns = rows if others is None else np.asarray(others, np.int64)
        pairs = self.dc_distances_of_pairs(np.repeat(rows, len(columns)), np.tile(columns, len(rows)))
        return pairs.reshape(len(rows), len(columns))

    def sort_batch(self, indices: IntArray) -> tuple[IntArray, FloatArray]:
        """Sort rows by the order of the tree. Return them and the dc-distance of each to the one before it."""
        positions = np.sort(self.position[indices])
        steps = np.empty(len(positions))
        merge_tree.consecutive_distances(self.range_maxima, positions, steps)
        return self.order[positions], steps

    def mean_distance(self) -> float:
        """Return the mean dc-distance over all pairs of rows."""
        sizes = np.concatenate([np.ones(self.n_points), self.size])
        pairs = sizes[self.left] * sizes[self.right]
        return float(pairs @ self.height / pairs.sum())

    def among(self, rows: IntArray) -> DCTree:
        """Return the tree of some rows, given in ascending order. Their dc-distances stay those of the whole tree."""
        if len(rows) == self.n_points:
            return self
        ordered, steps = self.sort_batch(rows)
        along = np.searchsorted(rows, ordered)
        return DCTree.from_spanning_tree(SpanningTree(np.column_stack([along[:-1], along[1:]]), steps[1:]))

    def reachability_plot(self) -> tuple[IntArray, FloatArray]:
        """Return the rows in the order of the plot and their reachability: the OPTICS plot for an unlimited radius."""
        return self.order.copy(), self.reachability.copy()

    def linkage(self) -> FloatArray:
        """Return the merges in the format of `scipy.cluster.hierarchy`."""
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        return np.column_stack([low, high, self.height, self.size]).astype(np.float64)
