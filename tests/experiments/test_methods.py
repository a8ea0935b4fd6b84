"""Methods by name, and what they are given."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import shade
from shade._base.errors import ShadeError
from shade.clustering.assignment import assign_nearest
from shade.data import make_blobs
from shade.experiments import METHODS, BenchmarkSamples, Method, load_samples
from shade.experiments.methods import run_method, shorten

SMALL = {"epochs": 1, "network": [4], "embedding_size": 2}


@pytest.fixture(scope="module")
def blobs() -> BenchmarkSamples:
    X, y = make_blobs(200, n_clusters=3, n_features=4, random_state=0)
    return BenchmarkSamples("blobs", X, y, 3, "feature")


def test_equal_parameters_have_equal_keys_whatever_their_order() -> None:
    first, second = Method("SHADE", {"epochs": 1, "tree": "batch"}), Method("SHADE", {"tree": "batch", "epochs": 1})
    assert first.key == second.key and hash(first) == hash(second) and first == second
    assert first.key != Method("SHADE", {"epochs": 2, "tree": "batch"}).key
    assert Method("SHADE").key == ""
    assert first.label == "SHADE(epochs=1, tree=batch)"


def test_an_unknown_method_is_refused_with_those_there_are() -> None:
    with pytest.raises(ShadeError, match=r"no method 'SHADO'\. Known are: SHADE, default"):
        Method("SHADO")


@pytest.mark.parametrize(
    ("name", "settings"),
    [("SHADE", shade.PAPER), ("default", {}), ("autoencoder", {**shade.PAPER, "density_weight": 0.0})],
)
def test_shade_gets_its_settings_the_normalisation_of_the_data_and_the_seed(
    blobs: BenchmarkSamples, name: str, settings: dict[str, object]
) -> None:
    outcome = run_method(Method(name, SMALL), blobs, seed=3, device="cpu")
    model = shade.SHADE(**{**settings, "standardize": "feature", **SMALL}, random_state=3, device="cpu")
    np.testing.assert_array_equal(outcome.labels, model.fit(blobs.X).labels_)
    nearest = model.assign_noise("nearest", blobs.X)
    assert (outcome.nearest is not None) == (name == "default")
    if outcome.nearest is not None:
        np.testing.assert_array_equal(outcome.assigned, model.assign_noise())
        np.testing.assert_array_equal(outcome.nearest(), nearest)
    else:
        np.testing.assert_array_equal(outcome.assigned, nearest)
    np.testing.assert_array_equal(outcome.embedding, model.embedding_)


@pytest.mark.parametrize("name", ["HDBSCAN", "PCA HDBSCAN"])
def test_hdbscan_finds_blobs_and_its_noise_is_assigned(blobs: BenchmarkSamples, name: str) -> None:
    outcome = run_method(Method(name), blobs, seed=0, device="cpu")
    assert outcome.labels.max() == 2
    assert outcome.assigned.min() == 0
    np.testing.assert_array_equal(outcome.labels[outcome.labels >= 0], outcome.assigned[outcome.labels >= 0])


@pytest.mark.parametrize("name", ["DEC", "IDEC", "DCN", "DDC", "DipDECK", "DipEncoder", "ClustPy SHADE"])
def test_clustpy_methods_run(blobs: BenchmarkSamples, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    if importlib.util.find_spec("clustpy") is None:
        with pytest.raises(ImportError, match="pip install --no-deps clustpy"):
            run_method(Method(name), blobs, seed=0, device="cpu")
        return
    method = shorten(Method(name, {"network": (4,), "embedding_size": 2}), 1)
    with threadpool_limits(1):  # threads that wait for each other are slow on a busy machine
        outcome = run_method(method, blobs, seed=0, device="cpu")
    assert outcome.labels.shape == (200,) and outcome.embedding.shape == (200, 2)
    assert capfd.readouterr() == ("", "")


def test_noise_goes_to_the_nearest_cluster() -> None:
    points = np.array([[0.0], [1.0], [5.0], [4.0], [0.4]])
    assert assign_nearest(np.array([0, 0, 1, -1, -1]), points).tolist() == [0, 0, 1, 1, 0]
    assert assign_nearest(np.array([-1, -1]), points[:2]).tolist() == [-1, -1]


def test_epochs_are_cut_for_methods_that_train() -> None:
    still = {name for name in METHODS if not shorten(Method(name), 2).parameters}
    assert still == {"HDBSCAN", "PCA HDBSCAN", "UMAP HDBSCAN", "suite HDBSCAN", "suite UMAP HDBSCAN",
                     "DCTreeClustering", "EVoC", "PLSCAN", "Leiden", "k-means"}  # fmt: skip


def test_images_have_their_channels_first_for_networks() -> None:
    samples = BenchmarkSamples("x", np.zeros((5, 6, 7, 3)), np.zeros(5, int), 1, "global")
    assert samples.channels_first.shape == (5, 3, 6, 7) and samples.rows.shape == (5, 126)


def test_samples_of_the_figures_are_generated() -> None:
    assert load_samples("three_clusters").X.shape == (3000, 3)
    pytest.importorskip("densired", reason="needs the densired package")
    samples = load_samples("densired_noise_0.0")
    assert samples.X.shape == (5000, 100) and samples.y.min() == 0
