"""Exact searches for neighbours: in a kd-tree, by blocks of scalar products, or by comparing all pairs.

All three give the same distances to the last bit. All distances in this module are squared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shade._base.arrays import FloatArray, IntArray, SingleArray
from shade._base.parallel import run_chunks
from shade._base.ranks import ALONE, Ranks
from shade._kernels import blocks, kd_tree, prim
from shade._kernels.lanes import LANES, LEAF

SAMPLE = 1024  # points that represent all points where an estimate is enough
BLOCK_ENTRIES = 1 << 22  # scalar products held at once: 32 MB
FEW_POINTS = 1024  # up to here, comparing all pairs is fastest
FEW_COLUMNS = 24  # up to here, a kd-tree prunes well


@dataclass(frozen=True)
class KDTree:
    """Points in tree order with boxes around them; `indices` maps tree positions to rows.

    `singles` are float32 copies of the points, shifted, scaled into [−1, 1] and rotated to the principal axes, along
    which boxes are tightest. Boxes and leaves are made from them.
    """

    indices: IntArray
    points: FloatArray
    singles: SingleArray
    leaves: SingleArray
    boxes: SingleArray
    children: IntArray
    first: IntArray
    last: IntArray
    shift: FloatArray
    scale: float
    axes: FloatArray

    @classmethod
    def from_points(cls, points: FloatArray, n_jobs: int | None = None) -> KDTree:
        """Build a tree in which all leaves have the same depth, and all leaves but the last are full."""
        n, dimensions = points.shape
        # float32 is most precise near zero, so the median is moved there. A sample of points is enough to find it.
        shift = np.median(points[:: max(1, n // SAMPLE)], axis=0)
        moved = points - shift
        extent = float(np.abs(moved).max())
        scale = 1.0 / extent if extent > 1e-300 else 1.0
        moved *= scale
        mean = moved.mean(axis=0)
        axes = np.linalg.eigh(moved.T @ moved / n - np.outer(mean, mean))[1]
        columns = (axes.T @ moved.T).astype(np.float32)
        del moved
        halvings = max(0, -(-n // LEAF) - 1).bit_length()
        starts = np.full((halvings + 1, (1 << halvings) + 1), n)
        starts[0, 0] = 0
        indices = np.arange(n)
        for level in range(halvings):
            run_chunks(kd_tree.split_level, columns, indices, starts, level, count=1 << level, n_jobs=n_jobs, few=2)
        # The children of a node are its descendants four halvings below. The root has those of the remaining halvings.
        top = (halvings - 1) % 4 + 1
        kept = [0, *range(top, halvings + 1, 4)]
        first = np.concatenate([starts[level, : 1 << level] for level in kept])
        last = np.concatenate([starts[level, 1 : (1 << level) + 1] for level in kept])
        inner = len(first) - (1 << halvings)
        children = np.concatenate([[1], 1 + (1 << top) + LANES * np.arange(inner)])[:inner]
        ordered, singles = np.empty((n, dimensions)), np.empty((n, dimensions), np.float32)
        leaves = np.empty((-(-n // LEAF), dimensions, LEAF), np.float32)
        run_chunks(
            kd_tree.lay_out, points, columns, indices, ordered, singles, leaves, count=len(leaves), n_jobs=n_jobs
        )
        boxes = np.empty((inner, dimensions, 2, LANES), np.float32)
        kd_tree.fill_boxes(singles, children, first, last, boxes)
        return cls(indices, ordered, singles, leaves, boxes, children, first, last, shift, scale, axes)

    def arrays(self, largest: float = 1.0) -> tuple[Any, ...]:
        """Return the arguments of the kernels, in order; `largest` bounds the float32 coordinates of the queries."""
        # Rounding moves a point by at most half a unit in the last place of its norm, so a pair by twice as much. The
        # factor 4 leaves room for the rotation of the axes in float64.
        margin = 4.0 * math.sqrt(self.points.shape[1]) * float(np.finfo(np.float32).eps) * max(1.0, largest)
        tree = (self.points, self.leaves, self.boxes, self.children, self.first, self.last)
        return *tree, self.scale, margin

    def core_distances(self, k: int, n_jobs: int | None = None) -> FloatArray:
        """Return the squared distance from each point, in tree order, to its k-th nearest, counting itself."""
        if k == 1:
            return np.zeros(len(self.points))
        return self.neighbours(k, n_jobs)[1][:, -1].copy()

    def neighbours(self, k: int, n_jobs: int | None = None, ranks: Ranks = ALONE) -> tuple[IntArray, FloatArray]:
        """Return tree positions of the k points nearest to each point, counting itself, and squared distances."""
        n = len(self.points)
        index, distance = np.zeros((n, k), np.int64), np.zeros((n, k))
        self.run_leaves(kd_tree.neighbours_in_leaves, self.singles, k, index, distance, n_jobs=n_jobs, ranks=ranks)
        ranks.reduce_max(index, distance)
        return index, distance

    def run_leaves(self, kernel: Callable[..., None], *arguments: Any, n_jobs: int | None, ranks: Ranks) -> None:
        """Call a kernel on several threads for the leaves of this rank."""
        leaves = len(self.first) - len(self.children)
        share = ranks.share_of(leaves)
        run_chunks(kernel, *self.arrays(), *arguments, count=leaves, n_jobs=n_jobs, chunk=64, few=8, share=share)

    def nearest(self, queries: FloatArray, k: int, n_jobs: int | None = None) -> tuple[IntArray, FloatArray]:
        """Return rows of the k points nearest to each query, nearest first, and their squared distances."""
        singles, arrays = self._copy(queries)
        index, distance = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        run_chunks(
            kd_tree.nearest_points, *arrays, queries, singles, k, index, distance, count=len(queries), n_jobs=n_jobs
        )
        return self.indices[index], distance

    def nearest_reachable(
        self, core: FloatArray, queries: FloatArray, query_core: FloatArray, n_jobs: int | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the row with the least mutual reachability to each query, and its square; `core` is by row."""
        core = core[self.indices]
        singles, arrays = self._copy(queries)
        index, distance = np.empty(len(queries), np.int64), np.empty(len(queries))
        run_chunks(
            kd_tree.nearest_reachable, *arrays, core, self.smallest_in_nodes(core), queries, singles, query_core,
            index, distance, count=len(queries), n_jobs=n_jobs,
        )  # fmt: skip
        return self.indices[index], distance

    def _copy(self, queries: FloatArray) -> tuple[SingleArray, tuple[Any, ...]]:
        """Return float32 copies of queries, and the kernel arguments. Queries too far out for float32 do not prune."""
        moved = (queries - self.shift) * self.scale
        largest = float(np.abs(moved).max(initial=0.0))
        far = largest > 1e15
        singles = (np.clip(moved, -1e15, 1e15) @ self.axes).astype(np.float32)
        return singles, self.arrays(np.inf if far else largest)

    def smallest_in_nodes(self, values: FloatArray) -> FloatArray:
        """Return the smallest value among the points of each node, infinity for none; values are in tree order."""
        smallest = np.empty(len(self.first))
        kd_tree.smallest_in_nodes(values, self.children, self.first, self.last, smallest)
        return smallest


