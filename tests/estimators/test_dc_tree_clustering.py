"""DCTreeClustering: the clustering step alone."""

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shade
from shade import DCTreeClustering
from shade._base.errors import DataError, DeviceError, ShadeWarning
from tests.unmeasured import unmeasured


def blobs(n: int = 600, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(n, d, centers=5, cluster_std=0.7, random_state=1)


@pytest.mark.parametrize("columns", [5, 60])
@pytest.mark.parametrize("selection", ["branches", "information"])
def test_blobs_are_found(selection: str, columns: int) -> None:
    X, y = blobs(1500, columns)
    model = DCTreeClustering(selection=selection).fit(X)
    assert model.n_clusters_ == 5
    assert adjusted_rand_score(y, model.assign_noise()) == 1.0
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.fit_predict(X), model.labels_)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_the_settings_for_people_of_hdbscan_give_its_clusters(load: Callable[[], Any]) -> None:
    X = load().data
    expected = HDBSCAN(min_cluster_size=5, min_samples=5, copy=True).fit_predict(X)
    settings = {"selection": "branches", "between_noise": True, "background_noise": False, "min_cluster_size": 5}
    found = DCTreeClustering(**settings).fit_predict(X)
    assert found.max() == expected.max()
    assert adjusted_rand_score(expected, found) > 0.98


def test_rows_between_clusters_are_members_unless_they_shall_be_noise(tmp_path: Path) -> None:
    X, y = make_blobs(3000, 5, centers=4, cluster_std=2.4, random_state=1)
    alone = DCTreeClustering(min_cluster_size=100, between_noise=True).fit(X)
    model, again = (DCTreeClustering(min_cluster_size=100, n_jobs=n).fit(X) for n in (1, 2))
    assert alone.n_clusters_ == model.n_clusters_ == 4
    assert np.mean(alone.labels_ < 0) > 0.2
    assert np.mean(model.labels_ < 0) < 0.03
    assert adjusted_rand_score(y, model.labels_) > adjusted_rand_score(y, alone.labels_) + 0.2
    assert np.array_equal(model.labels_, again.labels_)
    assert np.array_equal(model.predict(X), model.labels_)
    model.save(tmp_path / "model.shade")
    assert np.array_equal(shade.load(tmp_path / "model.shade").recluster().labels_, model.labels_)
    with pytest.raises(ValueError, match="'between_noise' parameter of DCTreeClustering must be True or False"):
        DCTreeClustering(between_noise="outliers").fit(X)


@pytest.mark.parametrize("between_noise", [False, True])
@pytest.mark.parametrize(
    "answer", [{}, {"n_clusters": 1}, {"n_clusters": 7}, {"cut_distance": 1.1}, {"min_cluster_size": 200}]
)
def test_training_rows_are_predicted_as_firmly_as_they_belong(between_noise: bool, answer: dict[str, float]) -> None:
    X, _ = make_blobs(2000, 4, centers=5, cluster_std=1.8, random_state=2)
    model = DCTreeClustering(between_noise=between_noise).fit(X).recluster(**answer)
    labels, probabilities = model.predict(X, return_probabilities=True)
    assert np.array_equal(labels, model.labels_)
    assert np.array_equal(probabilities, model.probabilities_)


@pytest.mark.parametrize("between_noise", [False, True])
def test_new_rows_belong_less_firmly_farther_out(between_noise: bool) -> None:
    X, _ = make_blobs(2000, 3, centers=4, cluster_std=1.5, random_state=3)
    model = DCTreeClustering(between_noise=between_noise).fit(X)
    outwards = X.mean(axis=0) + np.linspace(0.0, 60.0, 500)[:, None] * np.array([0.6, -0.8, 0.0])
    labels, probabilities = model.predict(outwards, return_probabilities=True)
    assert np.array_equal(probabilities > 0.0, labels >= 0)
    beyond = np.flatnonzero(np.linalg.norm(outwards - X.mean(axis=0), axis=1) > np.ptp(X, axis=0).max() / 2)
    assert (np.diff(probabilities[beyond]) <= 0.0).all()
    assert labels[-1] == -1
    assert (probabilities < 1.0).any()


