"""Callbacks: they watch training and can stop it."""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from shade.training.notebook_bars import NotebookBars, in_notebook

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

EpochRecord = Mapping[str, float]


class Callback:
    """Base class of callbacks; override the methods that you need. A function of the epoch's record works as well."""

    def on_train_begin(self, epochs: int) -> None:
        """Called before the first epoch."""

    def on_resume(self, history: Sequence[EpochRecord]) -> None:
        """Called after `on_train_begin` if training resumes from a checkpoint, with the earlier epochs' records."""

    def on_epoch_end(self, record: EpochRecord) -> bool | None:
        """Called after each epoch with its record; return True to stop training."""

    def on_train_end(self) -> None:
        """Called after the last epoch, and also if training fails."""

    def of_network(self, network: int, networks: int) -> Callback | None:
        """Return a callback for one network of an ensemble, numbered from 0. It runs in the thread of that network.

        If this returns None, which is the default, the networks train one after the other, and this callback watches
        all.
        """
        return None


class EarlyStopping(Callback):
    """Stop when a loss has not improved for some epochs.

    Parameters
    ----------
    patience : int, default=10
        Epochs to wait for an improvement.
    min_delta : float, default=0.0
        Smallest relative decrease of the loss that is an improvement.
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
        """Reset the best loss."""
        self._best = float("inf")
        self._waited = 0

    def on_resume(self, history: Sequence[EpochRecord]) -> None:
        """Repeat the comparisons of the earlier epochs."""
        for record in history:
            self.on_epoch_end(record)

    def on_epoch_end(self, record: EpochRecord) -> bool:
        """Compare the loss with the best so far."""
        if self._best == float("inf") or record[self.monitor] < self._best * (1.0 - self.min_delta):
            self._best = record[self.monitor]
            self._waited = 0
        else:
            self._waited += 1
        return self._waited >= self.patience

    def of_network(self, network: int, networks: int) -> Callback | None:
        """Return a copy, since each network has its own best epoch."""
        return copy.copy(self) if type(self) is EarlyStopping else None


class EpochLines(Callback):
    """Writes a line per epoch to standard error (verbose=2), or about `most` lines in total."""

    def __init__(self, name: str = "", most: int | None = None) -> None:
        self._name = name
        self._most = most
        self._epochs = 0

    def on_train_begin(self, epochs: int) -> None:
        """Store the number of epochs."""
        self._epochs = epochs

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Write the record."""
        if self._most is not None and not is_one_of_few(int(record["epoch"]), self._epochs, self._most):
            return
        losses = ", ".join(f"{name.replace('_', ' ')} {record[name]:.4g}" for name in record if "loss" in name)
        with suppress(OSError, AttributeError):  # training must not fail because a message cannot be written
            sys.stderr.write(f"{self._name}epoch {record['epoch']:.0f}: {losses} ({record['seconds']:.2f} s)\n")

    def of_network(self, network: int, networks: int) -> Callback:
        """Return a callback whose lines name the network."""
        return self if networks == 1 else EpochLines(f"network {network + 1}, ", self._most)


class SharedBars:
    """Progress bars of networks that train side by side, visible while at least one network trains."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._training = 0
        self._progress: Progress | None = None

    def add(self, description: str, epochs: int) -> Callable[..., None]:
        """Add an empty bar and return a function that updates it."""
        with self._lock:
            self._training += 1
            if self._progress is None:
                self._progress = _make_bars(self._console)
                self._progress.start()
            return partial(self._progress.update, self._progress.add_task(description, total=epochs, losses=""))

    def leave(self) -> None:
        """Stop updating the bars if this was the last network that trained."""
        with self._lock:
            self._training -= 1
            if self._training == 0 and self._progress is not None:
                self._progress.stop()
                self._progress = None


class ProgressBar(Callback):
    """A bar with epoch, losses and time left, on a terminal or in a notebook; elsewhere nothing."""

    def __init__(
        self,
        bars: SharedBars | NotebookBars | None = None,
        name: str = "training",
        then: Callable[[], None] | None = None,
    ) -> None:
        self._bars = bars or (NotebookBars() if in_notebook() else SharedBars())
        self._name = name
        self._then = then
        self._update: Callable[..., None] | None = None

    def on_train_begin(self, epochs: int) -> None:
        """Draw an empty bar."""
        self._update = self._bars.add(self._name, epochs)

    def on_resume(self, history: Sequence[EpochRecord]) -> None:
        """Start the bar at the number of epochs before the checkpoint."""
        if self._update is not None:
            self._update(completed=len(history))

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Update the bar."""
        if self._update is not None:
            self._update(completed=int(record["epoch"]), losses=describe_losses(record))

    def on_train_end(self) -> None:
        """Stop updating the bar, and call the function `then`."""
        if self._update is not None:
            self._update = None
            self._bars.leave()
        if self._then is not None:
            self._then()

    def of_network(self, network: int, networks: int) -> Callback:
        """Return a bar for this network."""
        return ProgressBar(self._bars, name_network(network, networks))


def name_network(network: int, networks: int) -> str:
    """Return the text before the bar: what is being trained."""
    return "training" if networks == 1 else f"training {network + 1} of {networks}"


def is_one_of_few(epoch: int, epochs: int, most: int) -> bool:
    """Return whether to report this epoch: about `most` epochs, evenly spread, and the last one."""
    return epoch % max(1, epochs // most) == 0 or epoch == epochs


def describe_losses(record: EpochRecord) -> str:
    """Return both losses with three digits."""
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
    """Turn a callback or a function into a callback."""
    if isinstance(callback, Callback):
        return callback
    if callable(callback):
        return _FunctionCallback(callback)
    raise ValueError(
        "The 'callbacks' parameter must be a sequence of shade.training.Callback objects or functions of an epoch's "
        f"record. Got {callback!r} in it instead."
    )


def verbosity_callbacks(verbose: int) -> list[Callback]:
    """Return the callbacks for a value of the 'verbose' parameter."""
    if verbose == 1:
        moving = in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
        return [ProgressBar() if moving else EpochLines(most=10)]
    return [] if verbose <= 0 else [EpochLines()]
