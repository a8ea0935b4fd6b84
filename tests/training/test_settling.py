"""Networks that learn to embed each row where its neighbours are."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs

from shade import PAPER, SHADE
from shade.density.neighbours import find_neighbours
from shade.training.settling import mean_over_neighbours

SMALL = {"network": (32, 16), "n_networks": 2, "embedding_size": 4, "device": "cpu"}


def noisy_blobs(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(n, n_features=12, centers=4, cluster_std=2.5, random_state=0)
    return X.astype(np.float32), y


def test_means_are_taken_over_a_row_and_its_neighbours() -> None:
    points = np.array([[0.0], [1.0], [5.0], [6.0]], np.float32)
    neighbours = np.array([[0, 1], [1, 0], [2, 3], [3, 2]], np.int32)
    assert mean_over_neighbours(points, neighbours).ravel().tolist() == [0.5, 0.5, 5.5, 5.5]


def test_means_of_many_rows_are_those_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    points = random.normal(size=(100, 3)).astype(np.float32)
    neighbours = random.integers(0, 100, (100, 5)).astype(np.int32)
    whole = mean_over_neighbours(points, neighbours)
    monkeypatch.setattr("shade.training.settling.ROWS_AT_A_TIME", 7)
    assert np.array_equal(mean_over_neighbours(points, neighbours), whole)


def test_rows_lie_closer_to_their_neighbours_than_without() -> None:
    X, _ = noisy_blobs()
    spread = {}
    for settle in (True, False):
        model = SHADE(**SMALL, epochs=250, settle=settle, random_state=0).fit(X)
        embedding = model.embedding_.astype(np.float64)
        neighbours = find_neighbours(model.standardizer_.apply(X), 10)
        apart = np.square(embedding - mean_over_neighbours(embedding, neighbours)).sum()
        spread[settle] = apart / embedding.var(axis=0).sum()
        assert model.settled_ == settle
        assert model.clustering_.settled == settle
    assert spread[True] < 0.7 * spread[False]


def test_new_rows_need_no_neighbours() -> None:
    X, _ = noisy_blobs()
    model = SHADE(**SMALL, epochs=10, random_state=0).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.transform(X[:1]), model.embedding_[:1])


def test_the_decoder_and_the_history_stay_those_of_training() -> None:
    X, _ = noisy_blobs()
    settled, plain = (SHADE(**SMALL, epochs=10, settle=settle, random_state=0).fit(X) for settle in (True, False))
    assert len(settled.history_) == len(plain.history_) == 20
    for one, other in zip(settled.networks_, plain.networks_, strict=True):
        weights, others = one.state_dict(), other.state_dict()
        same = {name: torch.equal(weights[name], others[name]) for name in weights}
        assert all(same[name] for name in same if name.startswith("decoder"))
        assert not any(same[name] for name in same if name.startswith("encoder"))


def test_the_same_seed_settles_alike_with_any_number_of_threads() -> None:
    X, _ = noisy_blobs()
    one, two = (SHADE(**SMALL, epochs=10, random_state=3, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2))
    assert np.array_equal(one.embedding_, two.embedding_)


def test_trees_of_batches_and_the_settings_of_the_paper_do_not_settle() -> None:
    X, _ = noisy_blobs(100)
    assert not SHADE(**SMALL, epochs=2, tree="batch", random_state=0).fit(X).settled_
    assert not SHADE(**{**PAPER, "network": (8,), "epochs": 1}, device="cpu", random_state=0).fit(X).settled_
