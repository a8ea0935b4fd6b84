"""In which number format the matrix products of training are computed.

bfloat16 has the range of float32 with 8 of its 24 binary digits. Processors that compute with it train about twice as
fast. Weights, losses and the optimizer stay in float32, and so does the layer that makes the embedding: with 8 digits,
neighbouring rows would have the same place.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn


def choose_precision(wanted: str, device: torch.device, network: object) -> str:
    """The format of the products of a network: bfloat16 where it is faster and right."""
    # A module of the user's may not be made for two formats at once. Convolutions of some sizes, such as 9 x 8, read
    # memory that nothing was written to (torch 2.13), and gave other numbers in each run, or none.
    linear = not isinstance(network, nn.Module | str)
    return "bfloat16" if wanted == "auto" and device.type == "cpu" and linear and has_bfloat16() else "float32"


def has_bfloat16() -> bool:
    """Whether this processor computes with bfloat16, as far as this version of torch can tell."""
    capabilities: Callable[[], dict[str, Any]] = getattr(torch.cpu, "get_capabilities", dict)
    return any(capabilities().get(name, False) for name in ("avx512_bf16", "amx_bf16"))


def products_in(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """A context in which layers compute their products in this format."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16, cache_enabled=False)


def embed_exactly(layer: nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
    """The output of a layer in the format of its weights, whatever format the layers before it were computed in."""
    embedded: torch.Tensor
    if not torch.is_autocast_enabled(hidden.device.type):
        embedded = layer(hidden)
        return embedded
    with torch.autocast(hidden.device.type, enabled=False):
        embedded = layer(hidden.to(layer.weight.dtype))
    return embedded
