"""Rows that are read when they are used: arrays on disk, tables in shards, folders of images.

A source looks like a matrix of which slices of rows can be taken, so that what goes over data in slices takes it as it
takes an ndarray.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray, IntArray
from shade._base.errors import DataError
from shade._base.extras import need
from shade._base.files import files_in
from shade.data.images import IMAGE_SUFFIXES, channels_first, common_mode, files_of, read_pixels, survey
from shade.data.parquet import ParquetShards

ZARR_FILES = (".zarray", ".zgroup", "zarr.json")


class RowSource(ABC):
    """Base of sources.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns; `sample_shape` is the shape of one sample before it was laid out as a row.
    dtype : numpy dtype
    names : list of str or None
        Names of the columns.
    boundaries : ndarray of int or None
        Rows at which what can only be read as a whole begins and ends, from 0 to the number of rows; None if any slice
        is read as cheaply as another.
    """

    shape: tuple[int, int]
    sample_shape: tuple[int, ...]
    dtype: np.dtype[Any]
    names: list[str] | None = None
    boundaries: IntArray | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Axes of the data before samples were laid out as rows."""
        return 1 + len(self.sample_shape)

    @property
    def nbytes(self) -> int:
        """Memory that all rows take."""
        return self.dtype.itemsize * math.prod(self.shape)

    def __getitem__(self, rows: slice) -> AnyArray:
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise IndexError("Rows are read in slices of consecutive ones.")
        return self.read(start, max(start, stop))

    @abstractmethod
    def read(self, start: int, stop: int) -> AnyArray:
        """Some consecutive rows as a matrix."""

    def place(self, row: int) -> str:
        """Where a row is, for messages."""
        return f"row {row}"

    def _set_shape(self, shape: Sequence[int], dtype: np.dtype[Any], what: str) -> None:
        if len(shape) < 2 or 0 in shape:
            raise DataError(f"{what} has the shape {tuple(shape)}: give one row a sample, and none of the lengths 0.")
        if dtype.kind not in "fiub":
            raise DataError(f"{what} holds {dtype}, not real numbers.")
        self.sample_shape = tuple(shape[1:])
        self.shape = (shape[0], math.prod(shape[1:]))
        self.dtype = dtype


class ArraySource(RowSource):
    """Anything with `shape`, `dtype` and slicing: a memmap, a zarr array, an HDF5 dataset."""

    def __init__(self, array: Any, what: str | None = None) -> None:
        self._array = array
        self._what = what or f"The {type(array).__name__}"
        self._set_shape(array.shape, np.dtype(array.dtype), self._what)
        chunks = getattr(array, "chunks", None)
        if chunks and isinstance(chunks[0], int):
            self.boundaries = _steps(len(self), chunks[0])

    def read(self, start: int, stop: int) -> AnyArray:
        """Slice the array, and see that it is still the one it was: what is gone may have been read as zeros."""
        expected = (len(self), *self.sample_shape)
        try:
            block = np.asarray(self._array[start:stop])
            found = _current_shape(self._array)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise DataError(f"{self._what} cannot be read: {' '.join(str(error).split())[:200]}.") from None
        if found != expected:
            raise DataError(
                f"{self._what} had the shape {expected} when reading began, and has {found} now: wait until it is "
                "written, then start again."
            )
        if block.shape != (stop - start, *self.sample_shape):
            raise DataError(f"{self._what} gave {block.shape} for the rows {start} to {stop}.")
        return block.reshape(stop - start, self.shape[1])


