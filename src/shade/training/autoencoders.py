"""Autoencoders: anything with `encode` and `decode`."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Protocol, cast, runtime_checkable

import torch
from torch import nn

from shade._base.validation import Whole
from shade.training.precision import embed_exactly

CHANNELS = (32, 64, 128)


def shape_for_network(network: object, sample_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a sample as the network takes it: flat for linear layers, with a channel for grey images."""
    if isinstance(network, str):
        return (1, *sample_shape) if len(sample_shape) == 2 else sample_shape
    return sample_shape if isinstance(network, nn.Module) else (math.prod(sample_shape),)


@runtime_checkable
class Autoencoder(Protocol):
    """The methods that a network must have to be trained."""

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        """Map a batch of samples to a batch of embedded points, one row each."""
        ...

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Map embedded points back to samples of the shape that `encode` took."""
        ...


class FeedForwardAutoencoder(nn.Module):
    """The network of the paper: linear layers with LeakyReLU between them, and the same layers mirrored as decoder."""

    decoding = ("decoder",)  # the parts that only `decode` needs

    def __init__(self, n_features: int, hidden: Sequence[int], embedding_size: int) -> None:
        super().__init__()
        sizes = [n_features, *hidden, embedding_size]
        self.encoder = _stack(sizes)
        self.decoder = _stack(sizes[::-1])

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        """Embed rows."""
        *hidden, last = self.encoder
        for layer in hidden:
            x = layer(x)
        return embed_exactly(cast(nn.Linear, last), x)

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Reconstruct rows."""
        return cast(torch.Tensor, self.decoder(z))


class ConvolutionalAutoencoder(nn.Module):
    """Strided convolutions for images of any size, a linear layer to the embedding, and the same layers mirrored."""

    decoding = ("from_embedding", "deconvolutions")

    def __init__(self, image_shape: Sequence[int], embedding_size: int) -> None:
        super().__init__()
        channels, height, width = image_shape
        self.sizes = [(height, width)]
        layers: list[nn.Module] = []
        for before, after in zip((channels, *CHANNELS), CHANNELS, strict=False):
            layers += [nn.Conv2d(before, after, kernel_size=3, stride=2, padding=1), nn.LeakyReLU()]
            height, width = (height + 1) // 2, (width + 1) // 2
            self.sizes.append((height, width))
        self.convolutions = nn.Sequential(*layers)
        self.to_embedding = nn.Linear(CHANNELS[-1] * height * width, embedding_size)
        self.from_embedding = nn.Linear(embedding_size, CHANNELS[-1] * height * width)
        self.deconvolutions = nn.ModuleList(
            nn.Conv2d(before, after, kernel_size=3, padding=1)
            for before, after in zip(CHANNELS[::-1], (*CHANNELS[-2::-1], channels), strict=True)
        )

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        """Embed images."""
        return cast(torch.Tensor, self.to_embedding(self.convolutions(x).flatten(1)))

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Reconstruct images: each step doubles the size by repetition, then convolves."""
        x = self.from_embedding(z).reshape(len(z), CHANNELS[-1], *self.sizes[-1])
        for convolution, size in zip(self.deconvolutions, self.sizes[-2::-1], strict=True):
            x = convolution(nn.functional.interpolate(nn.functional.leaky_relu(x), size=size))
        return cast(torch.Tensor, x)


class EncoderOnly(nn.Module):
    """Wraps a network for training its encoder only: the output is the embedding."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        """Embed rows."""
        return cast(torch.Tensor, self.network.encode(x))  # type: ignore[operator]

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Return the embedding itself."""
        return z


def has_decoder(network: nn.Module) -> bool:
    """Return whether a network can decode. A network that was saved without its decoder cannot."""
    return all(getattr(network, part) is not None for part in getattr(network, "decoding", ()))


def check_network(network: object) -> None:
    """Check the 'network' parameter of SHADE."""
    allowed = "a sequence of ints in the range [1, inf), 'conv', or a torch module with 'encode' and 'decode'"
    if isinstance(network, nn.Module):
        missing = [name for name in ("encode", "decode") if not callable(getattr(network, name, None))]
        if missing:
            raise ValueError(
                f"The 'network' parameter of SHADE must be {allowed}. Got a {type(network).__name__} without "
                f"{' and '.join(repr(name) for name in missing)} instead."
            )
        return
    sizes = isinstance(network, Sequence) and not isinstance(network, str) and all(map(Whole(1).accepts, network))
    if not sizes and network != "conv":
        raise ValueError(f"The 'network' parameter of SHADE must be {allowed}. Got {network!r} instead.")


