"""Neighbours of rows, and the principal components by which wide rows are compared."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from shade.density.components import COMPONENTS, find_components
from shade.density.neighbours import find_neighbours


@pytest.mark.parametrize(("n", "columns"), [(60, 3), (700, 8), (400, 40)])
def test_each_row_comes_first_and_the_nearest_follow(n: int, columns: int) -> None:
    samples = np.random.default_rng(0).normal(size=(n, columns)).astype(np.float32)
    found = find_neighbours(samples, 10)
    assert found.shape == (n, 11)
    assert np.array_equal(found[:, 0], np.arange(n))
    distances = cdist(samples.astype(np.float64), samples.astype(np.float64))
    nearest = np.sort(distances, axis=1)[:, :11]
    np.testing.assert_allclose(np.take_along_axis(distances, found.astype(np.int64), axis=1), nearest, rtol=1e-6)


def test_of_few_rows_all_are_neighbours() -> None:
    found = find_neighbours(np.arange(8, dtype=np.float32).reshape(4, 2), 10)
    assert np.array_equal(np.sort(found, axis=1), np.tile(np.arange(4), (4, 1)))


def test_wide_rows_are_compared_by_their_components() -> None:
    random = np.random.default_rng(0)
    signal = np.repeat(np.eye(4), 25, axis=0) @ random.normal(size=(4, 3000))
    samples = (signal + random.normal(size=signal.shape)).astype(np.float32)
    found = find_neighbours(samples, 5)
    components = find_components(samples)
    assert components.shape == (100, COMPONENTS)
    distances = cdist(components, components)
    np.testing.assert_allclose(
        np.take_along_axis(distances, found.astype(np.int64), axis=1), np.sort(distances, axis=1)[:, :6], rtol=1e-6
    )
    assert np.mean(found // 25 == np.arange(100)[:, None] // 25) > 0.99


@pytest.mark.parametrize("shape", [(200, 30), (50, 3000), (2100, 2100)])
def test_components_are_those_of_a_singular_value_decomposition(shape: tuple[int, int]) -> None:
    samples = np.random.default_rng(0).normal(size=shape) * np.linspace(3.0, 0.1, shape[1])
    found = find_components(samples.astype(np.float32))
    left, values, _ = np.linalg.svd(samples - samples.mean(axis=0), full_matrices=False)
    expected = (left * values)[:, : found.shape[1]]
    largest = float(np.abs(expected @ expected.T).max())
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-3 * largest)


def test_components_that_are_rounding_errors_are_left_out() -> None:
    random = np.random.default_rng(0)
    flat = random.normal(size=(80, 2)) @ random.normal(size=(2, 60))
    assert find_components(flat.astype(np.float32)).shape[1] == 2
    assert find_components(np.ones((5, 60), np.float32)).shape == (5, 1)


def test_components_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shade.density.components.BLOCK_ENTRIES", 4000)  # many blocks
    samples = np.random.default_rng(0).normal(size=(700, 90)).astype(np.float32)
    expected = find_components(samples, 1)
    for threads in (2, 5):
        assert np.array_equal(find_components(samples, threads), expected)


def test_rows_that_are_directions_are_compared_by_angle() -> None:
    random = np.random.default_rng(0)
    for columns in (8, 300):
        samples = random.normal(size=(150, columns)).astype(np.float32)
        samples[3] = 0.0
        samples *= random.uniform(0.1, 10.0, (150, 1)).astype(np.float32)
        found = find_neighbours(samples, 7, by_angle=True)
        points = find_components(samples) if columns > COMPONENTS else samples.astype(np.float64)
        apart = cdist(points[4:], points[4:], "cosine")
        nearest = np.sort(apart, axis=1)[:, :6]
        own = [row[np.isin(row, np.arange(4, 150))][:6] - 4 for row in found[4:].astype(np.int64)]
        for row, (mine, wanted) in enumerate(zip(own, nearest, strict=True)):
            np.testing.assert_allclose(np.sort(apart[row, mine]), wanted[: len(mine)], atol=1e-9)
            assert len(mine) >= 4
