"""Conversion of the publishers' files to the arrays of the cache."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import ShadeWarning
from shade._base.extras import need
from shade.data.catalogue import DatasetInfo
from shade.data.datasets import DatasetError, hash_arrays
from shade.data.download import download_file

Arrays = tuple[AnyArray, AnyArray]
Files = dict[str, bytes]  # path in an archive, or file name, and content

WEIZMANN_ACTIONS = ("walk", "run", "jump", "side", "bend", "wave1", "wave2", "pjump", "jack", "skip")
WEIZMANN_PERSONS = ("daria", "denis", "eli", "ido", "ira", "lena", "lyova", "moshe", "shahar")
KECK_SIZE = (200, 200)
KECK_GESTURES = 15  # 14 gestures, and none


def fetch_dataset(info: DatasetInfo, path: Path) -> None:
    """Fetch the files of a dataset, convert them, and store all arrays at `path`, or nothing."""
    if not info.files:
        raise DatasetError(
            f"The dataset {info.name!r} ({info.note}) is not published in this form and cannot be fetched. Put "
            f"{path.name} into {path.parent}, or use {info.part_of!r}."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{info.name}.", dir=path.parent) as folder:
        sources = []
        for file in info.files:
            sources.append(Path(folder) / file.name)
            download_file(file.url, sources[-1], sha256=file.sha256)
        X, y = READERS[info.reader](sources)
        y = y.astype(np.int32)
        if info.sha256 and hash_arrays(X, y) != info.sha256:
            warnings.warn(
                f"What was made of the publisher's files of {info.name!r} is not, to the last bit, the data that "
                "results were published with here: the publisher or a decoder may have changed.",
                ShadeWarning,
                stacklevel=2,
            )
        finished = Path(folder) / path.name
        np.savez_compressed(finished, X=X, y=y)
        finished.replace(path)


def read_densired(sources: list[Path]) -> Arrays:
    """One matrix with the labels in its last column."""
    table = np.load(sources[0], allow_pickle=False)
    return table[:, :-1].astype(np.float32), table[:, -1]


def read_letter(sources: list[Path]) -> Arrays:
    """Lines with a letter and sixteen integers."""
    text = _find(_unpack(sources[0]), r"letter-recognition\.data$").decode()
    cells = [line.split(",") for line in text.split()]
    return np.array([row[1:] for row in cells], np.uint8), np.array([ord(row[0]) - ord("A") for row in cells])


def read_htru2(sources: list[Path]) -> Arrays:
    """Eight numbers and a class per line."""
    table = _read_table(_find(_unpack(sources[0]), r"HTRU_2\.csv$"), ",")
    return table[:, :-1].astype(np.float32), table[:, -1]


def read_digits(sources: list[Path]) -> Arrays:
    """Training rows, then test rows, with the class in the last column."""
    files = _unpack(sources[0])
    table = np.concatenate([_read_table(_find(files, rf"digits\.{part}$"), ",") for part in ("tra", "tes")])
    return table[:, :-1].astype(np.uint8), table[:, -1]


def read_har(sources: list[Path]) -> Arrays:
    """Training rows, then test rows; features and classes are in separate files."""
    files = _unpack(sources[0])
    X, y = (
        np.concatenate([_read_table(_find(files, rf"(^|/){part}/{kind}_{part}\.txt$")) for part in ("train", "test")])
        for kind in ("X", "y")
    )
    return X.astype(np.float32), y[:, 0] - 1


def read_mice(sources: list[Path]) -> Arrays:
    """An Excel sheet: the 3 rows with 43 or more gaps are dropped, then the columns with any gap."""
    import pandas

    sheet = pandas.read_excel(io.BytesIO(_find(_unpack(sources[0]), r"Data_Cortex_Nuclear\.xls$")))
    classes = np.unique(sheet["class"], return_inverse=True)[1]
    values = sheet.drop(columns=["MouseID", "Genotype", "Treatment", "Behavior", "class"]).to_numpy(np.float64)
    kept = np.isnan(values).sum(axis=1) < 43
    values = values[kept]
    return values[:, ~np.isnan(values).any(axis=0)].astype(np.float32), classes[kept]


def read_tcga(sources: list[Path]) -> Arrays:
    """One column per gene; cancers are in a separate file. Genes with the same value in all samples are dropped."""
    files = _unpack(sources[0])
    lines = _find(files, r"(^|/)data\.csv$").decode().splitlines()[1:]
    X = np.array([line.split(",")[1:] for line in lines], np.float64)
    labels = [line.split(",")[1] for line in _find(files, r"(^|/)labels\.csv$").decode().splitlines()[1:]]
    return X[:, np.ptp(X, axis=0) > 0].astype(np.float32), np.unique(labels, return_inverse=True)[1]


def read_usps(sources: list[Path]) -> Arrays:
    """Lines with a digit and 256 grey values in [−1, 1], which are mapped to [0, 1]."""
    table = np.concatenate([_read_table(gzip.decompress(path.read_bytes())) for path in sources])
    return ((table[:, 1:] + 1.0) / 2.0).astype(np.float32), table[:, 0]


def read_idx(sources: list[Path]) -> Arrays:
    """Images and labels of training and test data in the format of MNIST."""
    images, labels, test_images, test_labels = (_read_idx(gzip.decompress(path.read_bytes())) for path in sources)
    return np.concatenate([images, test_images]), np.concatenate([labels, test_labels])


def read_coil(sources: list[Path]) -> Arrays:
    """Images by object, then by pose, which is a number or an angle."""
    found = [(re.search(r"obj(\d+)__(\d+)\.png$", name), content) for name, content in _unpack(sources[0]).items()]
    pictures = {(int(match[1]), int(match[2])): content for match, content in found if match}
    views = sorted(pictures)
    return np.stack([_read_image(pictures[view]) for view in views]), np.array([thing - 1 for thing, _ in views])


def read_cmu_faces(sources: list[Path]) -> Arrays:
    """Quarter-size images by file name; the class is the person."""
    files = _unpack(sources[0])
    names = sorted((name for name in files if name.endswith("_4.pgm")), key=lambda name: Path(name).name)
    persons = [Path(name).name.split("_")[0] for name in names]
    return np.stack([_read_image(files[name]) for name in names]), np.unique(persons, return_inverse=True)[1]


def read_weizmann(sources: list[Path]) -> Arrays:
    """All frames of all videos, 144 × 180 × 3; the class is the pair of person and action."""
    frames, labels = [], []
    for name, content in sorted(_unpack(*sources).items(), key=lambda item: Path(item[0]).name):
        if not name.endswith(".avi"):
            continue
        person, action = Path(name).stem.split("_")[:2]
        if action not in WEIZMANN_ACTIONS:
            action = action.rstrip("12")  # done twice by that person
        frames.append(np.stack(list(read_frames(content))))
        label = WEIZMANN_PERSONS.index(person) * len(WEIZMANN_ACTIONS) + WEIZMANN_ACTIONS.index(action)
        labels.append(np.full(len(frames[-1]), label))
    return np.concatenate(frames), np.concatenate(labels)


def read_keck(sources: list[Path]) -> Arrays:
    """All frames of all videos, 200 × 200 × 3; the class is the pair of person and gesture, or of person and none."""
    archive, sequences = sources
    ranges = _read_sequences(sequences.read_text())
    frames, labels = [], []
    for name, content in sorted(_unpack(archive).items()):
        found = re.search(r"(training|testing) ?files/person(\d+)_gesture(\d+)[^/]*\.avi$", name)
        if not found:
            continue
        part, person, gesture = found[1], int(found[2]), int(found[3])
        frames.append(np.stack(list(read_frames(content, KECK_SIZE))))
        gestures = np.zeros(len(frames[-1]), np.int64)
        for first, last in ranges[part, person, gesture]:
            gestures[first : last + 1] = gesture
        labels.append((person - 1) * KECK_GESTURES + gestures)
    return np.concatenate(frames), np.concatenate(labels)


def read_frames(content: bytes, size: tuple[int, int] | None = None) -> Iterator[AnyArray]:
    """Yield frames of a video as height × width × 3 arrays, averaged down to (height, width) if given."""
    av = need("av", "paper", "Reading videos")
    with av.open(io.BytesIO(content), "r") as video:
        for frame in video.decode(video=0):
            if size is not None:
                frame = frame.reformat(width=size[1], height=size[0], interpolation="AREA")  # noqa: PLW2901
            yield frame.to_ndarray(format="rgb24")


def _read_sequences(text: str) -> dict[tuple[str, int, int], list[tuple[int, int]]]:
    """Return the frames with the gesture for each video, from lines "person 1_gesture2 ... frames 10-40, 60-90"."""
    ranges, part = {}, "training"
    for line in text.splitlines():
        if line.lower().startswith("testing set"):
            part = "testing"
        found = re.match(r"person ?(\d+)_gesture ?(\d+).*frames\s+(.*)", line)
        if found:
            pairs = re.findall(r"(\d+)\s*-\s*(\d+)", found[3])
            ranges[part, int(found[1]), int(found[2])] = [(int(first), int(last)) for first, last in pairs]
    return ranges


def _read_table(content: bytes, delimiter: str | None = None) -> AnyArray:
    return np.loadtxt(io.BytesIO(content), delimiter=delimiter, ndmin=2)


def _read_idx(content: bytes) -> AnyArray:
    dimensions = content[3]
    shape = np.frombuffer(content, ">i4", dimensions, 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def _read_image(content: bytes) -> AnyArray:
    with need("PIL.Image", "paper", "Reading pictures").open(io.BytesIO(content)) as image:
        return np.asarray(image)


def _unpack(*paths: Path) -> Files:
    """Return all files of archives, including those of nested archives."""
    return {name: content for path in paths for name, content in _members(path.name, path.read_bytes())}


def _members(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    yield from _members(entry.filename, archive.read(entry))
    elif name.endswith((".tar.gz", ".tgz", ".tar")):
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive:
                file = archive.extractfile(member)
                if file is not None:
                    yield from _members(member.name, file.read())
    else:
        yield name, content


def _find(files: Files, pattern: str) -> bytes:
    for name, content in files.items():
        if re.search(pattern, name):
            return content
    raise DatasetError(
        f"The publisher's archive holds no file like {pattern!r}: it has {', '.join(sorted(files)[:8])}."
    )


#: Readers by their name in the table of datasets.
READERS: dict[str, Callable[[list[Path]], Any]] = {
    reader.__name__: reader
    for reader in (
        read_densired, read_letter, read_htru2, read_digits, read_har, read_mice, read_tcga, read_usps, read_idx,
        read_coil, read_cmu_faces, read_weizmann, read_keck,
    )
}  # fmt: skip
