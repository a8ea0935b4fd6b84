"""Memberships of every cluster agree with labels and probabilities, and with a slow version of their formula."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from shade import SHADE, DCTreeClustering, load
from shade._base import memory
from shade._base.errors import MemoryBudgetError
from shade.clustering import Clustering, ClusterRule, cluster
from shade.clustering.memberships import memberships_of
from tests.clustering.test_joining import many_groups
from tests.clustering.test_layers import check_layers, clusterings
from tests.oracles import draw_groups


def check_memberships(memberships: np.ndarray, labels: np.ndarray, strengths: np.ndarray, what: str) -> None:
    """What holds for every matrix of memberships."""
    assert ((memberships >= 0) & (memberships <= 1)).all(), what
    assert memberships.sum(axis=1).max(initial=0.0) <= 1.0 + 1e-12, what
    inside = np.flatnonzero(labels >= 0)
    assert not memberships[labels < 0].any(), what
    if not len(inside):
        return
    np.testing.assert_array_equal(memberships[inside].argmax(axis=1), labels[inside], err_msg=what)
    np.testing.assert_array_equal(memberships[inside, labels[inside]], strengths[inside], err_msg=what)
    ranked = np.sort(memberships[inside], axis=1)
    assert ranked.shape[1] < 2 or (ranked[:, -1] > ranked[:, -2]).all(), what


def slow_memberships(found: Clustering) -> np.ndarray:
    """The formula row by row and cluster by cluster, from all dc-distances."""
    flat, leaving = found.flat, found.structure_tree.leaving_distances()
    parts = found.automatic.flat if found.joins else flat
    distances, out = found.dc_tree.dc_distances(), np.zeros((len(found.points), flat.n_clusters))
    for row, (label, strength) in enumerate(zip(flat.labels, flat.strengths, strict=True)):
        if label < 0:
            continue
        members = [(flat.labels == c) & ~parts.outskirts for c in range(flat.n_clusters)]
        part = (parts.labels == parts.labels[row]) & ~parts.outskirts
        joins = max(leaving[row], distances[row][part].min() if parts.outskirts[row] else 0.0)
        meets = [distances[np.ix_(part, member)].min() for member in members]
        others = [strength * min(1.0, joins / meet) if meet else 0.0 for meet in meets]
        others[label] = 0.0
        scale = min(1.0, (1.0 - strength) / sum(others)) if sum(others) else 0.0
        out[row] = np.multiply(others, scale)
        out[row, label] = strength
    return out


def test_memberships_agree_with_labels_and_with_the_slow_version() -> None:
    shared = 0
    for what, found in clusterings():
        memberships = memberships_of(found)
        check_memberships(memberships, found.flat.labels, found.flat.strengths, what)
        np.testing.assert_allclose(memberships, slow_memberships(found), rtol=1e-9, atol=1e-15, err_msg=what)
        shared += int(np.sum((memberships > 0).sum(axis=1) > 1))
    assert shared > 1000


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), columns=st.integers(1, 4), between=st.booleans(), number=st.integers(1, 6))
def test_new_rows_have_memberships_that_agree_with_predict(seed: int, columns: int, between: bool, number: int) -> None:
    X = draw_groups(seed, 120, columns)
    model = DCTreeClustering(between_noise=between, n_jobs=1).fit(X)
    if number <= model.n_clusters_:
        model = model.recluster(n_clusters=number)
    np.testing.assert_allclose(model.memberships(X), model.memberships(), rtol=1e-12)
    new = np.random.default_rng(seed).uniform(2 * X.min(), 2 * X.max(), (80, columns))
    labels, strengths = model.predict(new, return_probabilities=True)
    check_memberships(model.memberships(new), labels, strengths, f"{seed=}")


@pytest.mark.parametrize("top", [1, 3, 100])
def test_the_top_memberships_are_the_largest_ones_with_the_own_cluster_first(
    top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shade.clustering.memberships.ENTRIES", 100)  # several slices
    model = DCTreeClustering(n_jobs=1).fit(many_groups(0, 10, 40, 3))
    memberships = model.memberships()
    clusters, values = model.memberships(top=top)
    assert clusters.shape == values.shape == (len(memberships), min(top, model.n_clusters_))
    np.testing.assert_array_equal(values, -np.sort(-memberships, axis=1)[:, :top])
    np.testing.assert_array_equal(clusters[:, 0], model.labels_)
    rows, places = np.nonzero(clusters >= 0)
    np.testing.assert_array_equal(values[rows, places], memberships[rows, clusters[rows, places]])
    assert not values[clusters < 0].any()


def test_a_row_nearer_to_one_of_two_other_clusters_belongs_more_to_that() -> None:
    X = np.array([0.0, 1.0, 2.0, 3.5, 9.0, 10.0, 11.0, 40.0, 41.0, 42.0])[:, None]
    model = DCTreeClustering(min_samples=2, selection="branches", min_cluster_size=3, n_jobs=1).fit(X)
    own, near, far = model.memberships()[3][model.labels_[[0, 4, 7]]]
    assert own == model.probabilities_[3] == pytest.approx(1.0 / 1.5)
    # It joins at 1.5, meets the next cluster at 5.5 and the far one at 29.
    assert (near, far) == pytest.approx((1.0 / 5.5, 1.0 / 29.0))


def test_rows_that_links_put_into_a_farther_cluster_are_shared_with_the_nearer_one() -> None:
    farther = 0
    for seed in range(4):
        X = many_groups(seed, 25, 20, 3)
        noisy = X + 1.5 * np.random.default_rng(seed).normal(size=X.shape)  # as data is noisier than its embedding
        links = cluster(noisy, ClusterRule(), n_jobs=1).links
        found = replace(cluster(X, ClusterRule(), n_jobs=1), links=links)
        memberships = memberships_of(found)
        check_memberships(memberships, found.flat.labels, found.flat.strengths, f"{seed=}")
        np.testing.assert_allclose(memberships, slow_memberships(found), rtol=1e-9, atol=1e-15)
        leaving, distances = found.structure_tree.leaving_distances(), found.dc_tree.dc_distances()
        for row in np.flatnonzero(found.flat.outskirts):
            part = (found.flat.labels == found.flat.labels[row]) & ~found.flat.outskirts
            farther += leaving[row] < distances[row][part].min()
    assert farther > 0


def test_the_order_and_the_unit_of_the_rows_do_not_matter() -> None:
    for seed in range(4):
        X = many_groups(seed, 8, 25, 3)
        shuffled = np.random.default_rng(seed).permutation(len(X))
        before, after = (DCTreeClustering(n_jobs=1).fit(rows) for rows in (X, 1e3 * X[shuffled]))
        number = np.array(
            [after.labels_[np.argsort(shuffled)][before.labels_ == c][0] for c in range(before.n_clusters_)]
        )
        np.testing.assert_allclose(before.memberships()[shuffled], after.memberships()[:, number], rtol=1e-6)


@pytest.mark.parametrize("columns", [2, 8])  # with two, the clusters are those of the data
def test_a_network_and_its_file_have_the_same_memberships_and_layers(columns: int, tmp_path: Path) -> None:
    X = many_groups(0, 5, 40, columns) + (columns - 2) / 3 * np.random.default_rng(0).normal(size=(200, columns))
    model = SHADE(epochs=2, network=(16,), embedding_size=2, n_networks=1, device="cpu", random_state=0).fit(X)
    assert model.clustering_.shown.decides == (columns == 2)
    check_memberships(model.memberships(), model.labels_, model.probabilities_, "SHADE")
    check_layers(model.layers(), model.clustering_, "SHADE")
    model.save(tmp_path / "model.shade")
    again = load(tmp_path / "model.shade")
    np.testing.assert_array_equal(again.memberships(), model.memberships())
    np.testing.assert_allclose(again.memberships(X), model.memberships(), rtol=1e-4, atol=1e-6)
    assert [labels.tolist() for labels in again.layers().labels] == [
        labels.tolist() for labels in model.layers().labels
    ]


def test_where_there_is_no_cluster_there_are_no_memberships() -> None:
    model = DCTreeClustering(n_jobs=1).fit(np.arange(20.0)[:, None]).recluster(cut_distance=0.1)
    assert model.memberships().shape == model.memberships([[1.0]] * 20).shape == (20, 0)
    assert [array.shape for array in model.memberships(top=2)] == [(20, 0), (20, 0)]


def test_bad_input_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFittedError):
        DCTreeClustering().memberships()
    model = DCTreeClustering(n_jobs=1).fit(many_groups(0, 4))
    for top in (0, 1.5, True):
        with pytest.raises(
            ValueError, match=r"The 'top' parameter of memberships must be an int in the range \[1, inf"
        ):
            model.memberships(top=top)
    with pytest.raises(ValueError, match="8 features"):
        model.memberships([[0.0, 1.0]])
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(
        MemoryBudgetError, match=r"A matrix of memberships of 100 rows in 4 clusters takes about .*'top'"
    ):
        model.memberships()
