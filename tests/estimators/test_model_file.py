"""Saving and loading: the same model comes back, and nothing else does."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import shade
from shade import SHADE
from shade._errors import ModelFileError
from tests.estimators.test_shade import QUICK, Own, blobs


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[SHADE, np.ndarray, Path]:
    X, _ = blobs(200)
    model = SHADE(**QUICK, selection="branches", ensemble=2).fit(pd.DataFrame(X, columns=list("abcdefgh")))
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
    with pytest.raises(ModelFileError, match="give one of its kind as 'network'"):
        shade.load(tmp_path / "own.shade")
    assert np.array_equal(shade.load(tmp_path / "own.shade", network=Own()).predict(X), model.labels_)

    class Wider(Own):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Linear(8, 3)

    with pytest.raises(ModelFileError, match="do not fit the network"):
        shade.load(tmp_path / "own.shade", network=Wider())


def test_convolutional_models_and_generators_as_seed_can_be_saved(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1, 9, 8))
    model = SHADE(network="conv", epochs=1, embedding_size=2, random_state=np.random.default_rng(0), min_points=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SHADE, "_warn_of_noise", lambda self: None)
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
    with pytest.raises(ModelFileError, match="has format 99, this version of shade reads format 1"):
        shade.load(rewrite(path, tmp_path / "newer.shade", {"manifest.json": newer}))
    with pytest.raises(ModelFileError, match=r"manifest\.json of the model file cannot be read"):
        shade.load(rewrite(path, tmp_path / "garbled.shade", {"manifest.json": b"{"}))
    (tmp_path / "cut.shade").write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ModelFileError, match="is no model file, or a damaged one"):
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
