"""Training in which a step takes several batches, shared among the ranks of a process group.

Each batch has its own tree and its own pairs, on one rank; the gradients are averaged over the rows of all batches of
the step. So the same steps come out, but for rounding, however many ranks share the batches.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import torch

from shade._base.arrays import IntArray, SingleArray
from shade._base.ranks import ALONE, Ranks
from shade.training.batches import Batch, compute_ahead, prepare_batch
from shade.training.stream_trainer import StreamedRows, Window
from shade.training.trainer import Trainer


@dataclass(frozen=True)
class Step:
    """The batches of a step that are this rank's, and the rows of all its batches."""

    own: list[Batch]
    n_rows: int


@dataclass
class GroupTrainer(Trainer):
    """The same training as `Trainer`, with several batches a step: as many as there are ranks, if not told."""

    batches_per_step: int = 0
    ranks: Ranks = ALONE

    def __post_init__(self) -> None:
        super().__post_init__()
        self.batches_per_step = self.batches_per_step or self.ranks.count
        self.ranks.copy_from_first([*self.network.state_dict().values()])

    def open_stream(self) -> Generator[Step, None, None]:
        """Steps with this rank's batches."""
        return compute_ahead(self._prepare_step, chain.from_iterable(self._epochs()))

    def draw_epoch(self, done: int) -> list[Any]:
        """The batches of each step of an epoch, less those already trained on."""
        batches = super().draw_epoch(done)
        return [
            batches[start : start + self.batches_per_step] for start in range(0, len(batches), self.batches_per_step)
        ]

    def train_next(self) -> tuple[torch.Tensor, int]:
        """One step of the optimizer on the mean over the rows of several batches, wherever they are."""
        step: Step = next(self._stream)
        for parameter in self.network.parameters():
            parameter.grad = torch.zeros_like(parameter)
        sums = torch.zeros(2, device=self.samples.device)
        weights = (self.settings.reconstruction_weight, self.settings.density_weight)
        for batch in step.own:
            losses = self.compute_losses(batch)
            loss = losses[0] * weights[0] + losses[1] * weights[1]
            (loss * (len(batch.rows) / step.n_rows)).backward()  # type: ignore[no-untyped-call]
            sums += losses.detach() * len(batch.rows)
        gradients = [parameter.grad for parameter in self.network.parameters() if parameter.grad is not None]
        self.ranks.sum_tensors([*gradients, sums])
        self.optimizer.step()
        self.ranks.copy_from_first([*self.network.buffers()])
        return sums, step.n_rows

    def agree(self, stop: bool) -> bool:
        """What the callbacks of rank 0 wish; the other ranks have none."""
        wish = torch.tensor([int(stop)], device=self.samples.device)
        self.ranks.copy_from_first([wish])
        return bool(wish.item())

    def _prepare_step(self, batches: list[IntArray]) -> Step:
        shared = batches[self.ranks.rank :: self.ranks.count]
        own = [prepare_batch(rows, self.targets, self.samples.device) for rows in shared]
        return Step(own, sum(len(rows) for rows in batches))


@dataclass(frozen=True)
class Round:
    """Windows that the ranks train on side by side: this rank's, if any, and the rows of all batches of each step."""

    window: Window | None
    rows_of_steps: list[int]


@dataclass
class StreamGroupTrainer(GroupTrainer):
    """The same for rows that are read as they are needed: each rank reads its share of the windows.

    A step takes a batch of each window that is under way.
    """

    rows: StreamedRows = field(kw_only=True)

    @property
    def n_samples(self) -> int:
        """Rows of an epoch."""
        return len(self.rows)

    def draw_epoch(self, done: int) -> list[Any]:
        """The rounds of an epoch, less the steps already taken."""
        windows = self.rows.shuffle(self.settings, self.random)
        rank, world = self.ranks.rank, self.ranks.count
        rounds = []
        for start in range(0, len(windows), world):
            side_by_side = windows[start : start + world]
            steps = list(
                zip_longest(*([len(batch) for batch in window.batches] for window in side_by_side), fillvalue=0)
            )
            rows_of_steps = [sum(step) for step in steps]
            taken = int(np.searchsorted(np.cumsum(rows_of_steps), max(0, done), side="right"))
            done -= sum(rows_of_steps)
            if taken < len(steps):
                own = side_by_side[rank] if rank < len(side_by_side) else None
                left = None if own is None else Window(own.blocks, own.batches[taken:])
                rounds.append(Round(left, rows_of_steps[taken:]))
        return rounds

    def open_stream(self) -> Generator[Step, None, None]:
        """Steps on windows that are read in the background, too."""
        rounds = chain.from_iterable(self._epochs())
        with closing(compute_ahead(self._read_round, rounds, ahead=1)) as read:
            items = chain.from_iterable(self._steps_of(values, round) for values, round in read)
            with closing(compute_ahead(self._prepare_streamed, items)) as ready:
                yield from ready

    def _read_round(self, round: Round) -> tuple[SingleArray | None, Round]:
        return None if round.window is None else self.rows.read_window(round.window), round

    @staticmethod
    def _steps_of(
        values: SingleArray | None, round: Round
    ) -> Iterator[tuple[SingleArray | None, IntArray | None, int]]:
        batches = [] if round.window is None else round.window.batches
        for positions, n_rows in zip_longest(batches, round.rows_of_steps):
            yield values, positions, n_rows

    def _prepare_streamed(self, item: tuple[SingleArray | None, IntArray | None, int]) -> Step:
        values, positions, n_rows = item
        if values is None or positions is None:
            return Step([], n_rows)
        return Step([self.rows.prepare(values, positions, self.settings, self.samples)], n_rows)
