"""Exact minimum spanning trees of mutual reachability, in O(n) memory beyond the data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np

from shade._base.arrays import FloatArray, IntArray
from shade._base.errors import ShadeWarning
from shade._base.parallel import run_chunks
from shade._base.ranks import ALONE, Ranks
from shade._base.validation import check_choice, check_extent, check_min_samples, check_points
from shade._kernels import boruvka, prim
from shade.density.order import canonical_order, differs_from_last
from shade.density.search import AllPairs, KDTree, ProductBlocks, choose_algorithm

WORTH_A_DEVICE = 2048  # from this number of rows on, moving the data to the device is worth the time

ALGORITHMS = ("auto", "prim", "kd_tree", "blocks")


@dataclass(frozen=True)
class SpanningTree:
    """A minimum spanning tree under mutual reachability.

    Attributes
    ----------
    edges : ndarray of shape (n_samples - 1, 2)
        The two rows that each edge joins.
    weights : ndarray of shape (n_samples - 1,)
        Mutual-reachability distance of each edge.
    """

    edges: IntArray
    weights: FloatArray

    @property
    def n_points(self) -> int:
        """Number of points that the tree spans."""
        return len(self.weights) + 1


def minimum_spanning_tree(
    X: object,
    min_samples: int = 5,
    *,
    algorithm: str = "auto",
    n_jobs: int | None = None,
    device: str = "cpu",
    ranks: Ranks = ALONE,
) -> SpanningTree:
    """Build the minimum spanning tree of the complete graph under mutual reachability.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    min_samples : int, default=5
    algorithm : {"auto", "prim", "kd_tree", "blocks"}, default="auto"
        All are exact. "prim" is for small data, "kd_tree" for few columns, "blocks" for many.
    n_jobs : int, optional
        Number of threads; all cores if None.
    device : str, default="cpu"
        "cuda" or "cuda:N" searches there in single precision; then the weights are computed in double precision.
        Small data, and data with a given algorithm, stay on the CPU.
    ranks : Ranks, optional
        The processes that build this tree together from the same points. By default, this process builds it alone.

    Returns
    -------
    SpanningTree

    Examples
    --------
    >>> from shade.density import minimum_spanning_tree
    >>> sorted(minimum_spanning_tree([[0.0], [1.0], [3.0], [7.0]], min_samples=2).weights.tolist())
    [1.0, 2.0, 4.0]
    """
    points = check_points(X)
    check_extent(points)
    check_min_samples(min_samples, len(points), smallest=1)
    check_choice("algorithm", algorithm, ALGORITHMS)
    kept, copies, of = _find_copies(points, min_samples)
    if not len(copies):
        return _span(points, min_samples, algorithm, n_jobs, device, ranks)
    tree = _span(points[kept], min_samples, algorithm, n_jobs, device, ranks)
    edges = np.vstack([kept[tree.edges], np.column_stack([of, copies])])
    return SpanningTree(edges, np.append(tree.weights, np.zeros(len(copies))))


def _find_copies(points: FloatArray, min_samples: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rows to build a tree of, the rows beyond `min_samples` at one place, and for each a row kept there.

    Rows at such a place have the core distance 0. Searching from each of them would take quadratic time.
    """
    order = canonical_order(points)
    begins = differs_from_last(points, order)
    first = np.flatnonzero(begins)[np.cumsum(begins) - 1]
    beyond = np.arange(len(order)) - first >= min_samples
    return np.sort(order[~beyond]), order[beyond], order[first[beyond]]


def _span(
    points: FloatArray, min_samples: int, algorithm: str, n_jobs: int | None, device: str, ranks: Ranks
) -> SpanningTree:
    """Build the tree of points of which at most `min_samples` coincide."""
    if algorithm == "auto" and device.startswith("cuda") and len(points) >= WORTH_A_DEVICE:
        tree = ranks.from_first(partial(_try_device, points, min_samples, device))
        if tree is not None:
            return tree
    if algorithm == "auto":
        algorithm = choose_algorithm(*points.shape)
    build = {"prim": _prim, "kd_tree": _boruvka_in_kd_tree, "blocks": _boruvka_in_blocks}[algorithm]
    return build(points, min_samples, n_jobs, ranks)


def _try_device(points: FloatArray, min_samples: int, device: str) -> SpanningTree | None:
    """Build the tree on a CUDA device. If its kernels cannot run, warn and return None."""
    try:
        import torch

        from shade.density.device_tree import spanning_tree_on_device

        return spanning_tree_on_device(points, min_samples, torch.device(device))
    except Exception as error:  # no compiler, too little memory, an old driver: the CPU still works
        warnings.warn(
            f"The spanning tree is built on the CPU, since {device!r} could not: {type(error).__name__}: {error}",
            ShadeWarning,
            stacklevel=6,
        )
        return None


