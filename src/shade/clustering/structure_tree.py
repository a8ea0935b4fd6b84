"""Candidate clusters of a density tree, by one of three rules.

"structure" is the rule of the paper, "branches" that of HDBSCAN. With "information" the candidates are the branches
that pass the test of their split (split_test.py).

A candidate has the points below one node of the merge tree. In this tree, merges at the same distance are one node with
several children. So nothing here depends on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shade._base.arrays import FloatArray, IntArray
from shade._base.validation import Whole, check_choice, check_parameter
from shade._kernels import condense, merge_tree, split_test
from shade.clustering.rule import default_size
from shade.clustering.split_test import SplitTest
from shade.clustering.tree_export import TreeExport
from shade.density.dc_tree import DCTree

# Points that coincide are infinitely dense. Their distance is replaced by one ten octaves below that of the closest
# distinct points: dense enough to be clusters, finite, and independent of the unit. See `_floor` for "information".
COINCIDENCE = 2.0**-10

# How far the density 1 / d rises in a branch is averaged over square roots. With the density itself, a loose cluster is
# divided into its denser places; with higher roots, two clusters that are near each other become one
# (docs/experiments.md).
ROOT = 2.0

PRECISION = 2.0**-12  # with which the limits of the test are lowered

SELECTIONS = ("structure", "branches", "information")


@dataclass(frozen=True)
class MergeTree:
    """The merge tree of a reachability plot. Nodes may have several children; children come before parents.

    A node has the positions start … stop − 1 of the order.
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
        """Return where each node, followed down as a branch of at least `smallest` points, splits or falls apart."""
        ends = np.empty(len(self.height))
        condense.chain_ends(self.height, self.start, self.stop, self.parent, smallest, ends)
        return ends

    @property
    def n_points(self) -> int:
        """Number of leaves."""
        return len(self.leaf_parent)

    def covering_node(self, start: int, stop: int) -> int:
        """Return the smallest node that has these positions."""
        found = np.flatnonzero((self.start <= start) & (self.stop >= stop))
        return int(found[np.argmin(self.size[found])])


@dataclass(frozen=True)
class BranchTree:
    """The condensed tree: only splits into large or real branches make new branches; smaller parts just leave.

    Parents come before children; branch 0 has all points. `split` is the distance at which the parent of a branch
    splits: the birth of the branch, or more if the branch was handed up (split_test.py of the kernels). `point_branch`
    and `leaving` are by position in the order: the branch that each point leaves last, and the distance at which it
    does.
    """

    parent: IntArray
    birth: FloatArray
    split: FloatArray
    node: IntArray
    point_branch: IntArray
    leaving: FloatArray

    @classmethod
    def from_sizes(cls, merges: MergeTree, smallest: int) -> BranchTree:
        """Build the tree of branches with at least `smallest` points."""
        tree = cls._empty(merges)
        count = condense.branch_candidates(
            merges.height, merges.start, merges.stop, merges.parent, merges.leaf_parent, smallest,
            tree.parent, tree.birth, tree.node, tree.point_branch, tree.leaving,
        )  # fmt: skip
        return _cut(replace(tree, split=tree.birth), count)

    @classmethod
    def from_test(cls, merges: MergeTree, test: SplitTest, floor: float) -> BranchTree:
        """Build the tree of real branches. The test is repeated while the number of real branches grows."""
        tree, n_real = cls._empty(merges), 1
        real, heir = np.empty(len(merges.height), np.bool_), np.empty(len(merges.height), np.int64)
        while True:
            slope = test.slope_among(n_real)
            split_test.find_real_branches(
                merges.height, merges.start, merges.stop, merges.parent, test.smallest, floor, slope, test.level,
                real, heir,
            )  # fmt: skip
            count = split_test.number_branches(
                merges.height, merges.parent, merges.leaf_parent, real, heir,
                tree.parent, tree.birth, tree.split, tree.node, tree.point_branch, tree.leaving,
            )  # fmt: skip
            n_leaves = count - len(np.unique(tree.parent[1:count]))
            if n_leaves <= n_real or test.slope_among(n_leaves) == slope:
                return _cut(tree, count)
            n_real = n_leaves

    @classmethod
    def _empty(cls, merges: MergeTree) -> BranchTree:
        room, n = len(merges.height) + 1, merges.n_points
        return cls(
            np.empty(room, np.int64), np.empty(room), np.empty(room), np.empty(room, np.int64),
            np.empty(n, np.int64), np.empty(n),
        )  # fmt: skip

    @cached_property
    def deepest(self) -> FloatArray:
        """The distance at which the last point of each branch leaves it."""
        deepest = np.empty(len(self.parent))
        condense.deepest_leaving(self.parent, self.point_branch, self.leaving, deepest)
        return deepest