def test_how_firmly_a_new_row_belongs_is_where_the_cluster_dies_over_its_distance() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [100.0], [101.0], [102.0], [103.0]])
    model = DCTreeClustering(min_samples=2, selection="branches", min_cluster_size=3).fit(X)
    labels, probabilities = model.predict([[1.5], [5.0], [11.0], [50.0]], return_probabilities=True)
    assert labels.tolist() == [0, 0, 0, 0]  # the second nearest row of 50 is 48 away, and the clusters join at 97
    np.testing.assert_allclose(probabilities, [1.0, 1.0 / 3.0, 1.0 / 9.0, 1.0 / 48.0])


@pytest.mark.parametrize("number", [1, 2])
def test_rows_between_the_parts_of_a_cluster_belong_to_it_as_firmly_as_those(number: int) -> None:
    random = np.random.default_rng(0)
    X = np.vstack([centre + 0.1 * random.normal(size=(100, 2)) for centre in ([0, 0], [10, 10], [100, 0])])
    model = DCTreeClustering(between_noise=True).fit(X).recluster(n_clusters=number)
    assert (model.probabilities_[:200] == 1.0).all()
    labels, probabilities = model.predict([[0.0, 2.0], [5.0, 5.0]], return_probabilities=True)
    assert labels.tolist() == [model.labels_[0]] * 2
    assert probabilities.tolist() == [1.0, 1.0]


def test_a_row_far_out_does_not_make_others_the_same() -> None:
    random = np.random.default_rng(0)
    X = np.vstack([0.1 * random.normal(size=(100, 2)), 10.0 + 0.1 * random.normal(size=(100, 2)), [[5e7, 5e7]]])
    queries = [[40.0, 40.0], [-20.0, -20.0], [3.0, 3.0]]
    near, far = DCTreeClustering().fit(X[:-1]), DCTreeClustering().fit(X)
    assert near.predict(queries).tolist()[:2] == far.predict(queries).tolist()[:2] == [-1, -1]
    assert np.array_equal(far.predict(X), far.labels_)
    assert (far.score_samples(queries) < -0.95).all()
    np.testing.assert_allclose(far.score_samples(X), -far.outlier_scores_)


def test_rows_that_are_all_equal_are_one_cluster_at_any_distance(tmp_path: Path) -> None:
    model = DCTreeClustering().fit(np.ones((50, 3)))
    for other in (
        model,
        model.recluster(cut_distance=0.1),
        model.recluster(cut_distance=10.0),
        model.recluster(n_clusters=1),
    ):
        assert other.labels_.tolist() == [0] * 50
        other.save(tmp_path / "model.shade")
        assert shade.load(tmp_path / "model.shade").labels_.tolist() == [0] * 50


@pytest.mark.parametrize("between_noise", [False, True])
def test_recluster_by_density_is_the_fit_with_it(between_noise: bool) -> None:
    for seed in range(20):
        X, _ = make_blobs(300, 2, centers=6, cluster_std=1.5, random_state=seed)
        fitted, found = (DCTreeClustering(between_noise=between_noise, min_samples=k).fit(X) for k in (9, 3))
        found = found.recluster(min_samples=9)
        assert np.array_equal(found.labels_, fitted.labels_), seed
        assert np.array_equal(found.assign_noise(), fitted.assign_noise()), seed


