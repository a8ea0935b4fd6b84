"""Files of plain arrays: npy, npz, zarr and h5ad."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError, told_as
from shade._base.memory import check_room
from shade.data.images import channels_first
from shade.data.row_sources import ArraySource, FileRows, RowSource, open_memmap
from shade.data.samples import ReadOptions, Samples, enumerate_names
from shade.data.tables import check_names, known_columns

CHANNELS = (1, 3, 4)
HEADER_ERRORS = (ValueError, EOFError, OSError, SyntaxError, TypeError, OverflowError, RecursionError, MemoryError)


def read_npy(path: Path, options: ReadOptions) -> Samples:
    """Map a file into memory. Rows are read when they are used."""
    with told_as(DataError, f"{path} cannot be read as an array", *HEADER_ERRORS):
        _read_header(path)
        array: AnyArray = np.load(path, mmap_mode="r", allow_pickle=False)
    return _samples_of(array, {}, path, options)


def read_npz(path: Path, options: ReadOptions) -> Samples:
    """Read the array to cluster, and the arrays of labels and ids."""
    errors = (*HEADER_ERRORS, zipfile.BadZipFile, zlib.error)
    with told_as(DataError, f"{path} cannot be read as arrays", *errors), np.load(path, allow_pickle=False) as file:
        size = sum(member.file_size for member in file.zip.infolist())
        check_room(size, options.memory, f"Reading {path}", "Give more: it can only be read as a whole.")
        array, named = _choose(file.files, file.__getitem__, path, options)
    return _samples_of(array, named, path, options)


def read_zarr(path: Path, options: ReadOptions) -> Samples:
    """Open an array of a zarr store, or the array to cluster in a group. Rows are read when they are used."""
    return _samples_of(*_open_store(path, options), path, options)


def open_zarr(path: Path) -> RowSource:
    """Open an array of a zarr store, or the array to cluster in a group."""
    return ArraySource(_open_store(path, None)[0], str(path))


def _read_header(path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return shape, order, type and first byte of the values of a npy file, after a check of the file's length."""
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        one = version == (1, 0)
        if not one and version != (2, 0):
            raise ValueError(f"its format has version {version}, not 1.0 or 2.0")
        read_header = np.lib.format.read_array_header_1_0 if one else np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read_header(file)
        if not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError(f"its header says that the shape is {shape!s:.200}")
        expected, found = math.prod(shape) * dtype.itemsize, path.stat().st_size - file.tell()
        if expected > found:
            n = (*shape, 1)[0]
            raise DataError(
                f"{path} ends in row {found * n // expected} of {n}: it was cut short, or its header is wrong."
            )
        return shape, by_columns, dtype, file.tell()


class NpyFile(FileRows):
    """A npy file, of which any rows can be read."""

    def __init__(self, path: Path) -> None:
        with told_as(DataError, f"{path} cannot be read as an array", *HEADER_ERRORS, OSError):
            shape, by_columns, dtype, offset = _read_header(path)
        if by_columns:
            raise DataError(f"{path} is stored by columns (Fortran order): rows cannot be read one after the other.")
        super().__init__(path, shape, dtype, offset)


def read_h5ad(path: Path, options: ReadOptions) -> Samples:
    """Read cells of an AnnData file: `X`, a layer, or an embedding of `obsm`; labels and ids are columns of `obs`."""
    import anndata

    with told_as(DataError, f"{path} cannot be read as h5ad", OSError, KeyError, ValueError, TypeError):
        cells = anndata.read_h5ad(path)
    key, label, id = options.key, options.label, options.id
    notes = []
    names: list[str] | None = [str(name) for name in cells.var_names]
    if key in (None, "X"):
        matrix = cells.X
    elif key in cells.layers:
        matrix = cells.layers[key]
    elif key in cells.obsm:
        matrix, names = cells.obsm[key], None
    else:
        has = enumerate_names(["X", *cells.layers.keys(), *cells.obsm.keys()], 20)
        raise DataError(f"{path} has no {key!r} for --key. It has {has}.")
    if matrix is None:
        raise DataError(f"{path} has no X: name a layer or an embedding with --key.")
    if hasattr(matrix, "toarray"):
        size = math.prod(matrix.shape) * matrix.dtype.itemsize
        check_room(size, options.memory, f"The full matrix of {path}", "Choose an embedding of the file with --key.")
        matrix = matrix.toarray()
        notes.append("turned the sparse matrix into a dense one")
    matrix = np.asarray(matrix)
    if names is not None:
        check_names(str(path), names, {"--drop": options.drop})
        left = [name for name in names if name not in set(options.drop)]
        left = left if options.columns is None else known_columns(str(path), left, options.columns, notes)
        if left != names:
            where = {name: index for index, name in enumerate(names)}
            matrix, names = matrix[:, [where[name] for name in left]], left
    for option, wanted in (("--label", label), ("--id", id)):
        if wanted is not None and wanted not in cells.obs:
            has = enumerate_names([str(name) for name in cells.obs.columns], 20)
            raise DataError(f"{path} has no column {wanted!r} of cells for {option}. It has {has}.")
    ids = np.asarray(cells.obs_names if id is None else cells.obs[id]).astype(str)
    labels = None if label is None else np.asarray(cells.obs[label]).astype(str)
    features = None if names is None else tuple(names)
    known = {
        str(name): values.to_numpy() if values.dtype.kind in "fiu" else values.astype(object).map(str).to_numpy(object)
        for name, values in cells.obs.items() if name not in (label, id)
    }  # fmt: skip
    return Samples(matrix, "table", str(path), ids, features, labels, tuple(notes), cells=known)


