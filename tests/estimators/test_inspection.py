"""What models and explanations show in a notebook: plain, escaped, and true."""

import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shade import SHADE, DCTreeClustering
from shade.metrics.explanation import explain_texts
from tests.report.conftest import HOSTILE


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    random = np.random.default_rng(0)
    return np.vstack([random.normal(size=(60, 3)), random.normal(9, 1, (40, 3)), [[50.0, 50.0, 50.0]]])


def cells(html: str) -> list[list[str]]:
    return [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html) if "<td>" in row]


def test_a_model_that_is_not_fitted_shows_what_scikit_learn_shows():
    for model in (SHADE(epochs=3), DCTreeClustering(min_samples=4)):
        html = model._repr_html_()
        assert "sk-container" in html and type(model).__name__ in html
        assert set(model._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_a_fitted_model_shows_its_clusters(rows):
    model = DCTreeClustering(min_samples=4).fit(rows)
    html = model._repr_html_()
    assert f"{model.n_clusters_} clusters and {np.mean(model.labels_ < 0):.1%} noise in 101 rows" in html
    assert "<code>DCTreeClustering(min_samples=4)</code>" in html
    sizes = np.bincount(model.labels_[model.labels_ >= 0])
    expected = [
        [str(label), str(size), f"{size / 101:.1%}", f"{model.cluster_persistence_[label]:.2f}"]
        for label, size in enumerate(sizes)
    ]
    assert cells(html) == expected
    bundle = model._repr_mimebundle_()
    assert bundle["text/html"] == html and bundle["text/plain"] == repr(model)
    with sklearn.config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(model, "_repr_html_")


def test_many_clusters_are_summed_up():
    X = np.repeat(np.arange(30.0), 20)[:, None] * 100 + np.random.default_rng(0).normal(size=(600, 1))
    model = DCTreeClustering(selection="branches").fit(X)
    html = model._repr_html_()
    assert model.n_clusters_ > 12
    assert len(cells(html)) == 12 and f"and {model.n_clusters_ - 12} smaller" in html


def test_parameters_are_only_text(rows):
    model = DCTreeClustering().fit(rows)
    model.device = HOSTILE
    html = model._repr_html_()
    assert "<script" not in html and "<img" not in html
    assert "&lt;script&gt;" in html


def test_a_pipeline_is_shown_as_before(rows):
    pipeline = make_pipeline(StandardScaler(), DCTreeClustering()).fit(rows)
    assert "sk-container" in pipeline._repr_html_() and "DCTreeClustering" in pipeline._repr_html_()


def test_an_explanation_is_a_table_of_text(rows):
    model = DCTreeClustering().fit(rows)
    table = pd.DataFrame(rows, columns=["a", HOSTILE, "\u202eturned"])
    explained = model.explain(table, top=2)
    html = explained._repr_html_()
    assert "<script" not in html and "<img" not in html and "\u202e" not in html
    found = [[cell.removeprefix("<bdi>").removesuffix("</bdi>") for cell in row] for row in cells(html)]
    assert len(found) == model.n_clusters_ and all(len(row) == 2 for row in found)
    lines = str(explained).splitlines()
    assert all(line.count("(") >= 2 for line in lines)
    if explained.features[0, 0] == 0:
        assert found[0][0] in lines[0]


def test_texts_are_explained_by_words(rows):
    model = DCTreeClustering(min_samples=4).fit(rows)
    texts = np.where(model.labels_ == 0, "a red rose", "a fast car").astype(object)
    texts[0] = None
    explained = model.explain(pd.Series(texts), top=2)
    assert {explained.feature_names[word] for word in explained.features[0]} == {"red", "rose"}
    assert {explained.feature_names[word] for word in explained.features[1]} == {"fast", "car"}
    inside = np.mean([text == "a red rose" for text in texts[model.labels_ == 0]])
    assert explained.effects[0].max() == pytest.approx(inside)
    assert explained.inside[0, 0] == pytest.approx(inside) and explained.outside[0, 0] == 0


def test_texts_without_a_common_word_have_no_words():
    explained = explain_texts(["one", "two", ""], [np.array([0]), np.array([1, 2])])
    assert explained.features.shape == (2, 0)
    assert explain_texts(["a", "b"], [np.array([0])]).feature_names == ()


def test_a_group_of_all_texts_has_no_effects():
    explained = explain_texts(["red rose", "red car"], [np.array([0, 1])])
    assert (explained.effects == 0).all()
