"""Every algorithm finds a minimum spanning tree, on more than a thousand data sets (SHADE_SEEDS=5000 for more)."""

from __future__ import annotations

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from shade._base.ranks import ALONE, Ranks
from shade._kernels import kd_tree
from shade.density import SpanningTree, minimum_spanning_tree, search, spanning_tree
from tests import oracles
from tests.oracles import draw_groups, draw_scaled_points

ALGORITHMS = ("prim", "kd_tree", "blocks", "auto")
SEEDS = int(os.environ.get("SHADE_SEEDS", "1000"))  # small data sets; larger ones are a fraction of it


def check_tree(tree: SpanningTree, matrix: np.ndarray, expected: np.ndarray, what: str) -> None:
    """A minimum spanning tree spans, weighs what its edges weigh, and weighs the least."""
    assert tree.n_points == len(matrix), what
    assert tree.edges.shape == (len(matrix) - 1, 2), what
    assert tree.edges.dtype == np.int64, what
    assert oracles.spans(tree.edges, len(matrix)), what
    own = matrix[tree.edges[:, 0], tree.edges[:, 1]]
    np.testing.assert_allclose(tree.weights, own, rtol=1e-9, atol=0.0, err_msg=what)
    np.testing.assert_allclose(np.sort(tree.weights), expected, rtol=1e-9, atol=0.0, err_msg=what)


def test_the_tree_of_five_points_by_hand() -> None:
    tree = minimum_spanning_tree([[0.0], [1.0], [3.0], [7.0], [7.5]], 2)
    edges = {frozenset(edge): weight for edge, weight in zip(tree.edges.tolist(), tree.weights.tolist(), strict=True)}
    assert edges == {frozenset({0, 1}): 1.0, frozenset({1, 2}): 2.0, frozenset({2, 3}): 4.0, frozenset({3, 4}): 0.5}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_point_has_a_tree_without_edges(algorithm: str) -> None:
    tree = minimum_spanning_tree([[3.0, 4.0]], 1, algorithm=algorithm)
    assert tree.n_points == 1
    assert tree.edges.shape == (0, 2)
    assert tree.weights.shape == (0,)


@pytest.mark.parametrize("part", range(10))
def test_small_trees_weigh_what_brute_force_finds(part: int) -> None:
    for seed in range(part, SEEDS, 10):
        X = draw_scaled_points(seed)
        min_samples = 1 + (seed * 7) % len(X)
        matrix = oracles.mutual_reachability(X, min_samples)
        expected = oracles.prim_weights(matrix)
        for algorithm in ALGORITHMS:
            tree = minimum_spanning_tree(X, min_samples, algorithm=algorithm, n_jobs=1)
            check_tree(tree, matrix, expected, f"{seed=} {min_samples=} {algorithm=} shape={X.shape}")


