"""From a file, a folder or standard input to samples."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from shade._base.arrays import FloatArray
from shade._base.errors import DataError
from shade._base.files import files_in
from shade._base.memory import check_room
from shade._base.validation import Whole, check_choice, check_parameter
from shade.data.arrays import read_h5ad, read_npy, read_npz, read_zarr, samples_of_array
from shade.data.frames import VIDEO_SUFFIXES, read_frames
from shade.data.images import IMAGE_SUFFIXES, read_images
from shade.data.parquet import ParquetShards
from shade.data.row_sources import ZARR_FILES, ArraySource, ImageFolder, ParquetFiles
from shade.data.samples import MISSING, Samples, resolve_missing
from shade.data.tables import TextFormat, read_text_table, samples_of_table, values_of

TEXT_SUFFIXES = frozenset({".csv", ".tsv", ".tab", ".txt"})
HEAD_ROWS = 10_000
READABLE = (
    "csv, tsv, parquet, npy, npz, zarr, h5ad, a folder of parquet files, a folder or zip of images, a video or a "
    "folder of videos"
)


def read_samples(
    path: str | PathLike[str],
    *,
    label: str | None = None,
    id: str | None = None,
    drop: Collection[str] = (),
    drop_non_numeric: bool = False,
    missing: str = "refuse",
    means: FloatArray | None = None,
    columns: Sequence[str] | None = None,
    key: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    empty: Collection[str] = (),
    encoding: str = "utf8",
    resize: tuple[int, int] | None = None,
    every: int = 1,
    memory: int | None = None,
) -> Samples:
    """Read data to cluster: a table, arrays, pictures or videos.

    Dropped columns and filled values are reported in `notes`.

    Parameters
    ----------
    path : str or path
        A csv, tsv, parquet, npy, npz, zarr or h5ad file; a folder of parquet files; a folder or zip of images; a video
        or a folder of videos; "-" reads csv from standard input.
    label : str, optional
        Column with known labels. It is not used for clustering. For files of arrays the name of another
        array or the number of a column; for images and videos "folder", or "file" for the frames of videos.
    id : str, optional
        Column that says what each row is called.
    drop : collection of str, default=()
        Columns to leave out.
    drop_non_numeric : bool, default=False
        Leave out all columns that are not numbers. If False, such columns are an error.
    missing : {"refuse", "mean", "drop-rows", "drop-columns"}, default="refuse"
        What becomes of empty cells, NaN and infinity.
    means : ndarray, optional
        With missing="mean", a mean for each column to use instead of the data's own.
    columns : sequence of str, optional
        The columns of a table to read, all of which must be there. If None, all.
    key : str, optional
        The array of an npz file or zarr group, "X" if None; the layer or embedding of an h5ad file.
    header : bool, optional
        Whether the first line of a csv holds names. If None, it does, and numbers alone are an error.
    delimiter : str, optional
        What separates the columns of a csv. If None, found from the first line.
    decimal : str, default="."
        The decimal point of a csv.
    empty : collection of str, default=()
        Text of a csv that stands for an empty cell, besides the usual such as NA.
    encoding : str, default="utf8"
        The encoding of the text of a csv.
    resize : tuple of int, optional
        Width and height to bring pictures to, on the command line 64x48.
    every : int, default=1
        Read every n-th frame of a video.
    memory : int, optional
        Most bytes to read at once. Rows of parquet files, zarr arrays and folders of images are then left on disk until
        they are used; what can only be read as a whole, and would take more, is refused. If None, what takes more than
        is free is refused.

    Returns
    -------
    Samples

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from shade.data import read_samples
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.npy"
    >>> np.save(path, np.ones((5, 3)))
    >>> read_samples(path).rows.shape
    (5, 3)
    """
    _check_request(path, missing, every, resize)
    if str(path) == "-":
        suffix, where = ".csv", None
    else:
        where = Path(path)
        suffix = _kind_of(where)
    others = [name for name in (label, id) if name is not None]
    choice: dict[str, Any] = {
        "label": label, "id": id, "drop": drop, "drop_non_numeric": drop_non_numeric, "columns": columns,
    }  # fmt: skip
    if suffix in (".npz", ".h5ad", "video") or (suffix == "images" and Path(path).is_file()):
        check_room(_size(Path(path)), memory, f"Reading {path}", "Give more: it can only be read as a whole.")
    if suffix == ".parquet":
        samples = _read_parquet(Path(path), **choice)
    elif suffix in TEXT_SUFFIXES:
        form = TextFormat(header, delimiter, decimal, tuple(empty), encoding)
        table, notes = read_text_table(where, form, memory)
        source = "standard input" if where is None else str(where)
        samples = samples_of_table(table, source, **choice, notes=notes)
    elif suffix in (".npy", ".npz", ".zarr"):
        read = {".npz": read_npz, ".zarr": read_zarr}.get(suffix)
        array, named = (read_npy(Path(path)), {}) if read is None else read(Path(path), key, others)
        samples = samples_of_array(array, str(path), label=label, id=id, drop=drop, others=named, memory=memory)
        if not samples.in_memory:
            samples = replace(samples, rows=ArraySource(samples.rows, str(path)))
    elif suffix == ".h5ad":
        samples = read_h5ad(Path(path), key=key, label=label, id=id, drop=drop, columns=columns)
    elif id is not None or drop:
        raise DataError(
            f"{path} holds pictures, which have no columns for --id or --drop: files are named by themselves."
        )
    elif suffix == "video":
        samples = read_frames(Path(path), label=label, resize=resize, every=every)
    else:
        later = ImageFolder if memory is not None and resize is None and Path(path).is_dir() else None
        samples = read_images(Path(path), label=label, resize=resize, memory=memory, later=later)
    if memory is None and not samples.in_memory:
        check_room(samples.rows.nbytes, None, f"Reading {path}", "Give 'memory' to read the rows as they are needed.")
        samples = samples.load()
    return resolve_missing(samples, missing, means, memory, all_columns=columns is not None)


def _read_parquet(path: Path, **choice: Any) -> Samples:
    """Columns chosen by the first rows; all rows of the features are yet to be read."""
    shards = ParquetShards(path)
    head = samples_of_table(shards.head(HEAD_ROWS), str(path), **choice)
    names = {name for name in (choice["label"], choice["id"]) if name is not None}
    table = shards.read_columns(sorted(names)) if names else None
    rows = ParquetFiles(shards, head.feature_names)
    return replace(
        head,
        rows=rows,
        ids=np.arange(len(rows)) if choice["id"] is None else values_of(table, choice["id"]),
        labels=None if choice["label"] is None else values_of(table, choice["label"]),
    )


def _size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")))


def _check_request(path: str | PathLike[str], missing: str, every: int, resize: tuple[int, ...] | None) -> None:
    check_choice("missing", missing, MISSING, "read_samples")
    check_parameter("every", every, Whole(1), "read_samples")
    if resize is not None and (len(resize) != 2 or min(resize) < 1):
        size = "x".join(map(str, resize))
        raise DataError(f"Pictures are resized to a width and a height, such as --resize 64x48. Got {size} instead.")
    if not str(path):
        raise DataError("There is no file to read: its name is empty.")


def _kind_of(path: Path) -> str:
    """The suffix that says how to read a path; "images" or "video" for those."""
    if not path.exists():
        raise DataError(f"{path} does not exist.")
    if path.is_dir():
        return _kind_of_folder(path)
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty.")
    suffix = path.suffix.lower()
    if suffix in (".gz", ".bz2"):
        suffix = Path(path.stem).suffix.lower()
    if path.name.lower().endswith(".zarr.zip"):
        return ".zarr"
    if suffix in VIDEO_SUFFIXES:
        return "video"
    if suffix == ".zip":
        return "images"
    if suffix in TEXT_SUFFIXES | {".parquet", ".npy", ".npz", ".h5ad"}:
        return suffix
    if suffix in IMAGE_SUFFIXES:
        raise DataError(f"{path} is one image. Give a folder or a zip of images.")
    raise DataError(f"{path} ends in {path.suffix or 'nothing'!r}, which is none of: {READABLE}.")


def _kind_of_folder(path: Path) -> str:
    if any((path / name).exists() for name in ZARR_FILES):
        return ".zarr"
    suffixes = {file.suffix.lower() for file in files_in(path)}
    if ".parquet" in suffixes:
        return ".parquet"
    images, videos = bool(suffixes & IMAGE_SUFFIXES), bool(suffixes & VIDEO_SUFFIXES)
    if images and videos:
        raise DataError(f"The folder {path} holds images and videos. Put them into folders of their own.")
    if not images and not videos:
        raise DataError(f"The folder {path} holds neither images nor videos nor parquet files nor a zarr store.")
    return "video" if videos else "images"
