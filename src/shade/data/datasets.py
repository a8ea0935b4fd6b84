"""The benchmark datasets of the paper: descriptions and loading."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path

from shade._base.arrays import AnyArray, IntArray
from shade._base.errors import DataError
from shade.data.catalogue import DATASETS, DatasetInfo


class DatasetError(DataError, LookupError):
    """A dataset is unknown, missing, or not as expected."""


@dataclass(frozen=True)
class Dataset:
    """Samples with their true clusters; unpacks into `X, y`.

    Attributes
    ----------
    info : DatasetInfo
    X : ndarray of shape (n_samples, ...)
        Values as published; images and frames keep their shape, channels last.
    y : ndarray of shape (n_samples,)
        True clusters; −1 is noise.
    """

    info: DatasetInfo
    X: AnyArray
    y: IntArray

    def __iter__(self) -> Iterator[AnyArray]:
        return iter((self.X, self.y))

    @property
    def rows(self) -> AnyArray:
        """The samples as a matrix, images flattened."""
        return self.X.reshape(len(self.X), -1)


def data_folder() -> Path:
    """Return the folder of the datasets: the environment variable SHADE_DATA, or a folder in the user's cache."""
    chosen = os.environ.get("SHADE_DATA")
    return Path(chosen) if chosen else user_cache_path("shade", appauthor=False, opinion=False) / "data"


def find_dataset(name: str) -> DatasetInfo:
    """Return the description of a dataset."""
    if name not in DATASETS:
        raise DatasetError(f"There is no dataset {name!r}. Known are: {', '.join(DATASETS)}.")
    return DATASETS[name]


def load_dataset(name: str, *, folder: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """Load a benchmark dataset. At the first use, it is fetched from its publisher.

    Parameters
    ----------
    name : str
        A name of the table that `shade data list` prints.
    folder : path, optional
        Folder of the datasets. If None, the environment variable SHADE_DATA or, if not set, a folder in the user's
        cache.
    download : bool, default=True
        Whether a missing dataset may be fetched.

    Returns
    -------
    Dataset
        Unpacks into `X, y`.
    """
    info = find_dataset(name)
    path = Path(folder or data_folder()) / f"{name}.npz"
    if not path.exists():
        if not download:
            raise DatasetError(f"The dataset {name!r} is not in {path.parent}. Fetch it with: shade data get {name}")
        from shade.data.publishers import fetch_dataset

        fetch_dataset(info, path)
    with np.load(path, allow_pickle=False) as file:
        X, y = file["X"], file["y"].astype(np.int64)
    width = int(np.prod(X.shape[1:]))
    # The number of frames of a video depends on the decoder.
    expected = len(X) if info.kind == "video" else info.n_samples
    if (len(X), width, len(y)) != (expected, info.n_features, len(X)):
        raise DatasetError(
            f"{path} holds {len(X)} samples of {width} values with {len(y)} labels, but {name!r} has {info.n_samples} "
            f"of {info.n_features}. Remove the file and fetch it again."
        )
    return Dataset(info, X, y)


def hash_arrays(X: AnyArray, y: AnyArray) -> str:
    """Return the sha256 of the arrays of a dataset. It does not depend on the compression of the file."""
    digest = hashlib.sha256()
    for name, array in (("X", X), ("y", y.astype("<i4"))):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
