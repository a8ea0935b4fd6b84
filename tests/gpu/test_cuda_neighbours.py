"""Neighbours are the same on a CUDA device."""

import numpy as np
import pytest

from shade.density import neighbours
from shade.density.neighbours import find_neighbours

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


@pytest.mark.parametrize("shape", [(300, 4), (2000, 30), (500, 900)])
def test_neighbours_are_those_of_the_cpu(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "PRODUCTS_AT_A_TIME", 70_000)  # several blocks
    samples = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    here, there = (find_neighbours(samples, 10, device=device) for device in ("cpu", "cuda"))
    assert np.mean(np.sort(here, axis=1) == np.sort(there, axis=1)) > 0.999  # float32 may swap the last ones
