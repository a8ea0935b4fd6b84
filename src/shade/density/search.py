"""Exact searches among points: in a kd-tree, by blocks of scalar products, or by comparing all pairs.

All give the same distances to the last bit. All distances here are squared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shade._arrays import FloatArray, IntArray
from shade._kernels import boruvka, kd_tree, prim
from shade._parallel import run_chunks

BLOCK_ENTRIES = 1 << 22  # scalar products held at a time: 32 MB
FEW_POINTS = 1024  # comparing all pairs is fastest up to here
FEW_COLUMNS = 24  # a kd-tree prunes well up to here


@dataclass(frozen=True)
class KDTree:
    """Points in tree order with the boxes around them; `indices` maps tree positions to rows."""

    indices: IntArray
    points: FloatArray
    columns: FloatArray
    first: IntArray
    last: IntArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def from_points(cls, points: FloatArray) -> KDTree:
        """Build a balanced tree with leaves of about 24 points."""
        n, dimensions = points.shape
        levels = max(0, math.ceil(math.log2(max(1.0, n / kd_tree.LEAF_SIZE))))
        nodes = (1 << (levels + 1)) - 1
        starts = np.zeros((levels + 1, (1 << levels) + 1), np.int64)
        indices = np.arange(n)
        kd_tree.split_points(np.ascontiguousarray(points.T), indices, starts, levels)
        first = np.concatenate([starts[level, : 1 << level] for level in range(levels + 1)])
        last = np.concatenate([starts[level, 1 : (1 << level) + 1] for level in range(levels + 1)])
        ordered = np.ascontiguousarray(points[indices])
        columns = np.ascontiguousarray(ordered.T)
        low, high = np.empty((nodes, dimensions)), np.empty((nodes, dimensions))
        kd_tree.bound_nodes(columns, first, last, low, high)
        return cls(indices, ordered, columns, first, last, low, high)

    @property
    def arrays(self) -> tuple[FloatArray | IntArray, ...]:
        """What the kernels take, in their order."""
        return self.columns, self.first, self.last, self.low, self.high

    def core_distances(self, k: int, n_jobs: int | None = None) -> FloatArray:
        """Squared distance from each point, in tree order, to its k-th nearest, itself included."""
        if k == 1:
            return np.zeros(len(self.points))
        return self._search(self.points, k, n_jobs)[1][:, -1].copy()

    def nearest(self, queries: FloatArray, k: int, n_jobs: int | None = None) -> tuple[IntArray, FloatArray]:
        """Rows of the k points nearest to each query, nearest first, and their squared distances."""
        index, distance = self._search(queries, k, n_jobs)
        return self.indices[index], distance

    def nearest_reachable(
        self, core: FloatArray, queries: FloatArray, query_core: FloatArray, n_jobs: int | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Row of least mutual reachability from each query, and the squares of it; core goes by row."""
        core = core[self.indices]
        index, distance = np.empty(len(queries), np.int64), np.empty(len(queries))
        run_chunks(
            kd_tree.nearest_reachable, *self.arrays, core, self.smallest_in_nodes(core), queries, query_core,
            index, distance, count=len(queries), n_jobs=n_jobs,
        )  # fmt: skip
        return self.indices[index], distance

    def _search(self, queries: FloatArray, k: int, n_jobs: int | None) -> tuple[IntArray, FloatArray]:
        index, distance = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        run_chunks(kd_tree.nearest_points, *self.arrays, queries, k, index, distance, count=len(queries), n_jobs=n_jobs)
        return index, distance

    def smallest_in_nodes(self, values: FloatArray) -> FloatArray:
        """The smallest value among the points of each node; values are in tree order."""
        smallest = np.empty(len(self.first))
        inner = len(self.first) // 2
        smallest[inner:] = np.minimum.reduceat(values, self.first[inner:])
        for level in range(int(math.log2(inner + 1)) - 1, -1, -1):
            start, stop = (1 << level) - 1, (1 << (level + 1)) - 1
            smallest[start:stop] = np.minimum(
                smallest[2 * start + 1 : 2 * stop + 1 : 2], smallest[2 * start + 2 : 2 * stop + 2 : 2]
            )
        return smallest