def larger_points(seed: int) -> np.ndarray:
    rng = np.random.default_rng([9, seed])
    n, d = int(rng.integers(100, 600)), int(rng.integers(1, 9))
    X = rng.normal(size=(n, d)) if seed % 2 else draw_groups(seed, n, d)
    if seed % 5 == 1:
        X = np.round(X)
    if seed % 5 == 3:
        X = X[rng.integers(0, n // 3, n)]
    return X


@pytest.mark.parametrize("seed", range(SEEDS // 25))
def test_larger_trees_weigh_what_brute_force_finds_on_one_thread_and_on_two(seed: int) -> None:
    X = larger_points(seed)
    min_samples = (1, 2, 3, 5, 10, 70)[seed % 6]
    matrix = oracles.mutual_reachability(X, min_samples)
    expected = oracles.prim_weights(matrix)
    for algorithm in ALGORITHMS:
        for n_jobs in (1, 2):
            tree = minimum_spanning_tree(X, min_samples, algorithm=algorithm, n_jobs=n_jobs)
            check_tree(tree, matrix, expected, f"{seed=} {min_samples=} {algorithm=} {n_jobs=} shape={X.shape}")


@pytest.mark.parametrize("seed", range(12))
def test_a_thousand_columns_are_no_obstacle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(2, 60)), 1000)) * 10.0 ** rng.integers(-20, 21)
    if seed % 3 == 2:
        X = X[rng.integers(0, len(X), len(X))]
    min_samples = 1 + seed % len(X)
    matrix = oracles.mutual_reachability(X, min_samples)
    for algorithm in ALGORITHMS:
        tree = minimum_spanning_tree(X, min_samples, algorithm=algorithm)
        check_tree(tree, matrix, oracles.prim_weights(matrix), f"{seed=} {algorithm=}")


@pytest.mark.parametrize(("n", "d"), [(1500, 3), (1300, 40)], ids=["kd-tree", "blocks"])
def test_the_automatic_choice_for_larger_data_weighs_what_brute_force_finds(n: int, d: int) -> None:
    X = draw_groups(n, n, d)
    matrix = oracles.mutual_reachability(X, 5)
    for n_jobs in (1, 2):
        tree = minimum_spanning_tree(X, n_jobs=n_jobs)
        check_tree(tree, matrix, oracles.prim_weights(matrix), f"{n_jobs=}")


def test_blocks_give_weights_of_equal_bits_with_any_number_of_threads_of_blas() -> None:
    X = draw_groups(3, 500, 60)
    weights = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            weights.append(np.sort(minimum_spanning_tree(X, algorithm="blocks").weights))
    np.testing.assert_array_equal(weights[1:], [weights[0]] * 2)


def test_all_algorithms_and_thread_counts_give_weights_of_equal_bits() -> None:
    for seed in range(60):
        X = larger_points(seed)[:250] if seed < 20 else draw_scaled_points(seed)
        min_samples = 1 + seed % min(len(X), 12)
        first = np.sort(minimum_spanning_tree(X, min_samples, algorithm="prim").weights)
        for algorithm in ("kd_tree", "blocks"):
            for n_jobs in (1, 2):
                tree = minimum_spanning_tree(X, min_samples, algorithm=algorithm, n_jobs=n_jobs)
                np.testing.assert_array_equal(np.sort(tree.weights), first, err_msg=f"{seed=} {algorithm=} {n_jobs=}")


def test_blocks_of_few_rows_give_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    X = draw_groups(3, 200, 5)
    whole = np.sort(minimum_spanning_tree(X, algorithm="blocks").weights)
    for entries in (200 * 9, 1):
        monkeypatch.setattr(search, "BLOCK_ENTRIES", entries)
        np.testing.assert_array_equal(np.sort(minimum_spanning_tree(X, algorithm="blocks").weights), whole)


@pytest.mark.parametrize("seed", range(12))
def test_tight_groups_that_are_far_apart_keep_their_distances_in_blocks(seed: int) -> None:
    # Scalar products cannot tell the points of a group apart here: every candidate has to be measured again.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, 6))[rng.integers(0, 4, 120)] * 1e6 + rng.normal(size=(120, 6)) * 1e-3
    matrix = oracles.mutual_reachability(X, 1 + seed % 5)
    for algorithm in ALGORITHMS:
        tree = minimum_spanning_tree(X, 1 + seed % 5, algorithm=algorithm)
        check_tree(tree, matrix, oracles.prim_weights(matrix), f"{seed=} {algorithm=}")


def test_points_far_from_zero_keep_their_distances_in_blocks() -> None:
    rng = np.random.default_rng(6)
    for offset in (1e3, 1e6, 1e9):
        X = rng.normal(size=(80, 30)) + offset
        matrix = oracles.mutual_reachability(X, 3)
        for algorithm in ALGORITHMS:
            tree = minimum_spanning_tree(X, 3, algorithm=algorithm)
            check_tree(tree, matrix, oracles.prim_weights(matrix), f"{offset=} {algorithm=}")


def test_ranks_share_the_points_to_search_for() -> None:
    shares = []
    for ranks in (Ranks(), Ranks(0, 2), Ranks(1, 2)):
        rounds = spanning_tree.BoruvkaRounds(np.ones(5), ranks)
        rounds.begin()
        shares.append(rounds.searching().tolist())
    assert shares == [[0, 1, 2, 3, 4], [0, 2, 4], [1, 3]]


def test_a_tree_of_one_rank_does_not_wait_for_others() -> None:
    rounds = spanning_tree.BoruvkaRounds(np.ones(4))
    rounds.partner[:] = [1, 0, 3, 2]
    rounds.finish()
    assert rounds.edges == 2


@pytest.mark.parametrize("min_samples", [1, 2, 5, 40])
@pytest.mark.parametrize("columns", [1, 2, 30])
def test_rows_that_coincide_are_searched_from_once(
    columns: int, min_samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each place is searched from `min_samples` times at most, and the tree weighs what it would weigh anyway."""
    searched = []
    span = spanning_tree._span

    def watched(points: np.ndarray, *arguments: object) -> SpanningTree:
        searched.append(len(points))
        return span(points, *arguments)

    monkeypatch.setattr(spanning_tree, "_span", watched)
    random = np.random.default_rng(columns)
    for n, places in ((60, 1), (400, 7), (1500, 3), (3000, 90), (200, 200)):
        points = random.normal(size=(places, columns))[random.integers(places, size=n)]
        tree = minimum_spanning_tree(points, min_samples)
        assert searched.pop() <= places * min_samples
        expected = span(points, min_samples, "auto", None, "cpu", ALONE)
        assert np.array_equal(np.sort(tree.weights), np.sort(expected.weights))
        assert oracles.spans(tree.edges, n)


def test_nothing_is_nearer_than_a_point_at_the_same_place() -> None:
    assert kd_tree.limit(0.0, 1.0, 0.5) < 0.0 < kd_tree.limit(1e-300, 1.0, 0.5)