class NpyFile(RowSource):
    """A npy file, read piece by piece: unlike a memmap it takes no address space, and survives being cut short."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                version = np.lib.format.read_magic(file)
                one = version == (1, 0)
                read_header = np.lib.format.read_array_header_1_0 if one else np.lib.format.read_array_header_2_0
                shape, by_columns, dtype = read_header(file)
                self._offset = file.tell()
        except (ValueError, EOFError, OSError) as error:
            raise DataError(f"{path} cannot be read as an array: {error}.") from None
        self._set_shape(shape, dtype, str(path))
        if by_columns:
            raise DataError(f"{path} is stored by columns (Fortran order): rows cannot be read one after the other.")
        self.read(len(self) - 1, len(self))  # the file is as long as it says

    def read(self, start: int, stop: int) -> AnyArray:
        """Read bytes."""
        columns = self.shape[1]
        with self._path.open("rb") as file:
            file.seek(self._offset + start * columns * self.dtype.itemsize)
            block = np.fromfile(file, self.dtype, (stop - start) * columns)
        if block.size != (stop - start) * columns:
            raise DataError(
                f"{self._path} ends in {self.place(start + block.size // columns)} of {len(self)}: it was cut short."
            )
        return block.reshape(stop - start, columns)


class ParquetFiles(RowSource):
    """Columns of parquet files, all of them if not told; row groups are read as a whole."""

    def __init__(self, shards: ParquetShards, names: Sequence[str] | None = None) -> None:
        self._shards = shards
        self.names = shards.names if names is None else list(names)
        self.boundaries = shards.starts
        self._set_shape((int(shards.starts[-1]), len(self.names)), shards.kind_of(self.names), str(shards.path))
        self._latest: tuple[int, AnyArray] | None = None

    def read(self, start: int, stop: int) -> AnyArray:
        """Read the row groups that hold the rows."""
        starts = self._shards.starts
        first = int(np.searchsorted(starts, start, side="right")) - 1
        last = int(np.searchsorted(starts, stop, side="left"))
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        for group in range(first, last):
            begin, end = max(start, int(starts[group])), min(stop, int(starts[group + 1]))
            rows[begin - start : end - start] = self._read_group(group)[begin - starts[group] : end - starts[group]]
        return rows

    def place(self, row: int) -> str:
        """The file, and the row in it."""
        return self._shards.place(row)

    def _read_group(self, group: int) -> AnyArray:
        """A row group as a matrix; the latest is kept, for slices often end within one."""
        latest = self._latest
        if latest is not None and latest[0] == group:
            return latest[1]
        self._latest = latest = None
        matrix = self._shards.read_group(group, self.names or [])
        self._latest = (group, matrix)
        return matrix


class ImageFolder(RowSource):
    """The pictures below a folder, all of one size, sorted by name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with files_of(path) as files:
            self._files = files
        self._names = [name for name in files.names if PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES]
        modes, sizes = survey(path, files, self._names)
        if len(sizes) > 1:
            counted = ", ".join(f"{count} of {width}x{height}" for (width, height), count in sizes.most_common(4))
            raise DataError(f"The images in {path} have {len(sizes)} sizes ({counted}). Bring them to one size.")
        self._mode = common_mode(modes)
        (width, height) = next(iter(sizes))
        channels = (3,) if self._mode == "RGB" else ()
        kind = np.dtype(np.float32 if self._mode == "F" else np.uint8)
        self._set_shape((len(self._names), *channels, height, width), kind, str(path))

    def read(self, start: int, stop: int) -> AnyArray:
        """Open and decode files."""
        if start == stop:
            return np.empty((0, self.shape[1]), self.dtype)
        pixels = [read_pixels(self._path, self._files, name, self._mode, None) for name in self._names[start:stop]]
        return channels_first(np.stack(pixels)).reshape(stop - start, -1)

    def place(self, row: int) -> str:
        """The file."""
        return f"row {row} ({self._names[row]})"


def as_source(X: Any) -> RowSource | None:
    """The source that X is or names, or None if X is data in memory."""
    if isinstance(X, RowSource):
        return X
    if isinstance(X, str | PathLike):
        return open_source(Path(X))
    if isinstance(X, np.memmap):
        return ArraySource(X, f"The memmap of {X.filename}" if X.filename else None)
    in_memory = isinstance(X, np.ndarray | np.generic) or hasattr(X, "toarray") or hasattr(X, "detach")
    a_table = hasattr(X, "__dataframe__") or hasattr(X, "iloc")
    if in_memory or a_table or not all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")):
        return None
    return ArraySource(X)


def open_source(path: Path) -> RowSource:
    """Open a npy or parquet file, a zarr store, or a folder of parquet files or images."""
    if not path.exists():
        raise DataError(f"There is no file or folder {path}.")
    if path.suffix == ".npy":
        return NpyFile(path)
    if path.suffix == ".parquet":
        return ParquetFiles(ParquetShards(path))
    if path.is_dir():
        if any((path / name).exists() for name in ZARR_FILES):
            return ArraySource(_open_zarr(path), str(path))
        suffixes = {file.suffix.lower() for file in files_in(path)}
        if ".parquet" in suffixes:
            return ParquetFiles(ParquetShards(path))
        if suffixes & IMAGE_SUFFIXES:
            return ImageFolder(path)
    raise DataError(
        f"{path} cannot be read piece by piece: give a npy or parquet file, a zarr array, or a folder of parquet files "
        "or images."
    )


def _open_zarr(path: Path) -> Any:
    zarr = need("zarr", "io", "Reading zarr stores")
    found = zarr.open(str(path), mode="r")
    if isinstance(found, zarr.Array):
        return found
    names = sorted(found.array_keys())
    if "X" not in names and len(names) != 1:
        raise DataError(f"{path} has no array 'X'. It has {', '.join(names) or 'none'}: give the array itself.")
    return found["X" if "X" in names else names[0]]


def _current_shape(array: Any) -> tuple[int, ...]:
    """The shape as it is now; a zarr array that is open remembers the one it had when it was opened."""
    if type(array).__module__.startswith("zarr"):
        zarr = need("zarr", "io", "Reading zarr stores")
        return tuple(zarr.open_array(store=array.store, path=array.path, mode="r").shape)
    return tuple(array.shape)


def _steps(n: int, size: int) -> IntArray:
    return np.append(np.arange(0, n, size), n)
