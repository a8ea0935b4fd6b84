"""Training on rows that are read in windows equals training on the same batches in memory."""

import threading
from functools import partial
from itertools import chain

import numpy as np
import pytest
import torch

from shade.density.targets import targets_of_batches
from shade.training import Trainer, TrainSettings, build_network
from shade.training.stream_trainer import StreamedRows, StreamTrainer, shuffle_windows

SAMPLES = np.random.default_rng(0).normal(size=(203, 6)).astype(np.float32)
BOUNDARIES = np.array([0, 20, 40, 47, 90, 91, 110, 150, 200, 203])


def global_rows(windows: list) -> list[np.ndarray]:
    """The batches of windows as rows of the data."""
    return [
        np.concatenate([np.arange(*block) for block in window.blocks])[batch]
        for window in windows
        for batch in window.batches
    ]


@pytest.mark.parametrize("window", [50, 64, 100, 1000])
def test_every_row_is_in_one_batch_and_no_window_is_too_large(window: int) -> None:
    for seed in range(20):
        windows = shuffle_windows(BOUNDARIES, window, 16, 5, np.random.default_rng(seed))
        assert sorted(np.concatenate(global_rows(windows))) == list(range(203))
        assert all(5 <= len(batch) < 16 + 5 for item in windows for batch in item.batches)
        assert all(item.n_rows < window + 5 for item in windows)  # a window of too few rows joins another
        assert all(item.blocks == sorted(item.blocks) for item in windows)


def test_windows_mix_blocks_from_all_over_and_differ_by_epoch() -> None:
    random = np.random.default_rng(0)
    boundaries = np.arange(0, 1001, 10)
    first, second = (shuffle_windows(boundaries, 200, 50, 5, random) for _ in range(2))
    assert [window.blocks for window in first] != [window.blocks for window in second]
    assert all(max(window.blocks)[0] - min(window.blocks)[0] > 500 for window in first)


def make_trainer(kind: type[Trainer], seed: int = 0, **settings: object) -> Trainer:
    network = build_network((16,), (6,), 2, torch.Generator().manual_seed(seed), fresh=False)
    options = TrainSettings(**{"epochs": 4, "batch_size": 16, **settings})
    if kind is StreamTrainer:
        make_targets = partial(targets_of_batches, min_samples=5, mean_edge=False)
        rows = StreamedRows(lambda start, stop: SAMPLES[start:stop], BOUNDARIES, 64, make_targets)
        return StreamTrainer(network, torch.empty(0, 6), None, options, np.random.default_rng(seed), rows=rows)
    targets = targets_of_batches(SAMPLES, 5, mean_edge=False)
    return kind(network, torch.from_numpy(SAMPLES), targets, options, np.random.default_rng(seed))


class SameBatches(Trainer):
    """Trains in memory on the batches of windows."""

    def draw_epoch(self, done: int) -> list[np.ndarray]:
        return global_rows(shuffle_windows(BOUNDARIES, 64, 16, 5, self.random))


@pytest.mark.parametrize("settings", [{}, {"density_weight": 0.0}, {"distance": "euclidean"}])
def test_losses_and_weights_equal_those_of_the_same_batches_in_memory(settings: dict[str, object]) -> None:
    streamed, in_memory = (make_trainer(kind, **settings).fit() for kind in (StreamTrainer, SameBatches))
    for found, expected in zip(streamed.history, in_memory.history, strict=True):
        assert {**found, "seconds": 0} == {**expected, "seconds": 0}
    for found, expected in zip(streamed.network.parameters(), in_memory.network.parameters(), strict=True):
        assert torch.equal(found, expected)


def test_an_error_while_reading_reaches_the_caller_and_leaves_no_thread() -> None:
    trainer = make_trainer(StreamTrainer)
    reads = chain([SAMPLES[:20]] * 3, iter(()))

    def read(start: int, stop: int) -> np.ndarray:
        if next(reads, None) is None:
            raise OSError("the disk is gone")
        return SAMPLES[start:stop]

    trainer.rows = StreamedRows(read, BOUNDARIES, 64, trainer.rows.make_targets)
    before = threading.active_count()
    with pytest.raises(OSError, match="the disk is gone"):
        trainer.fit()
    assert threading.active_count() == before


def test_a_rank_without_a_window_or_without_a_batch_left_only_counts_rows() -> None:
    trainer = make_trainer(StreamTrainer)
    for item in ((None, None, 7), (SAMPLES[:20], None, 7), (None, np.arange(5), 7)):
        step = trainer._prepare_streamed(item)
        assert (step.own, step.n_rows) == ([], 7)
