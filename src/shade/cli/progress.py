"""How far training is: stage, epoch, both losses and the time left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from shade.training.callbacks import (
    Callback,
    EpochRecord,
    ProgressBar,
    SharedBars,
    describe_losses,
    is_one_of_few,
    name_network,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.status import Status

LINES = 10  # of each training, where there is no bar


class _Stages(Callback):
    """Counts the networks of an ensemble that are done; after the last one come the clusters."""

    def __init__(self) -> None:
        self._left = 0
        self._lock = threading.Lock()

    def of_network(self, network: int, networks: int) -> Callback:
        """What watches a network; each is asked for before any begins."""
        self._left = networks
        return self.watch(name_network(network, networks))

    def watch(self, name: str) -> Callback:
        """What watches the network of this name."""
        raise NotImplementedError

    def network_ends(self) -> None:
        """Called by what watches a network at its end."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self.clusters_begin()

    def clusters_begin(self) -> None:
        """Called when all networks are trained, or training has failed."""

    def close(self) -> None:
        """Called when all is done, or has failed."""


class TrainingBar(_Stages):
    """A bar for each network, then a word that clusters are being chosen."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._bars = SharedBars(self._make_progress)
        self._status: Status | None = None

    def watch(self, name: str) -> Callback:
        """The bar of a network."""
        return _Bar(self, self._bars, name)

    def clusters_begin(self) -> None:
        """Say so."""
        self._status = self._console.status("clustering")
        self._status.start()

    def close(self) -> None:
        """Take the word away."""
        if self._status is not None:
            self._status.stop()

    def _make_progress(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        return Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=None), MofNCompleteColumn(),
            TextColumn("{task.fields[losses]}"),
            TimeRemainingColumn(compact=True, table_column=Column(min_width=5, no_wrap=True)),
            TextColumn("left", table_column=Column(min_width=4, no_wrap=True)),
            console=self._console, expand=True,
        )  # fmt: skip


class _Bar(ProgressBar):
    def __init__(self, stages: _Stages, bars: SharedBars, name: str) -> None:
        super().__init__(bars, name)
        self._stages = stages

    def on_train_end(self) -> None:
        super().on_train_end()
        self._stages.network_ends()


class TrainingLines(_Stages):
    """A few lines for each network."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self.say = say

    def watch(self, name: str) -> Callback:
        """The lines of a network."""
        return _Lines(self, name)

    def clusters_begin(self) -> None:
        """Say what comes next."""
        self.say("clustering")


class _Lines(Callback):
    def __init__(self, stages: TrainingLines, name: str) -> None:
        self._stages = stages
        self._name = name
        self._epochs = 0
        self._started = 0.0

    def on_train_begin(self, epochs: int) -> None:
        self._epochs = epochs
        self._started = time.monotonic()
        self._stages.say(f"{self._name}: {epochs} epoch{'' if epochs == 1 else 's'}")

    def on_epoch_end(self, record: EpochRecord) -> None:
        epoch = int(record["epoch"])
        if is_one_of_few(epoch, self._epochs, LINES):
            left = (time.monotonic() - self._started) / epoch * (self._epochs - epoch)
            self._stages.say(
                f"{self._name}: epoch {epoch}/{self._epochs}, {describe_losses(record)}, {left:.0f} s left"
            )

    def on_train_end(self) -> None:
        self._stages.network_ends()
