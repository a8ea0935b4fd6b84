"""The table of datasets, the cache, and the readers of the publishers' formats."""

from __future__ import annotations

import dataclasses
import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from shade.data import DATASETS, DatasetError, data_folder, load_dataset, publishers
from shade.data.catalogue import DatasetInfo, SourceFile
from shade.data.datasets import hash_arrays
from tests.data_files import FOLDER

SMALL = DatasetInfo("small", 4, 6, 2, "image", "somebody", "MIT", sha256="")


def zipped(**files: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "."), data)
    return content.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def test_the_table_has_the_eighteen_datasets_of_the_appendix_and_marks_the_others() -> None:
    complete = [info for info in DATASETS.values() if info.comparable]
    assert len(complete) == 18
    assert {info.name for info in DATASETS.values() if not info.comparable} == {
        "har_recomputed", "kmnist_test10k", "coil100_17obj", "weizmann_31videos", "weizmann_masks",
    }  # fmt: skip
    for info in DATASETS.values():
        assert info.standardize == ("feature" if info.kind == "table" else "global")
        assert info.kind in ("table", "image", "video") and info.licence and info.publisher
        if info.comparable:
            assert info.files and info.reader in publishers.READERS
        else:
            assert info.part_of in DATASETS and info.note


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setitem(DATASETS, "small", SMALL)
    monkeypatch.setenv("SHADE_DATA", str(tmp_path))
    return tmp_path / "small.npz"


def test_a_dataset_unpacks_and_keeps_the_shape_of_images(small: Path) -> None:
    np.savez_compressed(small, X=np.arange(24, dtype=np.uint8).reshape(4, 2, 3), y=np.array([0, 0, 1, -1], np.int32))
    X, y = load_dataset("small")
    assert X.shape == (4, 2, 3) and y.tolist() == [0, 0, 1, -1]
    assert load_dataset("small").rows.shape == (4, 6)


def test_a_file_of_the_wrong_size_is_refused(small: Path) -> None:
    np.savez_compressed(small, X=np.zeros((3, 6)), y=np.zeros(3))
    with pytest.raises(DatasetError, match=r"holds 3 samples of 6 values .* 'small' has 4 of 6"):
        load_dataset("small")


def test_what_is_not_there_is_said(small: Path) -> None:
    with pytest.raises(DatasetError, match="shade data get small"):
        load_dataset("small", download=False)
    with pytest.raises(DatasetError, match=r"There is no dataset 'nist'\. Known are: synth_low,"):
        load_dataset("nist")
    with pytest.raises(DatasetError, match="is not published in this form"):
        load_dataset("kmnist_test10k")


def test_a_dataset_is_fetched_converted_and_kept(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.column_stack([np.arange(24.0).reshape(4, 6), [0, 0, 1, -1]])
    info = dataclasses.replace(SMALL, kind="table", reader="read_densired", files=(SourceFile("http://host/a.npy"),))
    asked = []

    def serve(url: str, path: Path, *, sha256: str) -> None:
        asked.append(url)
        np.save(path, table)

    monkeypatch.setattr(publishers, "download_file", serve)
    monkeypatch.setitem(DATASETS, "small", info)
    X, y = load_dataset("small")
    np.testing.assert_array_equal(X, table[:, :-1])
    assert y.tolist() == [0, 0, 1, -1]
    load_dataset("small")
    assert asked == ["http://host/a.npy"]
    assert [path.name for path in small.parent.iterdir()] == ["small.npz"]
    small.unlink()
    monkeypatch.setitem(DATASETS, "small", dataclasses.replace(info, sha256="0" * 64))
    with pytest.warns(UserWarning, match="is not, to the last bit, the data"):
        load_dataset("small")


def test_the_folder_is_the_environments_or_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHADE_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("SHADE_DATA")
    assert data_folder().parts[-2:] == ("shade", "data")


def read(name: str, tmp_path: Path, *contents: bytes, suffix: str = ".zip") -> tuple[np.ndarray, np.ndarray]:
    paths = [tmp_path / f"source{i}{suffix}" for i in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return publishers.READERS[name](paths)


def test_tables_of_text(tmp_path: Path) -> None:
    X, y = read("read_letter", tmp_path, zipped(**{"letter-recognition__data": b"B,1,2\nA,3,4\n"}))
    assert X.tolist() == [[1, 2], [3, 4]] and y.tolist() == [1, 0]
    X, y = read("read_htru2", tmp_path, zipped(HTRU_2__csv=b"1.5,2,0\n3,4,1\n"))
    assert X.dtype == np.float32 and X.tolist() == [[1.5, 2], [3, 4]] and y.tolist() == [0, 1]
    digits = zipped(pendigits__tra=b" 1, 2,7\n", pendigits__tes=b" 3, 4,8\n")
    X, y = read("read_digits", tmp_path, digits)
    assert X.dtype == np.uint8 and X.tolist() == [[1, 2], [3, 4]] and y.tolist() == [7, 8]
    lines = [b"5.0000 -1.0000 1.0000\n", b"3.0000 0.0000 0.5000\n"]
    X, y = read("read_usps", tmp_path, *map(gzip.compress, lines), suffix=".gz")
    assert X.tolist() == [[0, 1], [0.5, 0.75]] and y.tolist() == [5, 3]


def test_archives_inside_archives(tmp_path: Path) -> None:
    inner = {f"UCI HAR Dataset/{part}/{kind}_{part}.txt": content for part in ("train", "test")
             for kind, content in (("X", b"1 2\n"), ("y", b"6\n"))}  # fmt: skip
    X, y = read("read_har", tmp_path, zipped(**{"UCI HAR Dataset.zip": zipped(**inner)}))
    assert X.tolist() == [[1, 2], [1, 2]] and y.tolist() == [5, 5]
    csv = {"a/data.csv": b",g1,g2,g3\ns1,1,5,0.5\ns2,2,5,0.5\n", "a/labels.csv": b",Class\ns1,PRAD\ns2,LUAD\n"}
    X, y = read("read_tcga", tmp_path, zipped(**{"b.tar.gz": tarred(csv)}))
    assert X.tolist() == [[1], [2]] and y.tolist() == [1, 0]
    with pytest.raises(DatasetError, match="holds no file like"):
        read("read_letter", tmp_path, zipped(other__txt=b""))


def test_idx_files(tmp_path: Path) -> None:
    images = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4])
    labels = bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9])
    X, y = read("read_idx", tmp_path, *map(gzip.compress, [images, labels, images, labels]), suffix=".gz")
    assert X.tolist() == [[[1, 2]], [[3, 4]]] * 2 and y.tolist() == [7, 9, 7, 9]


