"""Noise, single clusters and units with the defaults of SHADE."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import ShadeWarning
from shade.data.standardize import choose_standardization, have_one_length
from shade.density.neighbours import find_neighbours
from tests.clustering.test_background import groups_and_noise

QUICK = {"epochs": 10, "network": (64, 32), "random_state": 0}


@pytest.fixture(scope="module")
def noisy() -> tuple[SHADE, np.ndarray, np.ndarray]:
    X, truth = groups_and_noise(20, 120)
    return SHADE(**QUICK).fit(X), X, truth


def test_noise_that_the_data_shows_is_noise(noisy: tuple[SHADE, np.ndarray, np.ndarray]) -> None:
    model, X, truth = noisy
    assert model.n_clusters_ == 3
    assert np.mean(model.labels_[truth] == -1) >= 0.95
    assert np.mean(truth[model.labels_ == -1]) >= 0.95
    assert adjusted_rand_score(np.repeat([0, 1, 2], 200), model.assign_noise()[~truth]) > 0.98
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.probabilities_ > 0, model.labels_ >= 0)
    assert np.allclose(model.score_samples(X), -model.outlier_scores_)


def test_without_the_tree_of_the_data_it_may_look_like_a_cluster(noisy: tuple[SHADE, np.ndarray, np.ndarray]) -> None:
    model, X, _ = noisy
    other = SHADE(**QUICK, background_noise=False, between_noise=True).fit(X)
    assert np.array_equal(other.embedding_, model.embedding_)
    assert not other.clustering_.shown.background.any()
    assert model.clustering_.shown.background.any()


@pytest.mark.parametrize("between_noise", [False, True])
def test_recluster_by_another_rule_of_noise_is_the_fit_with_it(
    noisy: tuple[SHADE, np.ndarray, np.ndarray], between_noise: bool, tmp_path: Path
) -> None:
    model, X, _ = noisy
    before = model.labels_.copy()
    found, fitted = model.recluster(between_noise=between_noise), SHADE(**QUICK, between_noise=between_noise).fit(X)
    assert np.array_equal(found.labels_, fitted.labels_)
    assert np.array_equal(found.probabilities_, fitted.probabilities_)
    assert np.array_equal(found.predict(X), found.labels_)
    assert (found.between_noise, model.between_noise) == (between_noise, False)
    assert np.array_equal(model.labels_, before)
    found.save(tmp_path / "other.shade")
    assert np.array_equal(shade.load(tmp_path / "other.shade").labels_, found.labels_)


@pytest.mark.parametrize("min_samples", [8, 50])
def test_training_rows_have_their_scores_whatever_the_density(
    noisy: tuple[SHADE, np.ndarray, np.ndarray], min_samples: int
) -> None:
    model, X, _ = noisy
    other = model.recluster(min_samples=min_samples)
    assert np.array_equal(other.predict(X), other.labels_)
    np.testing.assert_allclose(other.score_samples(X), -other.outlier_scores_)


def test_recluster_knows_the_rules_of_noise() -> None:
    X, _ = groups_and_noise(3, 60)
    model = DCTreeClustering().fit(X)
    with pytest.raises(ValueError, match="'between_noise' parameter of recluster must be True, False or None"):
        model.recluster(between_noise="data")
    assert np.array_equal(model.recluster().labels_, model.labels_)
    model.background_noise = False
    with pytest.raises(ValueError, match="cannot change 'background_noise'"):
        model.recluster()


def test_sparse_rows_that_form_clusters_are_no_background() -> None:
    # In a hundred columns, distances within a sparse group and between two of them are much the same.
    random = np.random.default_rng(0)
    dense = 2.0 * random.normal(size=(3, 1, 100)) + 0.05 * random.normal(size=(3, 200, 100))
    sparse = random.normal(size=(2, 1, 100)) + random.normal(size=(2, 150, 100))
    X = np.vstack([dense.reshape(-1, 100), sparse.reshape(-1, 100)])
    model = SHADE(epochs=20, n_networks=1, random_state=0).fit(X)
    assert model.n_clusters_ == 5
    assert np.mean(model.labels_[600:] >= 0) > 0.9


def test_new_noise_is_mostly_noise_too(noisy: tuple[SHADE, np.ndarray, np.ndarray]) -> None:
    model, _, _ = noisy
    X, truth = groups_and_noise(20, 120, seed=1)
    found = model.predict(X)
    assert np.mean(found[truth] == -1) >= 0.8
    assert np.mean(found[~truth] >= 0) >= 0.9


def test_other_clusterings_and_files_keep_the_noise(
    noisy: tuple[SHADE, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    model, X, truth = noisy
    for other in (model.recluster(n_clusters=1), model.recluster(n_clusters=2), model.recluster(min_samples=8)):
        assert (other.labels_[truth] == -1).mean() >= 0.95
    assert model.recluster(n_clusters=1).n_clusters_ == 1
    model.save(tmp_path / "model.shade")
    loaded = shade.load(tmp_path / "model.shade")
    assert np.array_equal(loaded.predict(X), model.labels_)
    assert np.array_equal(loaded.recluster(n_clusters=1).labels_, model.recluster(n_clusters=1).labels_)
    assert loaded.training_tree_ == "complete"


@pytest.mark.parametrize("columns", [2, 10])
def test_one_blob_is_one_cluster(columns: int) -> None:
    X = np.random.default_rng(columns).normal(size=(600, columns))
    model = SHADE(**QUICK).fit(X)
    assert model.n_clusters_ == 1
    assert np.mean(model.labels_ == 0) > 0.9


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_unit_of_the_data_changes_nothing(scale: float) -> None:
    X, _ = groups_and_noise(8, 40)
    first = SHADE(**QUICK, standardize=False).fit(X)
    second = SHADE(**QUICK, standardize=False).fit(scale * X)
    assert np.array_equal(first.labels_, second.labels_)


def test_images_and_rows_of_pixels_share_one_deviation() -> None:
    random = np.random.default_rng(0)
    pictures = random.integers(0, 255, size=(60, 8, 8)).astype(np.uint8)
    quick = {**QUICK, "epochs": 1, "selection": "branches"}
    for X, single in ((pictures, True), (pictures.reshape(60, -1), True), (pictures[:, 0], False)):
        assert (len(SHADE(**quick).fit(X).standardizer_.scale) == 1) == single
    as_floats = pictures.reshape(60, -1).astype(float)
    scaled = (as_floats - as_floats.min(axis=0)) / np.ptp(as_floats, axis=0)  # one row at each end
    with_contrast = np.clip(2.0 * as_floats - 128.0, 0.0, 255.0) / 255.0  # many black and white
    for X, columns in ((as_floats, 64), (scaled, 64), (with_contrast, 1), (with_contrast[:, :63], 63)):
        assert len(SHADE(**quick).fit(X).standardizer_.scale) == columns


def test_sparse_rows_of_one_length_share_one_deviation() -> None:
    random = np.random.default_rng(0)
    counts = random.poisson(0.3, (80, 70)).astype(float)
    lengths = np.linalg.norm(counts, axis=1, keepdims=True)
    unit = np.divide(counts, lengths, where=lengths > 0, out=np.zeros_like(counts))
    unit[3] = 0.0  # a text without any known word
    longer = unit.copy()
    longer[5] *= 1.1
    dense = random.normal(size=(80, 70))
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    for X, single in (
        (unit, True),
        (5.0 * unit.astype(np.float32), True),
        (counts, False),
        (longer, False),
        (dense, False),
    ):
        assert (choose_standardization("auto", X, X.shape[1:]) == "global") == single
    for X, directions in ((unit, True), (counts, False), (longer, False), (7.0 * dense, True), (0.0 * dense, False)):
        assert have_one_length(X) == directions


def test_rows_that_are_directions_settle_on_neighbours_by_angle(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = np.random.default_rng(0).normal(size=(80, 6))
    asked = []

    def search(*arguments: object, by_angle: bool, **options: object) -> object:
        asked.append(by_angle)
        return find_neighbours(*arguments, by_angle=by_angle, **options)

    monkeypatch.setattr("shade.estimators.training_steps.find_neighbours", search)
    for X in (dense, dense / np.linalg.norm(dense, axis=1, keepdims=True)):
        assert SHADE(**{**QUICK, "epochs": 1}).fit(X).settled_
    assert asked == [False, True]


def test_the_tree_of_all_data_is_left_out_where_it_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = groups_and_noise(30, 600)
    monkeypatch.setattr("shade.training.fitting.MOST_PAIRED_ENTRIES", {"cpu": 1e6, "cuda": 1e6})
    model = SHADE(**{**QUICK, "epochs": 2}).fit(X)
    assert model.training_tree_ == "batch"
    assert len(model.clustering_.links) == len(X) - 1  # of the tree of the embedding alone
    complete = SHADE(**{**QUICK, "epochs": 2}, tree="complete").fit(X)
    assert complete.training_tree_ == "complete"
    assert len(complete.clustering_.links) == 2 * (len(X) - 1)
    assert SHADE(**{**QUICK, "epochs": 2}).fit(X[:, :8]).training_tree_ == "complete"  # a kd-tree is quick


@pytest.fixture(scope="module")
def touching() -> tuple[SHADE, np.ndarray]:
    """Four groups that touch, with one network that hardly trains, so that many rows lie between clusters."""
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(250, 6)) + 4.0 * np.eye(6)[place] for place in range(4)])
    return SHADE(**QUICK, n_networks=1, batch_size=500).fit(X), X


def test_rows_around_clusters_are_noise_only_where_they_lie_far_out(touching: tuple[SHADE, np.ndarray]) -> None:
    model, X = touching
    with pytest.warns(
        ShadeWarning, match=r"of the 1,000 rows are noise: they lie between clusters.*between_noise=False"
    ):
        other = SHADE(**QUICK, n_networks=1, batch_size=500, between_noise=True).fit(X)
    assert np.array_equal(other.embedding_, model.embedding_)
    assert other.n_clusters_ == model.n_clusters_ > 1
    assert np.mean(other.labels_ < 0) > 0.1
    assert np.mean(model.labels_ < 0) < 0.5 * np.mean(other.labels_ < 0)
    inside = other.labels_ >= 0
    assert adjusted_rand_score(other.labels_[inside], model.labels_[inside]) == 1.0
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.probabilities_ > 0, model.labels_ >= 0)


def test_files_and_other_clusterings_have_outskirts_too(touching: tuple[SHADE, np.ndarray], tmp_path: Path) -> None:
    model, X = touching
    model.save(tmp_path / "model.shade")
    loaded = shade.load(tmp_path / "model.shade")
    assert np.array_equal(loaded.labels_, model.labels_)
    assert np.array_equal(loaded.predict(X), model.labels_)
    for again in (loaded, model):
        fewer = again.recluster(n_clusters=2)
        assert fewer.clustering_.flat.outskirts.any()
        assert np.array_equal(fewer.labels_, model.recluster(n_clusters=2).labels_)
        cut = again.recluster(cut_distance=float(np.median(model.dc_tree_.height)))
        assert not cut.clustering_.flat.outskirts.any()
    changed = model.recluster()
    changed.between_noise = True
    with pytest.raises(ValueError, match="not those that it was fitted with"):
        changed.save(tmp_path / "changed.shade")


def test_recluster_says_that_the_background_is_found_by_fit() -> None:
    model = DCTreeClustering().fit(np.random.default_rng(0).normal(size=(60, 2)))
    assert np.array_equal(model.recluster(background_noise=True).labels_, model.labels_)
    with pytest.raises(ValueError, match=r"recluster cannot change 'background_noise', .* Fit again"):
        model.recluster(background_noise=False)
