"""Distances between rows that were computed elsewhere: a full matrix, or a graph of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.csgraph import minimum_spanning_tree as lightest_edges

from shade._base.arrays import AnyArray, BoolArray, FloatArray, IntArray, row_slices
from shade._base.validation import check_points
from shade.density.dimension import count_neighbours, dimension_of_neighbours
from shade.density.spanning_tree import SpanningTree

ROUNDING = 1e-6  # of the largest distance: what single precision can make of a zero, and of two equal distances


@dataclass(frozen=True)
class DistanceMatrix:
    """The distance between any two rows, symmetric, with zeros on the diagonal."""

    values: FloatArray

    @classmethod
    def from_user(cls, X: object) -> DistanceMatrix:
        """Check a matrix of distances. Differences that are rounding errors are removed."""
        values = check_points(X)
        _check_square(values.shape)
        check_distances(values)
        most = ROUNDING * float(values.max())
        diagonal = np.diagonal(values)
        if diagonal.max() > most:
            row = int(np.argmax(diagonal))
            raise ValueError(
                f"The distance of row {row} to itself is {diagonal[row]:.3g}, not 0. Give distances, not similarities."
            )
        for rows in row_slices(values):
            differs = np.abs(values[rows] - values[:, rows].T) > most
            if differs.any():
                row, other = np.argwhere(differs)[0]
                row += rows.start
                raise ValueError(
                    f"The distance from row {row} to row {other} is {values[row, other]:.6g}, but in the other "
                    f"direction it is {values[other, row]:.6g}. Give a symmetric matrix."
                )
        values = np.minimum(values, values.T)
        np.fill_diagonal(values, 0.0)
        return cls(values)

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return len(self.values)

    def among(self, rows: IntArray) -> DistanceMatrix:
        """Return the distances between some rows."""
        return DistanceMatrix(self.values[np.ix_(rows, rows)])

    def core_distances(self, min_samples: int) -> FloatArray:
        """Return the distance from each row to its `min_samples`-th nearest, counting itself."""
        return self._nearest(min_samples)[:, -1]

    def spanning_tree(self, core: FloatArray) -> SpanningTree:
        """Return the minimum spanning tree of mutual reachability, by Prim's algorithm in quadratic time."""
        n, at, order = len(core), 0, _order_by_nearest(self._nearest(count_neighbours(len(core)) + 1))
        core = core[order]
        tails, best = np.zeros(n, np.int64), np.full(n, np.inf)
        heads, waiting, weights = np.empty(n - 1, np.int64), np.ones(n, np.bool_), np.empty(n - 1)
        for step in range(n - 1):
            waiting[at], best[at] = False, np.inf
            reached = np.maximum(np.maximum(self.values[order[at], order], core), core[at])
            closer = waiting & (reached < best)
            best[closer], tails[closer] = reached[closer], at
            at = int(np.argmin(best))
            heads[step], weights[step] = at, best[at]
        return SpanningTree(order[np.column_stack([tails[heads], heads])], weights)

    def dimension(self) -> float:
        """Return the number of dimensions that the rows fill."""
        return dimension_of_neighbours(np.square(self._nearest(count_neighbours(self.n_points) + 1)[:, 1:]))

    def _nearest(self, k: int) -> FloatArray:
        """Return the distances from each row to the k nearest in ascending order, with itself."""
        parts = [np.partition(self.values[rows], k - 1, axis=1)[:, :k] for rows in row_slices(self.values)]
        return np.sort(np.vstack(parts), axis=1)


