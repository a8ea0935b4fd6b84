"""How far training is: stage, epoch, both losses and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from shade.network.callbacks import Callback, EpochRecord

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.status import Status

LINES = 10  # of each training, where there is no bar


class _Stages(Callback):
    """Counts the networks of an ensemble; after the last one come the clusters."""

    def __init__(self, networks: int) -> None:
        self._networks = networks
        self._network = 0

    @property
    def _stage(self) -> str:
        return "training" if self._networks == 1 else f"training {self._network} of {self._networks}"

    @property
    def _is_last(self) -> bool:
        return self._network >= self._networks

    def close(self) -> None:
        """Called when all is done, or has failed."""


class TrainingBar(_Stages):
    """A bar for each network, then a word that clusters are being chosen."""

    def __init__(self, console: Console, networks: int) -> None:
        super().__init__(networks)
        self._console = console
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._status: Status | None = None

    def on_train_begin(self, epochs: int) -> None:
        """Show an empty bar."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        self._network += 1
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=None), MofNCompleteColumn(),
            TextColumn("{task.fields[losses]}"),
            TimeRemainingColumn(compact=True, table_column=Column(min_width=5, no_wrap=True)),
            TextColumn("left", table_column=Column(min_width=4, no_wrap=True)),
            console=self._console, expand=True,
        )  # fmt: skip
        self._task = self._progress.add_task(self._stage, total=epochs, losses="")
        self._progress.start()

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Move the bar on."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=int(record["epoch"]), losses=describe_losses(record))

    def on_train_end(self) -> None:
        """Leave the bar as it is."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        if self._is_last:
            self._status = self._console.status("clustering")
            self._status.start()

    def close(self) -> None:
        """Take the word away."""
        if self._status is not None:
            self._status.stop()


class TrainingLines(_Stages):
    """A few lines for each network."""

    def __init__(self, say: Callable[[str], None], networks: int) -> None:
        super().__init__(networks)
        self._say = say
        self._epochs = 0
        self._started = 0.0

    def on_train_begin(self, epochs: int) -> None:
        """Say that it begins."""
        self._network += 1
        self._epochs = epochs
        self._started = time.monotonic()
        self._say(f"{self._stage}: {epochs} epoch{'' if epochs == 1 else 's'}")

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Now and then, say how far it is."""
        epoch = int(record["epoch"])
        if epoch % max(1, self._epochs // LINES) == 0 or epoch == self._epochs:
            left = (time.monotonic() - self._started) / epoch * (self._epochs - epoch)
            self._say(f"{self._stage}: epoch {epoch}/{self._epochs}, {describe_losses(record)}, {left:.0f} s left")

    def on_train_end(self) -> None:
        """Say what comes next."""
        if self._is_last:
            self._say("clustering")


def describe_losses(record: EpochRecord) -> str:
    """Both losses in a few digits."""
    names = {"reconstruction_loss": "reconstruction", "density_loss": "density"}
    return ", ".join(f"{text} {record[name]:.3g}" for name, text in names.items() if name in record)
