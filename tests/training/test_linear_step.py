"""The step that is written out: the losses, gradients and weights of autograd, up to the rounding of bfloat16."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from shade._base.errors import TrainingError
from shade.training import Trainer, TrainSettings, build_network
from shade.training.autoencoders import EncoderOnly
from shade.training.batches import Batch

RANDOM = np.random.default_rng(0)
SAMPLES = torch.from_numpy(RANDOM.normal(size=(300, 37)).astype(np.float32))
BATCHES = [
    Batch(torch.from_numpy(RANDOM.permutation(300)[:n]), torch.from_numpy(3 * RANDOM.random(n).astype(np.float32)))
    for n in (90, 90, 33, 90)
]


def make_trainer(
    precision: str = "bfloat16", sizes: tuple[int, ...] = (64, 48, 20), *, encoder: bool = False, **settings: object
) -> Trainer:
    network = build_network(sizes, (37,), 4, torch.Generator().manual_seed(0), fresh=False)
    return Trainer(
        EncoderOnly(network) if encoder else network,
        SAMPLES,
        None,
        TrainSettings(**{"precision": precision, "reconstruction": "sum", **settings}),  # type: ignore[arg-type]
        np.random.default_rng(0),
        outputs=SAMPLES[:, :4].contiguous() if encoder else None,
    )


class Rounded(nn.Module):
    """The same network for autograd, in float32 but rounded where the step rounds: to the same side of each kink."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        autoencoder = network.network if isinstance(network, EncoderOnly) else network
        self.encoder, self.decoder = (
            [layer for layer in stack if isinstance(layer, nn.Linear)]
            for stack in (autoencoder.encoder, autoencoder.decoder)
        )

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        x = rounded(x)
        for layer in self.encoder[:-1]:
            x = hidden(layer, x, rounded(layer.weight))
        return self.encoder[-1](x)

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        if isinstance(self.network, EncoderOnly):
            return z
        first, *others, last = self.decoder
        x = hidden(first, z, first.weight)
        for layer in others:
            x = hidden(layer, x, rounded(layer.weight))
        return rounded(x @ rounded(last.weight).T) + last.bias


def hidden(layer: nn.Linear, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return rounded(nn.functional.leaky_relu(rounded(x @ weight.T) + layer.bias))


def rounded(x: torch.Tensor) -> torch.Tensor:
    return x + (x.bfloat16().float() - x).detach()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sizes": (40,)},
        {"reconstruction": "mean", "density_weight": 3.0},
        {"distance": "euclidean", "reconstruction_weight": 0.5},
        {"encoder": True},
    ],
)
def test_losses_and_gradients_are_those_of_autograd(options: dict) -> None:
    for batch in BATCHES[1:3]:
        ours, exact = make_trainer(**options), make_trainer("float32", **options)
        exact.network = Rounded(exact.network)
        wanted = Batch(batch.rows, None) if options.get("encoder") else batch
        torch.testing.assert_close(ours.train_step(wanted), exact.train_step(wanted), rtol=1e-4, atol=0)
        assert ours._linear_step is not None
        assert exact._linear_step is None
        for mine, other in zip(ours.network.parameters(), exact.network.parameters(), strict=True):
            if other.grad is None:  # a decoder that is not trained
                assert not ours.optimizer.state[mine]
                assert torch.equal(mine, other)
                continue
            kept = ours.optimizer.state[mine]  # after one step a tenth of the gradient, a thousandth of its square
            assert (10 * kept["exp_avg"] - other.grad).norm() < 0.02 * other.grad.norm()
            torch.testing.assert_close(kept["exp_avg_sq"], kept["exp_avg"].square() / 10, rtol=1e-4, atol=1e-12)


def test_many_steps_learn_as_much_as_those_of_autograd() -> None:
    ours, exact = make_trainer(), make_trainer("float32")
    for batch in BATCHES * 50:
        found, expected = ours.train_step(batch), exact.train_step(batch)
    torch.testing.assert_close(found, expected, rtol=0.05, atol=0)


def test_a_step_needs_only_the_weights_and_the_optimizer_of_the_one_before() -> None:
    through, anew = make_trainer(), make_trainer()
    for batch in BATCHES:
        assert torch.equal(through.train_step(batch), anew.train_step(batch))
        del anew.__dict__["_linear_step"]
    for mine, other in zip(through.network.parameters(), anew.network.parameters(), strict=True):
        assert torch.equal(mine, other)
        kept, known = through.optimizer.state[mine], anew.optimizer.state[other]
        assert kept["step"] == known["step"] == len(BATCHES)
        assert torch.equal(kept["exp_avg_sq"], known["exp_avg_sq"])


def test_rows_that_come_with_a_batch_are_trained_like_the_samples() -> None:
    of_samples, of_batches = make_trainer(), make_trainer()
    for batch in BATCHES:
        own = Batch(torch.arange(len(batch.rows)), batch.steps, SAMPLES[batch.rows])
        assert torch.equal(of_samples.train_step(batch), of_batches.train_step(own))


def test_other_networks_are_left_to_autograd() -> None:
    assert make_trainer(sizes=())._linear_step is None
    assert make_trainer("float32")._linear_step is None

    class Own(nn.Linear):
        def encode(self, x: torch.Tensor) -> torch.Tensor:
            return self(x)

        decode = encode

    settings = TrainSettings(precision="bfloat16")
    assert Trainer(Own(37, 37), SAMPLES, None, settings, np.random.default_rng(0))._linear_step is None


def test_a_loss_that_is_no_number_ends_training() -> None:
    with pytest.raises(TrainingError, match="learning_rate"):
        make_trainer(learning_rate=1e30, epochs=30).fit()
