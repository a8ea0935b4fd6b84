"""Candidate clusters: the paper's worked example, the authors' rule, and slow versions of all three rules."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN

from shade.clustering import SplitTest, StructureTree, select_clusters
from shade.clustering.structure_tree import PRECISION, SELECTIONS, MergeTree, make_test
from shade.density import DCTree, SpanningTree
from tests import oracles
from tests.clustering.trees import read_tree
from tests.oracles import (
    Candidate,
    Node,
    authors_structure_tree,
    binary_tree,
    candidates_for,
    draw_groups,
    draw_points,
    draw_spanning_tree,
    multiway_tree,
    partition_of,
    partition_of_candidates,
)


def dc_tree(edges: np.ndarray, weights: np.ndarray) -> DCTree:
    return DCTree.from_spanning_tree(SpanningTree(edges, weights))


def multiway_tree_of(X: np.ndarray, min_samples: int) -> Node:
    return multiway_tree(oracles.minimax_distances(oracles.mutual_reachability(X, min_samples)))


def check_candidates(tree: StructureTree, top: Candidate, what: str) -> None:
    """The same candidates with the same birth and stability under the same parents, and the same choice."""
    expected = {c.points: c for c in top.walk()}
    rows = [frozenset(tree.rows(c).tolist()) for c in range(tree.n_candidates)]
    assert set(rows) == set(expected), what
    assert tree.n_candidates == len(expected), what
    assert rows[0] == top.points, what
    assert tree.parent[0] == -1, what
    parents = {child.points: c.points for c in top.walk() for child in c.children}
    for c in range(tree.n_candidates):
        assert tree.size[c] == len(rows[c]), what
        np.testing.assert_allclose(tree.stability[c], expected[rows[c]].stability, rtol=1e-9, atol=1e-12, err_msg=what)
        if tree.selection != "structure":
            assert tree.birth[c] == expected[rows[c]].birth, what
        if c > 0:
            assert tree.parent[c] < c, what
            assert rows[tree.parent[c]] == parents[rows[c]], what
        leaves = sum(not below.children for below in expected[rows[c]].walk())
        assert tree.n_leaves[c] == leaves, what
    chosen = oracles.select(top)
    clustering = select_clusters(tree)
    assert partition_of(clustering.labels) == partition_of_candidates(chosen), what
    for label in range(clustering.n_clusters):
        own = expected[frozenset(np.flatnonzero(clustering.labels == label).tolist())]
        np.testing.assert_allclose(clustering.stability[label], own.stability, rtol=1e-9, atol=1e-12, err_msg=what)


# The worked example of the paper's appendix: l1 … l12 are the rows 0 … 11, mu = 3.

HEIGHTS = {
    "n_7": 1.0, "n_8": 1.1, "n_9": 1.2, "n_6": 1.3, "n_0": 1.5, "n_4": 2.0, "n_5": 2.1, "n_3": 2.2, "n_2": 3.0,
    "n_1": 4.0, "n_r": 5.0,
}  # fmt: skip
EDGES = {
    "n_r": (1, 2), "n_0": (0, 1), "n_1": (8, 9), "n_2": (5, 6), "n_4": (3, 4), "n_7": (2, 3), "n_8": (4, 5),
    "n_5": (7, 8), "n_9": (6, 7), "n_3": (9, 10), "n_6": (10, 11),
}  # fmt: skip


@pytest.fixture
def worked_example() -> DCTree:
    return dc_tree(np.array(list(EDGES.values())), np.array([HEIGHTS[name] for name in EDGES]))


def test_the_worked_example_is_the_tree_of_the_figure(worked_example: DCTree) -> None:
    merges = MergeTree.from_reachability(worked_example.reachability)
    below = {
        height: set(worked_example.order[start:stop].tolist())
        for height, start, stop in zip(merges.height.tolist(), merges.start, merges.stop, strict=True)
    }
    expected = {
        "n_0": {0, 1}, "n_7": {2, 3}, "n_8": {4, 5}, "n_9": {6, 7}, "n_6": {10, 11}, "n_4": {2, 3, 4, 5},
        "n_5": {6, 7, 8}, "n_3": {9, 10, 11}, "n_2": set(range(2, 9)), "n_1": set(range(2, 12)), "n_r": set(range(12)),
    }  # fmt: skip
    assert below == {HEIGHTS[name]: rows for name, rows in expected.items()}


def test_the_structure_tree_of_the_worked_example_is_one_node(worked_example: DCTree) -> None:
    # The figure marks n_1 and n_2. The rule as the authors run it gives less, by hand from the bottom up: n_4, n_5 and
    # n_3 have no two parts of 3 leaves, so nothing. n_2 has two big children without a node: a new node. n_1 has two
    # big children of which only n_2 has a node: that one goes up unchanged and n_1 is no node. n_r has one big child:
    # the node of n_2 goes up and now owns all 12 leaves. It is the root, so everything is one cluster.
    tree = read_tree(worked_example, "structure", min_samples=3)
    assert tree.n_candidates == 1
    assert tree.parent.tolist() == [-1]
    assert tree.size.tolist() == [12]
    assert tree.stability.tolist() == [0.0]
    assert sorted(tree.rows(0).tolist()) == list(range(12))
    assert select_clusters(tree).labels.tolist() == [0] * 12
    check_candidates(tree, authors_structure_tree(binary_tree(*_edges_and_weights()), 3), "worked example")


def test_the_branches_of_the_worked_example_are_those_of_both_splits(worked_example: DCTree) -> None:
    for selection in ("branches", "information"):
        tree = StructureTree.from_dc_tree(worked_example, selection, SplitTest.none(3))
        owned = {frozenset(tree.rows(c).tolist()): c for c in range(tree.n_candidates)}
        n_2, n_3, n_4, n_5 = (frozenset(r) for r in (range(2, 9), range(9, 12), range(2, 6), range(6, 9)))
        assert set(owned) == {frozenset(range(12)), n_2, n_3, n_4, n_5}
        below = [owned[rows] for rows in (n_2, n_3, n_4, n_5)]
        assert tree.birth[below].tolist() == [4.0, 4.0, 3.0, 3.0]
        assert tree.death[below].tolist() == [3.0, 2.2, 2.0, 2.1]
        if selection == "branches":
            # n_4 falls apart at 2.0 into two pairs, n_5 at 2.1 into a pair and a leaf, n_3 at 2.2, n_2 splits at 3.0.
            assert tree.stability[owned[n_4]] == pytest.approx(4 * (1 / 2.0 - 1 / 3.0))
            assert tree.stability[owned[n_5]] == pytest.approx(3 * (1 / 2.1 - 1 / 3.0))
            assert tree.stability[owned[n_2]] == pytest.approx(7 * (1 / 3.0 - 1 / 4.0))
        else:
            assert tree.stability[owned[n_3]] == pytest.approx(
                np.log(12 / 3) * 3 * (np.sqrt(5.0 / 2.2) - np.sqrt(5.0 / 4.0)) ** 2
            )
        assert partition_of(select_clusters(tree).labels) == {n_3, n_4, n_5}


def _edges_and_weights() -> tuple[np.ndarray, np.ndarray]:
    return np.array(list(EDGES.values())), np.array([HEIGHTS[name] for name in EDGES])


def test_two_pairs_of_groups_by_hand() -> None:
    # Four groups of two equal steps: {0 1 2}, {3 4 5} join at 3, {6 7 8}, {9 10 11} join at 4, all at 10; mu = 3.
    edges = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [6, 7], [7, 8], [9, 10], [10, 11], [2, 3], [8, 9], [5, 6]])
    weights = np.array([1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 4.0, 10.0])
    tree = read_tree(dc_tree(edges, weights), "structure", 3)
    assert tree.parent.tolist() == [-1, 0, 0]
    assert sorted(tree.stability.tolist()) == pytest.approx([0.0, 6 * (1 / 4 - 1 / 10), 6 * (1 / 3 - 1 / 10)])
    assert sorted(tree.birth.tolist()) == [10.0, 10.0, np.inf]
    assert select_clusters(tree).labels.tolist() == [0] * 6 + [1] * 6


def test_three_groups_that_join_at_one_height_are_one_split() -> None:
    edges = np.array([[0, 1], [2, 3], [4, 5], [1, 2], [3, 4]])
    weights = np.array([1.0, 2.0, 3.0, 9.0, 9.0])
    tree = read_tree(dc_tree(edges, weights), "branches", 1)
    assert tree.parent.tolist() == [-1, 0, 0, 0]
    assert partition_of(select_clusters(tree).labels) == {frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5})}


# Merge trees


def test_merges_at_one_height_are_one_node_with_several_children() -> None:
    for seed in range(150):
        X = draw_points(seed, smallest=2)
        min_samples = 1 + seed % min(len(X), 8)
        tree = DCTree.from_points(X, min_samples, n_jobs=1)
        merges = MergeTree.from_reachability(tree.reachability)
        root = multiway_tree_of(X, min_samples)
        inner = {v.points: v.height for v in root.walk() if v.children}
        rows = [frozenset(tree.order[a:b].tolist()) for a, b in zip(merges.start, merges.stop, strict=True)]
        assert dict(zip(rows, merges.height.tolist(), strict=True)) == inner, f"{seed=}"
        assert merges.size.tolist() == [len(r) for r in rows]
        assert merges.n_points == len(X)
        parents = {child.points: v.points for v in root.walk() for child in v.children}
        for v, u in enumerate(merges.parent.tolist()):
            assert (u > v and parents[rows[v]] == rows[u]) or (u == -1 and rows[v] == root.points), f"{seed=}"
        for position, u in enumerate(merges.leaf_parent.tolist()):
            assert parents[frozenset([int(tree.order[position])])] == rows[u], f"{seed=}"


# The structure rule


@pytest.mark.parametrize("part", range(4))
def test_the_structure_rule_is_the_authors_rule_on_random_trees_with_distinct_heights(part: int) -> None:
    for seed in range(150 * part, 150 * part + 150):
        n = 3 + seed % 90
        edges, weights = draw_spanning_tree(seed, n)
        assert len(set(weights.tolist())) == n - 1
        for mu in (2, 3, 4, 6):
            tree = read_tree(dc_tree(edges, weights), "structure", mu)
            check_candidates(tree, authors_structure_tree(binary_tree(edges, weights), mu), f"{seed=} {mu=}")


def test_the_structure_rule_is_the_authors_rule_on_data_with_distinct_heights() -> None:
    compared = 0
    for seed in range(300):
        X = draw_groups(seed, 20 + seed % 60, 1 + seed % 4)
        min_samples = (1, 2, 2, 3)[seed % 4]
        tree = DCTree.from_points(X, min_samples, n_jobs=1)
        if len(set(tree.height.tolist())) < len(X) - 1:
            continue
        compared += 1
        root = multiway_tree_of(X, min_samples)
        assert all(len(v.children) in (0, 2) for v in root.walk())
        for mu in (2, 3, 5):
            candidates = read_tree(tree, "structure", mu)
            check_candidates(candidates, authors_structure_tree(root, mu), f"{seed=} {mu=}")
    assert compared >= 200


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("ties", [False, True])
def test_each_rule_equals_its_slow_version_on_random_trees(selection: str, ties: bool) -> None:
    for seed in range(250):
        n = 2 + seed % 80
        edges, weights = draw_spanning_tree(seed, n, ties=ties)
        tree = dc_tree(edges, weights)
        root = multiway_tree(tree_distances(edges, weights))
        for test in (SplitTest(0.0, 0.0, 2), SplitTest(0.5, 0.0, 3, 0.3), SplitTest(0.3, 0.2, 5, 0.1)):
            candidates = StructureTree.from_dc_tree(tree, selection, test)
            check_candidates(candidates, slow_candidates(root, selection, test), f"{seed=} {test=}")


def slow_candidates(root: Node, selection: str, test: SplitTest) -> Candidate:
    return candidates_for(root, selection, **asdict(test))


def tree_distances(edges: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Largest edge on the path between any two points of a spanning tree."""
    n = len(weights) + 1
    matrix = np.zeros((n, n))
    group = {i: [i] for i in range(n)}
    for t in np.argsort(weights, kind="stable"):
        a, b = group[int(edges[t, 0])], group[int(edges[t, 1])]
        matrix[np.ix_(a, b)] = weights[t]
        matrix[np.ix_(b, a)] = weights[t]
        for i in (joined := a + b):
            group[i] = joined
    return matrix


