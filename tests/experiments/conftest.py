"""A folder with a dataset that has the size of a real one and is quick to cluster."""

from pathlib import Path

import numpy as np
import pytest

from shade.experiments import Method

#: Seconds of work turned into a moment.
QUICK = {"epochs": 1, "network": [4], "embedding_size": 2}


@pytest.fixture
def quick() -> Method:
    return Method("SHADE", QUICK)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    y = np.arange(1077) % 8
    X = rng.normal(size=(1077, 68)) + 6 * rng.normal(size=(8, 68))[y]
    where = tmp_path / "data"
    where.mkdir()
    np.savez_compressed(where / "mice.npz", X=X.astype(np.float32), y=y.astype(np.int32))
    return where
