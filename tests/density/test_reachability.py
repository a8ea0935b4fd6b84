"""Core distances, mutual reachability, and what they say about data they cannot take."""

from __future__ import annotations

import numpy as np
import pytest

from shade.density import DCTree, core_distances, minimum_spanning_tree, mutual_reachability
from tests import oracles
from tests.oracles import draw_scaled_points

FOUR = [[0.0], [1.0], [3.0], [7.0]]


def test_core_distances_of_four_points_by_hand() -> None:
    assert core_distances(FOUR, 1).tolist() == [0.0, 0.0, 0.0, 0.0]
    assert core_distances(FOUR, 2).tolist() == [1.0, 1.0, 2.0, 4.0]
    assert core_distances(FOUR, 3).tolist() == [3.0, 2.0, 3.0, 6.0]
    assert core_distances(FOUR, 4).tolist() == [7.0, 6.0, 4.0, 7.0]


def test_mutual_reachability_of_four_points_by_hand() -> None:
    expected = [[0, 1, 3, 7], [1, 0, 2, 6], [3, 2, 0, 4], [7, 6, 4, 0]]
    assert mutual_reachability(FOUR, 2).tolist() == expected


def test_core_distances_equal_brute_force_for_every_shape_of_data() -> None:
    for seed in range(200):
        X = draw_scaled_points(seed)
        min_samples = 1 + seed % len(X)
        np.testing.assert_allclose(
            core_distances(X, min_samples, n_jobs=1),
            oracles.core_distances(X, min_samples),
            rtol=1e-12,
            err_msg=f"{seed=}",
        )


@pytest.mark.parametrize(("n", "d"), [(900, 3), (1100, 3), (1100, 30)], ids=["all pairs", "kd-tree", "blocks"])
@pytest.mark.parametrize("min_samples", [1, 2, 5, 64, 65, 200])
def test_core_distances_of_larger_data_equal_brute_force(n: int, d: int, min_samples: int) -> None:
    X = np.random.default_rng([n, d]).normal(size=(n, d))
    expected = oracles.core_distances(X, min_samples)
    for n_jobs in (1, 2, None, -1):
        np.testing.assert_allclose(core_distances(X, min_samples, n_jobs=n_jobs), expected, rtol=1e-12)


def test_mutual_reachability_equals_brute_force() -> None:
    for seed in range(100):
        X = draw_scaled_points(seed)
        min_samples = 1 + seed % len(X)
        expected = oracles.mutual_reachability(X, min_samples)
        np.testing.assert_allclose(mutual_reachability(X, min_samples), expected, rtol=1e-12, err_msg=f"{seed=}")


def test_mutual_reachability_of_some_rows_uses_core_distances_of_all() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    rows = [7, 3, 31, 12]
    expected = oracles.mutual_reachability(X, 6)[np.ix_(rows, rows)]
    np.testing.assert_allclose(mutual_reachability(X, 6, indices=rows), expected, rtol=1e-12)


def test_data_of_any_numeric_kind_is_taken() -> None:
    X = np.random.default_rng(1).integers(0, 9, (20, 3))
    expected = core_distances(X.astype(float), 3)
    for other in (X, X.tolist(), X.astype(np.uint8), X.astype(np.float32), X.astype(object), np.asfortranarray(X)):
        np.testing.assert_array_equal(core_distances(other, 3), expected)


def test_a_tensor_like_object_is_brought_to_numpy() -> None:
    class Tensor:
        def detach(self) -> Tensor:
            return self

        def cpu(self) -> Tensor:
            return self

        def numpy(self) -> np.ndarray:
            return np.array(FOUR)

    assert core_distances(Tensor(), 2).tolist() == [1.0, 1.0, 2.0, 4.0]


def test_the_data_given_is_not_changed() -> None:
    X = np.random.default_rng(2).normal(size=(50, 3))
    before = X.copy()
    for algorithm in ("prim", "kd_tree", "blocks"):
        DCTree.from_points(X, 4, algorithm=algorithm)
    np.testing.assert_array_equal(X, before)


