"""The tree of dc-distances: SciPy's single linkage, minimax paths, and what must hold for any data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.cluster.hierarchy import cophenet, fcluster, is_valid_linkage
from scipy.spatial.distance import squareform

from shade.clustering import cut_at_distance
from shade.density import DCTree, SpanningTree, core_distances
from tests import oracles
from tests.clustering.trees import read_tree
from tests.oracles import draw_groups, draw_points, draw_scaled_points, partition_of

ALGORITHMS = ("prim", "kd_tree", "blocks")

quarters = st.integers(-12, 12).map(lambda value: value / 4)
plain_floats = st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda value: 0.0 if abs(value) < 1e-60 else value)
shapes = st.tuples(st.integers(2, 24), st.integers(1, 4))
point_sets = st.one_of(
    shapes.flatmap(lambda shape: arrays.arrays(np.float64, shape, elements=quarters)),
    shapes.flatmap(lambda shape: arrays.arrays(np.float64, shape, elements=plain_floats)),
)
for_any_points = settings(
    max_examples=80,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def min_samples_for(X: np.ndarray, data: st.DataObject) -> int:
    return data.draw(st.integers(1, len(X)), label="min_samples")


# Hand-worked cases


def test_dc_distances_of_five_points_by_hand() -> None:
    tree = DCTree.from_points([[0.0], [1.0], [3.0], [7.0], [7.5]], min_samples=2)
    assert tree.dc_distances().tolist() == [
        [0.0, 1.0, 2.0, 4.0, 4.0],
        [1.0, 0.0, 2.0, 4.0, 4.0],
        [2.0, 2.0, 0.0, 4.0, 4.0],
        [4.0, 4.0, 4.0, 0.0, 0.5],
        [4.0, 4.0, 4.0, 0.5, 0.0],
    ]
    assert tree.height.tolist() == [0.5, 1.0, 2.0, 4.0]
    assert tree.size.tolist() == [2, 2, 3, 5]
    assert tree.order.tolist() == [0, 1, 2, 3, 4]
    assert tree.reachability.tolist() == [np.inf, 1.0, 2.0, 4.0, 0.5]
    assert tree.linkage().tolist() == [[3, 4, 0.5, 2], [0, 1, 1.0, 2], [2, 6, 2.0, 3], [5, 7, 4.0, 5]]


def test_three_points_on_a_line_are_as_far_as_their_core_distances() -> None:
    tree = DCTree.from_points([[0.0], [1.0], [3.0]], min_samples=3)
    assert tree.dc_distances().tolist() == [[0.0, 3.0, 3.0], [3.0, 0.0, 3.0], [3.0, 3.0, 0.0]]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_point_is_a_tree(algorithm: str) -> None:
    tree = DCTree.from_points([[2.0, 5.0]], 1, algorithm=algorithm)
    assert tree.n_points == 1
    assert tree.order.tolist() == [0]
    assert tree.dc_distances().tolist() == [[0.0]]
    assert tree.dc_distance(0, 0) == 0.0
    assert tree.linkage().shape == (0, 4)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_equal_points_are_at_distance_zero(algorithm: str) -> None:
    for n in (2, 3, 30, 100):
        tree = DCTree.from_points(np.full((n, 3), 0.1), min(n, 5), algorithm=algorithm)
        assert (tree.dc_distances() == 0.0).all()
        assert tree.order.tolist() == list(range(n))


# Oracles


@pytest.mark.parametrize("part", range(5))
def test_dc_distances_equal_single_linkage_of_mutual_reachability(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        X = draw_scaled_points(seed, largest=40)
        min_samples = 1 + (seed * 5) % len(X)
        expected = oracles.minimax_distances(oracles.mutual_reachability(X, min_samples))
        for algorithm in ALGORITHMS:
            found = DCTree.from_points(X, min_samples, algorithm=algorithm, n_jobs=1).dc_distances()
            np.testing.assert_allclose(
                found, expected, rtol=1e-9, atol=0.0, err_msg=f"{seed=} {min_samples=} {algorithm=} shape={X.shape}"
            )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dc_distances_of_a_thousand_columns_equal_single_linkage(seed: int, scale: float, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(int(rng.integers(2, 30)), 1000)) * scale).astype(dtype)
    if seed % 2:
        X[:, ::3] = X[0, 0]
        X = X[rng.integers(0, len(X), len(X))]
    min_samples = 1 + (3 * seed) % len(X)
    expected = oracles.minimax_distances(oracles.mutual_reachability(X, min_samples))
    for algorithm in ALGORITHMS:
        found = DCTree.from_points(X, min_samples, algorithm=algorithm).dc_distances()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=0.0, err_msg=algorithm)


def test_every_min_samples_from_one_to_n_gives_single_linkage() -> None:
    for kind in ("normal", "integer grid", "duplicates"):
        X = draw_points(9, smallest=25, largest=25, kind=kind)
        for min_samples in range(1, len(X) + 1):
            expected = oracles.minimax_distances(oracles.mutual_reachability(X, min_samples))
            for algorithm in ALGORITHMS:
                found = DCTree.from_points(X, min_samples, algorithm=algorithm, n_jobs=1).dc_distances()
                np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=f"{kind} {min_samples=} {algorithm=}")


def test_dc_distances_are_minimax_paths() -> None:
    for seed in range(40):
        X = draw_points(seed, smallest=2)
        matrix = oracles.mutual_reachability(X, 1 + seed % len(X))
        found = DCTree.from_points(X, 1 + seed % len(X)).dc_distances()
        np.testing.assert_allclose(found, oracles.minimax_by_relaxation(matrix), rtol=1e-12, err_msg=f"{seed=}")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_larger_data_equals_single_linkage(algorithm: str) -> None:
    for seed in range(3):
        X = draw_groups(seed, 500, 3)
        expected = oracles.minimax_distances(oracles.mutual_reachability(X, 5))
        for n_jobs in (1, 2):
            found = DCTree.from_points(X, 5, algorithm=algorithm, n_jobs=n_jobs).dc_distances()
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_order_depends_on_the_tree_and_not_on_the_algorithm_or_the_threads() -> None:
    for seed in range(80):
        X = draw_points(seed, smallest=2) if seed % 4 else np.round(draw_groups(seed, 150, 2))
        min_samples = 1 + seed % min(7, len(X))
        first = DCTree.from_points(X, min_samples, algorithm="prim", n_jobs=1)
        for algorithm in ALGORITHMS:
            for n_jobs in (1, 2):
                other = DCTree.from_points(X, min_samples, algorithm=algorithm, n_jobs=n_jobs)
                np.testing.assert_array_equal(other.order, first.order, err_msg=f"{seed=} {algorithm=}")
                np.testing.assert_array_equal(other.reachability, first.reachability, err_msg=f"{seed=} {algorithm=}")


# Ways to ask


def test_pairs_rows_and_blocks_of_the_matrix_agree_with_the_matrix() -> None:
    rng = np.random.default_rng(0)
    tree = DCTree.from_points(rng.normal(size=(70, 3)), 4)
    matrix = tree.dc_distances()
    rows, others = rng.integers(0, 70, 50), rng.integers(0, 70, 50)
    np.testing.assert_array_equal(tree.dc_distances_of_pairs(rows, others), matrix[rows, others])
    np.testing.assert_array_equal(tree.dc_distances(rows), matrix[np.ix_(rows, rows)])
    np.testing.assert_array_equal(tree.dc_distances(rows, others[:20]), matrix[np.ix_(rows, others[:20])])
    assert tree.dc_distance(int(rows[0]), int(others[0])) == matrix[rows[0], others[0]]
    assert isinstance(tree.dc_distance(0, 1), float)
    assert tree.dc_distances([]).shape == (0, 0)
    assert tree.dc_distances([], [1, 2]).shape == (0, 2)
    np.testing.assert_array_equal(tree.dc_distances([-1, -70]), matrix[np.ix_([69, 0], [69, 0])])


@pytest.mark.parametrize("row", [70, -71])
def test_a_row_that_is_not_there_is_an_index_error(row: int) -> None:
    tree = DCTree.from_points(np.random.default_rng(0).normal(size=(70, 3)), 4)
    with pytest.raises(IndexError):
        tree.dc_distance(0, row)


def test_positions_undo_the_order() -> None:
    tree = DCTree.from_points(np.random.default_rng(1).normal(size=(70, 3)), 4)
    np.testing.assert_array_equal(tree.order[tree.position], np.arange(70))


def test_a_sorted_batch_holds_all_its_dc_distances() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = draw_points(seed, smallest=2, largest=120)
        tree = DCTree.from_points(X, 1 + seed % min(len(X), 6))
        batch = rng.permutation(len(X))[: rng.integers(1, len(X) + 1)]
        rows, steps = tree.sort_batch(batch)
        assert sorted(rows.tolist()) == sorted(batch.tolist())
        assert steps[0] == 0.0
        matrix = tree.dc_distances(rows)
        for t in range(1, len(rows)):
            expected = [steps[s + 1 : t + 1].max() for s in range(t)]
            np.testing.assert_array_equal(matrix[t, :t], expected, err_msg=f"{seed=}")


def test_a_sorted_batch_of_no_rows_is_empty() -> None:
    tree = DCTree.from_points(np.random.default_rng(1).normal(size=(20, 3)), 4)
    rows, steps = tree.sort_batch(np.empty(0, np.int64))
    assert len(rows) == len(steps) == 0


def test_a_row_that_is_twice_in_a_batch_is_at_distance_zero_from_itself() -> None:
    tree = DCTree.from_points(np.random.default_rng(1).normal(size=(20, 3)), 4)
    for row in range(20):
        rows, steps = tree.sort_batch(np.array([row, row]))
        assert rows.tolist() == [row, row]
        assert steps.tolist() == [0.0, 0.0]


def test_the_reachability_plot_is_a_copy() -> None:
    tree = DCTree.from_points(np.random.default_rng(1).normal(size=(20, 3)), 4)
    order, reachability = tree.reachability_plot()
    order[:], reachability[:] = 0, 0
    assert sorted(tree.order.tolist()) == list(range(20))
    assert tree.reachability[0] == np.inf


def test_a_tree_is_made_again_from_its_arrays() -> None:
    tree = DCTree.from_points(np.random.default_rng(1).normal(size=(20, 3)), 4)
    again = DCTree(**tree.to_arrays())
    np.testing.assert_array_equal(again.dc_distances(), tree.dc_distances())
    np.testing.assert_array_equal(again.linkage(), tree.linkage())


def test_edges_that_do_not_span_are_refused() -> None:
    sentence = r"The edges do not span all points.*Give a connected tree\."
    for edges in ([[0, 1], [0, 1]], [[0, 1], [2, 3], [0, 1]], [[2, 3], [0, 1], [0, 1]], [[0, 0]]):
        with pytest.raises(ValueError, match=sentence):
            DCTree.from_spanning_tree(SpanningTree(np.array(edges), np.arange(1.0, len(edges) + 1)))


def test_a_given_spanning_tree_is_merged_lightest_edge_first() -> None:
    tree = DCTree.from_spanning_tree(SpanningTree(np.array([[3, 0], [1, 2], [2, 3]]), np.array([2.0, 1.0, 5.0])))
    assert tree.height.tolist() == [1.0, 2.0, 5.0]
    assert tree.dc_distances().tolist() == [[0, 5, 5, 2], [5, 0, 1, 5], [5, 1, 0, 5], [2, 5, 5, 0]]


# Properties


@for_any_points
@given(X=point_sets, data=st.data())
def test_dc_distances_are_an_ultrametric(X: np.ndarray, data: st.DataObject) -> None:
    matrix = DCTree.from_points(X, min_samples_for(X, data), n_jobs=1).dc_distances()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert (np.diag(matrix) == 0.0).all()
    assert (matrix[:, None, :] <= np.maximum(matrix[:, :, None], matrix[None, :, :])).all()


@for_any_points
@given(X=point_sets, data=st.data())
def test_dc_distances_are_at_least_both_core_distances_and_at_most_mutual_reachability(
    X: np.ndarray, data: st.DataObject
) -> None:
    min_samples = min_samples_for(X, data)
    core = core_distances(X, min_samples, n_jobs=1)
    matrix = DCTree.from_points(X, min_samples, n_jobs=1).dc_distances()
    apart = ~np.eye(len(X), dtype=bool)
    assert (matrix >= np.maximum(core[:, None], core))[apart].all()
    assert (matrix <= oracles.mutual_reachability(X, min_samples)).all()


@for_any_points
@given(X=point_sets, data=st.data(), exponent=st.integers(-60, 60))
def test_scaling_by_a_power_of_two_scales_every_distance_exactly(
    X: np.ndarray, data: st.DataObject, exponent: int
) -> None:
    min_samples = min_samples_for(X, data)
    for algorithm in ALGORITHMS:
        tree = DCTree.from_points(X, min_samples, algorithm=algorithm, n_jobs=1)
        scaled = DCTree.from_points(X * 2.0**exponent, min_samples, algorithm=algorithm, n_jobs=1)
        np.testing.assert_array_equal(scaled.order, tree.order)
        np.testing.assert_array_equal(scaled.reachability, tree.reachability * 2.0**exponent)


@for_any_points
@given(X=point_sets, data=st.data())
def test_permuting_the_rows_permutes_the_distances(X: np.ndarray, data: st.DataObject) -> None:
    min_samples = min_samples_for(X, data)
    shuffled = np.array(data.draw(st.permutations(range(len(X))), label="rows"))
    for algorithm in ALGORITHMS:
        matrix = DCTree.from_points(X, min_samples, algorithm=algorithm, n_jobs=1).dc_distances()
        permuted = DCTree.from_points(X[shuffled], min_samples, algorithm=algorithm, n_jobs=1).dc_distances()
        np.testing.assert_array_equal(permuted, matrix[np.ix_(shuffled, shuffled)])


@for_any_points
@given(X=point_sets, data=st.data())
def test_the_largest_reachability_between_two_places_is_their_distance(X: np.ndarray, data: st.DataObject) -> None:
    tree = DCTree.from_points(X, min_samples_for(X, data), n_jobs=1)
    order, reachability = tree.reachability_plot()
    assert reachability[0] == np.inf
    matrix = tree.dc_distances()
    for s in range(len(X)):
        for t in range(s + 1, len(X)):
            assert matrix[order[s], order[t]] == reachability[s + 1 : t + 1].max()


@for_any_points
@given(X=point_sets, data=st.data())
def test_linkage_is_what_scipy_takes(X: np.ndarray, data: st.DataObject) -> None:
    tree = DCTree.from_points(X, min_samples_for(X, data), n_jobs=1)
    merges = tree.linkage()
    assert is_valid_linkage(merges)
    np.testing.assert_array_equal(squareform(cophenet(merges)), tree.dc_distances())


@for_any_points
@given(X=point_sets, data=st.data())
def test_cutting_scipys_linkage_gives_the_groups_of_a_cut(X: np.ndarray, data: st.DataObject) -> None:
    min_samples = min_samples_for(X, data)
    tree = DCTree.from_points(X, min_samples, n_jobs=1)
    smallest = data.draw(st.integers(2, len(X)), label="smallest")
    heights = st.sampled_from(sorted({0.0, *tree.height.tolist()}))
    distance = data.draw(st.one_of(heights, st.floats(0.0, 50.0)), label="distance")
    groups = partition_of(fcluster(tree.linkage(), distance, "distance"))
    expected = frozenset(group for group in groups if len(group) >= smallest)
    candidates = read_tree(tree, "structure", min_samples, smallest)
    assert partition_of(cut_at_distance(candidates, distance).labels) == expected
