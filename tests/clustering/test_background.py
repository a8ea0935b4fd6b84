"""The sparse background that the tree of the data shows."""

import numpy as np
import pytest

from shade.clustering.background import find_background
from shade.density import DCTree
from tests.clustering.trees import read_tree


def background_of(points: np.ndarray, min_samples: int = 5) -> np.ndarray:
    tree = DCTree.from_points(points, min_samples)
    return find_background(tree, read_tree(tree, "information", min_samples, dimension=float(np.shape(points)[1])))


def groups_and_noise(columns: int, noise: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    groups = [random.normal(size=(200, columns)) * 0.3 + at for at in (0.0, 3.0, 6.0)]
    X = np.vstack([*groups, random.uniform(-3.0, 9.0, size=(noise, columns))])
    return X, np.repeat([False, True], [600, noise])


@pytest.mark.parametrize(("columns", "noise"), [(5, 60), (10, 60), (10, 600), (50, 60), (50, 3000)])
def test_uniform_noise_between_dense_groups_is_found(columns: int, noise: int) -> None:
    X, truth = groups_and_noise(columns, noise)
    found = background_of(X)
    assert np.mean(found[truth]) >= 0.95
    assert np.mean(truth[found]) >= 0.95
    assert np.array_equal(found, background_of(1e4 * X))


@pytest.mark.parametrize("columns", [2, 10, 50])
@pytest.mark.parametrize("kind", ["normal", "uniform", "exponential"])
def test_a_sample_of_one_distribution_has_no_background(kind: str, columns: int) -> None:
    points = getattr(np.random.default_rng(0), kind)(size=(1000, columns))
    assert not background_of(points).any()


def test_a_sparse_group_of_its_own_is_no_background() -> None:
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(300, 10)) * 0.05, random.normal(size=(300, 10)) + 8.0])
    assert not background_of(X).any()


def test_groups_alone_and_tiny_trees_have_none() -> None:
    X, _ = groups_and_noise(10, 0)
    assert not background_of(X).any()
    assert not background_of([[0.0], [1.0], [50.0]], 2).any()
    assert not background_of(np.zeros((20, 2))).any()


def test_dense_rows_beside_a_sparse_cluster_do_not_make_it_background() -> None:
    random = np.random.default_rng(1)
    dense = [random.normal(size=(200, 5)) * 0.02 + 10.0 * at for at in (0.0, 1.0)]
    sparse = random.normal(size=(200, 5)) - 20.0
    assert not background_of(np.vstack([*dense, sparse])).any()
    around = random.uniform(-40.0, 40.0, size=(200, 5))
    found = background_of(np.vstack([*dense, around]))
    assert found[400:].mean() > 0.95 and found[:400].mean() < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_very_different_densities_are_no_background(seed: int) -> None:
    # Like counts: a tenth of the rows are nearly empty and so nearly equal, the others are anywhere.
    random = np.random.default_rng(seed)
    alike = 0.02 * random.normal(size=(150, 20))
    spread = random.normal(size=(1000, 20)) * np.exp(1.5 * random.normal(size=(1000, 1)) + 1.0)
    assert not background_of(np.vstack([alike, spread])).any()
