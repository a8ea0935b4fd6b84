"""From a file, a folder or standard input to samples: the table of formats, and their recognition."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from glob import glob
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from shade._base.errors import DataError
from shade._base.extras import need
from shade._base.files import files_in
from shade._base.memory import check_room
from shade.data.arrays import NpyFile, open_zarr, read_h5ad, read_npy, read_npz, read_zarr
from shade.data.encoding import TableEncoding
from shade.data.frames import VIDEO_SUFFIXES, read_frames
from shade.data.images import IMAGE_SUFFIXES, ImageFiles, read_images
from shade.data.missing import resolve_missing
from shade.data.other_tables import read_arrow, read_duckdb, read_excel, read_json_lines, read_sqlite
from shade.data.parquet import open_parquet, read_parquet
from shade.data.row_sources import ArraySource, RowSource, open_memmap
from shade.data.samples import ReadOptions, Samples
from shade.data.tables import RawTable, join_tables, samples_of_table
from shade.data.text import PACKED, STANDARD_INPUT, read_text, table_in_zip

ZARR_FILES = (".zarray", ".zgroup", "zarr.json")


@dataclass(frozen=True)
class Format:
    """A row of the table of formats."""

    name: str  # in messages
    endings: Collection[str]  # of file names
    inside: Collection[str]  # of the files in a folder that is read as one set of samples
    contents: str  # of such a folder, in messages
    package: str  # package that reads the format
    extra: str  # extra of shade that installs the package
    read: Callable[[Path, ReadOptions], Samples | RawTable]
    open: Callable[[Path], RowSource] | None  # rows that are read when they are used; None if only as a whole


def _packed(*endings: str) -> list[str]:
    """Return endings of text files, compressed or not."""
    return [ending + packed for ending in endings for packed in ("", *PACKED, ".zip")]


FORMATS = (
    Format("csv", _packed(".csv", ".txt"), (), "", "pyarrow.csv", "io", read_text, None),
    Format("tsv", _packed(".tsv", ".tab"), (), "", "pyarrow.csv", "io", read_text, None),
    Format("xlsx", [".xlsx", ".xlsm"], (), "", "openpyxl", "xlsx", read_excel, None),
    Format("jsonl", [".jsonl", ".ndjson"], (), "", "pyarrow.json", "io", read_json_lines, None),
    Format("feather", [".feather", ".arrow", ".ipc"], (), "", "pyarrow.ipc", "io", read_arrow, None),
    Format("sqlite", [".sqlite", ".sqlite3", ".db"], (), "", "pyarrow", "io", read_sqlite, None),
    Format("duckdb", [".duckdb", ".ddb"], (), "", "duckdb", "duckdb", read_duckdb, None),
    Format("parquet", [".parquet"], [".parquet"], "parquet files", "pyarrow.parquet", "io", read_parquet, open_parquet),
    Format("npy", [".npy"], (), "", "", "", read_npy, NpyFile),
    Format("npz", [".npz"], (), "", "", "", read_npz, None),
    Format("zarr", [".zarr.zip"], ZARR_FILES, "", "zarr", "io", read_zarr, open_zarr),
    Format("h5ad", [".h5ad"], (), "", "anndata", "h5ad", read_h5ad, None),
    Format("a zip of images", [".zip"], IMAGE_SUFFIXES, "images", "PIL", "io", read_images, ImageFiles),
    Format("a video", VIDEO_SUFFIXES, VIDEO_SUFFIXES, "videos", "av", "video", read_frames, None),
)  # fmt: skip


def read_samples(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    label: str | None = None,
    id: str | None = None,
    drop: Collection[str] = (),
    drop_non_numeric: bool = False,
    keep: Collection[str] = (),
    categories: Collection[str] = (),
    missing: str | None = None,
    columns: Sequence[str] | None = None,
    table: TableEncoding | None = None,
    key: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    empty: Collection[str] = (),
    encoding: str = "utf8",
    resize: tuple[int, int] | None = None,
    every: int = 1,
    memory: int | None = None,
) -> Samples:
    """Read data to cluster: a table, arrays, pictures or videos.

    Columns of categories, dates and truth values are encoded as numbers. What was left out, encoded or filled in is
    reported in `notes`.

    Parameters
    ----------
    path : str, path or sequence of them
        A csv, tsv, xlsx, jsonl, feather, sqlite, duckdb, parquet, npy, npz, zarr or h5ad file, a zip of images, a
        video, or a folder of parquet files, images or videos; "-" reads csv from standard input. Several tables with
        the same columns are read one after the other: give them all, or a pattern with a star in it.
    label : str, optional
        Column with known labels. It is not used for clustering. For files of arrays the name of another
        array or the number of a column; for images and videos "folder", or "file" for the frames of videos.
    id : str, optional
        Column that says what each row is called.
    drop : collection of str, default=()
        Columns to leave out.
    drop_non_numeric : bool, default=False
        Leave out all columns that are not numbers. If False, columns of text are encoded if they have few different
        values, and left out if they have many.
    keep : collection of str, default=()
        Columns to cluster by that are left out otherwise: row numbers, text with many different values, and columns of
        which most cells are empty.
    categories : collection of str, default=()
        Columns to encode as categories, besides columns of text with at most 20 different values: numbers that are
        codes, or text with more values. Each value becomes a column of 0 and 1; together they weigh like one column.
    missing : {"mean", "median", "indicator", "drop-rows", "drop-columns", "refuse"}, optional
        What becomes of empty cells, NaN and infinity. "mean" and "median" fill in those of the most similar rows;
        "indicator" fills in the median and adds a column of 0 and 1 that says which rows lacked a value. If None,
        tables that are read whole are filled with the median, without columns of which most cells are empty; for
        images, and for rows that are read as they are needed, a missing value is an error.
    columns : sequence of str, optional
        The columns of a table to read, all of which must be there. If None, all.
    table : TableEncoding, optional
        How a model encodes tables and fills missing values: this table is read alike.
    key : str, optional
        The array of an npz file or zarr group, "X" if None; the layer or embedding of an h5ad file; the sheet of an
        xlsx file, the first if None; the table of an sqlite or duckdb file.
    header : bool, optional
        Whether the first line of a csv holds names. If None, it does, and numbers alone are an error.
    delimiter : str, optional
        What separates the columns of a csv. If None, found from the first line.
    decimal : str, optional
        The decimal point of a csv, a point or a comma. If None, found from all numbers; it is an error if they can be
        read in two ways.
    thousands : str, optional
        What separates thousands in a csv, as the comma in 4,733: a comma, a point, a space or an apostrophe. If None,
        found from all numbers as the decimal point is.
    empty : collection of str, default=()
        Text that stands for an empty cell, besides the usual in a csv such as NA, a single point or "?".
    encoding : str, default="utf8"
        The encoding of the text of a csv.
    resize : tuple of int, optional
        Width and height to bring pictures to, on the command line 64x48.
    every : int, default=1
        Read every n-th frame of a video.
    memory : int, optional
        Most bytes to read at once. Rows of parquet files, zarr arrays and images are then left on disk until they are
        used; what can only be read as a whole, and would take more, is refused. If None, what takes more than is free
        is refused.

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
    options = ReadOptions(
        label=label, id=id, drop=drop, drop_non_numeric=drop_non_numeric, keep=keep, categories=categories,
        missing=missing, columns=columns, table=table, key=key, header=header, delimiter=delimiter, decimal=decimal,
        thousands=thousands, empty=empty, encoding=encoding, resize=resize, every=every, memory=memory,
    )  # fmt: skip
    paths = _find_files(path)
    samples = _read_files(paths, options)
    if memory is None and not samples.in_memory:
        remedy = "Give 'memory' to read the rows as they are needed."
        check_room(samples.rows.nbytes, None, f"Reading {samples.source}", remedy)
        samples = samples.load()
    return resolve_missing(samples, options)


