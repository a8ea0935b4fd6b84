"""The sparse background that the tree of the data shows."""

import numpy as np
import pytest

from shade.density import DCTree
from shade.stability.background import find_background


def groups_and_noise(columns: int, noise: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    groups = [random.normal(size=(200, columns)) * 0.3 + at for at in (0.0, 3.0, 6.0)]
    X = np.vstack([*groups, random.uniform(-3.0, 9.0, size=(noise, columns))])
    return X, np.repeat([False, True], [600, noise])


@pytest.mark.parametrize(("columns", "noise"), [(5, 60), (10, 60), (10, 600), (50, 60), (50, 3000)])
def test_uniform_noise_between_dense_groups_is_found(columns: int, noise: int) -> None:
    X, truth = groups_and_noise(columns, noise)
    found = find_background(DCTree.from_points(X, 5))
    assert np.mean(found[truth]) >= 0.95
    assert np.mean(truth[found]) >= 0.95
    assert np.array_equal(found, find_background(DCTree.from_points(1e4 * X, 5)))


@pytest.mark.parametrize("columns", [2, 10, 50])
@pytest.mark.parametrize("kind", ["normal", "uniform", "exponential"])
def test_a_sample_of_one_distribution_has_no_background(kind: str, columns: int) -> None:
    points = getattr(np.random.default_rng(0), kind)(size=(1000, columns))
    assert not find_background(DCTree.from_points(points, 5)).any()


def test_a_sparse_group_of_its_own_is_no_background() -> None:
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(300, 10)) * 0.05, random.normal(size=(300, 10)) + 8.0])
    assert not find_background(DCTree.from_points(X, 5)).any()


def test_groups_alone_and_tiny_trees_have_none() -> None:
    X, _ = groups_and_noise(10, 0)
    assert not find_background(DCTree.from_points(X, 5)).any()
    assert not find_background(DCTree.from_points([[0.0], [1.0], [50.0]], 2)).any()
    assert not find_background(DCTree.from_points(np.zeros((20, 2)), 5)).any()
