"""Rows that the data shows as noise whatever the embedding makes of them, and sparse clusters that are none."""

import numpy as np
import pytest

from shade import SHADE, estimator

QUICK = {"epochs": 20, "ensemble": 1, "random_state": 0, "device": "cpu"}


def dense_groups(random: np.random.Generator, columns: int) -> np.ndarray:
    centres = 2.0 * random.normal(size=(3, 1, columns))
    return (centres + 0.05 * random.normal(size=(3, 200, columns))).reshape(-1, columns)


def test_a_uniform_background_is_noise_and_nothing_else_is() -> None:
    random = np.random.default_rng(0)
    X = np.vstack([dense_groups(random, 8), random.uniform(-6.0, 6.0, size=(200, 8))])
    labels = SHADE(**QUICK).fit(X).labels_
    assert (labels[600:] == -1).all()
    assert (labels[:600] >= 0).mean() > 0.95
    assert len(set(labels[:600].tolist()) - {-1}) == 3


def test_sparse_rows_are_clusters_where_the_embedding_shows_them_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    # In a hundred columns, distances within a sparse group and between two of them are much the same.
    random = np.random.default_rng(0)
    sparse = random.normal(size=(2, 1, 100)) + random.normal(size=(2, 150, 100))
    X = np.vstack([dense_groups(random, 100), sparse.reshape(-1, 100)])
    model = SHADE(**QUICK).fit(X)
    assert model.n_clusters_ == 5
    assert (model.labels_[600:] >= 0).mean() > 0.9
    monkeypatch.setattr(estimator, "CLEARLY", np.inf)
    assert (SHADE(**QUICK).fit(X).labels_[600:] == -1).all()
