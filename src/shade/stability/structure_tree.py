"""Candidate clusters of a density tree, by one of three rules.

Every candidate owns the points below one node of the merge tree, in which merges at one height are one node with
several children, so that nothing here depends on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shade._arrays import FloatArray, IntArray
from shade._kernels import condense, merge_tree
from shade._validation import Whole, check_choice, check_parameter
from shade.density.dc_tree import DCTree

# Points that coincide are infinitely dense. They count as ten octaves closer than the closest distinct points: dense
# enough to be clusters of their own, finite, and free of the unit. For "information" see `_floor`.
COINCIDENCE = 2.0**-10
FEW_PLACES = 10  # in which points coincide: each may be a cluster
MOST_PLACES = 0.9  # a quantile

SELECTIONS = ("structure", "branches", "information")


@dataclass(frozen=True)
class MergeTree:
    """The merge tree of a reachability plot with several children a node; children come before parents.

    A node owns the positions start … stop − 1 of the order.
    """

    height: FloatArray
    start: IntArray
    stop: IntArray
    parent: IntArray
    leaf_parent: IntArray

    @classmethod
    def from_reachability(cls, reachability: FloatArray) -> MergeTree:
        """Build the tree of at least two points."""
        n = len(reachability)
        height, start, stop = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
        parent, leaf_parent = np.empty(n, np.int64), np.empty(n, np.int64)
        nodes = merge_tree.merge_intervals(reachability, height, start, stop, parent, leaf_parent)
        return cls(height[:nodes], start[:nodes], stop[:nodes], parent[:nodes], leaf_parent)

    @property
    def size(self) -> IntArray:
        """Number of points below each node."""
        return self.stop - self.start

    def ends(self, smallest: int) -> FloatArray:
        """Where each node, followed down as a branch of at least so many points, splits or dissolves."""
        ends = np.empty(len(self.height))
        condense.chain_ends(self.height, self.start, self.stop, self.parent, smallest, ends)
        return ends

    @property
    def n_points(self) -> int:
        """Number of leaves."""
        return len(self.leaf_parent)

    def find_node(self, start: int, stop: int) -> int | None:
        """The node that owns these positions and no others, if there is one."""
        found = np.flatnonzero((self.start == start) & (self.stop == stop))
        return int(found[0]) if len(found) else None


@dataclass(frozen=True)
class BranchTree:
    """The condensed tree: only splits into branches of at least `smallest` points make new branches.

    Branches come parents first, branch 0 being everything. `point_branch` and `leaving` go by position in the order:
    the branch each point falls off, and the distance at which.
    """

    parent: IntArray
    birth: FloatArray
    node: IntArray
    point_branch: IntArray
    leaving: FloatArray

    @classmethod
    def from_merges(cls, merges: MergeTree, smallest: int) -> BranchTree:
        """Condense a merge tree."""
        room = len(merges.height) + 1
        parent, node, birth = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
        point_branch, leaving = np.empty(merges.n_points, np.int64), np.empty(merges.n_points)
        count = condense.branch_candidates(
            merges.height, merges.start, merges.stop, merges.parent, merges.leaf_parent, smallest,
            parent, birth, node, point_branch, leaving,
        )  # fmt: skip
        return cls(parent[:count], birth[:count], node[:count], point_branch, leaving)

    @cached_property
    def deepest(self) -> FloatArray:
        """The distance at which the last point of each branch leaves it."""
        deepest = np.empty(len(self.parent))
        condense.deepest_leaving(self.parent, self.point_branch, self.leaving, deepest)
        return deepest


@dataclass(frozen=True)
class StructureTree:
    """Candidate clusters and how stable each is; candidates come parents first, candidate 0 being the root.

    Attributes
    ----------
    selection : str
        The rule that made the candidates.
    smallest : int
        Fewest points of a branch that counts.
    parent : ndarray of shape (n_candidates,)
        −1 for the root.
    size : ndarray of shape (n_candidates,)
        Points that each candidate owns.
    birth : ndarray of shape (n_candidates,)
        Distance at which a candidate's points join others; infinity where they are all points.
    death : ndarray of shape (n_candidates,)
        Distance at which its main branch splits or dissolves.
    stability : ndarray of shape (n_candidates,)
        By the rule; 0 for the root.
    node : ndarray of shape (n_candidates,)
        The node of `merges` whose points it owns.
    order : ndarray of shape (n_samples,)
        The rows in the order of the tree.
    """

    selection: str
    smallest: int
    parent: IntArray
    size: IntArray
    birth: FloatArray
    death: FloatArray
    stability: FloatArray
    node: IntArray
    order: IntArray
    merges: MergeTree
    branches: BranchTree

    @classmethod
    def from_dc_tree(
        cls, tree: DCTree, selection: str = "structure", min_points: int = 5, min_cluster_size: int | None = None
    ) -> StructureTree:
        """Find the candidates of a tree of at least two points.

        Parameters
        ----------
        tree : DCTree
        selection : {"structure", "branches", "information"}, default="structure"
        min_points : int, default=5
        min_cluster_size : int, optional
            Fewest points of a branch. If None: `min_points` for "structure", twice that for "branches", and the
            larger of twice that and half a percent of the points for "information".
        """
        check_choice("selection", selection, SELECTIONS, "StructureTree")
        check_parameter("min_cluster_size", min_cluster_size, Whole(2, optional=True), "StructureTree")
        if tree.n_points < 2:
            raise ValueError("A structure tree needs a tree of at least two points. Got one of a single point instead.")
        smallest = min_cluster_size or smallest_branch(selection, min_points, tree.n_points)
        check_parameter("min_points", smallest, Whole(2), "StructureTree")
        merges = MergeTree.from_reachability(tree.reachability)
        branches = BranchTree.from_merges(merges, smallest)
        if selection == "structure":
            parent, node, stability = _structure_candidates(merges, smallest)
        else:
            parent, node = branches.parent, branches.node
            stability = _branch_stability(merges, branches, selection, _floor(merges, selection))
        ends = merges.ends(smallest)
        parting = np.append(merges.height, np.inf)  # the root's parent −1 reads the infinity at the end
        return cls(
            selection, smallest, parent, merges.size[node], parting[merges.parent[node]], ends[node], stability, node,
            tree.order, merges, branches,
        )  # fmt: skip

    @cached_property
    def floor(self) -> float:
        """The distance that points which coincide count as."""
        return _floor(self.merges, self.selection)

    @cached_property
    def ends(self) -> FloatArray:
        """Where each node of `merges` splits or dissolves: the death of what owns its points, candidate or not."""
        return self.merges.ends(self.smallest)

    @property
    def n_candidates(self) -> int:
        """Number of candidates, the root included."""
        return len(self.parent)

    @cached_property
    def n_leaves(self) -> IntArray:
        """Number of childless candidates below each candidate, itself included."""
        leaves = np.empty(self.n_candidates, np.int64)
        condense.count_leaves(self.parent, leaves)
        return leaves

    @cached_property
    def fall(self) -> FloatArray:
        """How far the logarithm of distance falls from the birth of a candidate to where a row leaves, on average."""
        floor, start, stop = self.floor, self.merges.start[self.node], self.merges.stop[self.node]
        leaving = np.concatenate([[0.0], np.cumsum(np.log(np.maximum(self.branches.leaving, floor)))])
        fall: FloatArray = np.log(np.maximum(self.birth, floor)) - (leaving[stop] - leaving[start]) / (stop - start)
        return fall

    def leaving_distances(self) -> FloatArray:
        """The distance at which each row falls off its branch, by row; of rows that coincide, the floor."""
        leaving = np.empty(len(self.order))
        leaving[self.order] = np.maximum(self.branches.leaving, self.floor)
        return leaving

    def rows(self, candidate: int) -> IntArray:
        """The rows that a candidate owns."""
        node = self.node[candidate]
        return self.order[self.merges.start[node] : self.merges.stop[node]]


def smallest_branch(selection: str, min_points: int, n_points: int) -> int:
    """Fewest points of a branch by default."""
    if selection == "structure":
        return min_points
    if selection == "branches":
        return 2 * min_points
    return max(2 * min_points, int(np.ceil(0.005 * n_points)))


def _floor(merges: MergeTree, selection: str) -> float:
    """The distance that points which coincide count as: far below that of the closest distinct points.

    For "information" that holds where they coincide in few places. Values are often rounded, and how many rows share a
    place then tells how coarsely, while clusters are groups of places. So these rows count as close as the closest
    distinct ones or, if most rows are of that kind, as places of them are to the next: what is finer is not told.
    """
    positive = merges.height[merges.height > 0]
    if not len(positive):
        return 1.0
    places = np.flatnonzero(merges.height == 0)
    if selection != "information" or len(places) < FEW_PLACES:
        return float(positive.min()) * COINCIDENCE
    if 2 * merges.size[places].sum() < merges.n_points:
        return float(positive.min())
    return float(np.quantile(merges.height[merges.parent[places]], MOST_PLACES))


def _structure_candidates(merges: MergeTree, smallest: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Parents, nodes and stabilities of the paper's structure tree; the root alone if it has no node."""
    nodes = len(merges.height)
    parent, node, height = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes)
    count = condense.structure_candidates(
        merges.height, merges.start, merges.stop, merges.parent, smallest, parent, height, node
    )
    if count == 0:
        return np.array([-1]), np.array([nodes - 1]), np.zeros(1)
    # The kernel makes children first; turned round, parents come first and the last node made is the root.
    parent, node, height = parent[count - 1 :: -1], node[count - 1 :: -1].copy(), height[count - 1 :: -1].copy()
    parent = np.where(parent < 0, -1, count - 1 - parent)
    stability = np.empty(count)
    condense.structure_stability(parent, height, merges.size[node], stability)
    return parent, node, stability


def _branch_stability(merges: MergeTree, branches: BranchTree, selection: str, floor: float) -> FloatArray:
    measure = condense.INVERSE if selection == "branches" else condense.INFORMATION
    stability = np.empty(len(branches.parent))
    condense.branch_stability(
        branches.parent, branches.birth, merges.size[branches.node], branches.point_branch, branches.leaving,
        floor, measure, stability,
    )  # fmt: skip
    return stability
