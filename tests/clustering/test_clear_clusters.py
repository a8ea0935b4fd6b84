"""Whether distances in the data tell its clusters."""

import numpy as np
import pytest

from shade.clustering.clustering import FEW_COLUMNS, read_data
from shade.clustering.rule import ClusterRule
from shade.density import minimum_spanning_tree
from shade.density.data_tree import DataClusters, DataTree
from tests.clustering.test_background import groups_and_noise


def blobs(deviation: float, columns: int, n_blobs: int = 5) -> np.ndarray:
    """Blobs at a distance of ten from each other, or a single one."""
    centres = 10.0 / np.sqrt(2.0) * np.repeat(np.eye(max(n_blobs, columns))[:n_blobs, :columns], 60, axis=0)
    return (centres + deviation * np.random.default_rng(0).normal(size=centres.shape)).astype(np.float32)


def read(samples: np.ndarray) -> tuple[np.ndarray, DataClusters | None]:
    return read_data(DataTree.from_spanning_tree(samples, minimum_spanning_tree(samples)), ClusterRule())


def is_clear(samples: np.ndarray) -> bool:
    return read(samples)[1] is not None


@pytest.mark.parametrize(("deviation", "expected"), [(0.2, True), (0.8, True), (2.5, False)])
def test_clusters_far_apart_are_clear(deviation: float, expected: bool) -> None:
    assert is_clear(blobs(deviation, 8)) == expected


@pytest.mark.parametrize(("n_loose", "expected"), [(0, True), (1, False), (2, False)])
def test_each_cluster_has_to_be_clear(n_loose: int, expected: bool) -> None:
    first_loose = 300 - 60 * n_loose
    X = np.vstack([blobs(0.01, 8)[:first_loose], blobs(2.5, 8)[first_loose:]])
    rule = ClusterRule(background_noise=False)  # else the loose rows are a background
    tree = DataTree.from_spanning_tree(X, minimum_spanning_tree(X))
    assert (read_data(tree, rule)[1] is not None) == expected


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
def test_the_unit_does_not_matter(factor: float) -> None:
    assert [is_clear(np.float32(factor) * blobs(deviation, 8)) for deviation in (0.8, 2.5)] == [True, False]


def test_the_largest_cluster_counts() -> None:
    random = np.random.default_rng(0)
    centres = 10.0 * np.repeat(np.eye(8)[:3], [400, 30, 30], axis=0)
    assert is_clear((centres + 0.8 * random.normal(size=centres.shape)).astype(np.float32))


def test_one_cluster_is_never_clear() -> None:
    assert not is_clear(blobs(0.2, 8, n_blobs=1))


@pytest.mark.parametrize("columns", [FEW_COLUMNS, FEW_COLUMNS + 1])
def test_few_columns_always_are(columns: int) -> None:
    cloud = np.random.default_rng(0).normal(size=(200, columns)).astype(np.float32)
    assert is_clear(cloud) == (columns == FEW_COLUMNS)


def test_background_does_not_hide_them() -> None:
    X, noise = groups_and_noise(10, 60)
    background, clusters = read(X.astype(np.float32))
    assert np.array_equal(background, noise)
    assert clusters is not None
    assert (clusters.labels[noise] == -1).all()
