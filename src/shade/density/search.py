"""Exact searches among points: in a kd-tree, by blocks of scalar products, or by comparing all pairs.

All give the same distances to the last bit. All distances here are squared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shade._arrays import FloatArray, IntArray, SingleArray
from shade._distributed import reduce_max, share_of
from shade._kernels import boruvka, kd_tree, prim
from shade._parallel import run_chunks

LANES = 8  # float32 numbers in a vector
BLOCK_ENTRIES = 1 << 22  # scalar products held at a time: 32 MB
FEW_POINTS = 1024  # comparing all pairs is fastest up to here
FEW_COLUMNS = 24  # a kd-tree prunes well up to here


@dataclass(frozen=True)
class KDTree:
    """Points in tree order with boxes around them; `indices` maps tree positions to rows.

    `singles`, and the boxes and leaves made of them, are float32 copies, shifted and scaled into [−1, 1].
    """

    indices: IntArray
    points: FloatArray
    singles: SingleArray
    blocks: SingleArray
    first: IntArray
    last: IntArray
    low: SingleArray
    high: SingleArray
    shift: FloatArray
    scale: float

    @classmethod
    def from_points(cls, points: FloatArray) -> KDTree:
        """Build a balanced tree."""
        n, dimensions = points.shape
        levels, width = _choose_leaves(n)
        starts = np.zeros((levels + 1, (1 << levels) + 1), np.int64)
        indices = np.arange(n)
        kd_tree.split_points(np.ascontiguousarray(points.T), indices, starts, levels)
        first = np.concatenate([starts[level, : 1 << level] for level in range(levels + 1)])
        last = np.concatenate([starts[level, 1 : (1 << level) + 1] for level in range(levels + 1)])
        ordered = np.ascontiguousarray(points[indices])
        shift = np.median(ordered, axis=0)  # float32 is finest around it, where most points are
        extent = float(np.abs(ordered - shift).max())
        scale = 1.0 / extent if extent > 1e-300 else 1.0
        singles = ((ordered - shift) * scale).astype(np.float32)
        low, high = (np.empty((len(first), dimensions), np.float32) for _ in range(2))
        kd_tree.bound_nodes(singles, first, last, low, high)
        blocks = np.empty((1 << levels, dimensions, width), np.float32)
        kd_tree.fill_blocks(singles, first, last, blocks)
        return cls(indices, ordered, singles, blocks, first, last, low, high, shift, scale)

    def arrays(self, largest: float = 1.0) -> tuple[Any, ...]:
        """What the kernels take, in their order; `largest` bounds the float32 coordinates of the queries."""
        # A coordinate is rounded by half a unit in the last place, at most; twice over for a pair, with room to spare.
        margin = 4.0 * math.sqrt(self.points.shape[1]) * float(np.finfo(np.float32).eps) * max(1.0, largest)
        return self.points, self.blocks, self.first, self.last, self.low, self.high, self.scale, margin

    def core_distances(self, k: int, n_jobs: int | None = None) -> FloatArray:
        """Squared distance from each point, in tree order, to its k-th nearest, itself included."""
        core = np.zeros(len(self.points))
        if k > 1:
            own = share_of(len(core))
            core[own] = self._search(self.points[own], self.singles[own], self.arrays(), k, n_jobs)[1][:, -1]
            reduce_max(core)
        return core

    def nearest(self, queries: FloatArray, k: int, n_jobs: int | None = None) -> tuple[IntArray, FloatArray]:
        """Rows of the k points nearest to each query, nearest first, and their squared distances."""
        singles, arrays = self._copy(queries)
        index, distance = self._search(queries, singles, arrays, k, n_jobs)
        return self.indices[index], distance

    def nearest_reachable(
        self, core: FloatArray, queries: FloatArray, query_core: FloatArray, n_jobs: int | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Row of least mutual reachability from each query, and the squares of it; core goes by row."""
        core = core[self.indices]
        singles, arrays = self._copy(queries)
        index, distance = np.empty(len(queries), np.int64), np.empty(len(queries))
        run_chunks(
            kd_tree.nearest_reachable, *arrays, core, self.smallest_in_nodes(core), queries, singles, query_core,
            index, distance, count=len(queries), n_jobs=n_jobs,
        )  # fmt: skip
        return self.indices[index], distance

    def _copy(self, queries: FloatArray) -> tuple[SingleArray, tuple[Any, ...]]:
        """Float32 copies of queries, and the arrays for them; queries too far out for float32 are not pruned by."""
        moved = (queries - self.shift) * self.scale
        largest = float(np.abs(moved).max(initial=0.0))
        far = largest > 1e15
        return np.clip(moved, -1e15, 1e15).astype(np.float32), self.arrays(np.inf if far else largest)

    def _search(
        self, queries: FloatArray, singles: SingleArray, arrays: tuple[Any, ...], k: int, n_jobs: int | None
    ) -> tuple[IntArray, FloatArray]:
        index, distance = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        run_chunks(
            kd_tree.nearest_points, *arrays, queries, singles, k, index, distance, count=len(queries), n_jobs=n_jobs
        )
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
        own = share_of(n)
        for start in range(own.start, own.stop if k > 1 else own.start, self.rows_at_a_time()):
            rows = np.arange(start, min(start + self.rows_at_a_time(), own.stop))
            run_chunks(
                boruvka.core_from_block, self.products(rows), self.norms, self.slack, self.points, rows, k, core,
                count=len(rows), n_jobs=n_jobs,
            )  # fmt: skip
        reduce_max(core)
        return core


def _choose_leaves(n: int) -> tuple[int, int]:
    """Levels of a tree, and places a leaf: leaves of 12 to 40 points that fill vectors of eight well."""
    choices = []
    for levels in range(40):
        largest = -(-n // (1 << levels))
        width = -(-largest // LANES) * LANES
        if 12 <= largest <= 40 or (levels == 0 and largest < 12):
            choices.append((largest / width, levels, width))
    _, levels, width = max(choices)
    return levels, width


def choose_algorithm(n_points: int, n_columns: int) -> str:
    """The fastest exact algorithm for data of this shape."""
    if n_points <= FEW_POINTS:
        return "prim"
    return "kd_tree" if n_columns <= FEW_COLUMNS else "blocks"


def make_search(points: FloatArray) -> KDTree | AllPairs:
    """The search that suits the shape of the points."""
    return KDTree.from_points(points) if choose_algorithm(*points.shape) == "kd_tree" else AllPairs.from_points(points)
