"""The encoder as an ONNX file, for serving without shade or torch."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from shade._base.extras import need
from shade._base.files import write_whole
from shade.data.standardize import Standardizer


class _Encoder(nn.Module):
    """Embeds samples that are in the unit of the data."""

    def __init__(self, standardizer: Standardizer, networks: Sequence[nn.Module], network_shape: Sequence[int]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.from_numpy(standardizer.mean))
        self.register_buffer("scale", torch.from_numpy(standardizer.scale))
        self.networks = nn.ModuleList(networks)
        self.network_shape = tuple(network_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = (x.flatten(1).double() - cast(torch.Tensor, self.mean)) / cast(torch.Tensor, self.scale)
        samples = rows.float().reshape(-1, *self.network_shape)
        encode: list[Any] = [network.encode for network in self.networks]
        return torch.cat([function(samples) for function in encode], dim=1)


def write_onnx(
    path: str | PathLike[str],
    standardizer: Standardizer,
    networks: Sequence[nn.Module],
    sample_shape: Sequence[int],
    network_shape: Sequence[int],
) -> None:
    """Write the encoder for any number of samples."""
    for package in ("onnx", "onnxscript"):
        need(package, "onnx", "Writing ONNX files")
    encoder = _Encoder(standardizer, networks, network_shape).eval()
    example = torch.zeros(2, *sample_shape, dtype=torch.float32)
    with _quiet():
        program = torch.onnx.export(
            encoder, (example,), input_names=["X"], output_names=["embedding"],
            dynamic_shapes={"x": {0: torch.export.Dim("n_samples")}}, dynamo=True, verbose=False,
        )  # fmt: skip
    if program is None:
        raise RuntimeError("torch could not export the network to ONNX.")
    write_whole(Path(path), program.model_proto.SerializeToString())


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress messages of the exporter about itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
