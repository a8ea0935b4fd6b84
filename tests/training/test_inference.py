"""Running networks over rows: no more rows at a time than the layers have room for."""

from pathlib import Path

import numpy as np
import pytest
import torch

import shade
from shade import SHADE
from shade.training import ConvolutionalAutoencoder, FeedForwardAutoencoder, encode_rows, inference
from shade.training.autoencoders import count_entries, count_weights, outline_network


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Rows that were encoded at a time, and the numbers that the layers make of each."""
    seen: list[tuple[int, int]] = []
    encode = ConvolutionalAutoencoder.encode

    def watched(network: ConvolutionalAutoencoder, x: torch.Tensor) -> torch.Tensor:
        pixels = x.shape[1] * x.shape[2] * x.shape[3]
        seen.append((len(x), pixels))
        return encode(network, x)

    monkeypatch.setattr(ConvolutionalAutoencoder, "encode", watched)
    return seen


def test_large_images_are_embedded_a_few_at_a_time(held: list[tuple[int, int]]) -> None:
    network = ConvolutionalAutoencoder((1, 128, 128), 4)
    entries = count_entries(network, torch.zeros(1, 1, 128, 128), "encode")
    held.clear()
    embedded = encode_rows(network, torch.rand(30, 1, 128, 128), torch.device("cpu"))
    assert len(embedded) == 30
    assert 1 <= max(rows for rows, _ in held) <= inference.ENTRIES_AT_A_TIME / entries < 30


def test_loading_embeds_few_large_probes(
    held: list[tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = np.random.default_rng(0).random((10, 64, 64))
    quick = {"min_samples": 2, "epochs": 1, "n_networks": 1, "embedding_size": 2, "random_state": 0}
    SHADE(network="conv", **quick).fit(images).save(tmp_path / "model.shade")
    for room in (1 << 25, 1):
        monkeypatch.setattr("shade.persistence.saved_state.PROBE_ENTRIES", room)
        held.clear()
        shade.load(tmp_path / "model.shade")
        probes = sum(rows for rows, _ in held) - 2  # a row is run to count, twice
        assert probes == (32 if room > 1 else 2)


@pytest.mark.parametrize(
    ("network", "shape"), [((512, 256, 128), (100,)), ((), (7,)), ("conv", (1, 64, 64)), ("conv", (3, 33, 9))]
)
def test_weights_are_counted_without_a_network(network: object, shape: tuple[int, ...]) -> None:
    built = outline_network(network, shape, 10)
    assert count_weights(network, shape, 10) == sum(weights.numel() for weights in built.parameters())


def test_entries_are_those_of_all_layers() -> None:
    network = FeedForwardAutoencoder(6, (5, 4), 2)
    assert count_entries(network, torch.zeros(1, 6), "encode") == 2 * (5 + 4) + 2
    assert count_entries(network, torch.zeros(1, 6), "encode", "decode") == 2 * (5 + 4) + 2 + 2 * (4 + 5) + 6
