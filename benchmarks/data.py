"""Data for benchmarks."""

import os
from pathlib import Path

import numpy as np

from shade.data import DatasetError, load_dataset

FOLDER = Path(os.environ.get("SHADE_DATA", Path(__file__).parents[2] / "shared" / "data"))
CACHE = Path(__file__).parent / ".cache"


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


def plane(n: int, columns: int = 10, seed: int = 0) -> np.ndarray:
    """Twenty Gaussian clusters near a plane, as embeddings that use few of their columns."""
    random = np.random.default_rng(seed)
    points = mixture(n, 2, seed) @ random.normal(size=(2, columns))
    points += 1e-3 * random.standard_normal((n, columns))
    return points


def embedding() -> np.ndarray | None:
    """SHADE's embedding of the 70,000 digits after five epochs, 70,000 × 10; None where the digits are not there."""
    path = CACHE / "mnist_embedding.npy"
    if not path.exists():
        digits = load("mnist")
        if digits is None:
            return None
        import shade

        model = shade.SHADE(**{**shade.PAPER, "standardize": "global", "epochs": 5, "random_state": 0}).fit(digits)
        CACHE.mkdir(exist_ok=True)
        np.save(path, model.embedding_)
    return np.load(path).astype(np.float64)


def points(kind: str, n: int) -> np.ndarray | None:
    """Points by kind: "mixture", or "embedding" where it is there."""
    if kind == "mixture":
        return mixture(n)
    real = embedding()
    return None if real is None else real[:n]