@dataclass(frozen=True)
class AllPairs:
    """Searches by comparing every query with every point."""

    points: FloatArray
    columns: FloatArray

    @classmethod
    def from_points(cls, points: FloatArray) -> AllPairs:
        """Lay the points out by column."""
        return cls(points, np.ascontiguousarray(points.T))

    def core_distances(self, k: int, n_jobs: int | None = None) -> FloatArray:
        """Squared distance from each point to its k-th nearest, itself included."""
        core = np.zeros(len(self.points))
        if k > 1:
            run_chunks(
                prim.core_distances, self.columns, self.points, k, core, count=len(self.points), n_jobs=n_jobs, chunk=64
            )
        return core

    def nearest(self, queries: FloatArray, k: int, n_jobs: int | None = None) -> tuple[IntArray, FloatArray]:
        """Rows of the k points nearest to each query, nearest first, and their squared distances."""
        index, distance = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        run_chunks(
            prim.nearest_points, self.columns, queries, k, index, distance, count=len(queries), n_jobs=n_jobs, chunk=64
        )
        return index, distance

    def nearest_reachable(
        self, core: FloatArray, queries: FloatArray, query_core: FloatArray, n_jobs: int | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Row of least mutual reachability from each query, and the squares of it."""
        index, distance = np.empty(len(queries), np.int64), np.empty(len(queries))
        run_chunks(
            prim.nearest_reachable, self.columns, core, queries, query_core, index, distance,
            count=len(queries), n_jobs=n_jobs, chunk=64,
        )  # fmt: skip
        return index, distance


@dataclass(frozen=True)
class ProductBlocks:
    """Scalar products of blocks of points with all points, through BLAS, with a bound on their rounding.

    The products are of centred points. `slack[i]` bounds the error of norms[i] + norms[j] − 2 · product against the
    squared distance that is summed column by column.
    """

    points: FloatArray
    centred: FloatArray
    norms: FloatArray
    slack: FloatArray

    @classmethod
    def from_points(cls, points: FloatArray) -> ProductBlocks:
        """Centre the points and bound the rounding."""
        dimensions = points.shape[1]
        centred = points - points.mean(axis=0)
        norms = np.einsum("ij,ij->i", centred, centred)
        reach = norms + norms.max()
        epsilon = np.finfo(np.float64).eps
        largest = np.abs(points).max()
        slack = epsilon * (4.0 * (dimensions + 8) * reach + 16.0 * largest * np.sqrt(dimensions * reach))
        return cls(points, centred, norms, slack)

    def rows_at_a_time(self) -> int:
        """How many rows of products fit the memory set aside for them."""
        return max(1, BLOCK_ENTRIES // len(self.norms))

    def products(self, rows: IntArray) -> FloatArray:
        """Scalar products of some points with all points."""
        return self.centred[rows] @ self.centred.T

    def core_distances(self, k: int, n_jobs: int | None = None) -> FloatArray:
        """Squared distance from each point to its k-th nearest, itself included."""
        n = len(self.norms)
        core = np.zeros(n)
        for start in range(0, n if k > 1 else 0, self.rows_at_a_time()):
            rows = np.arange(start, min(start + self.rows_at_a_time(), n))
            run_chunks(
                boruvka.core_from_block, self.products(rows), self.norms, self.slack, self.points, rows, k, core,
                count=len(rows), n_jobs=n_jobs,
            )  # fmt: skip
        return core


def choose_algorithm(n_points: int, n_columns: int) -> str:
    """The fastest exact algorithm for data of this shape."""
    if n_points <= FEW_POINTS:
        return "prim"
    return "kd_tree" if n_columns <= FEW_COLUMNS else "blocks"


def make_search(points: FloatArray) -> KDTree | AllPairs:
    """The search that suits the shape of the points."""
    return KDTree.from_points(points) if choose_algorithm(*points.shape) == "kd_tree" else AllPairs.from_points(points)