def _read_files(paths: Sequence[Path], options: ReadOptions) -> Samples:
    """Read one file or folder, or the rows of several tables."""
    tables: dict[str, RawTable] = {}
    for path, found in [(path, _format_of(path)) for path in paths]:
        if found.open is None and found.read is not read_text:  # read_text knows better how much memory a table takes
            size = sum(file.stat().st_size for file in ([path] if path.is_file() else files_in(path)))
            check_room(size, options.memory, f"Reading {path}", "Give more: it can only be read as a whole.")
        read = found.read(path, options)
        if isinstance(read, Samples):
            if len(paths) == 1:
                return read
            raise DataError(
                f"{path} cannot be read together with other files: put files of {found.name} into a folder."
            )
        tables["standard input" if path == STANDARD_INPUT else str(path)] = read
    source = ", ".join(list(tables)[:3]) + (f" and {len(tables) - 3} more" if len(tables) > 3 else "")
    return samples_of_table(join_tables(tables), source, options)


def _find_files(path: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[Path]:
    """Return the files, with those of a pattern sorted by name."""
    given = [path] if isinstance(path, str | PathLike) else list(path)
    if not given or not all(map(str, given)):
        raise DataError("There is no file to read: its name is empty.")
    found: list[Path] = []
    for name in map(str, given):
        matching = sorted(glob(name)) if not Path(name).exists() and re.search(r"[*?[]", name) else [name]  # noqa: PTH207
        if not matching:
            raise DataError(f"No file matches the pattern {name}.")
        found += map(Path, matching)
    return found


def as_source(X: Any) -> RowSource | None:
    """Return X as a source, or opened from a path, or None if X is data in memory."""
    if isinstance(X, RowSource):
        return X
    if isinstance(X, str | PathLike):
        return open_source(Path(X))
    if isinstance(X, np.memmap):
        return open_memmap(X)
    in_memory = isinstance(X, np.ndarray | np.generic) or hasattr(X, "toarray") or hasattr(X, "detach")
    a_table = hasattr(X, "__dataframe__") or hasattr(X, "iloc")
    if in_memory or a_table or not all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")):
        return None
    return ArraySource(X)


def open_source(path: Path) -> RowSource:
    """Open a file or folder whose rows can be read when they are used."""
    found = _format_of(path)
    if found.open is None:
        able = (other for other in FORMATS if other.open is not None)
        raise DataError(f"{path} cannot be read piece by piece. Formats that can: {list_formats(able)}.")
    return found.open(path)


def list_formats(formats: Iterable[Format] = FORMATS) -> str:
    """Return the list of formats for messages."""
    chosen = list(formats)
    *folders, last = (found.contents for found in chosen if found.contents)
    return f"{', '.join(found.name for found in chosen)}, or a folder of {', '.join(folders)} or {last}"


def _format_of(path: Path) -> Format:
    """Return the format of a path; raise an error if its package is not installed."""
    if path == STANDARD_INPUT:
        found = FORMATS[0]
    elif not path.exists():
        raise DataError(f"{path} does not exist.")
    else:
        found = _format_of_folder(path) if path.is_dir() else _format_of_file(path)
    if found.package:
        need(found.package, found.extra, f"Reading {found.contents or found.name}")
    return found


def _format_of_file(path: Path) -> Format:
    name = path.name.lower()
    if not path.is_file():
        raise DataError(
            f"{path} is a pipe or a device, not a file. Write the data to a file, or pipe csv into: shade fit -"
        )
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty.")
    if path.suffix.lower() in IMAGE_SUFFIXES:
        raise DataError(f"{path} is one image. Give a folder or a zip of images.")
    if path.suffix.lower() == ".zip" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if not any(member.lower().endswith(tuple(IMAGE_SUFFIXES)) for member in archive.namelist()):
                name = table_in_zip(archive).lower()
    for found in FORMATS:
        if name.endswith(tuple(found.endings)):
            return found
    raise DataError(f"{path} ends in {path.suffix or 'nothing'!r}, which is none of: {list_formats()}.")


def _format_of_folder(path: Path) -> Format:
    names = [file.name.lower() for file in files_in(path)]
    names += [name for name in ZARR_FILES if (path / name).exists()]  # some of these files are hidden
    found = [kind for kind in FORMATS if any(name.endswith(tuple(kind.inside)) for name in names)]
    if not found:
        raise DataError(f"The folder {path} holds no data in a known format: {list_formats()}.")
    if len(found) > 1:
        kinds = " and ".join(kind.contents or kind.name for kind in found)
        raise DataError(f"The folder {path} holds {kinds}. Put them into folders of their own.")
    return found[0]