@pytest.mark.parametrize("background_noise", [False, True])
@pytest.mark.parametrize("columns", [1, 2, 3, 10])
def test_rows_far_out_are_noise_where_there_is_one_cluster(
    columns: int, background_noise: bool, tmp_path: Path
) -> None:
    X = np.random.default_rng(0).normal(size=(1000, columns))
    X[:3] = [[100.0], [-80.0], [60.0]] * np.ones((3, columns))
    model = DCTreeClustering(background_noise=background_noise).fit(X)
    assert model.n_clusters_ == 1
    assert (model.labels_[:3] == -1).all()
    assert np.mean(model.labels_[3:] < 0) < 0.03
    assert np.array_equal(model.probabilities_ > 0.0, model.labels_ == 0)
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.predict(np.full((1, columns), 90.0)).tolist() == [-1]
    model.save(tmp_path / "one.shade")
    assert np.array_equal(shade.load(tmp_path / "one.shade").labels_, model.labels_)
    assert (model.assign_noise() == 0).all()
    rest, everything = ~model.clustering_.shown.background, float(model.dc_tree_.height.max())
    assert background_noise or rest.all()
    assert np.array_equal(model.recluster(cut_distance=everything).labels_ == 0, rest)
    assert np.array_equal(model.recluster(between_noise=True).labels_ == 0, rest)


@pytest.mark.parametrize("columns", [1, 2])
def test_rounded_values_have_the_clusters_of_the_values(columns: int) -> None:
    random = np.random.default_rng(1)
    y = random.integers(0, 3, 1500)
    spread = np.array([3.0, 1.5])[:columns]
    X = np.array([[20, 5], [45, 20], [70, 8]])[y, :columns] + spread * random.normal(size=(1500, columns))
    assert len(np.unique(np.round(X), axis=0)) < 350
    model = DCTreeClustering().fit(np.round(X))
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.98


@pytest.mark.parametrize("places", [2, 3, 6])
def test_where_there_are_few_places_each_is_a_cluster(places: int) -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(places, 4)), 40, axis=0)
    model = DCTreeClustering().fit(X)
    assert model.n_clusters_ == places
    assert adjusted_rand_score(np.repeat(np.arange(places), 40), model.labels_) == 1.0


@pytest.mark.parametrize("unit", [1e160, 1e-200])
def test_points_without_squares_are_refused(unit: float) -> None:
    with pytest.raises(ValueError, match="Multiply the points by a constant first"):
        DCTreeClustering().fit(unit * blobs()[0])


def test_the_number_of_threads_changes_nothing() -> None:
    X, _ = blobs(5000)
    one, two = (DCTreeClustering(selection="branches", n_jobs=n).fit(X) for n in (1, 2))
    assert np.array_equal(one.labels_, two.labels_)
    assert np.array_equal(one.dc_tree_.order, two.dc_tree_.order)
    assert np.array_equal(one.probabilities_, two.probabilities_)


def test_it_works_in_a_pipeline_with_frames_clones_and_pickles() -> None:
    X, _ = blobs()
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(5)])
    pipeline = make_pipeline(StandardScaler(), DCTreeClustering(selection="branches"))
    labels = pipeline.fit_predict(frame)
    assert np.array_equal(pickle.loads(pickle.dumps(pipeline)).predict(frame), labels)
    assert clone(pipeline[-1]).get_params() == pipeline[-1].get_params()


def test_bad_input_changes_nothing() -> None:
    X, _ = blobs(60)
    model = DCTreeClustering(selection="branches").fit(X)
    before = dict(vars(model))
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN in row 3, column 2"):
        model.fit(X)
    with pytest.raises(ValueError, match="n_samples = 3, fewer than min_samples = 5"):
        model.fit(X[:3])
    assert vars(model) == before
    for name, value in {"min_samples": 1, "selection": "all", "min_cluster_size": 0, "n_jobs": 0}.items():
        with pytest.raises(ValueError, match=f"The '{name}' parameter of DCTreeClustering must be"):
            DCTreeClustering(**{name: value}).fit(blobs(60)[0])
    with pytest.raises(DeviceError, match="not available here"):
        DCTreeClustering(device="cuda:99").fit(blobs(60)[0])