def with_value(value: float) -> np.ndarray:
    X = np.zeros((6, 3))
    X[4, 2] = value
    X[5, 0] = value
    return X


@pytest.mark.parametrize("door", [core_distances, mutual_reachability, minimum_spanning_tree, DCTree.from_points])
@pytest.mark.parametrize(
    ("X", "min_samples", "sentence"),
    [
        (with_value(np.nan), 2, r"Input X contains NaN in row 4, column 2\. Drop the row, or fill in a value, for"),
        (
            with_value(np.inf),
            2,
            r"Input X contains infinity in row 4, column 2\. Drop the row, or fill in a value, for",
        ),
        (with_value(-np.inf), 2, r"Input X contains infinity in row 4, column 2"),
        (with_value(np.nan).astype(np.float32), 2, r"Input X contains NaN in row 4, column 2"),
        (np.empty((0, 3)), 2, r"Found array with 0 sample\(s\) and 3 feature\(s\)\."),
        (np.empty((4, 0)), 2, r"Found array with 4 sample\(s\) and 0 feature\(s\)\."),
        ([1.0, 2.0, 3.0], 2, r"Expected 2D array of points, got an array of shape \(3,\) instead\."),
        (np.zeros((3, 2, 2)), 2, r"Expected 2D array of points, got an array of shape \(3, 2, 2\) instead\."),
        (1.0, 2, r"Expected 2D array of points, got an array of shape \(\) instead\."),
        (np.ones((4, 2)) * 1j, 2, r"Complex data not supported: got dtype complex128\. Give real numbers\."),
        (
            [["a", "b"], ["c", "d"]],
            2,
            r"The data must be numeric, got dtype <U1 .*Encode or drop the columns with text",
        ),
        ([[1.0, "b"], [None, 2.0]], 2, r"The data must be numeric, got dtype "),
        (np.array([[1.0, "b"], [2.0, 2.0]], object), 2, r"The data must be numeric, got dtype object"),
        (
            np.zeros((4, 2)),
            5,
            r"The data has n_samples = 4, fewer than min_samples = 5\. Give more rows or a smaller 'min_samples'\.",
        ),
        (
            np.zeros((4, 2)),
            0,
            r"The 'min_samples' parameter of this function must be an int in the range \[1, inf\)\. Got 0 instead\.",
        ),
        (np.zeros((4, 2)), -3, r"must be an int in the range \[1, inf\)\. Got -3 instead\."),
        (np.zeros((4, 2)), 2.0, r"must be an int in the range \[1, inf\)\. Got 2\.0 instead\."),
        (np.zeros((4, 2)), True, r"must be an int in the range \[1, inf\)\. Got True instead\."),
        (np.zeros((4, 2)), None, r"must be an int in the range \[1, inf\)\. Got None instead\."),
        (np.zeros((4, 2)), "two", r"must be an int in the range \[1, inf\)\. Got 'two' instead\."),
    ],
)
def test_what_cannot_be_taken_is_refused_in_one_sentence(door, X, min_samples, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        door(X, min_samples)


def test_the_place_of_a_bad_value_is_right_in_data_that_is_checked_in_slices() -> None:
    X = np.zeros((5000, 1000))
    X[4999, 998] = np.nan
    with pytest.raises(ValueError, match=r"NaN in row 4999, column 998"):
        core_distances(X, 2)


def test_an_unknown_algorithm_is_refused_with_those_that_are_known() -> None:
    sentence = (
        r"The 'algorithm' parameter of this function must be 'auto', 'prim', 'kd_tree' or 'blocks'\. "
        r"Got 'ball' instead\."
    )
    for door in (minimum_spanning_tree, DCTree.from_points):
        with pytest.raises(ValueError, match=sentence):
            door(FOUR, 2, algorithm="ball")
        with pytest.raises(ValueError, match="'algorithm' parameter"):
            door(FOUR, 2, algorithm=None)


def test_numpy_integers_are_integers() -> None:
    assert core_distances(FOUR, np.int32(2)).tolist() == [1.0, 1.0, 2.0, 4.0]
