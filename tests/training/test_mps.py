"""Apple's devices have no float64: nothing of that width is sent there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from shade.density.targets import targets_of_batches
from shade.training import Trainer, TrainSettings, build_network, decode_rows, encode_rows, losses, trainer


class NoDouble(TorchDispatchMode):
    """Fails as a device without float64 does."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in tree_leaves((args, kwargs, result)):
            if isinstance(value, torch.Tensor) and value.dtype == torch.float64:
                raise TypeError(f"Cannot convert a MPS Tensor to float64 dtype: {func}")
        return result


def make_network() -> torch.nn.Module:
    return build_network((8,), (6,), 3, torch.Generator().manual_seed(0), fresh=False)


def test_the_stand_in_refuses_float64() -> None:
    with NoDouble(), pytest.raises(TypeError, match="float64"):
        torch.zeros(3).double()


@pytest.mark.parametrize("distance", ["sqeuclidean", "euclidean"])
def test_training_sends_no_float64_to_the_device(monkeypatch: pytest.MonkeyPatch, distance: str) -> None:
    def on_device(z: torch.Tensor, steps: torch.Tensor, distance: str) -> torch.Tensor:
        return losses.pairwise_density_loss(z, losses.expand_steps(steps), distance)

    monkeypatch.setattr(trainer, "density_loss", on_device)
    samples = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    training = Trainer(
        make_network(),
        torch.from_numpy(samples),
        targets_of_batches(samples, 5, mean_edge=False),
        TrainSettings(epochs=2, batch_size=20, distance=distance),
        np.random.default_rng(0),
    )
    with NoDouble():
        history = training.fit().history
    assert len(history) == 2
    assert history[1]["density_loss"] > 0


def test_embedding_and_decoding_for_such_a_device_are_done_on_the_cpu() -> None:
    network, samples = make_network(), torch.randn(10, 6, generator=torch.Generator().manual_seed(1))
    embedded = encode_rows(network, samples, torch.device("mps"))
    torch.testing.assert_close(embedded, encode_rows(network, samples, torch.device("cpu")), rtol=0, atol=0)
    decoded = decode_rows(network, embedded, torch.device("mps"))
    torch.testing.assert_close(decoded, decode_rows(network, embedded, torch.device("cpu")), rtol=0, atol=0)
