"""The nearest neighbours of each row of the data."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, SingleArray
from shade.density.components import COMPONENTS, find_components
from shade.density.search import make_search

PRODUCTS_AT_A_TIME = 1 << 28  # on a CUDA device: 1 GB


def find_neighbours(
    samples: SingleArray, count: int, *, by_angle: bool = False, n_jobs: int | None = None, device: str = "cpu"
) -> AnyArray:
    """Each row and its nearest neighbours, by distance or by angle: all other rows if there are fewer than `count`.

    Rows with many columns are compared by their first principal components, since distances over thousands of columns
    are mostly noise.
    """
    points = find_components(samples, n_jobs) if samples.shape[1] > COMPONENTS else samples.astype(np.float64)
    if by_angle:  # of rows of length 1, those at the smallest angle are the nearest
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        points = points / np.where(lengths > 0.0, lengths, 1.0)
    wanted = min(count, len(points) - 1) + 1
    if device != "cpu":
        return _search_on_device(points, wanted, device)
    found, _ = make_search(points).nearest(points, wanted, n_jobs)
    return found.astype(np.int32)


def _search_on_device(points: FloatArray, wanted: int, device: str) -> AnyArray:
    """Return the same on a CUDA device, in float32, by blocks of scalar products."""
    import torch

    on_device = torch.from_numpy(points - points.mean(axis=0)).to(device)
    on_device = (on_device / max(float(on_device.abs().max()), np.finfo(np.float64).tiny)).float()
    norms = on_device.square().sum(dim=1)
    found = torch.empty(len(points), wanted, dtype=torch.int32)
    step = max(1, PRODUCTS_AT_A_TIME // len(points))
    for start in range(0, len(points), step):
        part = slice(start, start + step)
        distances = torch.addmm(norms, on_device[part], on_device.T, alpha=-2.0)
        found[part] = distances.topk(wanted, dim=1, largest=False).indices.int().cpu()
    return found.numpy()
