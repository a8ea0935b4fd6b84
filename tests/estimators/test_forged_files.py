"""Model files whose hashes fit, but whose contents were changed: what follows from the rest is checked for all rows."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import ModelFileError
from shade.persistence.model_file import ModelContents, read_model_file, write_model_file
from tests.estimators.grouped import with_groups

QUICK = {"epochs": 1, "network": (8,), "embedding_size": 3, "n_networks": 1, "random_state": 0}
FOLLOWING = ("order", "reachability", "left", "right", "height", "size")


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in read_model_file(path).arrays.items()}


def write_with(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    contents = read_model_file(path)
    description = {name: value for name, value in contents.description.items() if name not in ("format", "sha256")}
    write_model_file(path.with_suffix(".forged"), ModelContents(description, contents.tensors, arrays))
    return path.with_suffix(".forged")


def honest_models() -> Iterator[tuple[str, DCTreeClustering | SHADE]]:
    """Models of many kinds: rules, ties, equal rows, background, groups, cuts."""
    random = np.random.default_rng(0)
    blobs = make_blobs(120, n_features=3, centers=3, random_state=0)[0]
    datasets = {
        "blobs": blobs,
        "integers": random.integers(0, 6, (150, 2)).astype(float),
        "equal rows": np.repeat(random.normal(size=(30, 2)), 4, axis=0),
        "all equal": np.ones((30, 2)),
        "background": np.vstack([blobs[:, :2], random.uniform(-60, 60, (60, 2))]),
        "moons": make_moons(150, noise=0.05, random_state=0)[0],
        "wide": random.normal(size=(80, 30)) * 1e-60,
    }
    for name, X in datasets.items():
        for selection in ("information", "branches", "structure"):
            model = DCTreeClustering(selection=selection).fit(X)
            yield f"{name} {selection}", model
            yield f"{name} {selection} min_samples", model.recluster(min_samples=3)
            yield f"{name} {selection} cut", model.recluster(cut_distance=float(np.median(model.dc_tree_.height)))
            yield f"{name} {selection} between", model.recluster(between_noise=True, min_cluster_size=4)
        if name in ("moons", "wide", "all equal"):
            continue
        deep = SHADE(**QUICK).fit(X)
        yield f"{name} deep", deep
        yield f"{name} deep min_samples", deep.recluster(min_samples=3)
        yield f"{name} deep large", deep.recluster(min_cluster_size=40)
        yield f"{name} deep batch", SHADE(**QUICK, tree="batch").fit(X)
    yield "groups", with_groups(DCTreeClustering().fit(blobs), np.arange(120) % 2)
    yield "groups and background", with_groups(DCTreeClustering().fit(blobs), np.arange(120) % 3 - 1)


@pytest.mark.filterwarnings("ignore")
def test_every_honest_model_is_loaded(tmp_path: Path) -> None:
    for name, model in honest_models():
        model.save(tmp_path / "model.shade")
        loaded = shade.load(tmp_path / "model.shade")
        assert np.array_equal(loaded.labels_, model.labels_), name


@pytest.fixture(scope="module", params=["deep", "points"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    X = make_blobs(90, n_features=3, centers=3, random_state=0)[0]
    model = SHADE(**QUICK).fit(X) if request.param == "deep" else DCTreeClustering().fit(X)
    path = tmp_path_factory.mktemp("model") / "model.shade"
    model.save(path)
    return path


@pytest.mark.parametrize("name", FOLLOWING)
def test_no_part_of_the_tree_can_be_exchanged(saved: Path, name: str) -> None:
    random = np.random.default_rng(0)
    whole = arrays_of(saved)
    values = whole[f"dc_tree.{name}"]
    for trial in range(12):
        one, other = random.choice(len(values), 2, replace=False)
        changed = values.copy()
        if trial % 2:
            changed[one] = changed[one] + 1 if values.dtype.kind == "i" else np.nextafter(changed[one], np.inf)
        else:
            changed[[one, other]] = changed[[other, one]]
        if np.array_equal(changed, values):
            continue
        with pytest.raises(ModelFileError):
            shade.load(write_with(saved, {**whole, f"dc_tree.{name}": changed}))


def test_inner_nodes_of_one_height_or_size_cannot_be_swapped(saved: Path) -> None:
    """Both sides of a merge, and two subtrees of one size, alike in everything but who is in them."""
    whole = arrays_of(saved)
    left, right, size = (whole[f"dc_tree.{name}"] for name in ("left", "right", "size"))
    n = len(size) + 1
    for merge in range(0, n - 1, 6):
        sides = left.copy(), right.copy()
        sides[0][merge], sides[1][merge] = sides[1][merge], sides[0][merge]
        with pytest.raises(ModelFileError, match="tree"):
            shade.load(write_with(saved, {**whole, "dc_tree.left": sides[0], "dc_tree.right": sides[1]}))
    sizes = np.concatenate([np.ones(n, np.int64), size])
    for one, other in zip(range(n - 1), range(1, n - 1), strict=False):
        if sizes[left[one]] != sizes[left[other]] or left[other] >= n + one:
            continue
        changed = left.copy()
        changed[[one, other]] = changed[[other, one]]
        with pytest.raises(ModelFileError, match="tree"):
            shade.load(write_with(saved, {**whole, "dc_tree.left": changed}))


@pytest.mark.parametrize("name", ["labels", "strengths", "outlier_scores", "death", "limit", "exemplars", "outskirts"])
def test_nothing_said_of_a_row_or_cluster_can_be_changed(saved: Path, name: str) -> None:
    random = np.random.default_rng(1)
    whole = arrays_of(saved)
    values = whole[f"clustering.{name}"]
    for place in random.permutation(len(values))[:6]:
        changed = values.copy()
        changed[place] = (changed[place] + 1) % 3 if values.dtype.kind == "i" else changed[place] * 0.99 + 1e-3
        with pytest.raises(ModelFileError):
            shade.load(write_with(saved, {**whole, f"clustering.{name}": changed}))


def test_in_a_large_file_every_row_is_compared_with_the_tree(tmp_path: Path) -> None:
    X = make_blobs(20_000, centers=8, random_state=0)[0]
    model = DCTreeClustering().fit(X)
    model.save(tmp_path / "model.shade")
    whole = arrays_of(tmp_path / "model.shade")
    random = np.random.default_rng(0)
    for row in random.integers(20_000, size=6):
        labels = whole["clustering.labels"].copy()
        labels[row] = (labels[row] + 1) % model.n_clusters_
        with pytest.raises(ModelFileError):
            shade.load(write_with(tmp_path / "model.shade", {**whole, "clustering.labels": labels}))
    inner = np.flatnonzero(np.minimum(whole["dc_tree.left"], whole["dc_tree.right"]) >= 20_000)
    for merge in random.choice(inner, 6):
        size = whole["dc_tree.size"].copy()
        size[merge] += 1
        with pytest.raises(ModelFileError, match="size of the tree does not follow"):
            shade.load(write_with(tmp_path / "model.shade", {**whole, "dc_tree.size": size}))
    doubled = {name: whole[name] * 2.0 for name in ("dc_tree.height", "dc_tree.reachability")}
    with pytest.raises(ModelFileError):
        shade.load(write_with(tmp_path / "model.shade", {**whole, **doubled}))


def test_the_links_of_points_are_those_of_the_tree(tmp_path: Path) -> None:
    DCTreeClustering().fit(make_blobs(60, random_state=0)[0]).save(tmp_path / "model.shade")
    whole = arrays_of(tmp_path / "model.shade")
    for place in range(0, 59, 7):
        links = whole["links"].copy()
        links[place, 1] = (links[place, 1] + 1) % 60
        with pytest.raises(ModelFileError, match="links"):
            shade.load(write_with(tmp_path / "model.shade", {**whole, "links": links}))


@pytest.mark.parametrize("name", ["exemplars", "outskirts"])
def test_a_row_is_told_once(saved: Path, name: str) -> None:
    whole = arrays_of(saved)
    many = np.zeros(200_000, np.int64)
    with pytest.raises(ModelFileError, match=f"there are {name} that are told twice"):
        shade.load(write_with(saved, {**whole, f"clustering.{name}": many}))


def test_a_manifest_that_would_grow_is_refused_unread(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = read_model_file(saved)
    monkeypatch.setattr("shade.persistence.model_file.MOST_MANIFEST", 1 << 30)
    write_model_file(
        saved.with_suffix(".forged"),
        ModelContents({**contents.description, "history": [{}] * 2_000_000}, contents.tensors, contents.arrays),
    )
    monkeypatch.undo()
    monkeypatch.setattr("shade.persistence.model_file.json.loads", lambda _: pytest.fail("it was read"))
    with pytest.raises(ModelFileError, match=r"manifest\.json of the model file has \d+ bytes, more than"):
        shade.load(saved.with_suffix(".forged"))
