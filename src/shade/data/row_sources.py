"""Rows that are read when they are used.

A source looks like a matrix of which slices of rows can be taken. Code that goes over data in slices takes a source as
it takes an ndarray.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray, IntArray, row_slices
from shade._base.errors import DataError, told_as


class RowSource(ABC):
    """Base of sources.

    `boundaries` are the rows at which parts that can only be read as a whole begin and end, from 0 to the number of
    rows; None if any slice is read as cheaply as another.
    """

    shape: tuple[int, int]
    sample_shape: tuple[int, ...]  # of one sample before it was laid out as a row
    dtype: np.dtype[Any]
    names: list[str] | None = None  # of the columns
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
            self.boundaries = np.append(np.arange(0, len(self), chunks[0]), len(self))

    def read(self, start: int, stop: int) -> AnyArray:
        """Slice the array, and see that it is still the one it was: what is gone may have been read as zeros."""
        expected = (len(self), *self.sample_shape)
        with told_as(DataError, f"{self._what} cannot be read", OSError, ValueError, KeyError, RuntimeError):
            block = np.asarray(self._array[start:stop])
            found = _current_shape(self._array)
        if found != expected:
            raise DataError(
                f"{self._what} had the shape {expected} when reading began, and has {found} now: wait until it is "
                "written, then start again."
            )
        if block.shape != (stop - start, *self.sample_shape):
            raise DataError(f"{self._what} gave {block.shape} for the rows {start} to {stop}.")
        return block.reshape(stop - start, self.shape[1])


def _current_shape(array: Any) -> tuple[int, ...]:
    """The shape as it is now; a zarr array that is open remembers the one it had when it was opened."""
    if type(array).__module__.startswith("zarr"):
        import zarr

        return tuple(zarr.open_array(store=array.store, path=array.path, mode="r").shape)
    return tuple(array.shape)


def fingerprint(X: AnyArray) -> dict[str, Any]:
    """What tells two sets of data apart: shape, type and digest of all values, read in slices."""
    digest = hashlib.sha256()
    for rows in row_slices(X):
        digest.update(np.ascontiguousarray(X[rows]).data)
    return {"shape": list(X.shape), "dtype": str(X.dtype), "sha256": digest.hexdigest()}
