"""What can watch and stop training."""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

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

    def of_network(self, network: int, networks: int) -> Callback | None:
        """What watches one network of an ensemble, counted from 0, in a thread of its own beside the others.

        With None, as here, the networks train one after the other, and all are watched by the callback itself.
        """
        return None


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

    def of_network(self, network: int, networks: int) -> Callback | None:
        """Each network has a best epoch of its own."""
        return copy.copy(self) if type(self) is EarlyStopping else None


class EpochLines(Callback):
    """A line an epoch on standard error (verbose=2), or about `most` lines in all."""

    def __init__(self, name: str = "", most: int | None = None) -> None:
        self._name = name
        self._most = most
        self._epochs = 0

    def on_train_begin(self, epochs: int) -> None:
        """Know how many there are to choose from."""
        self._epochs = epochs

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Write the record."""
        if self._most is not None and not is_one_of_few(int(record["epoch"]), self._epochs, self._most):
            return
        losses = ", ".join(f"{name.replace('_', ' ')} {record[name]:.4g}" for name in record if "loss" in name)
        with suppress(OSError, AttributeError):  # a message that cannot be shown ends no training
            sys.stderr.write(f"{self._name}epoch {record['epoch']:.0f}: {losses} ({record['seconds']:.2f} s)\n")

    def of_network(self, network: int, networks: int) -> Callback:
        """Say which network a line is of."""
        return self if networks == 1 else EpochLines(f"network {network + 1}, ", self._most)


class SharedBars:
    """Bars of networks that train side by side: shown while any of them trains."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._training = 0
        self._progress: Progress | None = None

    def add(self, description: str, epochs: int) -> Callable[..., None]:
        """Show an empty bar; returns what changes it."""
        with self._lock:
            self._training += 1
            if self._progress is None:
                self._progress = _make_bars(self._console)
                self._progress.start()
            return partial(self._progress.update, self._progress.add_task(description, total=epochs, losses=""))

    def leave(self) -> None:
        """Leave the bars as they are, if this was the last that trained."""
        with self._lock:
            self._training -= 1
            if self._training == 0 and self._progress is not None:
                self._progress.stop()
                self._progress = None


class ProgressBar(Callback):
    """A bar with epoch, losses and time left on standard error; silent where that is no terminal."""

    def __init__(
        self, bars: SharedBars | None = None, name: str = "training", then: Callable[[], None] | None = None
    ) -> None:
        self._bars = bars or SharedBars()
        self._name = name
        self._then = then
        self._update: Callable[..., None] | None = None

    def on_train_begin(self, epochs: int) -> None:
        """Show an empty bar."""
        self._update = self._bars.add(self._name, epochs)

    def on_resume(self, history: Sequence[EpochRecord]) -> None:
        """Count the epochs before the checkpoint."""
        if self._update is not None:
            self._update(completed=len(history))

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Move the bar on."""
        if self._update is not None:
            self._update(completed=int(record["epoch"]), losses=describe_losses(record))

    def on_train_end(self) -> None:
        """Leave the bar as it is, and go on to what comes then."""
        if self._update is not None:
            self._update = None
            self._bars.leave()
        if self._then is not None:
            self._then()

    def of_network(self, network: int, networks: int) -> Callback:
        """A bar for each network."""
        return ProgressBar(self._bars, name_network(network, networks))


def name_network(network: int, networks: int) -> str:
    """What is being trained, in words."""
    return "training" if networks == 1 else f"training {network + 1} of {networks}"


def is_one_of_few(epoch: int, epochs: int, most: int) -> bool:
    """Whether an epoch is one of about so many, evenly spread, or the last."""
    return epoch % max(1, epochs // most) == 0 or epoch == epochs


def describe_losses(record: EpochRecord) -> str:
    """Both losses in a few digits."""
    names = {"reconstruction_loss": "reconstruction", "density_loss": "density"}
    return ", ".join(f"{text} {record[name]:.3g}" for name, text in names.items() if name in record)


def _make_bars(console: Console | None) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    console = console or Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"), BarColumn(bar_width=None), MofNCompleteColumn(),
        TextColumn("{task.fields[losses]}"),
        TimeRemainingColumn(compact=True, table_column=Column(min_width=5, no_wrap=True)),
        TextColumn("left", table_column=Column(min_width=4, no_wrap=True)),
        console=console, expand=True, disable=not console.is_terminal,
    )  # fmt: skip


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
        "The 'callbacks' parameter must be a sequence of shade.training.Callback objects or functions of an epoch's "
        f"record. Got {callback!r} in it instead."
    )


def verbosity_callbacks(verbose: int) -> list[Callback]:
    """The callbacks that the 'verbose' parameter stands for."""
    if verbose == 1:
        terminal = sys.stderr is not None and sys.stderr.isatty()
        return [ProgressBar() if terminal else EpochLines(most=10)]  # notebooks and files show no bar
    return [] if verbose <= 0 else [EpochLines()]
