"""A training step of a fully connected autoencoder in bfloat16, written out.

Under autograd and autocast every step converts all weights to bfloat16 and all gradients back, makes new memory for
each intermediate result, and goes through hundreds of calls; that took more time than the matrix products. Here the
same losses, gradients and steps of Adam come from the products and a few compiled passes between them, in memory that
is kept. Each weight has a copy in bfloat16, which Adam writes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
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
        # The layers on both sides of the embedding are in float32: `precision` says why, and they are small.
        exact = (len(encoder) - 1, len(encoder))
        self.layers = [_Layer(layer, optimizer, place in exact) for place, layer in enumerate([*encoder, *decoder])]
        self._results: dict[int, list[_Result]] = {}

    def __call__(
        self, samples: torch.Tensor, rows: torch.Tensor, steps: torch.Tensor | None, outputs: torch.Tensor | None
    ) -> torch.Tensor:
        """Train on some rows; returns both losses. The arguments are those of `Trainer` and `Batch`."""
        results = self._results_of(len(rows))
        kernels.take_rows(samples.numpy(), rows.numpy(), results[0].values_array)
        for layer, x, y in zip(self.layers, results, results[1:], strict=False):
            layer.multiply(x, y)
            if y is results[self.embedding]:
                y.values += layer.bias
            elif y is not results[-1]:
                kernels.activate(y.values_array, layer.bias_array)
        reconstruction = self._compare(results[-1], samples if outputs is None else outputs, rows)
        density = 0.0
        for place in reversed(range(len(self.layers))):
            layer, x, y = self.layers[place], results[place], results[place + 1]
            if y is results[self.embedding]:
                density = self._follow_density(y, steps)
                torch.sum(y.gradient, 0, out=layer.bias_gradient)
            elif y is not results[-1]:
                kernels.activate_backwards(y.gradient_array, y.values_array, layer.bias_gradient_array)
            layer.step(x, y, place > 0, self.settings.learning_rate)
        return torch.tensor([reconstruction, density])

    def _compare(self, result: _Result, wanted: torch.Tensor, rows: torch.Tensor) -> float:
        """Reconstruction loss; its gradient becomes that of the result."""
        count = len(rows) * (result.values.shape[1] if self.settings.reconstruction == "mean" else 1)
        scale = 2.0 * self.settings.reconstruction_weight / count
        if len(self.layers) == self.embedding:
            error = result.values - wanted[rows]
            torch.mul(error, scale, out=result.gradient)
            return float(error.square().sum()) / count
        last = self.layers[-1]
        arrays = wanted.numpy(), rows.numpy(), result.values_array, last.bias_array
        gradients = result.gradient_array, last.bias_gradient_array
        return cast(float, kernels.compare_rows(*arrays, np.float32(scale), *gradients)) / count

    def _follow_density(self, embedding: _Result, steps: torch.Tensor | None) -> float:
        """Density loss, if there is one; its gradient is added to that of the embedding."""
        if steps is None:
            return 0.0
        loss, gradient = density_gradient(embedding.values, steps, self.settings.distance)
        embedding.gradient.add_(gradient, alpha=self.settings.density_weight)
        return loss

    def _results_of(self, n_rows: int) -> list[_Result]:
        """Memory for the samples and for what the layers make of them."""
        if n_rows not in self._results:
            sizes = [self.layers[0].weight.shape[1], *(len(layer.weight) for layer in self.layers)]
            self._results[n_rows] = [
                _Result(n_rows, size, torch.float32 if place == self.embedding else torch.bfloat16)
                for place, size in enumerate(sizes)
            ]
        return self._results[n_rows]


class _Result:
    """Values of a batch and their gradient, with the same memory as arrays."""

    def __init__(self, n_rows: int, size: int, dtype: torch.dtype) -> None:
        self.values = torch.empty(n_rows, size, dtype=dtype)
        self.gradient = torch.empty(n_rows, size, dtype=dtype)
        self.values_array, self.gradient_array = _array(self.values), _array(self.gradient)


class _Layer:
    """The weights of a layer and their gradients; those of the bias are in float32 in any case."""

    def __init__(self, linear: nn.Linear, optimizer: torch.optim.Optimizer, exact: bool) -> None:
        self.exact = exact
        self.bias = linear.bias.detach()
        self.weight = linear.weight.detach() if exact else linear.weight.detach().bfloat16()
        self.gradient, self.bias_gradient = torch.empty_like(self.weight), torch.empty_like(self.bias)
        self.bias_array, self.bias_gradient_array = self.bias.numpy(), self.bias_gradient.numpy()
        copies = [np.empty(0, np.int16) if exact else _array(self.weight).reshape(-1), np.empty(0, np.int16)]
        self._updates = [
            (parameter.detach().view(-1).numpy(), _array(gradient).reshape(-1), *_adam_arrays(optimizer, parameter), copy)
            for parameter, gradient, copy in zip(
                (linear.weight, linear.bias), (self.gradient, self.bias_gradient), copies, strict=True
            )
        ]

    def multiply(self, x: _Result, y: _Result) -> None:
        """The values of y, without bias."""
        self._product(x.values, self.weight.t(), y.values)

    def step(self, x: _Result, y: _Result, inner: bool, rate: float) -> None:
        """From the gradient of y to that of x, if x is inside of the network, and a step of Adam."""
        if inner:
            self._product(y.gradient, self.weight, x.gradient)
        self._product(y.gradient.t(), x.values, self.gradient)
        for update in self._updates:
            kernels.adam_step(*update, rate)

    def _product(self, left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> None:
        if self.exact:
            out.copy_(torch.mm(left.float(), right.float()))
        else:
            torch.mm(left, right, out=out)


def choose_linear_step(
    network: nn.Module, optimizer: torch.optim.Optimizer, settings: TrainSettings
) -> LinearStep | None:
    """The step of a network that is trained in bfloat16, or None for one that autograd has to train."""
    autoencoder = network.network if isinstance(network, EncoderOnly) else network
    if settings.precision != "bfloat16" or not isinstance(autoencoder, FeedForwardAutoencoder):
        return None
    encoder, decoder = ([layer for layer in stack if isinstance(layer, nn.Linear)] for stack in (autoencoder.encoder, autoencoder.decoder))
    if len(encoder) == 1:  # without hidden layers everything is next to the embedding
        return None
    return LinearStep(encoder, [] if autoencoder is not network else decoder, optimizer, settings)


def _array(tensor: torch.Tensor) -> AnyArray:
    """The memory of a tensor as an array; NumPy has no bfloat16, so its bits come as int16."""
    return tensor.numpy() if tensor.dtype == torch.float32 else tensor.view(torch.int16).numpy()


def _adam_arrays(optimizer: torch.optim.Optimizer, parameter: nn.Parameter) -> list[AnyArray]:
    """What Adam keeps of a weight, in the optimizer, where checkpoints look for it."""
    state = optimizer.state[parameter]
    if not state:
        zeros = {name: torch.zeros_like(parameter).detach() for name in ("exp_avg", "exp_avg_sq")}
        state.update(step=torch.zeros(()), **zeros)
    return [state[name].view(-1).numpy() for name in ("exp_avg", "exp_avg_sq", "step")]