@pytest.mark.parametrize("selection", SELECTIONS)
def test_each_rule_equals_its_slow_version_on_data_with_and_without_ties(selection: str) -> None:
    tied = 0
    for seed in range(250):
        X = draw_points(seed, smallest=2, largest=70) if seed % 2 else draw_groups(seed, 40 + seed % 50, 2)
        min_samples = 2 + seed % min(5, len(X) - 1)
        tree = DCTree.from_points(X, min_samples, n_jobs=1)
        root = multiway_tree_of(X, min_samples)
        tied += any(len(v.children) > 2 for v in root.walk())
        candidates = read_tree(tree, selection, min_samples, dimension=float(X.shape[1]))
        check_candidates(candidates, slow_candidates(root, selection, candidates.test), f"{seed=} {min_samples=}")
    assert tied >= 100


@pytest.mark.parametrize("selection", SELECTIONS)
def test_branches_of_a_single_point_are_refused(selection: str) -> None:
    tree = dc_tree(*draw_spanning_tree(0, 20))
    with pytest.raises(ValueError, match=r"'smallest' parameter of SplitTest must be an int in the range \[2, inf\)"):
        StructureTree.from_dc_tree(tree, selection, SplitTest.none(1))


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_tree_of_one_point_is_refused(selection: str) -> None:
    with pytest.raises(ValueError, match="needs a tree of at least two points"):
        StructureTree.from_dc_tree(DCTree.from_points([[1.0]], 1), selection, SplitTest.none(2))


