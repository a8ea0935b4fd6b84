"""The test of every split: how strict it is, and that it finds the same branches as a slow version."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from shade import DCTreeClustering
from shade._base.errors import ShadeWarning
from shade.clustering import SplitTest, StructureTree, select_clusters
from shade.clustering.split_test import MOST_DIMENSIONS, SETTLED, VALLEY_ON_A_LINE
from shade.clustering.structure_tree import BranchTree
from shade.density import DCTree, SpanningTree
from tests import oracles
from tests.clustering.trees import read_tree
from tests.oracles import Candidate, draw_groups, draw_points, multiway_tree, partition_of, partition_of_candidates

TESTS = [(0.0, 0.0), (0.3, 0.0), (0.9, 0.0), (0.0, 0.3), (0.5, 0.1), (2.0, 0.4)]


# How strict it is


def test_more_points_need_more_evidence() -> None:
    for dimension in (1.0, 2.0, 5.5, 30.0):
        slopes = [SplitTest.for_points(n, dimension, 10).slope for n in (2, 10, 100, 1000, 10_000, 1_000_000)]
        assert slopes == sorted(slopes)
        assert slopes[0] >= 0
        assert slopes[2] < slopes[3] < slopes[4] < slopes[5]


def test_more_dimensions_need_less_evidence_up_to_a_number_of_them() -> None:
    for n in (20, 300, 50_000):
        slopes = [SplitTest.for_points(n, dimension, 10).slope for dimension in (1.0, 1.5, 2.0, 4.0, MOST_DIMENSIONS)]
        assert slopes == sorted(slopes, reverse=True)
        assert len(set(slopes)) == len(slopes)
        assert SplitTest.for_points(n, 500.0, 10) == SplitTest.for_points(n, MOST_DIMENSIONS, 10)


def test_only_on_lines_large_branches_need_a_valley_of_some_depth() -> None:
    levels = [SplitTest.for_points(300, dimension, 10).level for dimension in (1.0, 1.49, 1.51, 2.0, 9.0)]
    assert levels == [VALLEY_ON_A_LINE, VALLEY_ON_A_LINE, 0.0, 0.0, 0.0]


def test_no_test_asks_for_a_size_alone() -> None:
    assert SplitTest.none(7) == SplitTest(0.0, 0.0, 7)
    assert SplitTest.for_points(300, 2.0, 7).smallest == 7


# By hand


def chain(*steps: float) -> DCTree:
    """Rows in a row, so far apart."""
    n = len(steps) + 1
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    return DCTree.from_spanning_tree(SpanningTree(edges, np.array(steps)))


def candidates_of(tree: DCTree, slope: float, level: float = 0.0, smallest: int = 3) -> StructureTree:
    return StructureTree.from_dc_tree(tree, "information", SplitTest(slope, level, smallest))


def described(tree: StructureTree) -> dict[frozenset[int], tuple[float, float]]:
    """Birth and death of each candidate."""
    return {
        frozenset(tree.rows(c).tolist()): (float(tree.birth[c]), float(tree.death[c])) for c in range(tree.n_candidates)
    }


def test_a_branch_is_real_from_the_very_threshold_on() -> None:
    # {0 1 2 3} joins at 1, {4 5 6 7} at 2, both at 4: they stand out by log 4 and by log 2.
    tree = chain(1.0, 1.0, 1.0, 4.0, 2.0, 2.0, 2.0)
    both = {frozenset(range(4)): (4.0, 1.0), frozenset(range(4, 8)): (4.0, 2.0)}
    least = np.log(2.0)
    everything = frozenset(range(8))
    assert described(candidates_of(tree, 0.0, least * (1 - 1e-9))) == {everything: (np.inf, 4.0), **both}
    assert described(candidates_of(tree, 2 * least * (1 - 1e-9))) == {everything: (np.inf, 4.0), **both}  # √4 = 2
    # The second dissolves then, and the first goes on: everything is as dense as its densest rows, 1.
    assert described(candidates_of(tree, 0.0, least * (1 + 1e-9))) == {everything: (np.inf, 1.0)}
    assert described(candidates_of(tree, 2 * least * (1 + 1e-9))) == {everything: (np.inf, 1.0)}


def test_a_branch_that_dissolves_joins_at_the_height_where_it_meets() -> None:
    tree = candidates_of(chain(1.0, 1.0, 1.0, 4.0, 2.0, 2.0, 2.0), 10.0)
    assert tree.leaving_distances().tolist() == [1.0] * 4 + [4.0] * 4


def test_branches_within_one_that_is_not_real_are_handed_up() -> None:
    # A and B join at 8, C at 9: {A B} is hardly denser than where it meets C, so that three branches are side by side.
    tree = chain(1.0, 1.0, 8.0, 1.0, 1.0, 9.0, 1.0, 1.0)
    a, b, c = (frozenset(range(at, at + 3)) for at in (0, 3, 6))
    everything = frozenset(range(9))
    found = candidates_of(tree, 1.0)
    assert described(found) == {everything: (np.inf, 9.0), a: (8.0, 1.0), b: (8.0, 1.0), c: (9.0, 1.0)}
    assert found.parent.tolist() == [-1, 0, 0, 0]
    assert partition_of(select_clusters(found).labels) == {a, b, c}
    nested = candidates_of(tree, 0.0)
    assert described(nested)[a | b] == (9.0, 8.0)


def test_rows_of_branches_that_were_handed_up_count_from_where_the_branch_above_splits() -> None:
    # As before, and everything meets D at 90: {A B C} is born there and ends at 9, not at 8.
    tree = candidates_of(chain(1.0, 1.0, 8.0, 1.0, 1.0, 9.0, 1.0, 1.0, 90.0, 1.0, 1.0), 1.0)
    whole = next(c for c in range(tree.n_candidates) if tree.size[c] == 9)
    assert (tree.birth[whole], tree.death[whole]) == (90.0, 9.0)
    assert tree.stability[whole] == pytest.approx(np.log(12 / 9) * 9 * (np.sqrt(90.0 / 9.0) - 1.0) ** 2)


def test_a_component_is_no_branch_before_it_has_enough_rows() -> None:
    # Two pairs join at 3 and are a branch from there on, as dense as that.
    tree = candidates_of(chain(1.0, 3.0, 1.0, 9.0, 2.0, 2.0, 2.0), 0.0, smallest=4)
    assert described(tree)[frozenset(range(4))] == (9.0, 3.0)


# The slow version


def check(X: np.ndarray, min_samples: int, smallest: int, what: str) -> int:
    """Compares all tests; returns the number of candidates."""
    tree = DCTree.from_points(X, min_samples, n_jobs=1)
    root = multiway_tree(oracles.minimax_distances(oracles.mutual_reachability(X, min_samples)))
    return sum(
        check_branches(
            candidates_of(tree, slope, level, smallest),
            oracles.tested_tree(root, smallest, slope, level),
            f"{what} {slope=} {level=}",
        )
        for slope, level in TESTS
    )


def check_branches(found: StructureTree, top: Candidate, what: str) -> int:
    expected = {c.points: c for c in top.walk()}
    parents = {child.points: c.points for c in top.walk() for child in c.children}
    rows = [frozenset(found.rows(c).tolist()) for c in range(found.n_candidates)]
    assert len(rows) == len(expected) and set(rows) == set(expected), what
    for c in range(1, len(rows)):
        slow = expected[rows[c]]
        assert found.size[c] == len(slow.points), what
        assert found.birth[c] == slow.birth, what
        assert rows[found.parent[c]] == parents[rows[c]], what
        assert found.stability[c] == pytest.approx(slow.stability, rel=1e-9, abs=1e-12), what
    chosen = partition_of_candidates(oracles.select(top))
    assert partition_of(select_clusters(found).labels) == chosen, what
    return len(rows)


@pytest.mark.parametrize("part", range(4))
def test_continuous_rows_have_the_branches_of_the_slow_version(part: int) -> None:
    candidates = 0
    for seed in range(25 * part, 25 * part + 25):
        X = draw_groups(seed, 30 + seed % 60, 1 + seed % 3)
        candidates += check(X, 2 + seed % 4, 2 + seed % 5, f"{seed=}")
    assert candidates >= 25 * len(TESTS) * 2


def test_integers_have_the_branches_of_the_slow_version() -> None:
    for seed in range(80):
        X = np.round(draw_groups(seed, 30 + seed % 50, 1 + seed % 2))
        check(X, 2 + seed % 4, 2 + seed % 3, f"{seed=}")


def test_rows_that_coincide_have_the_branches_of_the_slow_version() -> None:
    for seed in range(80):
        X = draw_groups(seed, 30 + seed % 50, 2)
        X = X[np.random.default_rng(seed).integers(0, len(X) // (2 + seed % 2), len(X))]
        check(X, 2 + seed % 3, 2 + seed % 3, f"{seed=}")


def test_rows_of_any_kind_have_the_branches_of_the_slow_version() -> None:
    for seed in range(110):
        X = draw_points(seed, smallest=2, largest=60)
        check(X, 1 + seed % min(5, len(X)), 2 + seed % 4, f"{seed=}")


# What holds for any rows


def test_without_a_test_the_branches_are_those_of_their_sizes() -> None:
    for seed in range(60):
        X = draw_groups(seed, 80, 2) if seed % 2 else draw_points(seed, smallest=5, largest=60)
        tree = read_tree(DCTree.from_points(X, 3, n_jobs=1), "branches", 3)
        tested = BranchTree.from_test(tree.merges, tree.test, tree.floor)
        by_branch = {int(v): c for c, v in enumerate(tested.node)}
        again = [by_branch[int(v)] for v in tree.branches.node]
        assert len(tested.node) == tree.n_candidates, seed
        np.testing.assert_array_equal(tested.birth[again], tree.branches.birth, err_msg=f"{seed=}")
        np.testing.assert_array_equal(tested.split[again], tree.branches.birth, err_msg=f"{seed=}")
        np.testing.assert_array_equal(tested.leaving, tree.branches.leaving, err_msg=f"{seed=}")
        np.testing.assert_array_equal(tested.point_branch, np.array(again)[tree.branches.point_branch])


@pytest.mark.parametrize(("slope", "level"), [(1e9, 0.0), (0.0, 1e3)])
def test_where_nothing_can_be_real_everything_is_one_cluster(slope: float, level: float) -> None:
    for seed in range(60):
        X = draw_groups(seed, 60, 2) if seed % 2 else draw_points(seed, smallest=2, largest=50)
        min_samples = min(3, len(X))
        tree = candidates_of(DCTree.from_points(X, min_samples, n_jobs=1), slope, level, 2)
        assert tree.n_candidates == 1, seed
        assert select_clusters(tree).labels.tolist() == [0] * len(X), seed


def test_the_loosest_test_finds_the_most_childless_branches_and_the_strictest_one() -> None:
    for seed in range(40):
        tree = DCTree.from_points(draw_groups(seed, 90, 2), 3, n_jobs=1)
        leaves = [int(candidates_of(tree, slope).n_leaves[0]) for slope in (0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 50.0)]
        assert leaves[0] == max(leaves) and leaves[-1] == 1, seed


# Chance


def draw_cloud(kind: str, n: int, columns: int, seed: int) -> np.ndarray:
    random = np.random.default_rng([11, seed])
    if kind == "uniform":
        return random.uniform(size=(n, columns))
    X = random.normal(size=(n, columns))
    if kind == "t3":
        X /= np.sqrt(random.chisquare(3, size=(n, 1)) / 3)
    return X


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("kind", ["normal", "uniform", "t3"])
def test_samples_of_one_cloud_are_one_cluster(kind: str, columns: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShadeWarning)
        found = [DCTreeClustering(n_jobs=1).fit(draw_cloud(kind, 300, columns, seed)).n_clusters_ for seed in range(10)]
    assert found.count(1) >= 8, found


def test_a_settled_embedding_must_stand_out_farther() -> None:
    plain, settled = (SplitTest.for_points(1000, 5.0, 10, settled=settled) for settled in (False, True))
    assert settled.slope == pytest.approx(SETTLED * plain.slope)
    assert settled.slope_among(7) == pytest.approx(SETTLED * plain.slope_among(7))
    assert (settled.level, settled.smallest) == (plain.level, plain.smallest)
