"""Training on data that is read as it is needed: blocks of rows in random order, a window of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import torch

from shade._base.arrays import IntArray, SingleArray
from shade.training.batches import Batch, Targets, batch_starts, compute_ahead, rows_after
from shade.training.trainer import Trainer, TrainSettings

WINDOWS_HELD = 3  # one in use, one ready, one being read


@dataclass(frozen=True)
class Window:
    """Blocks of rows that are read together, and batches of positions among their rows."""

    blocks: list[tuple[int, int]]
    batches: list[IntArray]

    @property
    def n_rows(self) -> int:
        """Rows of the blocks."""
        return sum(stop - start for start, stop in self.blocks)


@dataclass(frozen=True)
class StreamedRows:
    """Standardised rows to be read, where blocks of them begin and end, and how many rows a window holds at most."""

    read: Callable[[int, int], SingleArray]
    boundaries: IntArray
    window_rows: int
    make_targets: Callable[[SingleArray], Targets]

    def __len__(self) -> int:
        return int(self.boundaries[-1])

    def shuffle(self, settings: TrainSettings, random: np.random.Generator) -> list[Window]:
        """The windows of an epoch."""
        return shuffle_windows(self.boundaries, self.window_rows, settings.batch_size, settings.smallest_batch, random)

    def read_window(self, window: Window) -> SingleArray:
        """The rows of a window, one block after the other."""
        parts = (self.read(*block) for block in window.blocks)
        first = next(parts)
        values = np.empty((window.n_rows, first.shape[1]), np.float32)
        start = 0
        for part in chain([first], parts):
            values[start : start + len(part)] = part
            start += len(part)
        return values

    def prepare(self, values: SingleArray, positions: IntArray, settings: TrainSettings, like: torch.Tensor) -> Batch:
        """A batch of a window with its targets, where `like` is and of the shape of its samples."""
        steps = None
        if settings.density_weight > 0:
            positions, found = self.make_targets(values)(positions)
            steps = torch.from_numpy(found.astype(np.float32)).to(like.device)
        x = torch.from_numpy(values[positions]).reshape(len(positions), *like.shape[1:])
        return Batch(torch.from_numpy(positions), steps, x.to(like.device))


def shuffle_windows(
    boundaries: IntArray, window_rows: int, batch_size: int, smallest: int, random: np.random.Generator
) -> list[Window]:
    """Put blocks into windows at random, and the rows of each window into batches at random."""
    groups: list[list[int]] = []
    room = 0
    sizes = np.diff(boundaries)
    for block in random.permutation(len(sizes)).tolist():
        if sizes[block] > room:
            groups.append([])
            room = window_rows
        groups[-1].append(block)
        room -= int(sizes[block])
    if len(groups) > 1 and sizes[groups[-1]].sum() < smallest:
        groups[-2] += groups.pop()
    windows = []
    for group in groups:
        blocks = [(int(boundaries[block]), int(boundaries[block + 1])) for block in sorted(group)]
        n = int(sizes[group].sum())
        batches = np.split(random.permutation(n), batch_starts(n, batch_size, smallest)[1:])
        windows.append(Window(blocks, batches))
    return windows


@dataclass
class StreamTrainer(Trainer):
    """The same training as `Trainer`, with windows read and targets prepared in the background.

    `samples` holds no rows; it says where training takes place, and the shape of a sample.
    """

    rows: StreamedRows = field(kw_only=True)

    @property
    def n_samples(self) -> int:
        """Rows of an epoch."""
        return len(self.rows)

    def draw_epoch(self, done: int) -> list[Window]:
        """The windows of an epoch, less what is already trained on: that is not read again."""
        left = []
        for window in self.rows.shuffle(self.settings, self.random):
            if done < window.n_rows:
                left.append(Window(window.blocks, rows_after(window.batches, max(0, done))))
            done -= window.n_rows
        return left

    def open_stream(self) -> Generator[Batch, None, None]:
        """Batches of windows that are read in the background, too."""
        rows = self.rows
        windows = chain.from_iterable(self._epochs())
        with closing(compute_ahead(lambda window: (rows.read_window(window), window), windows, ahead=1)) as read:
            batches = ((values, positions) for values, window in read for positions in window.batches)
            with closing(
                compute_ahead(lambda item: rows.prepare(*item, self.settings, self.samples), batches)
            ) as ready:
                yield from ready