# The branch rules


def ties_matter(root: Node, smallest: int) -> bool:
    """Whether two binary trees may differ in a split: several parts at one height, and enough beside the largest."""
    return any(
        len(v.children) > 2 and len(v.points) - max(len(child.points) for child in v.children) >= smallest
        for v in root.walk()
    )


def test_the_branches_rule_gives_the_labels_and_probabilities_of_scikit_learn() -> None:
    compared = 0
    for seed in range(220):
        n, mu = 40 + seed % 160, 1 + seed % 5
        X = draw_groups(seed, n, 1 + seed % 5)
        if ties_matter(multiway_tree_of(X, mu), 2 * mu):
            continue
        clustering = select_clusters(read_tree(DCTree.from_points(X, mu, n_jobs=1), "branches", mu))
        other = HDBSCAN(min_cluster_size=2 * mu, min_samples=mu, copy=True, allow_single_cluster=False).fit(X)
        if (other.labels_ < 0).all():  # no split at all: noise there, one cluster here
            assert clustering.n_clusters == 1, f"{seed=}"
            continue
        compared += 1
        assert partition_of(clustering.labels) == partition_of(other.labels_), f"{seed=} {mu=}"
        np.testing.assert_allclose(clustering.strengths, other.probabilities_, rtol=1e-6, err_msg=f"{seed=} {mu=}")
    assert compared >= 120


