"""A training step of a fully connected autoencoder in bfloat16, written out.

Under autograd and autocast every step converts all weights to bfloat16 and all gradients back, makes new memory for
each intermediate result, and goes through hundreds of calls; that took more time than the matrix products. Here the
same losses, gradients and steps of Adam come from the products and a few compiled passes between them, in memory that
is kept. Each weight has a copy in bfloat16, which Adam writes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import nn

from shade._base.arrays import AnyArray
from shade._kernels import bfloat16_training as kernels
from shade.training.autoencoders import EncoderOnly, FeedForwardAutoencoder
from shade.training.losses import density_gradient

if TYPE_CHECKING:
    from shade.training.trainer import TrainSettings

TILE = 32  # products whose sizes are no multiple of it take up to twice as long


def choose_linear_step(
    network: nn.Module, optimizer: torch.optim.Optimizer, settings: TrainSettings
) -> LinearStep | None:
    """The step of a network that is trained in bfloat16, or None for one that autograd has to train."""
    autoencoder = network.network if isinstance(network, EncoderOnly) else network
    if settings.precision != "bfloat16" or not isinstance(autoencoder, FeedForwardAutoencoder):
        return None
    encoder = [layer for layer in autoencoder.encoder if isinstance(layer, nn.Linear)]
    decoder = [layer for layer in autoencoder.decoder if isinstance(layer, nn.Linear)]
    if len(encoder) == 1:  # without hidden layers, all are next to the embedding
        return None
    return LinearStep(encoder, decoder if network is autoencoder else [], optimizer, settings)


class LinearStep:
    """Trains linear layers with LeakyReLU between them: those of an encoder, and those of a decoder if there is one."""

    def __init__(
        self,
        encoder: Sequence[nn.Linear],
        decoder: Sequence[nn.Linear],
        optimizer: torch.optim.Optimizer,
        settings: TrainSettings,
    ) -> None:
        self.settings = settings
        self.embedding = len(encoder)  # its place among the results; the samples are at 0
        layers = [*encoder, *decoder]
        self.sizes = [_whole_tiles(encoder[0].in_features), *(layer.out_features for layer in layers)]
        if decoder:
            self.sizes[-1] = _whole_tiles(self.sizes[-1])
        # The layers on both sides of the embedding are in float32: `precision` says why, and they are small.
        exact = (self.embedding - 1, self.embedding)
        self.layers = [
            _Layer(layer, optimizer, None if place in exact else (after, before))
            for place, (layer, before, after) in enumerate(zip(layers, self.sizes, self.sizes[1:], strict=False))
        ]
        self._results: dict[int, list[_Result]] = {}

    def __call__(
        self, samples: torch.Tensor, rows: torch.Tensor, steps: torch.Tensor | None, outputs: torch.Tensor | None
    ) -> torch.Tensor:
        """Train on some rows; returns both losses. The arguments are those of `Trainer` and `Batch`."""
        results = self._results_of(len(rows))
        kernels.take_rows(samples.numpy(), rows.numpy(), results[0].values_array)
        for place, (x, y) in enumerate(pairwise(results)):
            layer = self.layers[place]
            layer.multiply(x, y)
            if y is results[self.embedding]:
                y.values += layer.bias
            elif y is not results[-1]:
                kernels.activate(y.values_array, layer.bias_array)
        reconstruction = self._compare(results[-1], samples if outputs is None else outputs, rows)
        density = 0.0
        for place, layer in reversed(list(enumerate(self.layers))):
            x, y = results[place : place + 2]
            if y is results[self.embedding]:
                density = self._follow_density(y, steps)
                torch.sum(y.gradient, 0, out=layer.bias_gradient)
            elif y is not results[-1]:
                kernels.activate_backwards(y.gradient_array, y.values_array, layer.bias_gradient_array)
            layer.step(x, y, inner=place > 0, rate=self.settings.learning_rate)
        return torch.tensor([reconstruction, density], dtype=torch.float32)

    def _compare(self, result: _Result, wanted: torch.Tensor, rows: torch.Tensor) -> float:
        """Reconstruction loss; its gradient becomes that of the result."""
        count = len(rows) * (wanted.shape[1] if self.settings.reconstruction == "mean" else 1)
        scale = 2.0 * self.settings.reconstruction_weight / count
        if len(self.layers) == self.embedding:
            error = result.values[: len(rows)] - wanted[rows]
            torch.mul(error, scale, out=result.gradient[: len(rows)])
            return float(error.square().sum()) / count
        last = self.layers[-1]
        arrays = wanted.numpy(), rows.numpy(), result.values_array, last.bias_array
        gradients = result.gradient_array, last.bias_gradient_array
        return cast(float, kernels.compare_rows(*arrays, np.float32(scale), *gradients)) / count

    def _follow_density(self, embedding: _Result, steps: torch.Tensor | None) -> float:
        """Density loss, if there is one; its gradient is added to that of the embedding."""
        if steps is None:
            return 0.0
        loss, gradient = density_gradient(embedding.values[: len(steps)], steps, self.settings.distance)
        embedding.gradient[: len(steps)].add_(gradient, alpha=self.settings.density_weight)
        return loss

    def _results_of(self, n_rows: int) -> list[_Result]:
        """Memory for a batch of samples and for what the layers make of them."""
        if n_rows not in self._results:
            self._results[n_rows] = [
                _Result(n_rows, size, torch.float32 if place == self.embedding else torch.bfloat16)
                for place, size in enumerate(self.sizes)
            ]
        return self._results[n_rows]


class _Result:
    """Values of a batch and their gradient, and arrays of the same memory without the rows that fill up the last tile.

    The gradient of these rows is always 0.
    """

    def __init__(self, n_rows: int, size: int, dtype: torch.dtype) -> None:
        self.values, self.gradient = torch.zeros(2, _whole_tiles(n_rows), size, dtype=dtype)
        self.values_array, self.gradient_array = _as_array(self.values)[:n_rows], _as_array(self.gradient)[:n_rows]


class _Layer:
    """Weights, gradients and what Adam keeps of them.

    The copy of the weights in bfloat16 can have a larger shape, filled up with zeros; without one, products are in
    float32. The bias and its gradient are in float32 in any case.
    """

    def __init__(self, linear: nn.Linear, optimizer: torch.optim.Optimizer, shape: tuple[int, int] | None) -> None:
        self.exact = shape is None
        self.bias = linear.bias.detach()
        self.weight = linear.weight.detach()
        copy = np.empty((1, 0), np.int16)
        if shape is not None:
            self.weight = torch.zeros(shape, dtype=torch.bfloat16)
            self.weight[: linear.out_features, : linear.in_features] = linear.weight.detach()
            copy = _as_array(self.weight)
        self.gradient, self.bias_gradient = torch.empty_like(self.weight), torch.empty_like(self.bias)
        self.bias_array, self.bias_gradient_array = self.bias.numpy(), self.bias_gradient.numpy()
        self._updates = [
            _adam_arguments(optimizer, linear.weight, _as_array(self.gradient), copy),
            _adam_arguments(optimizer, linear.bias, self.bias_gradient_array, np.empty((1, 0), np.int16)),
        ]

    def multiply(self, x: _Result, y: _Result) -> None:
        """The values of y, without bias."""
        self._product(x.values, self.weight.t(), y.values)

    def step(self, x: _Result, y: _Result, *, inner: bool, rate: float) -> None:
        """From the gradient of y to that of x, if x is inside of the network, and a step of Adam."""
        if inner:
            self._product(y.gradient, self.weight, x.gradient)
        self._product(y.gradient.t(), x.values, self.gradient)
        for arguments in self._updates:
            kernels.adam_step(*arguments, rate)

    def _product(self, left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> None:
        if self.exact:
            out.copy_(torch.mm(left.float(), right.float()))
        else:
            torch.mm(left, right, out=out)


def _adam_arguments(
    optimizer: torch.optim.Optimizer, parameter: torch.Tensor, gradient: AnyArray, copy: AnyArray
) -> list[AnyArray]:
    """A weight, its gradient, and what the optimizer keeps of it, where checkpoints look for it."""
    state = optimizer.state[parameter]
    if not state:
        zeros = {name: torch.zeros_like(parameter).detach() for name in ("exp_avg", "exp_avg_sq")}
        state.update(step=torch.zeros((), dtype=torch.float32), **zeros)
    arrays = [parameter.detach().numpy(), gradient, state["exp_avg"].numpy(), state["exp_avg_sq"].numpy(), copy]
    if gradient.shape == parameter.shape:  # one long row is faster than many
        arrays = [array.reshape(1, -1) for array in arrays]
    return [*arrays, state["step"].view(1).numpy()]


def _as_array(tensor: torch.Tensor) -> AnyArray:
    """The memory of a tensor as an array; NumPy has no bfloat16, so its bits come as int16."""
    return tensor.numpy() if tensor.dtype == torch.float32 else tensor.view(torch.int16).numpy()


def _whole_tiles(size: int) -> int:
    return -(-size // TILE) * TILE
