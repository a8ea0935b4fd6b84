"""The training loop, in five short steps."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from threading import Event
from typing import Any

import numpy as np
import torch
from torch import nn

from shade._base.errors import CheckpointError, TrainingError, told_as
from shade.training.batches import Batch, Targets, prepare_batches, rows_after, shuffle_batches
from shade.training.callbacks import Callback
from shade.training.checkpoints import MemberCheckpoints, Progress, TorchGenerators, TrainState
from shade.training.linear_step import LinearStep, choose_linear_step
from shade.training.losses import density_loss, reconstruction_loss
from shade.training.optimizer import EagerAdam
from shade.training.precision import products_in


@dataclass(frozen=True)
class TrainSettings:
    """The settings of training."""

    epochs: int = 100
    batch_size: int = 500
    smallest_batch: int = 5
    learning_rate: float = 1e-3
    reconstruction_weight: float = 1.0
    density_weight: float = 1.0
    reconstruction: str = "mean"
    distance: str = "sqeuclidean"
    precision: str = "float32"  # of matrix products; the other value is "bfloat16"


@dataclass(frozen=True)
class TrainResult:
    """A trained network and the record of each epoch."""

    network: nn.Module
    history: list[dict[str, float]]


@dataclass
class Trainer:
    """Trains a network on samples that are already on the device, with targets that are computed elsewhere.

    Another thread can set `interruption`; training then stops before its next step, as after Ctrl-C. `outputs` is what
    the network should return for each sample, if that is not the sample itself. If `ahead` is True, a background thread
    computes the targets. For targets that take microseconds, passing them between threads would take longer.
    """

    network: nn.Module
    samples: torch.Tensor
    targets: Targets | None
    settings: TrainSettings
    random: np.random.Generator
    callbacks: Sequence[Callback] = ()
    checkpoints: MemberCheckpoints | None = None
    interruption: Event = field(default_factory=Event)
    outputs: torch.Tensor | None = None
    ahead: bool = True
    optimizer: torch.optim.Optimizer = field(init=False)
    progress: Progress = field(init=False)
    _stream: Generator[Any, None, None] = field(init=False)
    _epoch_starts: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.network.to(self.samples.device).train()
        self.optimizer = self.make_optimizer()
        self.progress = Progress(torch.zeros(2, dtype=torch.float32, device=self.samples.device))
        self._torch_generators = TorchGenerators(self.samples.device)
        if self.settings.density_weight == 0:
            self.targets = None
        if self.checkpoints is not None and self.checkpoints.found is not None:
            what = f"The checkpoint {self.checkpoints.checkpoints.path} does not fit the network and the data"
            with told_as(CheckpointError, what, Exception):
                self.restore(self.checkpoints.found)

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return an Adam optimizer, with one kernel per step on devices that support it."""
        fused = self.samples.device.type in ("cpu", "cuda")
        return EagerAdam(self.network.parameters(), lr=self.settings.learning_rate, fused=fused)

    @property
    def n_samples(self) -> int:
        """Number of rows per epoch."""
        return len(self.samples)

    def fit(self) -> TrainResult:
        """Train for all remaining epochs, or until a callback stops training."""
        progress, epochs = self.progress, self.settings.epochs
        with self.prepare(), self._checkpointing():
            try:
                for callback in self.callbacks:
                    callback.on_train_begin(epochs)
                    if progress.history:
                        callback.on_resume(progress.history)
                while len(progress.history) < epochs and not progress.stopped:
                    progress.history.append({"epoch": len(progress.history) + 1, **self.record_epoch()})
                    self._epoch_starts.pop(len(progress.history) - 1, None)
                    wishes = [callback.on_epoch_end(progress.history[-1]) for callback in self.callbacks]
                    progress.stopped = self.agree(any(wishes))  # after all callbacks were called
                    self._offer_checkpoint(epoch_ended=True)
            finally:
                for callback in self.callbacks:
                    callback.on_train_end()
        return TrainResult(self.network.eval(), progress.history)

    @contextmanager
    def prepare(self) -> Iterator[None]:
        """Prepare batches in the background while training runs."""
        self._stream = self.open_stream()
        try:
            yield
        finally:
            self._stream.close()

    def open_stream(self) -> Generator[Any, None, None]:
        """Return the items that `train_next` takes one after the other: batches with their targets."""
        # One stream for all epochs, so that targets of the next epoch are prepared before this one ends.
        rows = chain.from_iterable(self._epochs())
        return prepare_batches(rows, self.targets, self.samples.device, ahead=self.ahead)

    def record_epoch(self) -> dict[str, float]:
        """Train for an epoch, or the rest of a resumed one, and return its record."""
        started = time.perf_counter() - self.progress.seconds
        settings = self.settings
        reconstruction, density = (self.run_epoch(started) / self.n_samples).tolist()
        loss = settings.reconstruction_weight * reconstruction + settings.density_weight * density
        if not np.isfinite(loss):
            raise TrainingError(
                f"The loss is {loss} after an epoch: training diverged. Use a smaller 'learning_rate', or "
                'standardize="feature" if the data has large values.'
            )
        record = {"loss": loss, "reconstruction_loss": reconstruction}
        if settings.density_weight > 0:
            record["density_loss"] = density
        return {**record, "seconds": time.perf_counter() - started}

    def run_epoch(self, started: float) -> torch.Tensor:
        """Train on the remaining rows of the epoch; return the sums of both losses over all its rows."""
        progress = self.progress
        while progress.rows < self.n_samples:
            if self.interruption.is_set():
                raise KeyboardInterrupt
            sums, rows = self.train_next()
            progress.totals += sums
            progress.rows += rows
            progress.seconds = time.perf_counter() - started
            if progress.rows < self.n_samples:
                self._offer_checkpoint(epoch_ended=False)
        totals = progress.totals.clone()
        progress.totals.zero_()
        progress.rows, progress.seconds = 0, 0.0
        return totals

    def train_next(self) -> tuple[torch.Tensor, int]:
        """Train on the next batch; return the sums of both losses over its rows, and the number of rows."""
        batch = next(self._stream)
        return self.train_step(batch) * len(batch.rows), len(batch.rows)

    def agree(self, stop: bool) -> bool:
        """Return whether to stop. Trainers on several ranks decide this together."""
        return stop

    def train_step(self, batch: Batch) -> torch.Tensor:
        """Take one step of the optimizer; return both losses."""
        if self._linear_step is not None:
            if batch.x is None:
                return self._linear_step(self.samples, batch.rows, batch.steps, self.outputs)
            return self._linear_step(batch.x, torch.arange(len(batch.x)), batch.steps, None)
        self.optimizer.zero_grad(set_to_none=True)
        losses = self.compute_losses(batch)
        weights = (self.settings.reconstruction_weight, self.settings.density_weight)
        (losses[0] * weights[0] + losses[1] * weights[1]).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return losses.detach()

    @cached_property
    def _linear_step(self) -> LinearStep | None:
        """The step without autograd, if it supports this network; made once weights and optimizer are complete."""
        return choose_linear_step(self.network, self.optimizer, self.settings)

    def compute_losses(self, batch: Batch) -> torch.Tensor:
        """Return the reconstruction loss and the density loss of a batch."""
        x = self.samples[batch.rows] if batch.x is None else batch.x
        with products_in(self.settings.precision, x.device):
            z = self.network.encode(x)  # type: ignore[operator]
            decoded = self.network.decode(z).float()  # type: ignore[operator]
        wanted = x if self.outputs is None else self.outputs[batch.rows]
        reconstruction = reconstruction_loss(wanted, decoded, self.settings.reconstruction)
        if batch.steps is None:
            return torch.stack([reconstruction, torch.zeros_like(reconstruction)])
        return torch.stack([reconstruction, density_loss(z, batch.steps, self.settings.distance)])

    def state(self) -> TrainState:
        """Return everything that is needed to resume training from here."""
        optimizer = {
            f"{index}.{name}": value
            for index, values in self.optimizer.state_dict()["state"].items()
            for name, value in values.items()
        }
        return TrainState(
            progress=self.progress,
            epoch_start=self._epoch_starts.get(len(self.progress.history), self.random.bit_generator.state),
            network=self.network.state_dict(),
            optimizer=optimizer,
            torch_generators=self._torch_generators.changed(),
        )

    def restore(self, state: TrainState) -> None:
        """Restore the state of a checkpoint. Raise an error, of any type, if the state is not one of this training."""
        if state.progress.rows > self.n_samples:
            raise ValueError(f"it has trained on {state.progress.rows} rows of {self.n_samples}")
        self.progress = state.progress
        self.progress.totals = state.progress.totals.to(self.samples.device)
        self.random.bit_generator.state = dict(state.epoch_start)
        self.network.load_state_dict(state.network)
        optimizer = self.optimizer.state_dict()
        for name, value in state.optimizer.items():
            index, _, key = name.partition(".")
            optimizer["state"].setdefault(int(index), {})[key] = value
        parameters = list(self.network.parameters())
        for index, values in optimizer["state"].items():
            shapes = {"step": (), **dict.fromkeys(("exp_avg", "exp_avg_sq"), tuple(parameters[index].shape))}
            if {key: tuple(value.shape) for key, value in values.items()} != shapes:
                raise ValueError("the optimizer has steps of other weights")
        self.optimizer.load_state_dict(optimizer)
        self._torch_generators.restore(state.torch_generators)

    @contextmanager
    def _checkpointing(self) -> Iterator[None]:
        """Write a checkpoint at the beginning, so that training can always be resumed, and when it is interrupted."""
        if self.checkpoints is None:
            yield
            return
        self.checkpoints.begin(self.state)
        with self.checkpoints.save_when_interrupted(self.state):
            yield

    def _offer_checkpoint(self, *, epoch_ended: bool) -> None:
        if self.checkpoints is not None:
            progress = self.progress
            last = epoch_ended and (progress.stopped or len(progress.history) >= self.settings.epochs)
            self.checkpoints.offer(self.state, epoch=len(progress.history) if epoch_ended else None, last=last)

    def draw_epoch(self, done: int) -> list[Any]:
        """Return the batches of an epoch without the first ones, which hold `done` rows and are already trained on."""
        settings = self.settings
        batches = shuffle_batches(self.n_samples, settings.batch_size, settings.smallest_batch, self.random)
        return rows_after(batches, done)

    def _epochs(self) -> Iterator[list[Any]]:
        """Yield the remaining batches of each epoch.

        Epochs are drawn ahead of training. Therefore the state of the generator before each epoch is stored.
        """
        first = len(self.progress.history)
        for epoch in range(first, self.settings.epochs):
            self._epoch_starts[epoch] = self.random.bit_generator.state
            # For the first epoch, `progress.rows` is correct: this epoch is drawn before training continues.
            yield self.draw_epoch(self.progress.rows if epoch == first else 0)
