"""Training in which a step takes several batches, shared among the ranks of a process group.

Each batch is on one rank, with its own tree and pairs. The gradients are averaged over the rows of all batches of the
step. So the steps do not depend on how many ranks share the batches, except for rounding.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from shade._base.arrays import IntArray
from shade._base.ranks import ALONE, Ranks
from shade.training.batches import Batch, compute_ahead, prepare_batch
from shade.training.trainer import Trainer


@dataclass(frozen=True)
class Step:
    """The batches of a step that belong to this rank, and the number of rows in all its batches."""

    own: list[Batch]
    n_rows: int


@dataclass
class GroupTrainer(Trainer):
    """The same training as `Trainer`, with several batches per step: by default, one for each rank."""

    batches_per_step: int = 0
    ranks: Ranks = ALONE

    def __post_init__(self) -> None:
        super().__post_init__()
        self.batches_per_step = self.batches_per_step or self.ranks.count
        self.ranks.copy_from_first([*self.network.state_dict().values()])

    def open_stream(self) -> Generator[Step, None, None]:
        """Yield steps with this rank's batches."""
        return compute_ahead(self._prepare_step, chain.from_iterable(self._epochs()))

    def draw_epoch(self, done: int) -> list[Any]:
        """Return the batches of each step of an epoch, without the batches already trained on."""
        batches = super().draw_epoch(done)
        return [
            batches[start : start + self.batches_per_step] for start in range(0, len(batches), self.batches_per_step)
        ]

    def train_next(self) -> tuple[torch.Tensor, int]:
        """Take one step of the optimizer on the mean over the rows of several batches, on all ranks."""
        step: Step = next(self._stream)
        if self.batches_per_step == self.ranks.count == 1:  # there is no mean to take
            return self.train_step(step.own[0]) * step.n_rows, step.n_rows
        for parameter in self.network.parameters():
            parameter.grad = torch.zeros_like(parameter)
        sums = torch.zeros_like(self.progress.totals)
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
        """Return what the callbacks of rank 0 decided. The other ranks have no callbacks."""
        wish = torch.tensor([int(stop)], device=self.samples.device)
        self.ranks.copy_from_first([wish])
        return bool(wish.item())

    def _prepare_step(self, batches: list[IntArray]) -> Step:
        shared = batches[self.ranks.rank :: self.ranks.count]
        own = [prepare_batch(rows, self.targets, self.samples.device) for rows in shared]
        return Step(own, sum(len(rows) for rows in batches))