def test_two_hundred_thousand_points_cluster_within_two_gigabytes() -> None:
    """Peak resident memory of a process that does nothing else; a matrix of all pairs would take 320 GB."""
    script = """
import resource, numpy as np
from shade import DCTreeClustering
random = np.random.default_rng(0)
X = 8 * random.normal(size=(20, 10))[random.integers(20, size=200_000)] + random.normal(size=(200_000, 10))
model = DCTreeClustering(selection="information", device="cpu").fit(X)
print(model.n_clusters_, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    command = [sys.executable, "-c", script]
    output = subprocess.run(command, env=unmeasured(), capture_output=True, check=True, text=True).stdout
    clusters, megabytes = map(int, output.split())
    assert clusters == 20
    assert megabytes < 2048


@pytest.mark.parametrize(
    ("column", "named"),
    [
        (["x"] * 60, "'x'"),
        (pd.Categorical(["u", "v"] * 30), "'u'"),
        (pd.Timestamp("2020-01-02"), "'2020-01-02 00:00:00'"),
    ],
)
def test_columns_that_are_no_numbers_are_named(column: object, named: str) -> None:
    frame = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60) % 2 == 0}).assign(t=column)
    sentence = (
        "Only columns of numbers can be clustered. Encode these as numbers, or leave them out: 't' ('t' holds "
        f"{named})."
    )
    for given in (frame, frame[["a", "t"]]):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            DCTreeClustering().fit(given)
    with pytest.raises(ValueError, match="There are several called 'a'"):
        DCTreeClustering().fit(pd.concat([frame, frame], axis=1))
    assert DCTreeClustering().fit(frame.assign(t=["1", "2"] * 30)).n_features_in_ == 3


def test_a_folder_that_is_not_there_is_named_when_saving(tmp_path: Path) -> None:
    model = DCTreeClustering().fit(blobs()[0])
    with pytest.raises(FileNotFoundError) as error:
        model.save(tmp_path / "nowhere" / "model.shade")
    assert error.value.filename == str(tmp_path / "nowhere")


@pytest.mark.parametrize("number", [1, 2, 5])
def test_a_wanted_number_of_clusters_is_that_of_recluster(number: int) -> None:
    X, _ = make_blobs(400, n_features=4, centers=5, random_state=0)
    model = DCTreeClustering(n_clusters=number).fit(X)
    assert model.n_clusters_ == number
    other = DCTreeClustering().fit(X).recluster(n_clusters=number)
    assert other.n_clusters == number
    assert np.array_equal(model.labels_, other.labels_)
    assert model.recluster().n_clusters_ == 5


def test_where_there_are_fewer_branches_than_wanted_clusters_fit_warns_and_recluster_refuses() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.warns(
        ShadeWarning,
        match=r"cluster.? instead of 9 w.* found: the density tree of the .* rows does not have 9 separate",
    ):
        model = DCTreeClustering(n_clusters=9).fit(X)
    assert model.n_clusters_ < 9
    with pytest.raises(ValueError, match="'n_clusters' parameter must be an int in the range"):
        model.recluster(n_clusters=9)


def test_the_model_does_not_change_with_the_array_that_was_clustered() -> None:
    X = make_blobs(200, 3, centers=3, random_state=0)[0]
    whole = X.copy()
    frame = pd.DataFrame(X, columns=list("abc"), copy=False)
    for given in (X, X[:], frame):
        model = DCTreeClustering().fit(given)
        X[:] = 0.0
        assert np.array_equal(model.points_, whole)
        assert np.array_equal(model.recluster().labels_, model.labels_)
        X[:] = whole


@pytest.mark.parametrize("mode", ["r", "c"])
def test_a_memmap_whose_file_is_cut_short_ends_nothing(mode: str, tmp_path: Path) -> None:
    X = make_blobs(3000, 6, centers=3, random_state=0)[0]
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode=mode)
    model = DCTreeClustering().fit(rows)
    os.truncate(tmp_path / "rows.npy", 1000)
    assert np.array_equal(model.predict(X), model.labels_)
    if mode == "r":  # a private memmap may hold values that are in no file
        for use in (DCTreeClustering().fit, model.predict):
            with pytest.raises(DataError, match=r"rows\.npy ends in row"):
                use(rows)
