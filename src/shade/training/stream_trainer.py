"""Training on data that is read when it is needed: blocks of rows in random order, one window of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, repeat, zip_longest

import numpy as np
import torch

from shade._base.arrays import IntArray, SingleArray
from shade.training.batches import Batch, Targets, compute_ahead, shuffle_batches
from shade.training.group_trainer import GroupTrainer, Step
from shade.training.trainer import TrainSettings

WINDOWS_HELD = 3  # one in use, one ready, one being read


@dataclass(frozen=True)
class Window:
    """Blocks of rows that are read together, and batches as positions among these rows."""

    blocks: list[tuple[int, int]]
    batches: list[IntArray]

    @property
    def n_rows(self) -> int:
        """Number of rows in the blocks."""
        return sum(stop - start for start, stop in self.blocks)


@dataclass(frozen=True)
class StreamedRows:
    """Standardised rows to read, the boundaries of their blocks, and the largest number of rows in a window."""

    read: Callable[[int, int], SingleArray]
    boundaries: IntArray
    window_rows: int
    make_targets: Callable[[SingleArray], Targets]

    def __len__(self) -> int:
        return int(self.boundaries[-1])

    def shuffle(self, settings: TrainSettings, random: np.random.Generator) -> list[Window]:
        """Return the windows of an epoch."""
        return shuffle_windows(self.boundaries, self.window_rows, settings.batch_size, settings.smallest_batch, random)

    def read_window(self, window: Window) -> SingleArray:
        """Return the rows of a window, one block after the other."""
        parts = (self.read(*block) for block in window.blocks)
        first = next(parts)
        values = np.empty((window.n_rows, first.shape[1]), np.float32)
        start = 0
        for part in chain([first], parts):
            values[start : start + len(part)] = part
            start += len(part)
        return values

    def prepare(self, values: SingleArray, positions: IntArray, settings: TrainSettings, like: torch.Tensor) -> Batch:
        """Return a batch of a window with its targets, on the device of `like` and with the shape of its samples."""
        steps = None
        if settings.density_weight > 0:
            positions, found = self.make_targets(values)(positions)
            steps = torch.from_numpy(found.astype(np.float32)).to(like.device)
        x = torch.from_numpy(values[positions]).reshape(len(positions), *like.shape[1:])
        return Batch(torch.from_numpy(positions), steps, x.to(like.device))


def shuffle_windows(
    boundaries: IntArray, window_rows: int, batch_size: int, smallest: int, random: np.random.Generator
) -> list[Window]:
    """Distribute the blocks to windows at random, then the rows of each window to batches at random."""
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
        windows.append(Window(blocks, shuffle_batches(n, batch_size, smallest, random)))
    return windows


@dataclass(frozen=True)
class Round:
    """Windows that ranks train on side by side: this rank's, if any, and for each step the rows of all batches."""

    window: Window | None
    rows_of_steps: list[int]


@dataclass
class StreamTrainer(GroupTrainer):
    """The same training for rows that are read when they are needed. Each rank reads its share of the windows.

    A step takes one batch from each open window. `samples` holds no rows: it only gives the device and the shape of a
    sample.
    """

    rows: StreamedRows = field(kw_only=True)

    @property
    def n_samples(self) -> int:
        """Number of rows per epoch."""
        return len(self.rows)

    def draw_epoch(self, done: int) -> list[Round]:
        """Return the rounds of an epoch without the steps already taken. Finished windows are not read again."""
        windows = self.rows.shuffle(self.settings, self.random)
        rank, world = self.ranks.rank, self.ranks.count
        rounds = []
        for start in range(0, len(windows), world):
            side_by_side = windows[start : start + world]
            sizes = ([len(batch) for batch in window.batches] for window in side_by_side)
            rows_of_steps = [sum(step) for step in zip_longest(*sizes, fillvalue=0)]
            taken = int(np.searchsorted(np.cumsum(rows_of_steps), max(0, done), side="right"))
            done -= sum(rows_of_steps)
            if taken < len(rows_of_steps):
                own = side_by_side[rank] if rank < len(side_by_side) else None
                left = None if own is None else Window(own.blocks, own.batches[taken:])
                rounds.append(Round(left, rows_of_steps[taken:]))
        return rounds

    def open_stream(self) -> Generator[Step, None, None]:
        """Yield steps. Windows are read in the background, and so are targets computed."""
        rounds = chain.from_iterable(self._epochs())
        with closing(compute_ahead(self._read_round, rounds, ahead=1)) as read:
            items = chain.from_iterable(read)
            with closing(compute_ahead(self._prepare_streamed, items)) as ready:
                yield from ready

    def _read_round(self, round: Round) -> Iterator[tuple[SingleArray | None, IntArray | None, int]]:
        """Read this rank's window. Return per step the window's rows, positions of the batch, and rows in total."""
        values = None if round.window is None else self.rows.read_window(round.window)
        batches = [] if round.window is None else round.window.batches
        return zip_longest(repeat(values, len(round.rows_of_steps)), batches, round.rows_of_steps)

    def _prepare_streamed(self, item: tuple[SingleArray | None, IntArray | None, int]) -> Step:
        values, positions, n_rows = item
        if values is None or positions is None:
            return Step([], n_rows)
        return Step([self.rows.prepare(values, positions, self.settings, self.samples)], n_rows)