def _cut(tree: BranchTree, count: int) -> BranchTree:
    """Keep the first `count` branches of the arrays."""
    return replace(tree, **{name: getattr(tree, name)[:count] for name in ("parent", "birth", "split", "node")})


@dataclass(frozen=True)
class StructureTree(TreeExport):
    """Candidate clusters and their stability. Parents come before children; candidate 0 is the root.

    Attributes
    ----------
    selection : str
        The rule that made the candidates.
    test : SplitTest
        The test that a branch must pass. The rules other than "information" only use its size.
    n_counted : int
        Number of points that are not background. The information of a candidate is relative to it.
    parent : ndarray of shape (n_candidates,)
        −1 for the root.
    size : ndarray of shape (n_candidates,)
        Number of points of each candidate.
    birth : ndarray of shape (n_candidates,)
        Distance at which the candidate meets others; infinity if it has all points.
    death : ndarray of shape (n_candidates,)
        Distance at which its main branch splits or falls apart.
    stability : ndarray of shape (n_candidates,)
        Stability by the rule; 0 for the root.
    node : ndarray of shape (n_candidates,)
        The node of `merges` that has its points.
    order : ndarray of shape (n_samples,)
        The rows in the order of the tree.
    """

    selection: str
    test: SplitTest
    n_counted: int
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
    def from_dc_tree(cls, tree: DCTree, selection: str, test: SplitTest, n_counted: int | None = None) -> StructureTree:
        """Find the candidates of a tree of at least two points.

        Parameters
        ----------
        tree : DCTree
        selection : {"structure", "branches", "information"}
        test : SplitTest
            The result of `make_test` for the rule.
        n_counted : int, optional
            Number of points that are not background; all points if None.
        """
        check_choice("selection", selection, SELECTIONS, "StructureTree")
        check_parameter("smallest", test.smallest, Whole(2), "SplitTest")
        if tree.n_points < 2:
            raise ValueError("A structure tree needs a tree of at least two points. Got one of a single point instead.")
        n_counted = n_counted or tree.n_points
        merges = MergeTree.from_reachability(tree.reachability)
        floor = _floor(merges, selection, test.smallest)
        if selection == "information":
            branches = BranchTree.from_test(merges, test, floor)
        else:
            branches = BranchTree.from_sizes(merges, test.smallest)
        if selection == "structure":
            parent, node, stability = _structure_candidates(merges, test.smallest)
            death = merges.ends(test.smallest)[node]
        else:
            parent, node = branches.parent, branches.node
            stability = _branch_stability(merges, branches, selection, floor, n_counted)
            death = _ends_of_branches(branches)
        parting = np.append(merges.height, np.inf)  # the parent −1 of the root reads the infinity at the end
        return cls(
            selection, test, n_counted, parent, merges.size[node], parting[merges.parent[node]], death, stability, node,
            tree.order, merges, branches,
        )  # fmt: skip

    def with_branches(self, tree: DCTree, number: int) -> StructureTree:
        """Lower the limits of the test until there are `number` childless candidates, if that is possible.

        So the splits with the most evidence are used first.
        """
        if number <= self.n_leaves[0] or self.test == SplitTest.none(self.test.smallest):
            return self
        low, high = 0.0, 1.0
        found = StructureTree.from_dc_tree(tree, self.selection, self.test.times(0.0), self.n_counted)
        while found.n_leaves[0] >= number and high - low > PRECISION:
            middle = (low + high) / 2
            lower = StructureTree.from_dc_tree(tree, self.selection, self.test.times(middle), self.n_counted)
            if lower.n_leaves[0] >= number:
                low, found = middle, lower
            else:
                high = middle
        return found

    def evidence(self, candidate: int) -> float:
        """Return the evidence of a childless candidate: how much denser it is than the place where it meets another."""
        own = self.branches.point_branch == candidate
        distance = np.maximum(self.branches.leaving[own], self.floor)
        return float(np.mean(np.log(self.birth[candidate] / distance)))

    def strongest_split(self, tree: DCTree) -> tuple[float, float] | None:
        """The split with the most evidence, real or not: the evidence of its weaker side, and the limit of that.

        None if no two branches have enough rows.
        """
        divided = self.with_branches(tree, 2)
        leaves = np.setdiff1d(np.arange(1, divided.n_candidates), divided.parent)
        figures = [(divided.evidence(leaf), self.test.limit(int(divided.size[leaf]))) for leaf in leaves]
        return min(figures, key=lambda pair: pair[0] / max(pair[1], np.finfo(float).tiny), default=None)

    @cached_property
    def floor(self) -> float:
        """The distance that is used for points that coincide."""
        return _floor(self.merges, self.selection, self.test.smallest)

    @cached_property
    def ends(self) -> FloatArray:
        """Where each node of `merges` splits or falls apart by size alone: their death as clusters."""
        return self.merges.ends(self.test.smallest)

    @cached_property
    def size_branches(self) -> BranchTree:
        """The branches by size alone, for every rule."""
        if self.selection != "information":
            return self.branches
        return BranchTree.from_sizes(self.merges, self.test.smallest)

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

    def leaving_distances(self) -> FloatArray:
        """Return the distance at which each row leaves its branch, by row; for rows that coincide, the floor."""
        leaving = np.empty(len(self.order))
        leaving[self.order] = np.maximum(self.branches.leaving, self.floor)
        return leaving

    def rows(self, candidate: int) -> IntArray:
        """Return the rows of a candidate."""
        node = self.node[candidate]
        return self.order[self.merges.start[node] : self.merges.stop[node]]