@dataclass(frozen=True)
class AllPairs:
    """Searches by comparing every query with every point."""

    points: FloatArray
    columns: FloatArray

    @classmethod
    def from_points(cls, points: FloatArray) -> AllPairs:
        """Store the points by column."""
        return cls(points, np.ascontiguousarray(points.T))

    def core_distances(self, k: int, n_jobs: int | None = None) -> FloatArray:
        """Return the squared distance from each point to its k-th nearest, counting the point itself."""
        core = np.zeros(len(self.points))
        if k > 1:
            run_chunks(
                prim.core_distances, self.columns, self.points, k, core, count=len(self.points), n_jobs=n_jobs, chunk=64
            )
        return core

    def nearest(self, queries: FloatArray, k: int, n_jobs: int | None = None) -> tuple[IntArray, FloatArray]:
        """Return rows of the k points nearest to each query, nearest first, and their squared distances."""
        index, distance = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        run_chunks(
            prim.nearest_points, self.columns, queries, k, index, distance, count=len(queries), n_jobs=n_jobs, chunk=64
        )
        return index, distance

    def nearest_reachable(
        self, core: FloatArray, queries: FloatArray, query_core: FloatArray, n_jobs: int | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the row with the least mutual reachability to each query, and its square."""
        index, distance = np.empty(len(queries), np.int64), np.empty(len(queries))
        run_chunks(
            prim.nearest_reachable, self.columns, core, queries, query_core, index, distance,
            count=len(queries), n_jobs=n_jobs, chunk=64,
        )  # fmt: skip
        return index, distance


@dataclass(frozen=True)
class ProductBlocks:
    """Scalar products of blocks of points with all points, through BLAS, with a bound on their rounding error.

    The points are centred first. `slack[i]` bounds the difference between norms[i] + norms[j] − 2 · product and the
    squared distance that is summed column by column.
    """

    points: FloatArray
    shift: FloatArray
    centred: FloatArray
    norms: FloatArray
    slack: FloatArray
    largest: float

    @classmethod
    def from_points(cls, points: FloatArray) -> ProductBlocks:
        """Centre the points and compute the bounds."""
        shift = points.mean(axis=0)
        centred = points - shift
        norms = np.einsum("ij,ij->i", centred, centred)
        largest = float(max(points.max(), -points.min()))
        slack = _rounding(norms + norms.max(), largest, points.shape[1])
        return cls(points, shift, centred, norms, slack, largest)

    def rows_at_a_time(self) -> int:
        """Return how many rows of products fit into the memory for them."""
        return max(1, BLOCK_ENTRIES // len(self.norms))

    def products(self, rows: IntArray) -> FloatArray:
        """Return scalar products of some points with all points."""
        return self.centred[rows] @ self.centred.T

    def core_distances(self, k: int, n_jobs: int | None = None, ranks: Ranks = ALONE) -> FloatArray:
        """Return the squared distance from each point to its k-th nearest, counting the point itself."""
        return self.neighbours(k, n_jobs, ranks)[1][:, -1].copy()

    def neighbours(self, k: int, n_jobs: int | None = None, ranks: Ranks = ALONE) -> tuple[IntArray, FloatArray]:
        """Return the k points nearest to each point, counting itself, and squared distances."""
        n = len(self.norms)
        if k == 1:
            return np.arange(n)[:, None], np.zeros((n, 1))
        index, distance = np.zeros((n, k), np.int64), np.zeros((n, k))
        own = ranks.share_of(n)
        index[own], distance[own] = self.nearest(self.points[own], k, n_jobs)
        ranks.reduce_max(index, distance)
        return index, distance

    def nearest(self, queries: FloatArray, k: int, n_jobs: int | None = None) -> tuple[IntArray, FloatArray]:
        """Return rows of the k points nearest to each query, nearest first, and their squared distances."""
        index, distance = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        for part, block in self._blocks(queries):
            run_chunks(
                blocks.nearest_points, *block, k, index[part], distance[part], count=len(block[0]), n_jobs=n_jobs
            )
        return index, distance

    def nearest_reachable(
        self, core: FloatArray, queries: FloatArray, query_core: FloatArray, n_jobs: int | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the row with the least mutual reachability to each query, and its square."""
        index, distance = np.empty(len(queries), np.int64), np.empty(len(queries))
        for part, block in self._blocks(queries):
            run_chunks(
                blocks.nearest_reachable, *block, core, query_core[part], index[part], distance[part],
                count=len(block[0]), n_jobs=n_jobs,
            )  # fmt: skip
        return index, distance

    def _blocks(self, queries: FloatArray) -> Iterator[tuple[slice, tuple[Any, ...]]]:
        """Yield slices of the queries, and for each slice the arguments of the kernels: scalar products first."""
        for start in range(0, len(queries), self.rows_at_a_time()):
            part = slice(start, min(start + self.rows_at_a_time(), len(queries)))
            own = queries[part]
            centred = own - self.shift
            norms = np.einsum("ij,ij->i", centred, centred)
            largest = max(self.largest, float(np.abs(own).max()))
            slack = _rounding(norms + self.norms.max(), largest, own.shape[1])
            yield part, (centred @ self.centred.T, norms, self.norms, slack, own, self.points)


def _rounding(reach: FloatArray, largest: float, dimensions: int) -> FloatArray:
    """Return a bound on the rounding error of squared distances from products, if norms add up to at most `reach`."""
    epsilon = np.finfo(np.float64).eps
    return np.asarray(epsilon * (4.0 * (dimensions + 8) * reach + 16.0 * largest * np.sqrt(dimensions * reach)))


def choose_algorithm(n_points: int, n_columns: int) -> str:
    """Return the fastest exact algorithm for data of this shape."""
    if n_points <= FEW_POINTS:
        return "prim"
    return "kd_tree" if n_columns <= FEW_COLUMNS else "blocks"


def make_search(points: FloatArray) -> KDTree | AllPairs | ProductBlocks:
    """Build the search that is fastest for points of this shape."""
    if points.shape[1] > FEW_COLUMNS:
        return ProductBlocks.from_points(points)
    return KDTree.from_points(points) if choose_algorithm(*points.shape) == "kd_tree" else AllPairs.from_points(points)
