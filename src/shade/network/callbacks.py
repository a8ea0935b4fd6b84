"""What can watch and stop training."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

EpochRecord = Mapping[str, float]


class Callback:
    """Base of callbacks; override what you need. A plain function of the epoch's record works as well."""

    def on_train_begin(self, epochs: int) -> None:
        """Called before the first epoch."""

    def on_resume(self, history: Sequence[EpochRecord]) -> None:
        """Called after that when training goes on from a checkpoint, with the records of the epochs before it."""

    def on_epoch_end(self, record: EpochRecord) -> bool | None:
        """Called after each epoch with its record; return True to stop training."""

    def on_train_end(self) -> None:
        """Called after the last epoch, also when training failed."""


class EarlyStopping(Callback):
    """Stop when a loss has not improved for some epochs.

    Parameters
    ----------
    patience : int, default=10
        Epochs to wait for an improvement.
    min_delta : float, default=0.0
        Smallest relative improvement that counts.
    monitor : str, default="loss"
        Key of the epoch record: "loss", "reconstruction_loss" or "density_loss".
    """

    def __init__(self, patience: int = 10, min_delta: float = 0.0, monitor: str = "loss") -> None:
        self.patience = patience
        self.min_delta = min_delta
        self.monitor = monitor
        self._best = float("inf")
        self._waited = 0

    def on_train_begin(self, epochs: int) -> None:
        """Forget what earlier training looked like."""
        self._best = float("inf")
        self._waited = 0

    def on_resume(self, history: Sequence[EpochRecord]) -> None:
        """Stand where the earlier epochs lead."""
        for record in history:
            self.on_epoch_end(record)

    def on_epoch_end(self, record: EpochRecord) -> bool:
        """Compare with the best epoch so far."""
        if self._best == float("inf") or record[self.monitor] < self._best * (1.0 - self.min_delta):
            self._best = record[self.monitor]
            self._waited = 0
        else:
            self._waited += 1
        return self._waited >= self.patience


class EpochLines(Callback):
    """A line an epoch on standard error (verbose=2)."""

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Write the record."""
        losses = ", ".join(f"{name.replace('_', ' ')} {record[name]:.4g}" for name in record if "loss" in name)
        sys.stderr.write(f"epoch {record['epoch']:.0f}: {losses} ({record['seconds']:.2f} s)\n")


class ProgressBar(Callback):
    """A bar with epoch, losses and time left on standard error (verbose=1); silent where that is no terminal."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def on_train_begin(self, epochs: int) -> None:
        """Show an empty bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[losses]}"),
            TimeRemainingColumn(), console=console, disable=not console.is_terminal,
        )  # fmt: skip
        self._task = self._progress.add_task("training", total=epochs, losses="")
        self._progress.start()

    def on_resume(self, history: Sequence[EpochRecord]) -> None:
        """Count the epochs before the checkpoint."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=len(history))

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Move the bar on."""
        if self._progress is not None and self._task is not None:
            names = {"reconstruction_loss": "reconstruction", "density_loss": "density"}
            losses = "  ".join(f"{names[name]} {record[name]:.4g}" for name in names if name in record)
            self._progress.update(self._task, advance=1, losses=losses)

    def on_train_end(self) -> None:
        """Leave the bar as it is."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


class _FunctionCallback(Callback):
    def __init__(self, function: Callable[[EpochRecord], Any]) -> None:
        self._function = function

    def on_epoch_end(self, record: EpochRecord) -> bool:
        return self._function(record) is True


def as_callback(callback: object) -> Callback:
    """Accept callbacks and plain functions."""
    if isinstance(callback, Callback):
        return callback
    if callable(callback):
        return _FunctionCallback(callback)
    raise ValueError(
        "The 'callbacks' parameter must be a sequence of shade.network.Callback objects or functions of an epoch's "
        f"record. Got {callback!r} in it instead."
    )


def verbosity_callbacks(verbose: int) -> list[Callback]:
    """The callbacks that the 'verbose' parameter stands for."""
    return [] if verbose <= 0 else [ProgressBar()] if verbose == 1 else [EpochLines()]
