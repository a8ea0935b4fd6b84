"""The number format of the matrix products in training.

bfloat16 has the range of float32 but only 8 of its 24 binary digits. Processors that support it train about twice as
fast. Weights, losses and the optimizer stay in float32. The layer that computes the embedding does too: with 8 digits,
neighbouring rows would get the same point.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn


def choose_precision(wanted: str, device: torch.device, network: object) -> str:
    """Return the format of a network's matrix products: bfloat16 if it is faster and gives correct results."""
    # A user's module may not support two formats at once. Convolutions of some sizes, such as 9 x 8, read uninitialised
    # memory (torch 2.13): each run gave other numbers or NaN.
    linear = not isinstance(network, nn.Module | str)
    return "bfloat16" if wanted == "auto" and device.type == "cpu" and linear and has_bfloat16() else "float32"


def has_bfloat16() -> bool:
    """Return whether this processor supports bfloat16, as far as this version of torch can tell."""
    capabilities: Callable[[], dict[str, Any]] = getattr(torch.cpu, "get_capabilities", dict)
    return any(capabilities().get(name, False) for name in ("avx512_bf16", "amx_bf16"))


def products_in(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return a context in which layers compute their products in this format."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16, cache_enabled=False)


def embed_exactly(layer: nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
    """Return the output of a layer in the format of its weights, whatever the format of its input is."""
    embedded: torch.Tensor
    if not torch.is_autocast_enabled(hidden.device.type):
        embedded = layer(hidden)
        return embedded
    with torch.autocast(hidden.device.type, enabled=False):
        embedded = layer(hidden.to(layer.weight.dtype))
    return embedded
