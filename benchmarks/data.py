"""Data for benchmarks."""

import os
from pathlib import Path

import numpy as np

from shade.data import DatasetError, load_dataset

FOLDER = Path(os.environ.get("SHADE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def load(name: str) -> np.ndarray | None:
    """A benchmark dataset as a matrix, or None where it is not there."""
    try:
        return load_dataset(name, folder=FOLDER, download=False).rows
    except DatasetError:
        return None


def mixture(n: int, columns: int = 10, seed: int = 0) -> np.ndarray:
    """Twenty Gaussian clusters that touch here and there."""
    random = np.random.default_rng(seed)
    return 8 * random.normal(size=(20, columns))[random.integers(20, size=n)] + random.normal(size=(n, columns))


def embedding(n: int) -> np.ndarray | None:
    """A real embedding of 70,000 digits where it is there (mnist_embedding.npy), else None."""
    path = FOLDER / "mnist_embedding.npy"
    return np.load(path)[:n] if path.exists() else None