def _open_store(path: Path, options: ReadOptions | None) -> tuple[Any, dict[str, AnyArray]]:
    """Return an array that is not read yet, and the arrays of labels and ids."""
    import zarr

    with told_as(DataError, f"{path} cannot be read as zarr", ValueError, KeyError, OSError, TypeError):
        found = zarr.open(str(path), mode="r")
        if isinstance(found, zarr.Array):
            return found, {}
        array, named = _choose(sorted(found.array_keys()), found.__getitem__, path, options)
        return array, {name: np.asarray(values[...]) for name, values in named.items()}


def _choose(
    names: Sequence[str], get: Callable[[str], Any], path: Path, options: ReadOptions | None
) -> tuple[Any, dict[str, AnyArray]]:
    """Return the array to cluster, and the arrays that the options name as label and id."""
    key, others = (None, ()) if options is None else (options.key, (options.label, options.id))
    wanted = key or ("X" if "X" in names or len(names) != 1 else names[0])
    if wanted not in names:
        has = enumerate_names(list(names), 20) if names else "none"
        raise DataError(f"{path} has no array {wanted!r}. It has {has}: choose with --key, or give the array itself.")
    return get(wanted), {name: get(name) for name in others if name in names and name not in (None, wanted)}


def _samples_of(array: Any, named: dict[str, AnyArray], path: Path, options: ReadOptions) -> Samples:
    """Return rows of a matrix or of images. Label, id and dropped columns are `named` arrays or column numbers."""
    if array.ndim not in (2, 3, 4) or 0 in array.shape:
        raise DataError(
            f"{path} holds an array of shape {array.shape}. Give one row per sample: n x features, n x height x "
            "width or n x channels x height x width, none of them 0."
        )
    if array.dtype.kind not in "fiub":
        raise DataError(f"{path} holds {array.dtype}, not real numbers.")
    notes = []
    if array.ndim == 4 and array.shape[3] in CHANNELS and array.shape[1] not in CHANNELS:
        _check_copy(array, options.memory, f"Bringing the channels of {path} to the front")
        array = channels_first(np.asarray(array))
        notes.append("read the last axis as the channels of images")
    wanted = [name for name in (options.label, options.id, *options.drop) if name is not None and name not in named]
    columns = {name: _column_number(array, name, path, named) for name in wanted}
    labels, ids = (
        None if name is None else named[name] if name in named else np.array(array[:, columns[name]])
        for name in (options.label, options.id)
    )
    for option, values in (("label", labels), ("id", ids)):
        if values is not None and values.shape != (array.shape[0],):
            raise DataError(
                f"{path} has {array.shape[0]} rows, but its {option} has the shape {values.shape}. Give one value per "
                "row."
            )
    if columns:
        _check_copy(array, options.memory, f"Leaving out columns of {path}")
        array = np.delete(np.asarray(array), sorted(set(columns.values())), axis=1)
        if array.shape[1] == 0:
            raise DataError(f"{path} has no column left to cluster by.")
    rows: Any = array if isinstance(array, np.ndarray) else ArraySource(array, str(path))
    if isinstance(array, np.memmap) and options.memory is not None:
        rows = open_memmap(array)  # what was read from a memmap stays in memory
    kind = "table" if array.ndim == 2 else "images"
    ids = np.arange(array.shape[0]) if ids is None else ids
    return Samples(rows, kind, str(path), ids, labels=labels, notes=tuple(notes))


def _check_copy(array: Any, memory: int | None, what: str) -> None:
    check_room(2 * array.nbytes, memory, what, "Give more, or convert the file before.")


def _column_number(array: Any, name: str, path: Path, others: dict[str, AnyArray]) -> int:
    if array.ndim == 2 and name.isdigit() and int(name) < array.shape[1]:
        return int(name)
    allowed = f"a number from 0 to {array.shape[1] - 1}" if array.ndim == 2 else "no column, as these are images,"
    named = f" or one of the arrays {enumerate_names(list(others))}" if others else ""
    raise DataError(f"{path} has no column {name!r}: its columns have no names. Give {allowed}{named}.")