def build_network(
    network: object, sample_shape: Sequence[int], embedding_size: int, generator: torch.Generator, fresh: bool
) -> nn.Module:
    """Build the network that the 'network' parameter describes, with weights drawn from a local generator.

    A module of the user is copied and never changed. Its weights are drawn again only if `fresh`, which the second and
    later networks of an ensemble need.
    """
    module = outline_network(network, sample_shape, embedding_size)
    if not isinstance(network, nn.Module):
        _draw_weights(module, generator)
    elif fresh:
        _draw_own_weights(module, generator)
    return module


def outline_network(network: object, sample_shape: Sequence[int], embedding_size: int) -> nn.Module:
    """Build the described network without allocating memory for its weights. A module of the user is copied."""
    if isinstance(network, nn.Module):
        return _in_single_precision(copy.deepcopy(network))
    with torch.device("meta"):  # draws nothing from torch's global generator
        if isinstance(network, str):
            return _in_single_precision(ConvolutionalAutoencoder(sample_shape, embedding_size))
        sizes = cast(Sequence[int], network)
        return _in_single_precision(FeedForwardAutoencoder(math.prod(sample_shape), sizes, embedding_size))


def _in_single_precision(module: nn.Module) -> nn.Module:
    """Convert weights from double to single precision, which the samples have. torch's default type may be double."""
    for tensor in chain(module.parameters(), module.buffers()):
        if tensor.dtype == torch.float64:
            tensor.data = tensor.data.float()
    return module


def count_weights(network: object, sample_shape: Sequence[int], embedding_size: int) -> int:
    """Return the number of weights of the described network without building it."""
    if isinstance(network, nn.Module):
        return sum(weights.numel() for weights in network.parameters())
    if isinstance(network, str):
        channels, height, width = sample_shape
        deepest = CHANNELS[-1] * -(-height // 8) * -(-width // 8)
        kernels = 9 * sum(map(math.prod, pairwise((channels, *CHANNELS))))
        biases = sum(CHANNELS) + sum(CHANNELS[:-1]) + channels + deepest + embedding_size
        return 2 * (kernels + deepest * embedding_size) + biases
    sizes = [math.prod(sample_shape), *cast(Sequence[int], network), embedding_size]
    return sum((before + 1) * after + (after + 1) * before for before, after in pairwise(map(int, sizes)))


def count_entries(network: nn.Module, row: torch.Tensor, *methods: str, copies: bool = True) -> int:
    """Return how many numbers the layers of a network output for a sample, and how many convolutions copy for that.

    In double precision, convolutions copy all patches of their input; in single precision, they copy nothing.
    """
    entries = 0

    def count(layer: nn.Module, _: object, output: object) -> None:
        nonlocal entries
        if isinstance(output, torch.Tensor) and not list(layer.children()):
            entries += output.numel()
            if copies and isinstance(layer, nn.Conv2d):
                entries += output.numel() // layer.out_channels * layer.weight[0].numel()

    handles = [layer.register_forward_hook(count) for layer in network.modules()]
    try:
        with torch.no_grad():
            for method in methods:
                row = getattr(network, method)(row)
    finally:
        for handle in handles:
            handle.remove()
    return entries


def _stack(sizes: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.LeakyReLU()]
    return nn.Sequential(*layers[:-1])


def _draw_weights(module: nn.Module, generator: torch.Generator) -> None:
    """Draw the initial weights of linear and convolutional layers as torch does. No other layers have weights."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            for name, outline in list(layer.named_parameters()):  # to_empty would import all of sympy
                setattr(layer, name, nn.Parameter(torch.empty(outline.shape, dtype=outline.dtype)))
            bound = 1.0 / math.sqrt(layer.weight[0].numel())
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            if layer.bias is not None:
                nn.init.uniform_(layer.bias, -bound, bound, generator=generator)


def _draw_own_weights(module: nn.Module, generator: torch.Generator) -> None:
    """Draw the weights of a user's module with its own `reset_parameters`, then restore torch's global generator."""
    seed = int(torch.randint(2**62, (1,), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for layer in module.modules():
            reset = getattr(layer, "reset_parameters", None)
            if callable(reset):
                reset()