def test_pictures(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")

    def picture(value: int, kind: str) -> bytes:
        content = io.BytesIO()
        image.fromarray(np.full((2, 3), value, np.uint8)).save(content, kind)
        return content.getvalue()

    faces = {f"faces_4/{p}/{p}_left_sad_open_4.pgm": picture(v, "PPM") for v, p in ((9, "tammo"), (4, "an2i"))}
    X, y = read("read_cmu_faces", tmp_path, zipped(**{"faces_4.tar.gz": tarred({**faces, "x_2.pgm": b""})}))
    assert X[:, 0, 0].tolist() == [4, 9] and y.tolist() == [0, 1]
    names = {f"coil-20-proc/obj{thing}__{pose}.png": (thing, pose) for thing in range(1, 21) for pose in range(72)}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, (thing, pose) in names.items():
            archive.writestr(name, picture(thing + pose, "PNG"))
    X, y = read("read_coil", tmp_path, content.getvalue())
    assert X.shape == (1440, 2, 3) and X[:3, 0, 0].tolist() == [1, 2, 3] and y[[0, 71, 72]].tolist() == [0, 0, 1]


def video(n_frames: int, height: int, width: int) -> bytes:
    """A video whose frames are ever brighter."""
    av = pytest.importorskip("av", reason="needs PyAV")
    content = io.BytesIO()
    with av.open(content, "w", format="avi") as container:
        stream = container.add_stream("rawvideo", rate=25)
        stream.width, stream.height, stream.pix_fmt = width, height, "bgr24"
        for number in range(n_frames):
            frame = av.VideoFrame.from_ndarray(np.full((height, width, 3), 10 * number, np.uint8), format="bgr24")
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return content.getvalue()


def test_videos(tmp_path: Path) -> None:
    clip = video(3, 12, 16)
    X, y = read(
        "read_weizmann", tmp_path, zipped(daria_walk__avi=clip), zipped(lena_run2__avi=clip, eli_wave2__avi=clip)
    )
    assert X.shape == (9, 12, 16, 3)
    assert X[:3, 0, 0, 0].tolist() == [0, 10, 20]
    assert y.tolist() == [0] * 3 + [26] * 3 + [51] * 3  # by person, then by action
    sequences = b"Training set:\nperson 1_gesture2 in frames 1-1\nTesting set:\nperson 4_gesture14 frames 0-0, 2-2\n"
    folder = {"Keck Dataset/training files/person1_gesture2_train.avi": clip,
              "Keck Dataset/testingfiles/person4_gesture14_test.avi": clip}  # fmt: skip
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in folder.items():
            file.writestr(name, content)
    (tmp_path / "keck.zip").write_bytes(archive.getvalue())
    (tmp_path / "sequences.txt").write_bytes(sequences)
    X, y = publishers.read_keck([tmp_path / "keck.zip", tmp_path / "sequences.txt"])
    assert X.shape == (6, 200, 200, 3)
    assert y.tolist() == [59, 45, 59, 0, 2, 0]


@pytest.mark.shared_data
@pytest.mark.parametrize("name", [name for name, info in DATASETS.items() if info.sha256 and info.n_samples < 20_000])
def test_the_files_at_hand_are_the_ones_in_the_table(name: str) -> None:
    if not (FOLDER / f"{name}.npz").exists():
        pytest.skip(f"needs {name}.npz in {FOLDER} (set SHADE_DATA)")
    dataset = load_dataset(name, folder=FOLDER)
    assert hash_arrays(dataset.X, dataset.y) == dataset.info.sha256
    assert len(np.unique(dataset.y[dataset.y >= 0])) == dataset.info.n_clusters
    assert np.sum(dataset.y < 0) == dataset.info.n_noise
    assert len(dataset.X) == dataset.info.n_samples
