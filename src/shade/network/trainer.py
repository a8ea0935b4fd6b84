"""Training: five short steps that can be read from top to bottom."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from shade._arrays import IntArray
from shade._errors import TrainingError
from shade.network.batches import Batch, Targets, prepare_batches, shuffle_batches
from shade.network.callbacks import Callback
from shade.network.losses import density_loss, reconstruction_loss


@dataclass(frozen=True)
class TrainSettings:
    """What training is told."""

    epochs: int = 100
    batch_size: int = 500
    smallest_batch: int = 5
    learning_rate: float = 1e-3
    reconstruction_weight: float = 1.0
    density_weight: float = 1.0
    reconstruction: str = "mean"
    distance: str = "sqeuclidean"


@dataclass(frozen=True)
class TrainResult:
    """A trained network, and a record of each epoch."""

    network: nn.Module
    history: list[dict[str, float]]


@dataclass
class Trainer:
    """Trains a network on samples that are already on the device, with targets that are computed elsewhere."""

    network: nn.Module
    samples: torch.Tensor
    targets: Targets | None
    settings: TrainSettings
    random: np.random.Generator
    callbacks: Sequence[Callback] = ()
    optimizer: torch.optim.Optimizer = field(init=False)
    _stream: Generator[Batch, None, None] = field(init=False)

    def __post_init__(self) -> None:
        self.network.to(self.samples.device).train()
        self.optimizer = self.make_optimizer()
        if self.settings.density_weight == 0:
            self.targets = None

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Adam, in one kernel where there is one."""
        fused = self.samples.device.type in ("cpu", "cuda")
        return torch.optim.Adam(self.network.parameters(), lr=self.settings.learning_rate, fused=fused)

    def fit(self) -> TrainResult:
        """Run all epochs, or fewer if a callback says so."""
        history: list[dict[str, float]] = []
        with self.prepare():
            try:
                for callback in self.callbacks:
                    callback.on_train_begin(self.settings.epochs)
                for epoch in range(1, self.settings.epochs + 1):
                    history.append({"epoch": epoch, **self.record_epoch()})
                    wishes = [callback.on_epoch_end(history[-1]) for callback in self.callbacks]
                    if any(wishes):  # every callback has seen the epoch
                        break
            finally:
                for callback in self.callbacks:
                    callback.on_train_end()
        return TrainResult(self.network.eval(), history)

    @contextmanager
    def prepare(self) -> Iterator[None]:
        """Prepare targets in the background for as long as training goes on."""
        self._stream = prepare_batches(self._all_batches(), self.targets, self.samples.device)
        try:
            yield
        finally:
            self._stream.close()

    def record_epoch(self) -> dict[str, float]:
        """Train for an epoch and describe it."""
        started = time.perf_counter()
        settings = self.settings
        reconstruction, density = (self.run_epoch() / len(self.samples)).tolist()
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

    def run_epoch(self) -> torch.Tensor:
        """Train on each row once; returns the sums of both losses over the rows."""
        totals = torch.zeros(2, device=self.samples.device)
        remaining = len(self.samples)
        while remaining > 0:
            batch = next(self._stream)
            totals += self.train_step(batch) * len(batch.rows)
            remaining -= len(batch.rows)
        return totals

    def train_step(self, batch: Batch) -> torch.Tensor:
        """One step of the optimizer; returns both losses."""
        self.optimizer.zero_grad(set_to_none=True)
        losses = self.compute_losses(batch)
        weights = (self.settings.reconstruction_weight, self.settings.density_weight)
        (losses[0] * weights[0] + losses[1] * weights[1]).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return losses.detach()

    def compute_losses(self, batch: Batch) -> torch.Tensor:
        """Reconstruction loss and density loss of a batch."""
        x = self.samples[batch.rows]
        z = self.network.encode(x)  # type: ignore[operator]
        reconstruction = reconstruction_loss(x, self.network.decode(z), self.settings.reconstruction)  # type: ignore[operator]
        if batch.steps is None:
            return torch.stack([reconstruction, torch.zeros_like(reconstruction)])
        return torch.stack([reconstruction, density_loss(z, batch.steps, self.settings.distance)])

    def _all_batches(self) -> Iterator[IntArray]:
        """The batches of all epochs in one stream, so that targets are prepared across the ends of epochs."""
        settings = self.settings
        for _ in range(settings.epochs):
            yield from shuffle_batches(len(self.samples), settings.batch_size, settings.smallest_batch, self.random)
