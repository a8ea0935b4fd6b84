"""Where the benchmark datasets are, for tests that skip without them."""

import os
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(os.environ.get("SHADE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def load_or_skip(name: str) -> tuple[np.ndarray, np.ndarray]:
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"needs {name}.npz in {FOLDER} (set SHADE_DATA)")
    with np.load(path) as file:
        return file["X"].reshape(len(file["X"]), -1), file["y"]
