"""Networks: shapes, seeds, and modules of the user's own."""

import copy

import pytest
import torch
from torch import nn

from shade.training import Autoencoder, ConvolutionalAutoencoder, FeedForwardAutoencoder, build_network


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(6, 2), nn.Linear(2, 6)

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(x)

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        return self.up(z)


def test_the_feed_forward_network_is_the_one_of_the_paper() -> None:
    network = build_network((512, 256, 128), (64,), 10, seeded(0), fresh=False)
    linear = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    sizes = [(layer.in_features, layer.out_features) for layer in linear]
    encoder = [(64, 512), (512, 256), (256, 128), (128, 10)]
    assert sizes == encoder + [(after, before) for before, after in reversed(encoder)]
    assert sum(isinstance(layer, nn.LeakyReLU) for layer in network.modules()) == 6


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 17, 30), (2, 5, 3), (1, 1, 1)])
def test_the_convolutional_network_returns_images_of_the_size_it_got(shape: tuple[int, ...]) -> None:
    network = build_network("conv", shape, 7, seeded(0), fresh=False)
    x = torch.randn(4, *shape, generator=seeded(1))
    z = network.encode(x)
    assert z.shape == (4, 7)
    assert network.decode(z).shape == x.shape


def test_weights_come_from_the_generator_and_the_global_one_is_untouched() -> None:
    before = torch.random.get_rng_state()
    first, second, third = (build_network((8,), (6,), 2, seeded(s), fresh=False) for s in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    weights = [torch.cat([p.flatten() for p in network.parameters()]) for network in (first, second, third)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_initial_weights_have_the_spread_of_torch_linear() -> None:
    network = FeedForwardAutoencoder(400, (300,), 2)
    ours = build_network((300,), (400,), 2, seeded(0), fresh=False)
    expected, found = (n.encoder[0].weight.std().item() for n in (network, ours))
    assert found == pytest.approx(expected, rel=0.05)


def test_a_module_of_the_users_is_copied_and_drawn_anew_only_when_asked() -> None:
    module = Own()
    before = copy.deepcopy(module.state_dict())
    state = torch.random.get_rng_state()
    same = build_network(module, (6,), 2, seeded(0), fresh=False)
    fresh = build_network(module, (6,), 2, seeded(0), fresh=True)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert same is not module
    assert torch.equal(same.down.weight, before["down.weight"])
    assert not torch.equal(fresh.down.weight, before["down.weight"])
    assert torch.equal(module.down.weight, before["down.weight"])


def test_all_networks_are_autoencoders() -> None:
    assert isinstance(Own(), Autoencoder)
    assert isinstance(ConvolutionalAutoencoder((1, 8, 8), 2), Autoencoder)
    assert not isinstance(nn.Linear(2, 2), Autoencoder)


def test_convolutions_have_the_sizes_that_model_files_hold() -> None:
    network = ConvolutionalAutoencoder((1, 28, 28), 10)
    shapes = [tuple(layer.weight.shape) for layer in network.modules() if isinstance(layer, nn.Conv2d)]
    assert shapes[:3] == [(32, 1, 3, 3), (64, 32, 3, 3), (128, 64, 3, 3)]
