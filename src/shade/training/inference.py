"""Running a trained network over any number of rows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import cast

import torch
from torch import nn

from shade.training.autoencoders import count_entries

ROWS_AT_A_TIME = 4096
ENTRIES_AT_A_TIME = 1 << 23  # numbers in double precision that all layers together hold: 64 MB


def encode_rows(network: nn.Module, samples: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Embed samples, as float32 on the CPU."""
    return _run(network, "encode", samples, device)


def decode_rows(network: nn.Module, embedded: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Reconstruct samples, as float32 on the CPU."""
    return _run(network, "decode", embedded, device)


def _run(network: nn.Module, method: str, rows: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Run a method in float64 and round to float32.

    How a float32 product rounds depends on the other rows of its batch and on the number of threads. In float64 that
    shows only in digits that the rounding removes, so a row has the same result in whatever company it comes.
    """
    if device.type == "mps":  # there is no float64 there
        device = torch.device("cpu")
    # Moved before they are widened: not every device can do both at once.
    network = copy.deepcopy(network).to(device).to(torch.float64).eval()
    entries = count_entries(network, rows[:1].to(device).to(torch.float64), method)
    at_a_time = max(1, min(ROWS_AT_A_TIME, ENTRIES_AT_A_TIME // max(1, entries)))
    run = cast(Callable[[torch.Tensor], torch.Tensor], getattr(network, method))
    with torch.no_grad():
        parts = [run(part.to(device).to(torch.float64)).float().cpu() for part in torch.split(rows, at_a_time)]
    return torch.cat(parts)
