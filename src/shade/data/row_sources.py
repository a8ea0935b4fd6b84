"""Rows that are read when they are used.

A source behaves like a matrix that can be sliced by rows. Code that processes data in slices accepts a source in place
of an ndarray.
"""

from __future__ import annotations

import hashlib
import math
import mmap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray, IntArray, row_slices
from shade._base.errors import DataError, told_as

SAMPLE_ROWS = 64  # of a memmap, compared with the file


class RowSource(ABC):
    """Base class of sources.

    Some formats have parts that can only be read as a whole. `boundaries` are the rows at which these parts begin and
    end, from 0 to the number of rows. It is None if all slices take the same time per row.
    """

    shape: tuple[int, int]
    sample_shape: tuple[int, ...]  # shape of a sample before it was flattened to a row
    dtype: np.dtype[Any]
    names: list[str] | None = None  # of the columns
    boundaries: IntArray | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes before samples were flattened to rows."""
        return 1 + len(self.sample_shape)

    @property
    def nbytes(self) -> int:
        """Memory of all rows, in bytes."""
        return self.dtype.itemsize * math.prod(self.shape)

    def __getitem__(self, rows: slice) -> AnyArray:
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise IndexError("Rows can only be read in slices of consecutive rows.")
        return self.read(start, max(start, stop))

    @abstractmethod
    def read(self, start: int, stop: int) -> AnyArray:
        """Return consecutive rows as a matrix."""

    def place(self, row: int) -> str:
        """Return the place of a row, for messages."""
        return f"row {row}"

    def _set_shape(self, shape: Sequence[int], dtype: np.dtype[Any], what: str) -> None:
        if len(shape) < 2 or 0 in shape:
            raise DataError(f"{what} has the shape {tuple(shape)}: give one row per sample, and no length of 0.")
        if dtype.kind not in "fiub":
            raise DataError(f"{what} holds {dtype}, not real numbers.")
        self.sample_shape = tuple(shape[1:])
        self.shape = (shape[0], math.prod(shape[1:]))
        self.dtype = dtype


class Stamps:
    """Detects files that change while they are read: the rows would be a mixture of old and new ones."""

    def __init__(self) -> None:
        self._first: dict[Path, tuple[int, int]] = {}  # size and time of the last change

    def check(self, file: Path) -> None:
        """Raise an error if a file was changed after the first check. Call it before and after reading."""
        try:
            status = file.stat()
            stamp = (status.st_size, status.st_mtime_ns)
        except OSError:  # the file is missing: reading it raises the error
            stamp = (-1, -1)
        if self._first.setdefault(file, stamp) != stamp:
            raise DataError(f"{file} was changed while it was read: start again.")


class FileRows(RowSource):
    """Rows stored one after the other in a file. Unlike a memmap, reading survives a file that is cut short."""

    def __init__(self, path: Path, shape: Sequence[int], dtype: np.dtype[Any], offset: int) -> None:
        self._path, self._offset, self._stamps = path, offset, Stamps()
        self._stamps.check(path)
        self._set_shape(shape, dtype, str(path))
        self.read(len(self) - 1, len(self))  # fails if the file is too short

    def read(self, start: int, stop: int) -> AnyArray:
        """Read the bytes of the rows."""
        columns = self.shape[1]
        with told_as(DataError, f"{self._path} cannot be read", OSError), self._path.open("rb") as file:
            file.seek(self._offset + start * columns * self.dtype.itemsize)
            block = np.fromfile(file, self.dtype, (stop - start) * columns)
        if block.size != (stop - start) * columns:
            raise DataError(
                f"{self._path} ends in {self.place(start + block.size // columns)} of {len(self)}: it was cut short."
            )
        self._stamps.check(self._path)
        return block.reshape(stop - start, columns)


def open_memmap(array: np.memmap[Any, Any]) -> RowSource:
    """Return the rows of a memmap, from its file if possible: if that file is cut short, a memmap ends the process."""
    what = f"The memmap of {array.filename}"
    mapped = getattr(array, "_mmap", None)
    if array.filename is None or mapped is None or array.mode == "c" or not array.flags.c_contiguous or not array.size:
        return ArraySource(array, what if array.filename else None)
    array.flush()
    begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    position = begin + array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    try:
        source = FileRows(Path(array.filename), array.shape, array.dtype, position)
        sample = np.unique(np.linspace(0, len(source) - 1, SAMPLE_ROWS).astype(np.int64)).tolist()
        same = all(source[row : row + 1].tobytes() == array[row].tobytes() for row in sample)
    except DataError:
        if Path(array.filename).exists():
            raise
        same = False
    return source if same else ArraySource(array, what)  # the file name now belongs to another file


class ArraySource(RowSource):
    """Anything with `shape`, `dtype` and slicing: a zarr array, an HDF5 dataset, a memmap without a file."""

    def __init__(self, array: Any, what: str | None = None) -> None:
        self._array, self._stamps = array, Stamps()
        self._what = what or f"The {type(array).__name__}"
        self._set_shape(array.shape, np.dtype(array.dtype), self._what)
        chunks = getattr(array, "chunks", None)
        if chunks and isinstance(chunks[0], int):
            self.boundaries = np.append(np.arange(0, len(self), chunks[0]), len(self))

    def read(self, start: int, stop: int) -> AnyArray:
        """Slice the array, and check that it has not changed: deleted parts may have been read as zeros."""
        expected, files = (len(self), *self.sample_shape), _files_of(self._array, start, stop)
        for file in files:
            self._stamps.check(file)
        with told_as(DataError, f"{self._what} cannot be read", OSError, ValueError, KeyError, RuntimeError):
            block = np.asarray(self._array[start:stop])
            found = _current_shape(self._array)
        if found != expected:
            raise DataError(
                f"{self._what} had the shape {expected} when reading began, and has {found} now: wait until it is "
                "written, then start again."
            )
        for file in files:
            self._stamps.check(file)
        if block.shape != (stop - start, *self.sample_shape):
            raise DataError(f"{self._what} gave {block.shape} for the rows {start} to {stop}.")
        return block.reshape(stop - start, self.shape[1])


def _files_of(array: Any, start: int, stop: int) -> list[Path]:
    """Return the files that hold some rows of an array, if known: for a zarr array, those of its chunks."""
    store = getattr(array, "store", None)
    if root := getattr(store, "root", None):
        first, *others = array.shards or array.chunks
        columns = (range(-(-length // size)) for length, size in zip(array.shape[1:], others, strict=True))
        places = product(range(start // first, -(-stop // first)), *columns)
        return [Path(root, array.path, array.metadata.encode_chunk_key(place)) for place in places]
    owners = ((array, "filename"), (store, "path"), (getattr(array, "file", None), "filename"))  # memmap, zip, HDF5
    names = [getattr(owner, name, None) for owner, name in owners]
    return [Path(name) for name in names if isinstance(name, str | PathLike)]


def _current_shape(array: Any) -> tuple[int, ...]:
    """Return the current shape. An open zarr array only has the shape from when it was opened."""
    if type(array).__module__.startswith("zarr"):
        import zarr

        return tuple(zarr.open_array(store=array.store, path=array.path, mode="r").shape)
    return tuple(array.shape)


def fingerprint(X: AnyArray) -> dict[str, Any]:
    """Return what identifies data: shape, type and digest of all values, read in slices."""
    digest = hashlib.sha256()
    for rows in row_slices(X):
        digest.update(np.ascontiguousarray(X[rows]).data)
    return {"shape": list(X.shape), "dtype": str(X.dtype), "sha256": digest.hexdigest()}
