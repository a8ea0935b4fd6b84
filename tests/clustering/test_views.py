"""Where the density of the data is measured."""

import numpy as np
import pytest

from shade.clustering import ClusterRule
from shade.clustering.views import read_data
from shade.density.directions import find_directions


def view_of(samples: np.ndarray, view: str = "auto") -> str:
    return read_data(samples.astype(np.float32), view, ClusterRule(), 10, n_jobs=1, device="cpu").followed.view


def standardised(samples: np.ndarray) -> np.ndarray:
    return (samples - samples.mean(axis=0)) / samples.std(axis=0)


@pytest.mark.parametrize("rank", [1, 3, 10])
def test_an_elongated_cloud_is_measured_in_its_columns(rank: int) -> None:
    chosen = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        cloud = random.normal(size=(300, rank)) @ random.normal(size=(rank, 30))
        chosen.append(view_of(standardised(cloud)))
    assert chosen.count("columns") >= 7


def test_rows_that_differ_in_length_and_cluster_by_direction_are_measured_in_directions() -> None:
    random = np.random.default_rng(0)
    rays = np.repeat(random.normal(size=(6, 40)), 60, axis=0) * random.uniform(0.1, 8.0, size=(360, 1))
    assert view_of(rays + 0.05 * random.normal(size=rays.shape)) == "directions"


def test_data_with_no_more_columns_than_the_embedding_is_measured_in_them() -> None:
    random = np.random.default_rng(0)
    rays = np.repeat(random.normal(size=(6, 10)), 60, axis=0) * random.uniform(0.1, 8.0, size=(360, 1))
    assert view_of(rays + 0.05 * random.normal(size=rays.shape)) == "columns"


def test_a_view_that_is_asked_for_is_taken() -> None:
    cloud = np.random.default_rng(0).normal(size=(100, 20))
    assert [view_of(cloud, view) for view in ("columns", "directions")] == ["columns", "directions"]


@pytest.mark.parametrize("shape", [(200, 30), (50, 3000), (2100, 2100)])
def test_directions_are_principal_components_of_length_one(shape: tuple[int, int]) -> None:
    samples = np.random.default_rng(0).normal(size=shape) * np.linspace(3.0, 0.1, shape[1])
    found = find_directions(samples.astype(np.float32))
    left, values, _ = np.linalg.svd(samples - samples.mean(axis=0), full_matrices=False)
    expected = (left * values)[:, : found.shape[1]]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-3)


def test_rows_in_the_centre_have_no_direction() -> None:
    half = np.random.default_rng(0).normal(size=(40, 15))
    samples = np.vstack([half, -half, np.zeros((5, 15))]).astype(np.float32) + np.float32(0.1)
    assert not find_directions(samples)[-5:].any()
