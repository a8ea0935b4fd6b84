"""SHADE where the data shows groups, before a background or without one."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import shade
from shade import SHADE, DCTreeClustering
from shade._errors import ModelFileError, ShadeWarning
from shade.data_groups import _complete
from shade.model_file import ModelContents, read_model_file, write_model_file
from tests.stability.test_groups import unequal_blobs

QUICK = {"epochs": 3, "network": (32,), "embedding_size": 3, "ensemble": 1, "random_state": 0}
Fitted = tuple[SHADE, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    X, truth = unequal_blobs(20)
    noise = np.random.default_rng(1).uniform(-5.0, 16.0, size=(700, 20))
    X = np.vstack([X, noise])
    with pytest.warns(ShadeWarning, match="the data itself shows 52% as a sparse background"):
        model = SHADE(**QUICK).fit(X)
    return model, X, np.append(truth, np.full(700, -1))


@pytest.mark.filterwarnings("ignore::shade._errors.ShadeWarning")
def test_groups_are_clusters_though_the_embedding_is_hardly_trained(fitted: Fitted) -> None:
    model, X, truth = fitted
    assert model._groups.max() == 3
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(truth, model.labels_) > 0.99
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.allclose(model.score_samples(X), -model.outlier_scores_)


@pytest.mark.filterwarnings("ignore::shade._errors.ShadeWarning")
def test_other_rules_know_no_groups(fitted: Fitted) -> None:
    _, X, truth = fitted
    other = SHADE(**QUICK, selection="branches").fit(X)
    assert other._groups.max() == 0
    assert other._groups.min() == -1
    assert not SHADE(**QUICK, noise="embedding").fit(X[truth >= 0])._groups.any()


def test_without_a_background_groups_count_if_hardly_any_row_lies_between(fitted: Fitted, tmp_path: Path) -> None:
    _, X, truth = fitted
    X, truth = X[truth >= 0], truth[truth >= 0]
    model = SHADE(**QUICK).fit(X)
    assert adjusted_rand_score(truth, model._groups) == 1.0
    assert adjusted_rand_score(truth, model.labels_) > 0.99
    model.save(tmp_path / "model.shade")
    loaded = shade.load(tmp_path / "model.shade")
    assert np.array_equal(loaded.predict(X), model.labels_)
    for other in (loaded, loaded.recluster(), loaded.recluster(min_points=9), loaded.recluster(min_cluster_size=40)):
        assert np.array_equal(other.predict(X), other.labels_)
    assert loaded.recluster(n_clusters=2).n_clusters_ == 2
    assert loaded.recluster(min_points=20).n_clusters_ == 3  # a group of 30 rows is none
    random = np.random.default_rng(4)
    first, second = X[random.choice(np.flatnonzero(truth == 0), 80)], X[random.choice(np.flatnonzero(truth == 2), 80)]
    between = first + random.uniform(size=(80, 1)) * (second - first)  # 11 % of the rows
    assert not SHADE(**QUICK).fit(np.vstack([X, between]))._groups.any()


@pytest.mark.filterwarnings("ignore::shade._errors.ShadeWarning")
def test_other_clusterings_and_files_keep_the_groups(fitted: Fitted, tmp_path: Path) -> None:
    model, X, truth = fitted
    others = [model.recluster(), model.recluster(min_points=9)]
    for other in others:
        assert adjusted_rand_score(truth, other.labels_) > 0.99
    coarse = model.recluster(min_points=20)  # needs 40 rows: a group of 30 is none
    assert coarse.n_clusters_ == 3
    assert np.bincount(coarse.labels_ + 1).min() >= 40
    by_size = model.recluster(min_cluster_size=40)
    assert by_size.n_clusters_ == 3
    others += [by_size, model.recluster(min_cluster_size=20), model.recluster(min_cluster_size=900)]
    others += [coarse, model.recluster(min_points=450), coarse.recluster(min_points=5), coarse.recluster(n_clusters=3)]
    for other in others:
        assert np.array_equal(other.predict(X), other.labels_)
        assert all(len(rows) for rows in other.exemplar_indices_)
        assert np.array_equal(other.probabilities_ > 0, other.labels_ >= 0)
    others += [model.recluster(n_clusters=2), model.recluster(distance=float(np.median(model.dc_tree_.height)))]
    for other in [model, *others]:
        other.save(tmp_path / "model.shade")
        loaded = shade.load(tmp_path / "model.shade")
        assert np.array_equal(loaded.labels_, other.labels_)
        assert np.array_equal(loaded.predict(X), other.predict(X))
        assert np.array_equal(loaded.recluster().labels_, other.recluster().labels_)


@pytest.mark.parametrize("n_background", [0, 200, 2000])
def test_how_much_background_there_is_does_not_decide_what_divides_a_group(n_background: int) -> None:
    random = np.random.default_rng(0)
    which = np.repeat([0, 1, 2], [900, 900, 200])
    points = random.normal(size=(2000, 5))
    points[:, 0] += np.array([0.0, 8.0, 68.0])[which]
    groups = np.append(np.maximum(which - 1, 0), np.full(n_background, -1))
    model = DCTreeClustering(selection="information")
    model._cluster(np.vstack([points, 100.0 * random.normal(size=(n_background, 5))]), groups)
    assert model.n_clusters_ == 3


def test_rows_between_groups_are_groups_where_the_embedding_has_clusters_of_them() -> None:
    random = np.random.default_rng(0)
    which = np.repeat(np.arange(4), 50)
    points = random.normal(size=(200, 2)) + np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0], [30.0, 30.0]])[which]
    known = np.where(which < 2, which, -1)
    known[:5] = -1  # in the embedding they lie in the first group
    known[195:] = 1  # and these in a cluster of rows between groups
    embedded = DCTreeClustering(selection="information").fit(points)
    assert embedded.n_clusters_ == 4
    expected = np.where(np.arange(200) >= 195, 1, which)
    assert adjusted_rand_score(_complete(known, embedded, 10), expected) == 1.0
    joined = _complete(known, embedded, 46)  # of the last cluster only 45 rows lie between
    assert joined.max() == 2
    assert joined.min() == 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda groups: groups[:-1], "groups that are none"),
        (lambda groups: groups - 1, "groups that are none"),
        (lambda groups: groups + len(groups), "groups that are none"),
        (lambda groups: np.where(groups == 3, 9, groups), "groups without rows"),
        (lambda groups: np.where(np.arange(len(groups)) < 3, 4, groups), "fewer than min_points"),
        (lambda groups: np.where(groups < 0, 0, groups), "disagree"),
        (lambda groups: np.where(np.arange(len(groups)) == 0, 1, groups), "not of the points|no branches"),
        (lambda groups: np.where(groups >= 0, np.arange(len(groups)) % 2, -1), "not of the points|no branches"),
        (lambda groups: groups.astype(np.int32), "int32"),
    ],
)
def test_groups_that_do_not_fit_are_refused(
    fitted: Fitted, change: Callable[[np.ndarray], np.ndarray], expected: str, tmp_path: Path
) -> None:
    fitted[0].save(tmp_path / "model.shade")
    contents = read_model_file(tmp_path / "model.shade")
    arrays = {**contents.arrays, "groups": change(contents.arrays["groups"])}
    kept = {name: value for name, value in contents.description.items() if name not in ("format", "sha256")}
    write_model_file(tmp_path / "other.shade", ModelContents(kept, contents.tensors, arrays))
    with pytest.raises(ModelFileError, match=expected):
        shade.load(tmp_path / "other.shade")


def test_groups_smaller_than_a_cluster_may_be_are_refused(fitted: Fitted, tmp_path: Path) -> None:
    fitted[0].save(tmp_path / "model.shade")
    contents = read_model_file(tmp_path / "model.shade")
    kept = {name: value for name, value in contents.description.items() if name not in ("format", "sha256")}
    kept["parameters"] = {**kept["parameters"], "min_cluster_size": 31}
    write_model_file(tmp_path / "other.shade", ModelContents(kept, contents.tensors, contents.arrays))
    with pytest.raises(ModelFileError, match="no branches"):
        shade.load(tmp_path / "other.shade")
