"""A training step of a fully connected autoencoder in bfloat16, without autograd.

With autograd and autocast, every step converts all weights to bfloat16 and all gradients back, allocates memory for
each intermediate result, and makes hundreds of calls. That took more time than the matrix products. This module
computes the same losses, gradients and Adam steps with matrix products, a few compiled loops between them, and memory
that is reused. Each weight has a copy in bfloat16, and Adam updates the weight and the copy together.
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

TILE = 32  # matrix products take up to twice as long if their sizes are no multiple of it


def choose_linear_step(
    network: nn.Module, optimizer: torch.optim.Optimizer, settings: TrainSettings
) -> LinearStep | None:
    """Return the step for a network that is trained in bfloat16, or None if autograd has to train the network."""
    autoencoder = network.network if isinstance(network, EncoderOnly) else network
    if settings.precision != "bfloat16" or not isinstance(autoencoder, FeedForwardAutoencoder):
        return None
    encoder = [layer for layer in autoencoder.encoder if isinstance(layer, nn.Linear)]
    decoder = [layer for layer in autoencoder.decoder if isinstance(layer, nn.Linear)]
    if len(encoder) == 1:  # without hidden layers, every layer is next to the embedding
        return None
    return LinearStep(encoder, decoder if network is autoencoder else [], optimizer, settings)


class LinearStep:
    """Trains linear layers with LeakyReLU between them: those of an encoder and, if there is one, of a decoder."""

    def __init__(
        self,
        encoder: Sequence[nn.Linear],
        decoder: Sequence[nn.Linear],
        optimizer: torch.optim.Optimizer,
        settings: TrainSettings,
    ) -> None:
        self.settings = settings
        self.embedding = len(encoder)  # index of the embedding among the results; the samples are at index 0
        layers = [*encoder, *decoder]
        self.sizes = [_whole_tiles(encoder[0].in_features), *(layer.out_features for layer in layers)]
        if decoder:
            self.sizes[-1] = _whole_tiles(self.sizes[-1])
        # The layers on both sides of the embedding are in float32: `precision` gives the reason. They are small.
        exact = (self.embedding - 1, self.embedding)
        self.layers = [
            _Layer(layer, optimizer, None if place in exact else (after, before))
            for place, (layer, before, after) in enumerate(zip(layers, self.sizes, self.sizes[1:], strict=False))
        ]
        self._results: dict[int, list[_Result]] = {}

    def __call__(
        self, samples: torch.Tensor, rows: torch.Tensor, steps: torch.Tensor | None, outputs: torch.Tensor | None
    ) -> torch.Tensor:
        """Train on some rows and return both losses. The arguments are those of `Trainer` and `Batch`."""
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
        """Return the reconstruction loss, and write its gradient to the result."""
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
        """Return the density loss, or 0 if there is none, and add its gradient to that of the embedding."""
        if steps is None:
            return 0.0
        loss, gradient = density_gradient(embedding.values[: len(steps)], steps, self.settings.distance)
        embedding.gradient[: len(steps)].add_(gradient, alpha=self.settings.density_weight)
        return loss

    def _results_of(self, n_rows: int) -> list[_Result]:
        """Return the memory for a batch of this size and for the outputs of all layers."""
        if n_rows not in self._results:
            self._results[n_rows] = [
                _Result(n_rows, size, torch.float32 if place == self.embedding else torch.bfloat16)
                for place, size in enumerate(self.sizes)
            ]
        return self._results[n_rows]


class _Result:
    """Values of a batch and their gradient, padded with rows to a whole number of tiles.

    The gradient of the padding is always 0. The arrays use the same memory, without the padding.
    """

    def __init__(self, n_rows: int, size: int, dtype: torch.dtype) -> None:
        self.values, self.gradient = torch.zeros(2, _whole_tiles(n_rows), size, dtype=dtype)
        self.values_array, self.gradient_array = _as_array(self.values)[:n_rows], _as_array(self.gradient)[:n_rows]


class _Layer:
    """Weights, their gradients, and the state of Adam for them.

    The copy of the weights in bfloat16 may be padded with zeros to a larger shape. If there is no copy, products are
    computed in float32. The bias and its gradient are always in float32.
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
        """Compute the values of y, without bias."""
        self._product(x.values, self.weight.t(), y.values)

    def step(self, x: _Result, y: _Result, *, inner: bool, rate: float) -> None:
        """Compute the gradient of x from that of y, if x is inside of the network, and take a step of Adam."""
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
    """Return a weight, its gradient, and its optimizer state, which is stored where checkpoints look for it."""
    state = optimizer.state[parameter]
    if not state:
        zeros = {name: torch.zeros_like(parameter).detach() for name in ("exp_avg", "exp_avg_sq")}
        state.update(step=torch.zeros((), dtype=torch.float32), **zeros)
    arrays = [parameter.detach().numpy(), gradient, state["exp_avg"].numpy(), state["exp_avg_sq"].numpy(), copy]
    if gradient.shape == parameter.shape:  # one long row is faster than many
        arrays = [array.reshape(1, -1) for array in arrays]
    return [*arrays, state["step"].view(1).numpy()]


def _as_array(tensor: torch.Tensor) -> AnyArray:
    """Return an array that shares the memory of a tensor. NumPy has no bfloat16, so its bits are returned as int16."""
    return tensor.numpy() if tensor.dtype == torch.float32 else tensor.view(torch.int16).numpy()


def _whole_tiles(size: int) -> int:
    return -(-size // TILE) * TILE