def _prim(points: FloatArray, min_samples: int, n_jobs: int | None, ranks: Ranks) -> SpanningTree:
    """Build the tree with Prim's algorithm. The data is so small that each rank builds the whole tree."""
    pairs = AllPairs.from_points(points)
    core = pairs.core_distances(min_samples, n_jobs)
    edges = len(points) - 1
    tails, heads, weights = np.empty(edges, np.int64), np.empty(edges, np.int64), np.empty(edges)
    prim.spanning_tree(pairs.columns, points, core, tails, heads, weights)
    return SpanningTree(np.column_stack([tails, heads]), np.sqrt(weights))


class BoruvkaRounds:
    """State of Borůvka's algorithm: components, the best edge found for each point, and the tree so far.

    Each rank searches for its share of the points.
    """

    def __init__(self, core: FloatArray, ranks: Ranks = ALONE) -> None:
        n = len(core)
        self.ranks = ranks
        self.component = np.arange(n)
        self.partner = np.full(n, -1)
        self.reach = core.copy()  # no edge of a point is lighter than its core distance
        self.bound = np.full(n, np.inf)
        self.tails, self.heads = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
        self.weights = np.empty(n - 1)
        self.edges = 0

    @property
    def unfinished(self) -> bool:
        """Whether edges are missing."""
        return self.edges < len(self.weights)

    def begin(self) -> None:
        """Remove partners that are now in the same component, and update the bound of each component."""
        boruvka.bound_components(self.component, self.partner, self.reach, self.bound)

    def searching(self) -> IntArray:
        """Return the points of this rank that may improve the bound of their component."""
        rows = np.flatnonzero((self.partner < 0) & (self.reach < self.bound[self.component]))
        return rows[self.ranks.rank :: self.ranks.count]

    def finish(self) -> None:
        """Join components along the lightest edges that any rank found. A search only raises `partner` and `reach`."""
        self.ranks.reduce_max(self.partner, self.reach)
        self.edges = boruvka.merge_components(
            self.component, self.partner, self.reach, self.tails, self.heads, self.weights, self.edges
        )

    def tree(self, indices: IntArray | None = None) -> SpanningTree:
        """Return the finished tree, with the points renamed by `indices`."""
        edges = np.column_stack([self.tails, self.heads])
        return SpanningTree(edges if indices is None else indices[edges], np.sqrt(self.weights))


def _boruvka_in_kd_tree(points: FloatArray, min_samples: int, n_jobs: int | None, ranks: Ranks) -> SpanningTree:
    tree = KDTree.from_points(points, n_jobs)
    neighbours, distances = tree.neighbours(min_samples, n_jobs, ranks)
    core = distances[:, -1].copy()
    del distances
    node_core = tree.smallest_in_nodes(core)
    node_component = np.empty(len(tree.first), np.int64)
    rounds = BoruvkaRounds(core, ranks)
    boruvka.settle_neighbours(neighbours, core, rounds.partner)
    del neighbours
    rounds.finish()
    while rounds.unfinished:
        rounds.begin()
        boruvka.uniform_components(rounds.component, tree.children, tree.first, tree.last, node_component)
        tree.run_leaves(
            boruvka.search_leaves, tree.singles, core, node_core, rounds.component, node_component,
            rounds.partner, rounds.reach, rounds.bound, n_jobs=n_jobs, ranks=ranks,
        )  # fmt: skip
        rounds.finish()
    return rounds.tree(tree.indices)


def _boruvka_in_blocks(points: FloatArray, min_samples: int, n_jobs: int | None, ranks: Ranks) -> SpanningTree:
    blocks = ProductBlocks.from_points(points)
    neighbours, distances = blocks.neighbours(min_samples, n_jobs, ranks)
    core = distances[:, -1].copy()
    rounds = BoruvkaRounds(core, ranks)
    boruvka.settle_neighbours(neighbours, core, rounds.partner)
    rounds.finish()
    while rounds.unfinished:
        rounds.begin()
        waiting = rounds.searching()
        # Points with the smallest bounds come first: the edges that they find make searches of others unnecessary.
        waiting = waiting[np.argsort(rounds.reach[waiting], kind="stable")]
        while len(waiting):
            waiting = waiting[rounds.reach[waiting] < rounds.bound[rounds.component[waiting]]]
            rows, waiting = waiting[: blocks.rows_at_a_time()], waiting[blocks.rows_at_a_time() :]
            run_chunks(
                boruvka.search_block, blocks.products(rows), blocks.norms, blocks.slack, points, rows, core,
                rounds.component, rounds.partner, rounds.reach, rounds.bound, count=len(rows), n_jobs=n_jobs,
            )  # fmt: skip
        rounds.finish()
    return rounds.tree()
