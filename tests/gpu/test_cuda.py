"""CPU against GPU. Run with `pytest -m gpu` on a machine with a CUDA device; skipped, saying so, elsewhere."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import ShadeWarning
from shade.density import DCTree, minimum_spanning_tree
from tests.data_files import load_or_skip

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings("ignore::shade._base.errors.ShadeWarning"),
]


def check_weights(X: np.ndarray, min_samples: int, what: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ShadeWarning)  # a fall-back to the CPU would prove nothing
        found = minimum_spanning_tree(X, min_samples, device="cuda")
    expected = np.sort(minimum_spanning_tree(X, min_samples).weights)
    np.testing.assert_allclose(
        np.sort(found.weights), expected, rtol=1e-5, atol=1e-6 * float(np.ptp(X)), err_msg=str(what)
    )
    DCTree.from_spanning_tree(found)


@pytest.mark.parametrize("seed", range(40))
def test_spanning_trees_equal_the_cpus(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, d = int(random.integers(2048, 6000)), int(random.integers(1, 60))
    X = random.normal(size=(n, d)) * 10.0 ** random.integers(-6, 6)
    if seed % 4 == 0:
        X = np.round(X / X.std() * 2)
    if seed % 4 == 1:
        X[: n // 2] = X[n // 2 : 2 * (n // 2)] + 1e-9 * X.std()
    if seed % 4 == 2:
        X[:, 1:] = X[:, :1]
    check_weights(X, int(random.integers(1, 12)), f"{seed=}")


def test_outliers_do_not_spoil_the_rest() -> None:
    X = np.random.default_rng(0).normal(size=(3000, 8))
    X[:5] += 1e4
    check_weights(X, 5, "outliers")


@pytest.mark.parametrize("name", ["pendigits", "letter", "htru2", "optdigits", "usps", "synth_low", "synth_high"])
def test_partitions_of_real_data_equal_the_cpus(name: str) -> None:
    X, _ = load_or_skip(name)
    X = (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1)
    for selection in ("structure", "branches", "information"):
        one, other = (DCTreeClustering(selection=selection, device=d).fit(X) for d in ("cpu", "cuda"))
        assert adjusted_rand_score(one.labels_, other.labels_) == 1.0, selection


@pytest.mark.parametrize(
    "options",
    [
        {}, {"tree": "complete"}, {"embedding_distance": "euclidean", "density_unit": "mean_edge"},
        {"reconstruction": "sum"}, {"density_weight": 0.0}, {"batch_size": 600}, {"batch_size": 5000},
        {"reconstruction_weight": 0.5},
    ],
)  # fmt: skip
@pytest.mark.parametrize("columns", [7, 100])
def test_training_follows_the_cpu(options: dict[str, object], columns: int) -> None:
    X = np.random.default_rng(0).normal(size=(2750, columns))
    X += 4 * np.random.default_rng(1).normal(size=(6, columns))[np.arange(2750) % 6]
    settings = {**shade.PAPER, "epochs": 3, "random_state": 0, **options}
    one, other = (SHADE(**settings, device=device).fit(X) for device in ("cpu", "cuda"))
    for a, b in zip(one.history_, other.history_, strict=True):
        for name in ("loss", "reconstruction_loss"):
            assert a[name] == pytest.approx(b[name], rel=2e-3)
    assert np.array_equal(other.predict(X), other.labels_)
    again = SHADE(**settings, device="cuda").fit(X)
    assert np.array_equal(again.embedding_, other.embedding_), "the same seed, another result"


def test_convolutions_own_modules_and_ensembles_train(tmp_path: object) -> None:
    images = np.random.default_rng(0).normal(size=(300, 1, 9, 8))
    model = SHADE(network="conv", epochs=2, n_networks=2, embedding_size=4, random_state=0, device="cuda").fit(images)
    assert model.embedding_.shape == (300, 8)
    model.save(tmp_path / "model.shade")
    loaded = shade.load(tmp_path / "model.shade", device="cpu")
    assert np.array_equal(loaded.predict(images), model.labels_)


def test_a_network_that_cannot_be_recorded_is_trained_step_by_step(caplog: pytest.LogCaptureFixture) -> None:
    class Asking(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down, self.up = torch.nn.Linear(5, 2), torch.nn.Linear(2, 5)

        def encode(self, x: torch.Tensor) -> torch.Tensor:
            return self.down(x) * (2.0 if float(x.detach().sum()) > 1e9 else 1.0)  # needs the value: no graph

        def decode(self, z: torch.Tensor) -> torch.Tensor:
            return self.up(z)

    X = np.random.default_rng(0).normal(size=(600, 5))
    model = SHADE(network=Asking(), n_networks=1, epochs=3, random_state=0, device="cuda").fit(X)
    assert "cannot be recorded as a CUDA graph" in caplog.text
    assert torch.cuda.current_stream() == torch.cuda.default_stream(), "a recording that failed left its stream behind"
    assert model.history_[-1]["loss"] < model.history_[0]["loss"]
