"""Files of plain arrays: npy, npz, zarr and h5ad."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError
from shade._base.extras import need
from shade._base.memory import check_room
from shade.data.images import channels_first
from shade.data.samples import Samples, enumerate_names
from shade.data.tables import check_names, known_columns

CHANNELS = (1, 3, 4)


def read_npy(path: Path) -> AnyArray:
    """Map a file into memory: rows are read when they are used."""
    try:
        array: AnyArray = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"{path} cannot be read as an array: {error}.") from None
    return array


def read_npz(path: Path, key: str | None, others: Collection[str]) -> tuple[AnyArray, dict[str, AnyArray]]:
    """The array to cluster, and those of the names asked for that are in the file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return _choose(file.files, file.__getitem__, str(path), key, others)
    except (ValueError, EOFError, zipfile.BadZipFile, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} cannot be read as arrays: {error}.") from None


def read_zarr(path: Path, key: str | None, others: Collection[str]) -> tuple[Any, dict[str, AnyArray]]:
    """An array of a zarr store, or the one to cluster out of a group, which is not read yet."""
    zarr = need("zarr", "io", "Reading zarr stores")
    try:
        found = zarr.open(str(path), mode="r")
        if isinstance(found, zarr.Array):
            return found, {}
        array, named = _choose(sorted(found.array_keys()), found.__getitem__, str(path), key, others)
        return array, {name: np.asarray(values[...]) for name, values in named.items()}
    except (ValueError, KeyError, OSError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} cannot be read as zarr: {' '.join(str(error).split())}.") from None


def samples_of_array(
    array: Any,
    source: str,
    *,
    label: str | None,
    id: str | None,
    drop: Collection[str],
    others: dict[str, AnyArray],
    memory: int | None,
) -> Samples:
    """Rows of a matrix or of images; label, id and columns to drop of a matrix are named by number."""
    if array.ndim not in (2, 3, 4) or 0 in array.shape:
        raise DataError(
            f"{source} holds an array of shape {array.shape}. Give one row a sample: n x features, n x height x width "
            "or n x channels x height x width, none of them 0."
        )
    if array.dtype.kind not in "fiub":
        raise DataError(f"{source} holds {array.dtype}, not real numbers.")
    notes = []
    if array.ndim == 4 and array.shape[3] in CHANNELS and array.shape[1] not in CHANNELS:
        _check_copy(array, memory, f"Bringing the channels of {source} to the front")
        array = channels_first(np.asarray(array))
        notes.append("read the last axis as the channels of images")
    taken = {option: others.get(name) for option, name in (("label", label), ("id", id)) if name is not None}
    numbers = [name for name in (label, id) if name is not None and name not in others]
    chosen = {name: _column_number(array, name, source, others) for name in [*numbers, *drop]}
    for option, name in (("label", label), ("id", id)):
        if name in chosen:
            taken[option] = array[:, chosen[name]]
    for option, values in taken.items():
        if values is not None and values.shape != (array.shape[0],):
            raise DataError(f"{source} has {array.shape[0]} rows, but its {option} has the shape {values.shape}.")
    if chosen:
        _check_copy(array, memory, f"Leaving out columns of {source}")
        array = np.delete(np.asarray(array), sorted(set(chosen.values())), axis=1)
        if array.shape[1] == 0:
            raise DataError(f"{source} has no column left to cluster by.")
    ids = taken.get("id")
    return Samples(
        rows=array,
        kind="table" if array.ndim == 2 else "images",
        source=source,
        ids=np.arange(array.shape[0]) if ids is None else ids,
        labels=taken.get("label"),
        notes=tuple(notes),
    )


def read_h5ad(
    path: Path,
    *,
    key: str | None,
    label: str | None,
    id: str | None,
    drop: Collection[str],
    columns: Sequence[str] | None,
) -> Samples:
    """Read cells of an AnnData file: `X`, a layer, or an embedding of `obsm`; labels and ids are columns of `obs`."""
    anndata = need("anndata", "h5ad", "Reading h5ad files")
    try:
        cells = anndata.read_h5ad(path)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path} cannot be read as h5ad: {' '.join(str(error).split())[:200]}.") from None
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
        matrix = matrix.toarray()
        notes.append("turned the sparse matrix into a full one")
    matrix = np.asarray(matrix)
    if names is not None:
        check_names(str(path), names, None, None, drop)
        left = [name for name in names if name not in set(drop)]
        left = left if columns is None else known_columns(str(path), left, columns, notes)
        if len(left) < len(names) or left != names:
            where = {name: index for index, name in enumerate(names)}
            matrix, names = matrix[:, [where[name] for name in left]], left
    for option, wanted in (("--label", label), ("--id", id)):
        if wanted is not None and wanted not in cells.obs:
            has = enumerate_names([str(name) for name in cells.obs.columns], 20)
            raise DataError(f"{path} has no column {wanted!r} of cells for {option}. It has {has}.")
    return Samples(
        rows=matrix,
        kind="table",
        source=str(path),
        ids=np.asarray(cells.obs_names if id is None else cells.obs[id]).astype(str),
        feature_names=None if names is None else tuple(names),
        labels=None if label is None else np.asarray(cells.obs[label]).astype(str),
        notes=tuple(notes),
    )


def _choose(
    names: Sequence[str], get: Callable[[str], Any], source: str, key: str | None, others: Collection[str]
) -> tuple[AnyArray, dict[str, AnyArray]]:
    wanted = key or ("X" if "X" in names or len(names) != 1 else names[0])
    if wanted not in names:
        has = enumerate_names(list(names), 20) if names else "none"
        raise DataError(f"{source} has no array {wanted!r}. It has {has}: choose with --key.")
    return get(wanted), {name: get(name) for name in others if name in names and name != wanted}


def _check_copy(array: Any, memory: int | None, what: str) -> None:
    check_room(2 * array.nbytes, memory, what, "Give more, or write the file as it is wanted.")


def _column_number(array: Any, name: str, source: str, others: dict[str, AnyArray]) -> int:
    if array.ndim == 2 and name.isdigit() and int(name) < array.shape[1]:
        return int(name)
    allowed = f"a number from 0 to {array.shape[1] - 1}" if array.ndim == 2 else "none, as these are images"
    named = f" or one of the arrays {enumerate_names(list(others))}" if others else ""
    raise DataError(f"{source} has no column {name!r}: its columns have no names, give {allowed}{named}.")
