"""Weights of rows: the clusters of repeated rows, and one entry per given row in all results."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shade
from shade import DCTreeClustering
from shade._base.errors import MemoryBudgetError, ModelFileError
from shade.persistence.model_file import ModelContents, read_model_file, write_model_file
from tests import oracles

RULES: tuple[dict[str, Any], ...] = (
    {},
    {"between_noise": True},
    {"selection": "branches"},
    {"min_cluster_size": 15, "background_noise": False},
    {"selection": "structure"},
    {"metric": "cosine"},
)


@pytest.fixture(autouse=True)
def few_clusters_may_be_found() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Only . clusters? instead of|Only one cluster|.* of the .*rows are noise")
        yield


def weighted(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Groups of rows, and a weight for each; every fourth set has whole numbers as values."""
    random = np.random.default_rng(seed)
    X = oracles.draw_groups(seed, 90, 3) + 1.0
    X = X.round() if seed % 4 == 3 else X
    return X, random.integers(1 if seed % 2 else 0, 5, len(X))


def rows_of(weights: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(weights)), weights)


def test_a_weight_counts_equal_rows() -> None:
    for seed in range(200):
        (X, weights), rule = weighted(seed), {"min_samples": 2 + seed % 4, **RULES[seed % len(RULES)]}
        rows, what = rows_of(weights), f"{seed=} {rule}"
        model = DCTreeClustering(**rule).fit(X, sample_weight=weights)
        whole = DCTreeClustering(**rule).fit(X[rows])
        np.testing.assert_array_equal(model.labels_[rows], whole.labels_, err_msg=what)
        np.testing.assert_array_equal(model.probabilities_[rows], whole.probabilities_, err_msg=what)
        np.testing.assert_array_equal(model.outlier_scores_[rows], whole.outlier_scores_, err_msg=what)
        np.testing.assert_array_equal(model.predict(X), model.labels_, err_msg=what)
        np.testing.assert_array_equal(model.predict(X), whole.predict(X), err_msg=what)
        np.testing.assert_array_equal(model.memberships()[rows], whole.memberships(), err_msg=what)
        np.testing.assert_array_equal(model.assign_noise()[rows], whole.assign_noise(), err_msg=what)
        for found, expected in zip(model.exemplar_indices_, whole.exemplar_indices_, strict=True):
            np.testing.assert_array_equal(found, np.unique(rows[expected]), err_msg=what)
        for found, expected in zip(model.layers().labels, whole.layers().labels, strict=True):
            np.testing.assert_array_equal(found[rows], expected, err_msg=what)


def test_weights_stay_with_the_model(tmp_path: Path) -> None:
    for seed in range(6):
        X, weights = weighted(seed)
        rows = rows_of(weights)
        y = np.full(len(X), -1)
        y[np.flatnonzero(weights)[:3]] = [4, 5, 4]
        model = DCTreeClustering().fit(X, y, sample_weight=weights)
        whole = DCTreeClustering().fit(X[rows], y[rows])
        np.testing.assert_array_equal(model.labels_[rows], whole.labels_)
        np.testing.assert_array_equal(model.known_labels_, whole.known_labels_)
        assert str(model.reliability()) == str(whole.reliability())
        model.save(tmp_path / "model.shade")
        loaded = shade.load(tmp_path / "model.shade")
        for same in (model, loaded):
            np.testing.assert_array_equal(same.labels_, model.labels_)
            np.testing.assert_array_equal(same.points_, X)
            again, expected = same.recluster(min_samples=3), whole.recluster(min_samples=3)
            np.testing.assert_array_equal(again.labels_[rows], expected.labels_)
            assert len(same.map()) == len(same.to_frame(embedding=True)) == len(same.assign_noise("nearest")) == len(X)
        new = X[:5] + 0.1
        loaded.update(new)
        np.testing.assert_array_equal(loaded.labels_[np.append(rows, len(X) + np.arange(5))], whole.update(new).labels_)
        model.fit(X)
        np.testing.assert_array_equal(model.labels_, DCTreeClustering().fit(X).labels_)


def test_weights_of_one_change_nothing() -> None:
    X, _ = weighted(0)
    model = DCTreeClustering().fit(X, sample_weight=np.ones(len(X)))
    assert model.weights_ is None
    np.testing.assert_array_equal(model.labels_, DCTreeClustering().fit(X).labels_)


X, WEIGHTS = weighted(1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (WEIGHTS[:-1], r"sample_weight has shape \(89,\), but X has 90 rows"),
        (np.where(np.arange(90) == 7, -1, WEIGHTS), "The weight of row 7 is -1. Give whole numbers"),
        (np.where(np.arange(90) == 8, 0.5, WEIGHTS), "The weight of row 8 is 0.5"),
        (np.where(np.arange(90) == 9, np.nan, WEIGHTS), "The weight of row 9 is nan"),
        (np.zeros(90), "The weight of every row is zero"),
        (WEIGHTS.astype(str), "sample_weight must be numbers. Got <U"),
        (np.where(np.arange(90) == 3, 3, 0), "n_samples = 3, fewer than min_samples = 5"),
    ],
)
def test_wrong_weights_are_refused_and_change_nothing(weights: Any, message: str) -> None:
    model = DCTreeClustering().fit(X, sample_weight=WEIGHTS)
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, sample_weight=weights)
    assert pickle.dumps(vars(model)) == before


def test_weights_that_go_with_nothing_else_are_refused() -> None:
    with pytest.raises(MemoryBudgetError, match=r"90 rows with weights that sum to .* takes about"):
        DCTreeClustering().fit(X, sample_weight=np.full(90, 10**14))
    with pytest.raises(ValueError, match="weights need points"):
        DCTreeClustering(metric="precomputed").fit(oracles.distances(X), sample_weight=WEIGHTS)
    none = np.where(np.arange(90) == 2, 0, WEIGHTS)
    with pytest.raises(ValueError, match="Row 2 has the weight 0 and a label or a pair"):
        DCTreeClustering().fit(X, must_link=[(2, 3)], sample_weight=none)


def test_forged_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.shade"
    DCTreeClustering().fit(X, sample_weight=WEIGHTS).save(path)
    contents = read_model_file(path)
    big = WEIGHTS.copy()
    big[0] = 2**62
    for weights, message in (
        (WEIGHTS[1:], "89 weights for 90 rows"),
        (WEIGHTS + 1, "the weights are not of the tree"),
        (big, "weights that are none"),
        (np.roll(WEIGHTS, 1), "the tree is not of the points"),
    ):
        arrays = {**contents.arrays, "weights": weights}
        write_model_file(path, ModelContents(contents.description, contents.tensors, arrays))
        with pytest.raises(ModelFileError, match=message):
            shade.load(path)
