"""The data of a run by name: a benchmark dataset, one of the suite, or generated data of a sweep."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from shade._base.arrays import AnyArray, IntArray, SingleArray
from shade.data import DATASETS, load_dataset, make_densired, make_three_clusters
from shade.data.datasets import data_folder, find_dataset
from shade.data.standardize import Standardizer, choose_standardization

NOISE_SWEEP = tuple(f"densired_noise_{share / 10:.1f}" for share in range(10))
DIMENSION_SWEEP = tuple(f"densired_features_{n}" for n in (10, 50, 100, 500, 1000, 5000, 10000, 50000))
THREE_CLUSTERS = "three_clusters"
SHAPES = "shapes"

#: The datasets of the suite by kind of data. All others are in the folder "shapes".
SUITE: dict[str, tuple[str, ...]] = {
    "cells": ("cite_cbmc", "mouse_bladder", "sc_pbmc4k"),
    "text": ("bbcsport",),
    "speech and movement": ("isolet1", "wisdm"),
    "images": ("binaryalphadigs", "jaffe", "landuse21", "leaves100", "mfeat", "satellite", "umist"),
    "tables": ("banknote", "dermatology", "seeds", "segment", "waveform"),
}


@dataclass(frozen=True)
class BenchmarkSamples:
    """Samples with true clusters, and their z-normalisation, which is the same for every method.

    `alternatives` are further true labelings. The one with the best agreement with a clustering is used.
    """

    name: str
    X: AnyArray
    y: IntArray
    n_clusters: int
    standardize: str | bool
    alternatives: tuple[IntArray, ...] = ()

    @property
    def rows(self) -> AnyArray:
        """The samples as a matrix."""
        return self.X.reshape(len(self.X), -1)

    @property
    def channels_first(self) -> AnyArray:
        """Images with the axes in the order of the networks."""
        return np.moveaxis(self.X, -1, 1) if self.X.ndim == 4 else self.X

    def standardized(self) -> SingleArray:
        """Return the z-normalised rows."""
        rows = self.rows
        return Standardizer.fit(rows, self.standardize).apply(rows)


@lru_cache(maxsize=1)
def load_samples(name: str, folder: str | os.PathLike[str] | None = None) -> BenchmarkSamples:
    """Load a dataset by name, or generate one of a sweep: densired_noise_0.3, densired_features_500, three_clusters."""
    if name == THREE_CLUSTERS:
        X, y = make_three_clusters(3000, random_state=0)
        return BenchmarkSamples(name, X, y, 3, "feature")
    found = re.fullmatch(r"densired_(noise|features)_([0-9.]+)", name)
    if found:
        by_noise = found[1] == "noise"
        X, y = make_densired(noise_share=float(found[2])) if by_noise else make_densired(n_features=int(found[2]))
        return BenchmarkSamples(name, X.astype(np.float32), y, 10, "feature")
    path = _suite_file(name, folder)
    if path is not None:
        with np.load(path, allow_pickle=False) as file:
            X = file["X"]
            # In shapes, noise has the label 0; here it has −1.
            first = int(name.startswith(f"{SHAPES}/"))
            y, *others = (file[key].astype(np.int64) - first for key in sorted(file.files) if key.startswith("y"))
        how = choose_standardization("auto", X.reshape(len(X), -1), X.shape[1:])
        return BenchmarkSamples(name, X, y, len(np.unique(y[y >= 0])), how, tuple(others))
    dataset = load_dataset(name, folder=folder)
    return BenchmarkSamples(name, dataset.X, dataset.y, dataset.info.n_clusters, dataset.info.standardize)


def is_at_hand(name: str, folder: str | os.PathLike[str] | None = None) -> bool:
    """Return whether samples are available without a download."""
    if name == THREE_CLUSTERS or name.startswith("densired_"):
        return True
    find_dataset(name)
    return os.path.exists(os.path.join(folder or data_folder(), f"{name}.npz"))  # noqa: PTH110, PTH118


def kind_of(name: str) -> str:
    """Return the kind of data of a dataset in the suite."""
    if name.startswith(f"{SHAPES}/"):
        return SHAPES
    return next((kind for kind, names in SUITE.items() if name in names), "other")


def suite_datasets(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the datasets of the suite in the data folder, sorted by kind."""
    top = Path(folder or data_folder()) / "suite"
    names = (path.relative_to(top).with_suffix("").as_posix() for path in top.rglob("*.npz"))
    kinds = [*SUITE, "other", SHAPES]
    return sorted(names, key=lambda name: (kinds.index(kind_of(name)), name))


def _suite_file(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    path = Path(folder or data_folder()) / "suite" / f"{name}.npz"
    return path if name not in DATASETS and path.exists() else None


def cost_of(name: str, folder: str | os.PathLike[str] | None = None) -> float:
    """Return an estimate of relative run times: the number of points, and a little for their width."""
    if name == THREE_CLUSTERS:
        return 3000.0
    if name.startswith("densired_"):
        width = float(name.rsplit("_", 1)[1]) if "features" in name else 100.0
        return 5000.0 * (1.0 + width / 2000.0)
    path = _suite_file(name, folder)
    if path is not None:
        return float(len(np.load(path)["y"]))
    info = find_dataset(name)
    return info.n_samples * (1.0 + info.n_features / 2000.0)
