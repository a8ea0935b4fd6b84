"""Known labels and pairs in the estimators: fit, predict, save and load, reports, and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import ModelFileError, ShadeWarning
from shade.persistence.model_file import ModelContents, read_model_file, write_model_file
from tests.clustering.test_known import draw_known, unmet
from tests.estimators.test_shade import QUICK, blobs
from tests.oracles import draw_groups


def same_model(one: Any, other: Any) -> None:
    for name in ("labels_", "probabilities_", "outlier_scores_", "cluster_persistence_", "known_labels_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.fixture(scope="module")
def deep() -> tuple[SHADE, np.ndarray, np.ndarray]:
    X, truth = blobs(200)
    y = np.where(np.arange(len(X)) % 10 == 0, truth % 2, -1)  # two of the blobs are one class
    return SHADE(**QUICK).fit(X, y), X, y


def test_a_model_predicts_its_rows_and_comes_back_from_its_file(tmp_path: Path) -> None:
    for seed in range(40):
        X = draw_groups(seed, 80, 3)
        known = draw_known(seed, X)
        model = DCTreeClustering(min_samples=3, between_noise=seed % 3 == 0).fit(X, known.pop("y"), **known)
        labels, probabilities = model.predict(X, return_probabilities=True)
        np.testing.assert_array_equal(labels, model.labels_, err_msg=f"{seed=}")
        np.testing.assert_allclose(probabilities, model.probabilities_, err_msg=f"{seed=}")
        model.save(tmp_path / "a.shade")
        loaded = shade.load(tmp_path / "a.shade")
        same_model(loaded, model)
        same_model(loaded.recluster(min_cluster_size=4), model.recluster(min_cluster_size=4))


def test_shade_agrees_with_labels_and_comes_back_from_its_file(
    deep: tuple[SHADE, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    model, X, y = deep
    assert unmet(model.labels_, y) == []
    assert sorted(set(model.known_labels_.tolist()) - {-1}) == [0, 1]
    np.testing.assert_array_equal(model.known_labels_[model.labels_[y >= 0]], y[y >= 0])
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    model.save(tmp_path / "model.shade")
    same_model(shade.load(tmp_path / "model.shade"), model)


def test_what_is_known_stays_in_other_clusterings(deep: tuple[SHADE, np.ndarray, np.ndarray]) -> None:
    model, _, y = deep
    for other in (model.recluster(n_clusters=1), model.recluster(n_clusters=4), model.recluster(min_samples=3)):
        assert unmet(other.labels_, y) == []
    layers = model.layers()
    np.testing.assert_array_equal(layers.labels[layers.chosen], model.labels_)


def test_a_report_shows_them(deep: tuple[SHADE, np.ndarray, np.ndarray], tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="needs bokeh (the report extra)")
    from shade.report import write_report

    model, X, _ = deep
    write_report(model, tmp_path / "a.html", samples=X)
    random = np.random.default_rng(0)
    cloud = random.normal(size=(150, 2))
    y = np.where(random.random(150) < 0.1, random.integers(0, 3, 150), -1)
    divided = DCTreeClustering().fit(cloud, y)
    assert divided.n_clusters_ == 3
    write_report(divided, tmp_path / "b.html", samples=cloud)
    divided.update(cloud[:30] + 0.01)
    write_report(divided, tmp_path / "c.html", samples=np.concatenate([cloud, cloud[:30] + 0.01]))


def test_their_structure_tree_is_drawn() -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib (the plots extra)")
    from matplotlib.figure import Figure

    from shade.plots import plot_structure_tree

    X = draw_groups(3, 120, 3)
    y = np.where(np.arange(120) % 9 == 0, np.arange(120) % 4, -1)
    axes = plot_structure_tree(DCTreeClustering(min_samples=3).fit(X, y), ax=Figure().subplots())
    assert axes.get_ylabel() == "dc-distance"
    assert axes.collections or axes.patches


@pytest.mark.parametrize("model", [SHADE(**QUICK), DCTreeClustering()])
def test_nothing_changes_without_unknown_rows(model: Any) -> None:
    X, truth = blobs(100)
    free = model.fit(X).labels_
    assert model.known_labels_.tolist() == [-1] * model.n_clusters_
    for y in (truth, truth.astype(float) / 3, truth.astype(str), np.full(len(X), -1)):
        np.testing.assert_array_equal(model.fit(X, y).labels_, free)
        assert model.clustering_.known is None


def test_pipelines_and_fit_predict_pass_labels_on() -> None:
    X, truth = blobs(100)
    y = np.where(np.arange(len(X)) % 5 == 0, truth // 2, -1)
    labels = DCTreeClustering().fit_predict(X, y)
    assert unmet(labels, y) == []
    piped = make_pipeline(StandardScaler(), DCTreeClustering()).fit_predict(X, y)
    assert unmet(piped, y) == []
    pairs = DCTreeClustering().fit_predict(X, must_link=[(0, 99)], cannot_link=[(0, 1)])
    assert unmet(pairs, None, [(0, 99)], [(0, 1)]) == []


@pytest.mark.parametrize("model", [SHADE(**QUICK), DCTreeClustering()])
@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"y": [0, -1]}, "y has shape"),
        ({"must_link": [(0, 1000)]}, "names row 1000"),
        ({"must_link": [(0, 1)], "cannot_link": [(1, 0)]}, "cannot-link pair, but labels or must-link pairs"),
    ],
)
def test_bad_input_leaves_the_model_as_it_was(model: Any, known: dict[str, Any], message: str) -> None:
    X, _ = blobs(100)
    before = vars(model.fit(X)).copy()
    with pytest.raises(ValueError, match=message):
        model.fit(X[::-1], **known)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_labels_that_equal_rows_contradict_are_reported() -> None:
    X = np.repeat([[0.0], [1.0], [9.0], [10.0]], 4, axis=0)
    y = np.full(16, -1)
    y[[0, 1, 2]] = 3, 3, 4
    with pytest.warns(ShadeWarning, match="1 known label or pair is not satisfied: rows with equal values"):
        DCTreeClustering(min_samples=2).fit(X, y)


def test_a_file_with_other_knowledge_is_refused(tmp_path: Path) -> None:
    X = draw_groups(3, 80, 3)
    y = np.where(np.arange(80) % 9 == 0, np.arange(80) % 2, -1)
    DCTreeClustering(min_samples=3).fit(X, y, must_link=[(1, 2)]).save(tmp_path / "a.shade")
    contents = read_model_file(tmp_path / "a.shade")
    description = {key: value for key, value in contents.description.items() if key not in ("format", "sha256")}

    def load_with(**changed: np.ndarray | None) -> None:
        arrays = {**contents.arrays, **{f"known.{name}": values for name, values in changed.items()}}
        arrays = {name: values for name, values in arrays.items() if values is not None}
        write_model_file(tmp_path / "b.shade", ModelContents(description, contents.tensors, arrays))
        shade.load(tmp_path / "b.shade")

    load_with()
    rows, labels = contents.arrays["known.rows"], contents.arrays["known.labels"]
    for changed in (
        {"rows": rows[::-1].copy()}, {"rows": rows + 79}, {"rows": rows[1:]}, {"labels": labels - 1},
        {"labels": labels[::-1] * 0}, {"must_link": np.array([[1, 80]])}, {"must_link": np.array([[1, 1]])},
        {"must_link": np.array([[1, 2, 3]])}, {"cannot_link": np.array([[1, 2]])}, {"rows": None},
    ):  # fmt: skip
        with pytest.raises(ModelFileError):
            load_with(**changed)
