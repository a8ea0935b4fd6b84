"""SHADE where the clusters of the data are clear, whatever an embedding that is hardly trained shows."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import ModelFileError, ShadeWarning
from shade.persistence.model_file import ModelContents, read_model_file, write_model_file
from shade.plots import plot_structure_tree
from tests.estimators.grouped import with_groups

QUICK = {"epochs": 1, "network": (16,), "embedding_size": 1, "n_networks": 1, "random_state": 0}
Fitted = tuple[SHADE, np.ndarray, np.ndarray]


def squares(n_noise: int, deviation: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
    """Nine blobs on a plane, which lie over each other on a line, and a sparse background."""
    random = np.random.default_rng(0)
    truth = np.repeat(np.arange(9), [200, 150, 120, 100, 80, 60, 60, 50, 30])
    places = np.array([(x, y) for x in (0.0, 3.0, 6.0) for y in (0.0, 3.0, 6.0)])
    X = places[truth] + deviation * random.normal(size=(len(truth), 2))
    noise = random.uniform(-12.0, 18.0, size=(n_noise, 2))
    return np.vstack([X, noise]), np.append(truth, np.full(n_noise, -1))


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    X, truth = squares(200)
    return SHADE(**QUICK).fit(X), X, truth


def test_they_are_the_clusters(fitted: Fitted) -> None:
    model, X, truth = fitted
    assert model.clustering_.shown.decides
    assert model.n_clusters_ == 9
    assert adjusted_rand_score(truth, model.labels_) > 0.97
    assert np.array_equal(model.labels_ < 0, model.clustering_.shown.background)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.allclose(model.score_samples(X), -model.outlier_scores_)


def test_no_cluster_holds_rows_of_two_of_them(fitted: Fitted) -> None:
    model, _, _ = fitted
    groups = model.clustering_.shown.groups
    assert len(set(zip(groups, model.labels_, strict=True))) == 10  # nine and the background


def test_rows_between_them_are_noise_if_these_shall_be() -> None:
    X, _ = squares(0, deviation=0.6)
    model = SHADE(**QUICK, between_noise=True).fit(X)
    outside = model.clustering_.shown.outside
    assert outside.any()
    assert (model.labels_[outside] == -1).all()
    assert len(plot_structure_tree(model, ax=Figure().subplots()).containers) == 2  # candidates, and clusters
    assert (model.recluster(between_noise=False).labels_[outside] >= 0).all()


def test_other_rules_take_those_of_the_embedding(fitted: Fitted) -> None:
    _, X, _ = fitted
    other = SHADE(**QUICK, selection="branches").fit(X)
    assert not other.clustering_.shown.decides
    assert other.clustering_.shown.background.any()


@pytest.mark.parametrize(("deviation", "clear"), [(0.1, True), (0.7, False)])
def test_data_with_many_columns_decides_only_where_its_clusters_are_clear(deviation: float, clear: bool) -> None:
    X, truth = squares(0, deviation)
    noise = 0.01 * np.random.default_rng(1).normal(size=(len(X), 2))
    model = SHADE(**QUICK, standardize=False).fit(np.hstack([X, noise]))
    assert model.clustering_.shown.decides == clear
    assert model.settled_ != clear
    assert (adjusted_rand_score(truth, model.labels_) > 0.97) == clear


@pytest.mark.parametrize("columns", [2, 4])
def test_one_cloud_of_few_columns_is_one_cluster_whatever_the_embedding(columns: int, tmp_path: Path) -> None:
    cloud = np.random.default_rng(0).normal(size=(300, columns))
    model = SHADE(**QUICK).fit(cloud)
    assert model.clustering_.shown.decides == (columns == 2)
    if columns == 2:
        assert model.n_clusters_ == 1
        assert model.recluster(n_clusters=2).n_clusters_ == 2
        model.save(tmp_path / "model.shade")
        loaded = shade.load(tmp_path / "model.shade")
        assert np.array_equal(loaded.labels_, model.labels_)
        evidence, limit = loaded.clustering_.shown.strongest_split
        assert (evidence, limit) == model.clustering_.shown.strongest_split
        assert 0 < evidence < limit
        assert loaded.recluster(n_clusters=2).recluster().clustering_.shown.strongest_split == (evidence, limit)


@pytest.mark.parametrize("split", ["0.1", [0.1], [0.1, float("nan")], [-0.1, 0.2], [0.1, 10**400], [True, 0.2]])
def test_what_is_no_split_of_the_data_is_refused(split: object, tmp_path: Path) -> None:
    def write_with(model: SHADE, split: object) -> Path:
        model.save(tmp_path / "model.shade")
        contents = read_model_file(tmp_path / "model.shade")
        known = {name: value for name, value in contents.description.items() if name not in ("format", "sha256")}
        description = {**known, "strongest_split": split}
        write_model_file(tmp_path / "forged.shade", ModelContents(description, contents.tensors, contents.arrays))
        return tmp_path / "forged.shade"

    one = SHADE(**QUICK).fit(np.random.default_rng(0).normal(size=(60, 2)))
    several = SHADE(**QUICK).fit(squares(0)[0][::3])
    with pytest.raises(ModelFileError):
        shade.load(write_with(one, split))
    with pytest.raises(ModelFileError, match="the strongest split of the data is of other clusters"):
        shade.load(write_with(several, [0.1, 0.2]))
    loaded = shade.load(write_with(one, None))  # as files of earlier versions
    with pytest.warns(ShadeWarning, match="in the data, no part of at least 10 rows is separated from the rest"):
        loaded.recluster()


def test_another_number_of_clusters_leaves_no_more_noise(fitted: Fitted) -> None:
    model, X, _ = fitted
    for number in (1, 2, 5):
        other = model.recluster(n_clusters=number)
        assert other.n_clusters_ == number
        assert np.mean(other.labels_ < 0) < np.mean(model.labels_ < 0) + 0.05
        assert np.array_equal(other.predict(X), other.labels_)


@pytest.mark.parametrize("answer", [{"min_samples": 20}, {"min_cluster_size": 40}])
def test_one_that_is_too_small_joins_the_next(fitted: Fitted, answer: dict[str, int]) -> None:
    model, _, truth = fitted
    other = model.recluster(**answer)
    assert other.n_clusters_ == 8  # the smallest has 30 rows
    assert np.bincount(other.labels_[other.labels_ >= 0]).min() >= 40
    assert adjusted_rand_score(truth, other.labels_) > 0.97
    assert np.array_equal(other.labels_ < 0, model.labels_ < 0)


@pytest.mark.parametrize("answer", [{"min_samples": 450}, {"min_cluster_size": 900}])
def test_where_all_are_too_small_everything_is_one_cluster(fitted: Fitted, answer: dict[str, int]) -> None:
    model, _, _ = fitted
    other = model.recluster(**answer)
    assert np.array_equal(other.labels_ == 0, model.labels_ >= 0)


def test_files_and_other_clusterings_keep_them(fitted: Fitted, tmp_path: Path) -> None:
    model, X, truth = fitted
    same = [model.recluster(), model.recluster(min_samples=9), model.recluster(min_cluster_size=20)]
    for other in same:
        assert adjusted_rand_score(truth, other.labels_) > 0.97
    coarse = model.recluster(min_samples=20)
    others = [coarse, coarse.recluster(min_samples=5), coarse.recluster(n_clusters=3), model.recluster(min_samples=450)]
    others += [model.recluster(min_cluster_size=900), model.recluster(between_noise=True)]
    for other in [*same, *others]:
        assert np.array_equal(other.predict(X), other.labels_)
        assert all(len(rows) for rows in other.exemplar_indices_)
        assert np.array_equal(other.probabilities_ > 0, other.labels_ >= 0)
    others += [model.recluster(n_clusters=2), model.recluster(cut_distance=float(np.median(model.dc_tree_.height)))]
    for other in [model, *same, *others]:
        other.save(tmp_path / "model.shade")
        loaded = shade.load(tmp_path / "model.shade")
        assert np.array_equal(loaded.labels_, other.labels_)
        assert np.array_equal(loaded.predict(X), other.predict(X))
        assert np.array_equal(loaded.recluster().labels_, other.recluster().labels_)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda groups: groups[:-1], "groups that are none"),
        (lambda groups: groups - 1, "groups that are none"),
        (lambda groups: groups + len(groups), "groups that are none"),
        (lambda groups: np.where(groups == 3, 19, groups), "groups without rows"),
        (lambda groups: np.where(np.arange(len(groups)) < 3, 9, groups), "fewer than min_samples"),
        (lambda groups: np.where(groups < 0, 0, groups), "not of the points|no branches"),
        (lambda groups: np.where(np.arange(len(groups)) == 0, 1, groups), "not of the points|no branches"),
        (lambda groups: np.where(groups >= 0, np.arange(len(groups)) % 2, -1), "not of the points|no branches"),
        (lambda groups: np.minimum(groups, 0), "not of the points|no branches|not those"),
        (lambda groups: groups.astype(np.int32), "int32"),
    ],
)
def test_groups_that_do_not_fit_are_refused(
    fitted: Fitted, change: Callable[[np.ndarray], np.ndarray], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match=expected):
        shade.load(forged(fitted[0], tmp_path, groups=change))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda outside: np.append(outside, -1), "outside that are no rows"),
        (lambda outside: np.append(outside, 10**6), "outside that are no rows"),
        (lambda outside: outside.astype(np.float64), "float64"),
        (lambda outside: np.union1d(outside, np.arange(5)), "not those that the tree gives"),
        (lambda outside: outside[1:], "not those that the tree gives"),
        (lambda outside: outside[::-1], "not told in order"),
        (lambda outside: np.repeat(outside, 2), "not told in order"),
    ],
)
def test_rows_between_that_do_not_fit_are_refused(
    change: Callable[[np.ndarray], np.ndarray], expected: str, tmp_path: Path
) -> None:
    model = SHADE(**QUICK, between_noise=True).fit(squares(0, deviation=0.6)[0])
    assert model.clustering_.shown.outside.sum() > 1
    with pytest.raises(ModelFileError, match=expected):
        shade.load(forged(model, tmp_path, outside=change))


def test_a_group_of_rows_between_alone_is_refused(tmp_path: Path) -> None:
    model = SHADE(**QUICK, between_noise=True).fit(squares(0, deviation=0.6)[0])
    alone = np.flatnonzero(model.clustering_.shown.groups == 0)
    with pytest.raises(ModelFileError, match="groups of rows outside alone"):
        shade.load(forged(model, tmp_path, outside=lambda outside: np.union1d(outside, alone)))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda links: links[:, :1], "the links have shape"),
        (lambda links: np.vstack([links, links]), "the links have shape"),
        (lambda links: links[1:], "the links have shape"),
        (lambda links: links - 1, "links to what is no row"),
        (lambda links: links + 1, "links to what is no row"),
        (lambda links: np.full_like(links, 3), "links do not reach all rows"),
        (lambda links: np.where(links == 3, 4, links), "links do not reach all rows"),
    ],
)
def test_links_that_do_not_fit_are_refused(
    fitted: Fitted, change: Callable[[np.ndarray], np.ndarray], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match=expected):
        shade.load(forged(fitted[0], tmp_path, links=change))


def test_groups_smaller_than_a_cluster_may_be_are_refused(fitted: Fitted, tmp_path: Path) -> None:
    fitted[0].save(tmp_path / "model.shade")
    contents = read_model_file(tmp_path / "model.shade")
    kept = {name: value for name, value in contents.description.items() if name not in ("format", "sha256")}
    for name in ("parameters", "rule"):
        kept[name] = {**kept[name], "min_cluster_size": 31}
    write_model_file(tmp_path / "other.shade", ModelContents(kept, contents.tensors, contents.arrays))
    with pytest.raises(ModelFileError, match="no branches"):
        shade.load(tmp_path / "other.shade")


def forged(model: SHADE, folder: Path, **changes: Callable[[np.ndarray], np.ndarray]) -> Path:
    """The file of a model with some of its arrays changed."""
    model.save(folder / "model.shade")
    contents = read_model_file(folder / "model.shade")
    arrays = {**contents.arrays, **{name: change(contents.arrays[name]) for name, change in changes.items()}}
    kept = {name: value for name, value in contents.description.items() if name not in ("format", "sha256")}
    write_model_file(folder / "other.shade", ModelContents(kept, contents.tensors, arrays))
    return folder / "other.shade"


def test_cluster_0_is_the_largest_also_where_rows_between_clusters_are_noise() -> None:
    X, _ = make_blobs(300, centers=5, n_features=2, cluster_std=[0.3, 0.5, 0.7, 0.4, 0.6], random_state=0)
    quick = {"network": (16,), "n_networks": 1, "embedding_size": 2, "epochs": 1, "random_state": 0, "device": "cpu"}
    model = SHADE(**quick, between_noise=True).fit(X)
    assert model.clustering_.shown.decides
    sizes = np.bincount(model.labels_[model.labels_ >= 0])
    assert sizes.tolist() == sorted(sizes, reverse=True)
    many = SHADE(**quick).fit(X).recluster(min_samples=80, min_cluster_size=2)
    np.testing.assert_array_equal(many.predict(X), many.labels_)


@pytest.mark.parametrize(("min_cluster_size", "expected"), [(19, 3), (20, 3), (21, 2)])
def test_groups_of_the_least_size_stay_clusters(min_cluster_size: int, expected: int) -> None:
    groups = np.repeat([0, 1, 2], [60, 60, 20])
    X = 10.0 * np.eye(3)[groups] + 0.5 * np.random.default_rng(0).normal(size=(140, 3))
    model = with_groups(DCTreeClustering().fit(X), groups)
    assert model.recluster(min_cluster_size=min_cluster_size).n_clusters_ == expected
