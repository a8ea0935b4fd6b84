"""Run a trained network on any number of rows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import cast

import torch
from torch import nn

from shade.training.autoencoders import count_entries

ROWS_AT_A_TIME = 4096
ENTRIES_AT_A_TIME = 1 << 23  # float64 numbers that all layers together hold: 64 MB


def encode_rows(network: nn.Module, samples: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Embed samples. The result is float32 on the CPU."""
    return _run(network, "encode", samples, device)


def decode_rows(network: nn.Module, embedded: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Reconstruct samples. The result is float32 on the CPU."""
    return _run(network, "decode", embedded, device)


def _run(network: nn.Module, method: str, rows: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Run a method in float64 and round to float32.

    How a float32 product is rounded depends on the other rows of the batch and on the number of threads. In float64
    this changes only digits that rounding to float32 removes. So the result for a row does not depend on the other
    rows.
    """
    if device.type == "mps":  # MPS has no float64
        device = torch.device("cpu")
    # Moved to the device first, then converted: not every device can do both at once.
    network = copy.deepcopy(network).to(device).to(torch.float64).eval()
    entries = count_entries(network, rows[:1].to(device).to(torch.float64), method)
    at_a_time = max(1, min(ROWS_AT_A_TIME, ENTRIES_AT_A_TIME // max(1, entries)))
    run = cast(Callable[[torch.Tensor], torch.Tensor], getattr(network, method))
    results, done = torch.empty(0, dtype=torch.float32, device="cpu"), 0
    with torch.no_grad():
        for part in torch.split(rows, at_a_time):
            result = run(part.to(device).to(torch.float64))
            if not done:  # small results that stay between large intermediate ones would keep these from being freed
                results = torch.empty(len(rows), *result.shape[1:], dtype=torch.float32, device="cpu")
            results[done : done + len(part)] = result
            done += len(part)
    return results