def make_test(
    selection: str,
    min_samples: int,
    min_cluster_size: int | None,
    n_counted: int,
    dimension: float,
    *,
    settled: bool = False,
) -> SplitTest:
    """Build the test of a rule for points that fill some dimensions. Only "information" tests more than sizes."""
    smallest = min_cluster_size or default_size(selection, min_samples)
    if selection == "information":
        return SplitTest.for_points(n_counted, dimension, smallest, settled=settled)
    return SplitTest.none(smallest)


def _floor(merges: MergeTree, selection: str, smallest: int) -> float:
    """Return the distance that is used for points that coincide: far below that of the closest distinct points.

    With "information" this holds if they coincide at fewer places than a cluster has rows: then each place may be a
    cluster. Otherwise the values are rounded, and clusters are groups of places. How many rows share a place depends on
    the rounding. Then the distance is that of the closest distinct points or, if most rows share a place, the median
    distance from such a place to the next one.
    """
    positive = merges.height[merges.height > 0]
    if not len(positive):
        return 1.0
    places = np.flatnonzero(merges.height == 0)
    if selection != "information" or len(places) < smallest:
        return float(positive.min()) * COINCIDENCE
    if 2 * merges.size[places].sum() < merges.n_points:
        return float(positive.min())
    return float(np.median(merges.height[merges.parent[places]]))


def _structure_candidates(merges: MergeTree, smallest: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return parents, nodes and stabilities of the paper's structure tree; only the root if it has no node."""
    nodes = len(merges.height)
    parent, node, height = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes)
    count = condense.structure_candidates(
        merges.height, merges.start, merges.stop, merges.parent, smallest, parent, height, node
    )
    if count == 0:
        return np.array([-1]), np.array([nodes - 1]), np.zeros(1)
    # The kernel makes children first. In reversed order, parents come first, and the last node made is the root.
    parent, node, height = parent[count - 1 :: -1], node[count - 1 :: -1].copy(), height[count - 1 :: -1].copy()
    parent = np.where(parent < 0, -1, count - 1 - parent)
    stability = np.empty(count)
    condense.structure_stability(parent, height, merges.size[node], stability)
    return parent, node, stability


def _branch_stability(
    merges: MergeTree, branches: BranchTree, selection: str, floor: float, n_counted: int
) -> FloatArray:
    """Return HDBSCAN's excess of mass, or the information: −log(fraction of rows) · rows · rise of the density."""
    root, unit = (1.0, 1.0) if selection == "branches" else (ROOT, max(float(merges.height[-1]), floor))
    birth, split, leaving = (
        (unit / np.maximum(distance, floor)) ** (1.0 / root)
        for distance in (branches.birth, branches.split, branches.leaving)
    )
    mass, size = np.empty(len(branches.parent)), merges.size[branches.node]
    condense.branch_mass(branches.parent, birth, split, size, branches.point_branch, leaving, mass)
    if selection == "branches":
        return mass
    information: FloatArray = np.log(n_counted / size) * size * (mass / size) ** ROOT
    information[0] = 0.0
    return information


def _ends_of_branches(branches: BranchTree) -> FloatArray:
    """Return where each branch splits, or where its last points leave it."""
    ends = np.full(len(branches.parent), np.inf)
    np.minimum.at(ends, branches.point_branch, branches.leaving)
    split = np.full(len(ends), -np.inf)
    np.maximum.at(split, branches.parent[1:], branches.split[1:])
    return np.where(split >= 0, split, ends)
