"""dc-distances of many batches at once on a CUDA device; `targets` does the same on a CPU."""

from __future__ import annotations

from collections.abc import Callable

import torch

from shade._kernels import triton_training
from shade.density.dc_tree import DCTree

DeviceTargets = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]

FEW_COLUMNS = 32
BLOCK_ENTRIES = 1 << 28


def device_targets_of_batches(samples: torch.Tensor, min_samples: int, *, mean_edge: bool) -> DeviceTargets:
    """Return a function that computes the steps of batches from a tree per batch."""
    flat = samples.flatten(1)

    def targets(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        _count, size = rows.shape
        at_a_time = max(1, BLOCK_ENTRIES // (size * max(size, flat.shape[1])))
        parts = [
            triton_training.batch_orders(_squared_distances(flat[part]), min_samples)
            for part in torch.split(rows, at_a_time)
        ]
        order = torch.cat([part[0] for part in parts])
        steps = torch.cat([part[1] for part in parts])
        if mean_edge:
            mean = steps.sum(dim=1, keepdim=True) / max(1, size - 1)
            steps = steps / torch.where(mean > 0, mean, 1.0)
        return rows.gather(1, order), steps

    return targets


def device_targets_of_tree(tree: DCTree, device: torch.device, *, mean_edge: bool) -> DeviceTargets:
    """Return a function that reads the steps of batches from the tree of all data, with two table look-ups per step."""
    position = torch.from_numpy(tree.position).to(device)
    order = torch.from_numpy(tree.order).to(device)
    table = torch.from_numpy(tree.range_maxima).to(device, torch.float32)
    mean = float(tree.height.mean())
    unit = mean if mean_edge and mean > 0 else 1.0

    def targets(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        positions = position[rows].sort(dim=1).values
        low, high = positions[:, :-1] + 1, positions[:, 1:] + 1
        level = torch.log2((high - low).double()).floor().long()  # exact, since powers of two are exact in float64
        longest = torch.maximum(table[level, low], table[level, high - (1 << level)])
        steps = torch.nn.functional.pad(longest / unit, (1, 0))
        return order[positions], steps

    return targets


def _squared_distances(x: torch.Tensor) -> torch.Tensor:
    """Return squared distances within each batch. For few columns, products would lose digits: differences are used."""
    if x.shape[2] <= FEW_COLUMNS:
        return triton_training.squared_distances(x)
    norms = x.square().sum(dim=2)
    return torch.baddbmm(norms[:, :, None] + norms[:, None, :], x, x.transpose(1, 2), alpha=-2.0)
