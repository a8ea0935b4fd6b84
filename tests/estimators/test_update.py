"""Growing data: an updated model is the one that a fit of all rows gives, and clusters keep their numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import ModelFileError, ShadeWarning
from shade.clustering.numbering import keep_numbers
from shade.persistence.model_file import ModelContents, read_model_file, write_model_file
from tests.clustering.test_known import unmet
from tests.estimators.test_shade import QUICK, blobs
from tests.oracles import draw_groups, draw_points, partition_of

RULES: tuple[dict[str, Any], ...] = (
    {},
    {"between_noise": True},
    {"selection": "branches", "background_noise": False},
    {"min_cluster_size": 15},
    {"n_clusters": 2},
)


@pytest.fixture(autouse=True)
def few_clusters_may_be_found() -> Iterator[None]:
    """Small random sets may have fewer clusters than wanted, which warns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Only . clusters? instead of|Only one cluster|.* of the rows are noise")
        yield


def same_but_for_numbers(one: Any, other: Any, what: str) -> None:
    assert partition_of(one.labels_) == partition_of(other.labels_), what
    for name in ("probabilities_", "outlier_scores_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=f"{what} {name}")
    np.testing.assert_array_equal(np.sort(one.cluster_persistence_), np.sort(other.cluster_persistence_), err_msg=what)
    number = dict(zip(other.labels_.tolist(), one.labels_.tolist(), strict=True))
    for label, rows in enumerate(other.exemplar_indices_):
        np.testing.assert_array_equal(one.exemplar_indices_[number[label]], rows, err_msg=what)


def test_an_updated_model_is_that_of_all_rows_up_to_the_numbers() -> None:
    for seed in range(100):
        X = draw_groups(seed, 120, 3) if seed % 3 else draw_points(seed, 60, 90).astype(np.float64)
        first, second = len(X) // 2, 3 * len(X) // 4
        rule = RULES[seed % len(RULES)]
        model = DCTreeClustering(min_samples=3, **rule).fit(X[:first])
        assert model.update(X[first:second]).update(X[second:]) is model
        whole = DCTreeClustering(min_samples=3, **rule).fit(X)
        same_but_for_numbers(model, whole, f"{seed=} {rule}")
        np.testing.assert_array_equal(model.predict(X), model.labels_, err_msg=f"{seed=}")
        new = X[:10] + 0.01
        np.testing.assert_array_equal(np.isin(model.predict(new), [-1]), np.isin(whole.predict(new), [-1]))


def test_clusters_keep_their_numbers_and_new_ones_come_after_them() -> None:
    random = np.random.default_rng(0)
    places = {0: 40, 20: 70, 40: 100}
    X = np.concatenate([random.normal(place, 1.0, (size, 3)) for place, size in places.items()])
    model = DCTreeClustering().fit(X)
    assert model.labels_[[0, 50, 150]].tolist() == [2, 1, 0]
    before = model.labels_.copy()
    model.update(np.concatenate([random.normal(0, 1.0, (200, 3)), random.normal(80, 1.0, (90, 3))]))
    np.testing.assert_array_equal(model.labels_[: len(X)], before)
    assert set(model.labels_[len(X) : len(X) + 200]) == {2}
    assert set(model.labels_[len(X) + 200 :]) == {3}
    assert model.recluster().labels_[0] == 0  # numbered by size again


def test_as_many_rows_as_possible_keep_their_number_by_brute_force() -> None:
    from itertools import permutations

    random = np.random.default_rng(1)
    for _ in range(100):
        n_before, k = random.integers(1, 5, 2)
        old = DCTreeClustering(min_samples=2).fit(np.arange(6.0)[:, None]).clustering_.flat
        labels = np.append(np.arange(n_before), random.integers(-1, n_before, 12))
        before = type(old)(**{**vars(old), "labels": labels, "limit": np.zeros(n_before)})
        after = np.append(random.integers(-1, k, len(labels)), np.arange(k))
        numbers = keep_numbers(before, after)
        assert sorted(numbers) == list(range(k))

        def kept(numbers: Any, labels: np.ndarray = labels, after: np.ndarray = after) -> int:
            new = np.append(numbers, -1)[after[: len(labels)]]
            return int(np.sum((new == labels) & (labels >= 0)))

        best = max(kept(np.array(order)) for order in permutations(range(k)))
        lost = max(0, int(n_before) - int(k))  # a number beyond the last one cannot be kept
        assert kept(numbers) == best or lost


def test_the_last_number_moves_into_the_gap_of_a_cluster_that_is_gone() -> None:
    three = DCTreeClustering(min_samples=2, min_cluster_size=3, selection="branches")
    X = np.concatenate([np.arange(5.0), 20 + np.arange(4.0), 30 + np.arange(3.0)])[:, None]
    model = three.fit(X)
    assert model.labels_.tolist() == [0] * 5 + [1] * 4 + [2] * 3
    model.update(np.arange(-8.0, 0.0)[:, None]).update(np.arange(24.0, 30.0)[:, None])
    assert model.n_clusters_ == 2
    assert model.labels_.tolist() == [0] * 5 + [1] * 7 + [0] * 8 + [1] * 6


def test_a_new_row_alone_and_rows_that_were_there_already() -> None:
    X = draw_groups(2, 90, 3)
    model = DCTreeClustering().fit(X)
    before = model.labels_.copy()
    assert len(model.update(X[:1]).labels_) == 91
    model.update(X[1:5])
    np.testing.assert_array_equal(model.labels_[90:], model.labels_[:5])
    assert np.mean(model.labels_[:90] == before) > 0.9


def test_known_labels_stay_known(tmp_path: Path) -> None:
    X = draw_groups(4, 150, 3)
    y = np.where(np.arange(100) % 9 == 0, np.arange(100) % 2, -1)
    model = DCTreeClustering().fit(X[:100], y, must_link=[(1, 2)]).update(X[100:])
    assert unmet(model.labels_, np.append(y, np.full(50, -1)), [(1, 2)]) == []
    whole = DCTreeClustering().fit(X, np.append(y, np.full(50, -1)), must_link=[(1, 2)])
    same_but_for_numbers(model, whole, "known")
    model.save(tmp_path / "a.shade")
    np.testing.assert_array_equal(shade.load(tmp_path / "a.shade").labels_, model.labels_)


def test_an_updated_model_comes_back_from_its_file_and_goes_on(tmp_path: Path) -> None:
    X, _ = blobs(300)
    for model in (SHADE(**QUICK), DCTreeClustering()):
        model.fit(X[:150]).update(X[150:200])
        model.save(tmp_path / "a.shade")
        loaded = shade.load(tmp_path / "a.shade")
        for one in (model, loaded):
            one.update(X[200:])
            assert len(one.labels_) == len(one.points_) == 300
        np.testing.assert_array_equal(loaded.labels_, model.labels_)
        np.testing.assert_array_equal(loaded.predict(X), loaded.labels_)
        model.save(tmp_path / "b.shade")
        np.testing.assert_array_equal(shade.load(tmp_path / "b.shade").labels_, model.labels_)
        layers = model.layers()
        np.testing.assert_array_equal(layers.labels[layers.chosen], model.labels_)


def test_numbers_of_a_file_must_be_numbers_of_its_clusters(tmp_path: Path) -> None:
    X = draw_groups(5, 120, 3)
    DCTreeClustering().fit(X[:60]).update(X[60:]).save(tmp_path / "a.shade")
    contents = read_model_file(tmp_path / "a.shade")
    description = {key: value for key, value in contents.description.items() if key not in ("format", "sha256")}
    for numbers in (contents.arrays["numbers"] + 1, contents.arrays["numbers"][1:], np.array([], np.int64)):
        arrays = {**contents.arrays, "numbers": numbers}
        write_model_file(tmp_path / "b.shade", ModelContents(description, contents.tensors, arrays))
        with pytest.raises(ModelFileError, match="the numbers of the clusters are none"):
            shade.load(tmp_path / "b.shade")


def test_shade_embeds_new_rows_as_it_did_and_a_new_kind_is_told() -> None:
    X, _ = blobs(300)
    model = SHADE(**{**QUICK, "epochs": 20}).fit(X[:200])
    embedding = model.embedding_
    assert 0.0 < model.reconstruction_limit_ < np.inf
    model.update(X[200:])
    np.testing.assert_array_equal(model.embedding_[:200], embedding)
    np.testing.assert_array_equal(model.embedding_[200:], model.transform(X[200:]))
    np.testing.assert_array_equal(model.clustering_.points, model.embedding_.astype(np.float64))
    with pytest.warns(ShadeWarning, match=r"The networks do not fit the new rows: \d+% of them are reconstructed"):
        model.update(np.random.default_rng(0).normal(40.0, 20.0, (30, X.shape[1])))


@pytest.mark.parametrize("model", [SHADE(**QUICK), DCTreeClustering()])
@pytest.mark.parametrize(
    ("rows", "message"),
    [(np.ones((5, 3)), "features"), (np.full((2, 8), np.nan), "NaN"), (np.empty((0, 8)), "0 sample")],
)
def test_bad_rows_leave_the_model_as_it_was(model: Any, rows: np.ndarray, message: str) -> None:
    X, _ = blobs(100)
    before = vars(model.fit(X)).copy()
    with pytest.raises(ValueError, match=message):
        model.update(rows)
    assert all(vars(model)[name] is before[name] for name in before)


def test_clusters_of_the_data_grow_as_well(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    centres = np.array([[0, 0], [25, 0], [0, 25], [25, 25]])
    old, same, new = (
        (centres[kinds, None] + random.normal(size=(len(kinds), 60, 2))).reshape(-1, 2)
        for kinds in ([0, 1, 2], [0, 1, 2], [3])
    )
    model = SHADE(**{**QUICK, "selection": "information"}).fit(old)
    assert model.clustering_.shown.decides
    before, n_clusters = model.labels_.copy(), model.n_clusters_
    model.update(same)
    assert model.n_clusters_ == n_clusters
    assert np.mean(model.labels_[: len(old)] == before) > 0.95
    np.testing.assert_array_equal(model.predict(np.concatenate([old, same])), model.labels_)
    model.save(tmp_path / "a.shade")
    np.testing.assert_array_equal(shade.load(tmp_path / "a.shade").labels_, model.labels_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShadeWarning)
        model.update(new)
    assert model.n_clusters_ == n_clusters + 1
    assert np.mean(model.labels_[-len(new) :] == n_clusters) > 0.9
    model.save(tmp_path / "b.shade")
    np.testing.assert_array_equal(shade.load(tmp_path / "b.shade").labels_, model.labels_)


def test_a_report_and_a_map_show_all_rows(tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="needs bokeh (the report extra)")
    from shade.report import write_report

    X = draw_groups(7, 200, 3)
    model = DCTreeClustering().fit(X[:120])
    assert model.map().shape == (120, 2)
    model.update(X[120:])
    assert model.map().shape == (200, 2)
    assert len(model.to_frame()) == 200
    write_report(model, tmp_path / "a.html", samples=X)


def test_background_stays_background_and_new_rows_of_it_are_noise(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    dense = np.concatenate([random.normal(0, 0.3, (300, 8)), random.normal(6, 0.3, (300, 8))])
    X = random.permutation(np.concatenate([dense, random.uniform(-30, 30, (120, 8))]))
    model = SHADE(**{**QUICK, "selection": "information", "epochs": 10}).fit(X[:600])
    before = model.clustering_.shown.background
    assert before.sum() > 50
    model.update(X[600:])
    background = model.clustering_.shown.background
    np.testing.assert_array_equal(background[:600], before)
    assert (model.labels_[background] == -1).all()
    far = np.abs(X[600:]).max(axis=1) > 10
    assert np.mean(background[600:] == far) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    model.save(tmp_path / "a.shade")
    np.testing.assert_array_equal(shade.load(tmp_path / "a.shade").labels_, model.labels_)


FAST = {"epochs": 3, "network": (32,), "n_networks": 1, "embedding_size": 3, "random_state": 0, "device": "cpu"}


@pytest.mark.parametrize("columns", [2, 5])
def test_a_model_that_grew_and_was_clustered_again_is_loaded(columns: int, tmp_path: Path) -> None:
    X = make_blobs(300, centers=4, n_features=columns, random_state=0)[0]
    model = SHADE(**FAST).fit(X[:200]).update(X[200:])
    for other in (model, model.recluster(), model.recluster(n_clusters=2), model.recluster(between_noise=True)):
        other.save(tmp_path / "model.shade")
        np.testing.assert_array_equal(shade.load(tmp_path / "model.shade").labels_, other.labels_)


def test_rows_far_from_all_clusters_of_the_data_are_noise_as_they_were_predicted(tmp_path: Path) -> None:
    X = make_blobs(300, 3, centers=3, cluster_std=0.5, center_box=(-20, 20), random_state=0)[0]
    model = SHADE(**{**FAST, "epochs": 20}).fit(X[:280])
    assert model.clustering_.shown.decides
    assert model.n_clusters_ == 3
    far = np.array([[200.0, 0.0, 0.0], [0.0, 500.0, 0.0], [1e3, 1e3, 1e3]])
    assert (model.predict(far) == -1).all()
    before, near = model.labels_.copy(), model.predict(X[280:])
    steps = np.linspace(30, 190, 6)[:, None] * [[1.0, 0.0, 0.0]]  # on the way to the first of them
    far = np.vstack([far, steps])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShadeWarning)
        model.update(np.vstack([X[280:], far]))
    assert model.labels_.tolist() == [*before, *near, *([-1] * 9)]
    assert (model.outlier_scores_[-9:] > 0.9).all()
    np.testing.assert_array_equal(model.predict(far), model.labels_[-9:])
    model.save(tmp_path / "model.shade")
    np.testing.assert_array_equal(shade.load(tmp_path / "model.shade").labels_, model.labels_)


def test_one_cluster_of_the_data_grows_by_a_row_far_away(tmp_path: Path) -> None:
    X = make_blobs(300, centers=1, n_features=2, random_state=0)[0]
    model = SHADE(**FAST).fit(X[:250])
    before = model.clustering_.shown.strongest_split
    model.update(np.vstack([X[250:], X[:2] + 50.0]))
    assert model.n_clusters_ == 1
    assert model.clustering_.shown.strongest_split == before is not None
    model.save(tmp_path / "model.shade")
    np.testing.assert_array_equal(shade.load(tmp_path / "model.shade").labels_, model.labels_)


@pytest.mark.parametrize("seed", [0, 3])
def test_what_the_data_shows_does_not_depend_on_the_clusters_that_were_wanted(seed: int) -> None:
    X = make_blobs(460, centers=2, n_features=3, random_state=seed)[0]
    plain = SHADE(**FAST).fit(X[:60]).update(X[60:])
    wanted = SHADE(**FAST, n_clusters=9).fit(X[:60]).update(X[60:])
    cut = SHADE(**FAST).fit(X[:60]).recluster(cut_distance=0.0).update(X[60:])
    for other in (wanted, cut):
        for between_noise in (False, True):
            found = other.recluster(between_noise=between_noise).labels_
            np.testing.assert_array_equal(found, plain.recluster(between_noise=between_noise).labels_)


def test_networks_go_on_training_with_all_rows_and_clusters_keep_their_numbers(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    centres = random.normal(0, 12, (4, 8))
    old, new = (
        np.concatenate([random.normal(centres[kind], 1.0, (60 + 20 * kind, 8)) for kind in kinds])
        for kinds in ([0, 1, 2], [1, 3])
    )
    model = SHADE(**{**FAST, "epochs": 20, "n_networks": 2}).fit(old)
    assert model.n_clusters_ == 3
    before, epochs = model.labels_, model.n_iter_
    weights = [network.state_dict() for network in model.networks_]
    assert model.update(np.vstack([old, new]), train=True) is model
    assert model.n_clusters_ == 4
    np.testing.assert_array_equal(model.labels_[: len(old)], before)
    assert set(model.labels_[len(old) : len(old) + 80]) == {before[60]}
    assert set(model.labels_[-120:]) == {3}
    assert model.n_iter_ == len(model.history_) > epochs
    assert all(
        not any((after[name] == given).all() for name, given in network.items() if name.endswith("weight"))
        for network, after in zip(weights, (network.state_dict() for network in model.networks_), strict=True)
    )
    np.testing.assert_array_equal(model.transform(np.vstack([old, new])), model.embedding_)
    model.save(tmp_path / "model.shade")
    np.testing.assert_array_equal(shade.load(tmp_path / "model.shade").labels_, model.labels_)


def test_training_goes_on_from_the_weights_there_are() -> None:
    X, _ = blobs(300)
    model = SHADE(**{**QUICK, "epochs": 30}).fit(X)
    first, last = model.history_[0]["loss"], model.history_[-1]["loss"]
    again = model.update(X, train=True).history_[30]["loss"]
    assert again < last + 0.2 * (first - last)


def test_wrong_rows_to_train_with_are_refused(tmp_path: Path) -> None:
    X, _ = blobs(120)
    model = SHADE(**QUICK).fit(X[:100])
    before = vars(model).copy()
    swapped = X.copy()
    swapped[[3, 50]] = X[[50, 3]]
    for rows, message in (
        (X[100:], "X has 20 rows, and 100 were clustered"),
        (swapped, "in the same order, but row 3 is another one"),
        (np.vstack([X[:100], np.full((1, X.shape[1]), np.nan)]), "NaN in row 100"),
    ):
        with pytest.raises(ValueError, match=message):
            model.update(rows, train=True)
        assert all(vars(model)[name] is before[name] for name in before)
    with pytest.raises(ValueError, match="'train' parameter of update must be True or False"):
        model.update(X, train=1)
    model.save(tmp_path / "a.shade", decoder=False)
    with pytest.raises(ValueError, match="saved without its decoder, so it cannot be trained any further"):
        shade.load(tmp_path / "a.shade").update(X, train=True)
