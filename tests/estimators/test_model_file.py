"""Saving and loading: the same model comes back, and nothing else does."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import ModelFileError
from shade.persistence.model_file import ModelContents, read_model_file, write_model_file
from tests.estimators.fixtures.make_fixture import data
from tests.estimators.grouped import with_groups
from tests.estimators.test_shade import QUICK, Own, blobs

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[SHADE, np.ndarray, Path]:
    X, _ = blobs(200)
    model = SHADE(**{**QUICK, "n_networks": 2}, selection="branches").fit(pd.DataFrame(X, columns=list("abcdefgh")))
    path = tmp_path_factory.mktemp("model") / "model.shade"
    model.save(path)
    return model, X, path


def test_a_loaded_model_is_the_one_that_was_saved(saved: tuple[SHADE, np.ndarray, Path]) -> None:
    model, X, path = saved
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    loaded = shade.load(path)
    assert loaded.get_params() == model.get_params()
    assert list(loaded.feature_names_in_) == list("abcdefgh")
    for name in ("labels_", "probabilities_", "outlier_scores_", "embedding_", "cluster_persistence_"):
        assert np.array_equal(getattr(loaded, name), getattr(model, name)), name
    for one, other in zip(loaded.exemplar_indices_, model.exemplar_indices_, strict=True):
        assert np.array_equal(one, other)
    assert loaded.history_ == model.history_
    assert (loaded.training_tree_, loaded.settled_) == (model.training_tree_, model.settled_)
    assert loaded.clustering_.rule == model.clustering_.rule
    assert loaded.clustering_.dimension == model.clustering_.dimension
    assert np.array_equal(loaded.predict(frame), model.labels_)
    assert np.array_equal(loaded.transform(frame), model.embedding_)
    assert np.array_equal(loaded.inverse_transform(model.embedding_), model.inverse_transform(model.embedding_))
    new = frame * 1.1
    assert np.array_equal(loaded.predict(new), model.predict(new))
    assert np.array_equal(loaded.recluster(n_clusters=2).labels_, model.recluster(n_clusters=2).labels_)


def test_another_clustering_is_saved_as_it_is(saved: tuple[SHADE, np.ndarray, Path], tmp_path: Path) -> None:
    model, _, _ = saved
    model.recluster(n_clusters=2).save(tmp_path / "two.shade")
    assert shade.load(tmp_path / "two.shade").n_clusters_ == 2


@pytest.mark.parametrize(
    "answer",
    [
        {"cut_distance": 3},
        {"cut_distance": np.float32(0.5)},
        {"n_clusters": np.int64(2)},
        {"min_samples": np.int32(4), "min_cluster_size": np.uint8(9)},
    ],
)
def test_numbers_of_any_kind_may_make_another_clustering(
    saved: tuple[SHADE, np.ndarray, Path], tmp_path: Path, answer: dict[str, Any]
) -> None:
    other = saved[0].recluster(**answer)
    other.save(tmp_path / "other.shade")
    loaded = shade.load(tmp_path / "other.shade")
    assert np.array_equal(loaded.labels_, other.labels_)
    assert loaded.clustering_.rule == other.clustering_.rule


@pytest.mark.parametrize(("rows", "size"), [(6, None), (60, 1000)])
def test_fewer_rows_than_the_smallest_cluster_has_are_one_that_can_be_loaded(
    rows: int, size: int | None, tmp_path: Path
) -> None:
    X = np.random.default_rng(0).normal(size=(rows, 2))
    model = SHADE(epochs=1, n_networks=1, min_cluster_size=size, random_state=0).fit(X)
    model.save(tmp_path / "a.shade")
    assert shade.load(tmp_path / "a.shade").recluster(min_cluster_size=2).n_clusters_ >= 1


def test_the_training_data_is_not_in_the_file(saved: tuple[SHADE, np.ndarray, Path]) -> None:
    _, X, path = saved
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["arrays.npz", "manifest.json", "network.safetensors"]
        with archive.open("arrays.npz") as file:
            arrays = np.load(file, allow_pickle=False)
            assert all(arrays[name].shape != X.shape for name in arrays.files)


def test_a_module_of_the_users_must_be_given_again(tmp_path: Path) -> None:
    X, _ = blobs(100)
    model = SHADE(network=Own(), epochs=2, selection="branches", random_state=0).fit(X)
    model.save(tmp_path / "own.shade")
    with pytest.raises(ModelFileError, match="a module of the same class"):
        shade.load(tmp_path / "own.shade")
    assert np.array_equal(shade.load(tmp_path / "own.shade", network=Own()).predict(X), model.labels_)

    class Wider(Own):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Linear(8, 3)

    with pytest.raises(ModelFileError, match="do not fit the network"):
        shade.load(tmp_path / "own.shade", network=Wider())

    class Squashed(Own):
        def encode(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(super().encode(x))

    with pytest.raises(ModelFileError, match="do not embed as they did when the model was saved"):
        shade.load(tmp_path / "own.shade", network=Squashed())


def test_sizes_of_layers_may_be_numbers_of_numpy(tmp_path: Path) -> None:
    X, _ = blobs(100)
    model = SHADE(**{**QUICK, "network": tuple(np.array([16, 8]))}).fit(X)
    model.save(tmp_path / "model.shade")
    assert shade.load(tmp_path / "model.shade").network == (16, 8)


def test_a_layer_may_be_used_twice(tmp_path: Path) -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            inner = nn.Linear(8, 8)
            self.encode = nn.Sequential(inner, nn.LeakyReLU(), nn.Linear(8, 3))
            self.decode = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(), inner)

    X, _ = blobs(100)
    model = SHADE(network=Shared(), epochs=2, selection="branches", random_state=0).fit(X)
    model.save(tmp_path / "shared.shade")
    assert np.array_equal(shade.load(tmp_path / "shared.shade", network=Shared()).predict(X), model.labels_)


def test_a_class_made_of_an_estimator_is_saved_as_that(tmp_path: Path) -> None:
    class Ours(DCTreeClustering):
        pass

    X, _ = blobs(100)
    model = Ours().fit(X)
    model.save(tmp_path / "ours.shade")
    assert np.array_equal(shade.load(tmp_path / "ours.shade").labels_, model.labels_)


def test_convolutional_models_and_generators_as_seed_can_be_saved(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1, 9, 8))
    model = SHADE(network="conv", epochs=1, embedding_size=2, random_state=np.random.default_rng(0), min_samples=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shade.estimators.shade.warn_of_result", lambda model: None)
        model.fit(X)
    model.save(tmp_path / "conv.shade")
    loaded = shade.load(tmp_path / "conv.shade")
    assert loaded.random_state is None
    assert np.array_equal(loaded.predict(X), model.labels_)


def rewrite(path: Path, target: Path, change: dict[str, bytes | None]) -> Path:
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(target, "w") as other:
        for name in archive.namelist():
            data = change.get(name, archive.read(name))
            if data is not None:
                other.writestr(name, data)
    return target


@pytest.mark.parametrize("member", ["network.safetensors", "arrays.npz"])
def test_an_altered_or_missing_member_is_named(
    saved: tuple[SHADE, np.ndarray, Path], tmp_path: Path, member: str
) -> None:
    path = saved[2]
    with zipfile.ZipFile(path) as archive:
        data = bytearray(archive.read(member))
    data[len(data) // 2] ^= 1
    with pytest.raises(ModelFileError, match=f"The member {member} of the model file was altered: expected .* found"):
        shade.load(rewrite(path, tmp_path / "altered.shade", {member: bytes(data)}))
    with pytest.raises(ModelFileError, match=f"lacks its member {member}"):
        shade.load(rewrite(path, tmp_path / "missing.shade", {member: None}))


def test_other_formats_and_damaged_files_are_refused(saved: tuple[SHADE, np.ndarray, Path], tmp_path: Path) -> None:
    path = saved[2]
    newer = json.dumps({"format": 99}).encode()
    with pytest.raises(
        ModelFileError, match="has format 99, this version of shade reads formats up to 1: update shade"
    ):
        shade.load(rewrite(path, tmp_path / "newer.shade", {"manifest.json": newer}))
    with pytest.raises(ModelFileError, match=r"manifest\.json of the model file cannot be read"):
        shade.load(rewrite(path, tmp_path / "garbled.shade", {"manifest.json": b"{"}))
    (tmp_path / "cut.shade").write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ModelFileError, match="The model file is damaged or none"):
        shade.load(tmp_path / "cut.shade")


def test_a_failed_save_leaves_the_old_file_and_no_other(
    saved: tuple[SHADE, np.ndarray, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _, _ = saved
    path = tmp_path / "model.shade"
    model.save(path)
    before = path.read_bytes()

    def full_disk(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full_disk)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_loading_touches_no_global_generator(saved: tuple[SHADE, np.ndarray, Path]) -> None:
    state = torch.random.get_rng_state()
    shade.load(saved[2])
    assert torch.equal(torch.random.get_rng_state(), state)


# Files of other versions and other estimators


def test_a_file_of_the_first_format_keeps_loading() -> None:
    loaded = shade.load(FIXTURES / "format_1.shade")
    X = data()
    assert loaded.n_clusters_ == 3
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    assert np.array_equal(loaded.predict(X), loaded.labels_)
    assert np.array_equal(loaded.labels_ >= 0, loaded.probabilities_ > 0)
    odd = np.arange(len(X)) % 2 == 1
    assert all(len(set(odd[loaded.labels_ == label])) == 1 for label in range(loaded.n_clusters_))
    assert np.allclose(loaded.transform(X), loaded.embedding_, rtol=1e-5)
    assert loaded.n_networks == loaded.n_networks_ == 2
    assert (loaded.training_tree_, loaded.settled_) == ("complete", False)


def test_parameters_that_came_later_keep_their_defaults(tmp_path: Path) -> None:
    contents = read_model_file(FIXTURES / "format_1.shade")
    older = {name: value for name, value in contents.description["parameters"].items() if name != "density_unit"}
    write_model_file(tmp_path / "older.shade", replace(contents, description=describe(contents, parameters=older)))
    assert shade.load(tmp_path / "older.shade").density_unit == SHADE().density_unit
    newer = {**older, "gravity": 1}
    write_model_file(tmp_path / "newer.shade", replace(contents, description=describe(contents, parameters=newer)))
    with pytest.raises(ModelFileError, match=r"parameters that this version of shade does not know: \['gravity'\]"):
        shade.load(tmp_path / "newer.shade")


def test_absurd_networks_are_refused_before_memory_is_taken(tmp_path: Path) -> None:
    contents = read_model_file(FIXTURES / "format_1.shade")
    for network in ([10**9], [6] * 10**5):
        parameters = {**contents.description["parameters"], "network": network}
        write_model_file(tmp_path / "a.shade", replace(contents, description=describe(contents, parameters=parameters)))
        with pytest.raises(ModelFileError, match=r"do not fit the network|weights for 100000 hidden layers"):
            shade.load(tmp_path / "a.shade")


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("clustering.labels", lambda labels: np.roll(labels, 1), "the labels of the clusters are not those"),
        (
            "clustering.labels",
            lambda labels: np.where(labels < 0, -1, labels.max() - labels),
            "of the clusters are not",
        ),
        ("clustering.outlier_scores", lambda scores: scores / 2, "the outlier_scores of the clusters are not those"),
        ("clustering.exemplars", lambda rows: rows[1:], "the exemplars of the clusters are not those"),
        ("clustering.limit", lambda limit: limit / 1e3, "the limit of the clusters are not those"),
        ("clustering.limit", lambda limit: limit * 1e3, "the limit of the clusters are not those"),
        ("standardizer.scale", lambda scale: scale * 2, "do not embed as they did when the model was saved"),
        ("embedding", lambda points: np.roll(points, 1, axis=0), "the tree is not of the points"),
        ("embedding", lambda points: 0 * points, "the tree is not of the points"),
        (
            "embedding",
            lambda points: points + np.float32(0.01) * (points == points[5]),
            "the tree is not of the points",
        ),
        ("probe.embedding", lambda embedded: embedded[:, 1:], r"the probe has \(8, 5\) columns, not \(8, 6\)"),
        ("probe.row", lambda row: row[1:], r"the probe has \(7, 6\) columns, not \(8, 6\)"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(
    saved: tuple[SHADE, np.ndarray, Path], tmp_path: Path, name: str, change: Any, expected: str
) -> None:
    contents = read_model_file(saved[2])
    arrays = {**contents.arrays, name: change(contents.arrays[name])}
    write_model_file(tmp_path / "a.shade", ModelContents(describe(contents), contents.tensors, arrays))
    with pytest.raises(ModelFileError, match=expected):
        shade.load(tmp_path / "a.shade")


@pytest.mark.filterwarnings("ignore::shade._base.errors.ShadeWarning")
@pytest.mark.parametrize("selection", ["structure", "branches", "information"])
def test_whatever_is_read_off_a_tree_can_be_loaded(selection: str, tmp_path: Path) -> None:
    X = np.round(blobs(80)[0][:, :2], 1)  # with duplicates
    model = DCTreeClustering(min_samples=3, selection=selection).fit(X)
    background = with_groups(model, np.where(np.arange(80) % 20 == 0, -1, 0))
    for one in (model, background):
        others = [one.recluster(cut_distance=float(height)) for height in np.quantile(one.dc_tree_.height, [0, 0.5, 1])]
        others += [one.recluster(n_clusters=number + 1) for number in range(min(3, one.structure_tree_.n_leaves[0]))]
        for other in [one, *others]:
            other.save(tmp_path / "a.shade")
            assert np.array_equal(shade.load(tmp_path / "a.shade").labels_, other.labels_)


def describe(contents: ModelContents, **changes: object) -> dict[str, object]:
    kept = {name: value for name, value in contents.description.items() if name not in ("format", "sha256")}
    return {**kept, **changes}


def test_the_clustering_step_alone_is_saved_too(tmp_path: Path) -> None:
    X, _ = blobs(150)
    model = DCTreeClustering(selection="branches").fit(X)
    model.save(tmp_path / "tree.shade")
    loaded = shade.load(tmp_path / "tree.shade")
    assert isinstance(loaded, DCTreeClustering)
    assert loaded.get_params() == model.get_params()
    assert np.array_equal(loaded.labels_, model.labels_)
    assert np.array_equal(loaded.predict(X + 0.1), model.predict(X + 0.1))
    assert np.array_equal(loaded.recluster(n_clusters=2).labels_, model.recluster(n_clusters=2).labels_)
    assert np.array_equal(loaded.assign_noise(), model.assign_noise())


# Tables and ONNX


def test_a_table_tells_what_was_found_of_each_row(saved: tuple[SHADE, np.ndarray, Path]) -> None:
    model, X, _ = saved
    frame = model.to_frame()
    assert list(frame.columns) == ["label", "probability", "outlier_score"]
    assert frame.index.name == "id"
    assert np.array_equal(frame["label"], model.labels_)
    wide = model.to_frame([f"r{row}" for row in range(len(X))], embedding=True)
    assert wide.index[3] == "r3"
    assert np.array_equal(wide.filter(like="embedding_"), model.embedding_)
    points = DCTreeClustering(selection="branches").fit(X).to_frame(embedding=True)
    assert np.array_equal(points.filter(like="embedding_"), X)


@pytest.mark.parametrize("kind", ["n_networks", "conv"])
def test_the_encoder_runs_in_onnx_runtime(kind: str, saved: tuple[SHADE, np.ndarray, Path], tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    pytest.importorskip("onnxscript", reason="needs the extra onnx")
    model, X, _ = saved
    if kind == "conv":
        X = np.random.default_rng(0).normal(size=(40, 9, 8))
        X[::2] += 5
        model = SHADE(network="conv", epochs=1, embedding_size=2, random_state=0, min_samples=3, selection="branches")
        model.fit(X)
    model.to_onnx(tmp_path / "encoder.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["encoder.onnx"]
    session = runtime.InferenceSession(tmp_path / "encoder.onnx", providers=["CPUExecutionProvider"])
    for rows in (X[:1], X):
        (embedding,) = session.run(["embedding"], {"X": rows.astype(np.float32)})
        assert embedding.dtype == np.float32
        expected = model.transform(rows.astype(np.float32)) if kind == "conv" else embed_named(model, rows)
        assert np.allclose(embedding, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def embed_named(model: SHADE, rows: np.ndarray) -> np.ndarray:
    return model.transform(pd.DataFrame(rows.astype(np.float32), columns=list("abcdefgh")))


@pytest.mark.parametrize("changed", [{"min_samples": 9}, {"min_cluster_size": 40}, {"selection": "structure"}])
def test_parameters_that_were_set_after_fitting_are_not_saved(changed: dict[str, object], tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[30:] += 9.0
    model = DCTreeClustering(selection="branches").fit(X)
    model.set_params(**changed)
    with pytest.raises(ValueError, match="not those that it was fitted with"):
        model.save(tmp_path / "model.shade")
    assert not list(tmp_path.iterdir())
    model.set_params(min_samples=5, min_cluster_size=None, selection="branches").save(tmp_path / "model.shade")
    assert np.array_equal(shade.load(tmp_path / "model.shade").labels_, model.labels_)