@dataclass(frozen=True)
class NeighbourGraph:
    """Distances from each row to its neighbours, in both directions. Other distances are not known."""

    graph: csr_array

    @classmethod
    def from_user(cls, X: Any) -> NeighbourGraph:
        """Check a graph of distances. An edge that is given in one direction goes in both."""
        _check_square(X.shape)
        given = coo_array(X)
        values = check_distances(given.data)
        ends = np.vstack([given.coords[0], given.coords[1]]).astype(np.int64)
        apart = ends[0] != ends[1]
        ends, values = ends[:, apart], values[apart]
        low, high = ends.min(axis=0), ends.max(axis=0)
        first = np.lexsort((values, high, low))  # the shortest of edges with equal ends
        first = first[np.flatnonzero(np.diff(low[first] * int(X.shape[0]) + high[first], prepend=-1))]
        rows, others = np.append(low[first], high[first]), np.append(high[first], low[first])
        order = np.lexsort((others, values[np.tile(first, 2)], rows))
        begins = np.append(0, np.cumsum(np.bincount(rows, minlength=int(X.shape[0]))))
        return cls(csr_array((values[np.tile(first, 2)][order], others[order], begins), X.shape))

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return int(self.graph.shape[0])

    @property
    def values(self) -> AnyArray:
        """The distances."""
        return self.graph.data

    def core_distances(self, min_samples: int) -> FloatArray:
        """Return the distance from each row to its `min_samples`-th nearest, counting itself."""
        known = np.diff(self.graph.indptr)
        if known.min() < min_samples - 1:
            row = int(np.argmin(known))
            raise ValueError(
                f"Row {row} has {known[row]} neighbours in the graph, but min_samples={min_samples} needs "
                f"{min_samples - 1}. Give more neighbours or a smaller 'min_samples'."
            )
        core: FloatArray = self.graph.data[self.graph.indptr[:-1] + min_samples - 2]
        return core

    def spanning_tree(self, core: FloatArray) -> SpanningTree:
        """Return the minimum spanning tree of mutual reachability along the edges of the graph."""
        parts = connected_components(self._like(np.ones(self.graph.nnz)), directed=False)[0]
        if parts > 1:
            raise ValueError(
                f"The graph is not connected: it has {parts} parts, so no tree joins all rows. Give more neighbours "
                "per row, or cluster each part alone."
            )
        tails, heads = np.repeat(np.arange(self.n_points), np.diff(self.graph.indptr)), self.graph.indices
        reach = np.maximum(np.maximum(self.graph.data, core[tails]), core[heads])
        place = np.argsort(_order_by_nearest(self._nearest()))
        near, far = np.minimum(place[tails], place[heads]), np.maximum(place[tails], place[heads])
        ranks = np.empty(len(reach))  # no zeros, which SciPy takes for missing edges, and no ties
        ranks[np.lexsort((far, near, self.graph.data, reach))] = np.arange(1.0, len(reach) + 1)
        chosen = np.argsort(ranks)[np.sort(lightest_edges(self._like(ranks)).data).astype(np.int64) - 1]
        return SpanningTree(np.column_stack([tails[chosen], heads[chosen]]).astype(np.int64), reach[chosen])

    def dimension(self) -> float:
        """Return the number of dimensions that the rows fill, by the nearest neighbours that every row has."""
        return dimension_of_neighbours(np.square(self._nearest()))

    def _nearest(self) -> FloatArray:
        """Return the distances from each row to as many neighbours as each row has, in ascending order."""
        begins = self.graph.indptr
        common = min(int(np.diff(begins).min()), count_neighbours(self.n_points))
        nearest: FloatArray = self.graph.data[begins[:-1, None] + np.arange(common)]
        return nearest

    def _like(self, values: AnyArray) -> csr_array:
        return csr_array((values, self.graph.indices, self.graph.indptr), self.graph.shape)


Distances = DistanceMatrix | NeighbourGraph | SpanningTree


def distances_of(X: Any) -> Distances:
    """Return given distances in one of three forms, checked: a matrix, a sparse graph, or a spanning tree."""
    if isinstance(X, SpanningTree):
        return check_tree(X)
    return NeighbourGraph.from_user(X) if hasattr(X, "tocoo") else DistanceMatrix.from_user(X)


def check_tree(tree: SpanningTree) -> SpanningTree:
    """Check edges and weights that a user gave. That they join all rows is checked where the density tree is built."""
    edges, weights = np.asarray(tree.edges), np.asarray(tree.weights, np.float64)
    n = weights.size + 1
    if weights.ndim != 1 or n < 2 or edges.shape != (n - 1, 2) or edges.dtype.kind not in "iu":
        raise ValueError(
            "A spanning tree needs an int array of edges of shape (n_samples - 1, 2) and as many weights. Got "
            f"{edges.dtype} of shape {edges.shape}, and weights of shape {weights.shape}."
        )
    if edges.min() < 0 or edges.max() >= n:
        raise ValueError(f"A spanning tree of {n - 1} edges joins the rows 0 to {n - 1}. Got row {edges.max()}.")
    check_distances(weights)
    return SpanningTree(edges.astype(np.int64), weights)


def steps_to(core: FloatArray, distances: FloatArray, min_samples: int) -> tuple[IntArray, FloatArray]:
    """Return for each new row the row that it is density-connected to first, and the distance of that step.

    `distances` has a row for each new row, infinite where a distance is not known. A new row at distance 0 from another
    takes its place.
    """
    own = np.partition(distances, min_samples - 1, axis=1)[:, min_samples - 1 : min_samples]
    reach = np.maximum(np.maximum(distances, core), own)
    nearest: BoolArray = reach == reach.min(axis=1, keepdims=True)
    row = np.argmin(np.where(nearest, distances, np.inf), axis=1)
    here = np.argmin(distances, axis=1)
    same = distances[np.arange(len(here)), here] == 0
    row = np.where(same, here, row)
    return row, np.where(same, 0.0, reach[np.arange(len(row)), row])


def _check_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"metric='precomputed' needs the distances between all rows, a square matrix. Got the shape {shape}."
        )


def _order_by_nearest(nearest: FloatArray) -> IntArray:
    """Return an order of the rows that does not depend on the order in which they are given, if no two are alike."""
    return np.lexsort(nearest.T[::-1])


def check_distances(values: AnyArray) -> FloatArray:
    """Return distances in double precision; raise an error if some are negative, infinite or no numbers."""
    checked = values.astype(np.float64, copy=False)
    if not np.isfinite(checked).all():
        raise ValueError("Distances must be finite numbers. Leave out of a graph what is not known.")
    if checked.size and checked.min() < 0:
        raise ValueError(f"Distances must not be negative. Got {checked.min():.6g}. Give distances, not similarities.")
    return checked