def test_births_and_deaths_are_where_a_branch_begins_and_ends() -> None:
    for seed in range(60):
        X = draw_groups(seed, 80, 2)
        for selection in SELECTIONS:
            tree = read_tree(DCTree.from_points(X, 3, n_jobs=1), selection, 3)
            assert (tree.death <= tree.birth).all()
            assert (tree.birth[1:] < np.inf).all()
            assert (tree.birth[1:] <= tree.merges.height[tree.node[tree.parent[1:]]]).all()


def test_the_smallest_branch_follows_the_rule() -> None:
    for n in (20, 100_000):
        assert make_test("structure", 5, None, n, 3.0) == SplitTest.none(5)
        assert make_test("branches", 5, None, n, 3.0) == SplitTest.none(10)
        assert make_test("information", 5, None, n, 3.0) == SplitTest.for_points(n, 3.0, 10)
        for selection in SELECTIONS:
            assert make_test(selection, 5, 7, n, 3.0).smallest == 7


@pytest.mark.parametrize("selection", SELECTIONS)
def test_equal_points_are_one_cluster(selection: str) -> None:
    for n in (2, 5, 40):
        clustering = select_clusters(read_tree(DCTree.from_points(np.ones((n, 2)), 2), selection, 2))
        assert clustering.labels.tolist() == [0] * n
        assert clustering.strengths.tolist() == [1.0] * n
        assert clustering.outlier_scores.tolist() == [0.0] * n


@pytest.mark.parametrize("selection", SELECTIONS)
def test_two_heaps_of_equal_points_are_two_clusters_or_one(selection: str) -> None:
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 30, axis=0)
    clustering = select_clusters(read_tree(DCTree.from_points(X, 3), selection, 3))
    # Neither heap has an inner split, so the paper's structure tree has one node only.
    expected = [0] * 60 if selection == "structure" else [0] * 30 + [1] * 30
    assert clustering.labels.tolist() == expected


def test_more_branches_are_found_by_lowering_the_limits_no_further_than_needed() -> None:
    compared = 0
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(300, 3))
        tree = DCTree.from_points(X)
        found = StructureTree.from_dc_tree(tree, "information", SplitTest.for_points(300, 3.0, 10))
        for number in range(int(found.n_leaves[0]) + 1, 5):
            more = found.with_branches(tree, number)
            factor = more.test.slope / found.test.slope
            if more.n_leaves[0] < number:
                assert factor == 0.0  # there are no more of this size
                continue
            assert 0.0 < factor < 1.0
            higher = StructureTree.from_dc_tree(tree, "information", found.test.times(factor + PRECISION))
            assert higher.n_leaves[0] < number
            for leaf in np.setdiff1d(np.arange(1, more.n_candidates), more.parent):
                assert more.evidence(leaf) >= more.test.limit(int(more.size[leaf]), int(more.n_leaves[0])) * (1 - 1e-9)
            compared += 1
    assert compared >= 20
    assert found.with_branches(tree, 1) is found
