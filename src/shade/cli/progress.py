"""Progress of training: stage, epoch, both losses and the time left."""

from __future__ import annotations

import threading
import time
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
    from rich.status import Status

    from shade.cli.messages import Messages

LINES = 10  # per training, without a progress bar


class TrainingProgress(Callback):
    """A bar per network on a terminal, else a few lines; then a message that clusters are being chosen."""

    def __init__(self, messages: Messages) -> None:
        self.say = messages.say
        self._console = messages.console
        moving = self._console.is_terminal and not self._console.is_dumb_terminal
        self._bars = SharedBars(self._console) if moving else None
        self._status: Status | None = None
        self._left = 0
        self._lock = threading.Lock()

    def of_network(self, network: int, networks: int) -> Callback:
        """Return the callback of a network. Training calls this for all networks before it starts."""
        self._left = networks
        name = name_network(network, networks)
        return _Lines(self, name) if self._bars is None else ProgressBar(self._bars, name, self.network_ends)

    def network_ends(self) -> None:
        """Called at the end of each network. After the last one, clustering begins."""
        with self._lock:
            self._left -= 1
            if self._left:
                return
        if self._bars is None:
            self.say("clustering")
        else:
            self._status = self._console.status("clustering")
            self._status.start()

    def close(self) -> None:
        """Called at the end, also after an error."""
        if self._status is not None:
            self._status.stop()


class _Lines(Callback):
    def __init__(self, training: TrainingProgress, name: str) -> None:
        self._training, self._name = training, name
        self._epochs, self._started = 0, 0.0

    def on_train_begin(self, epochs: int) -> None:
        self._epochs, self._started = epochs, time.monotonic()
        self._training.say(f"{self._name}: {epochs} epoch{'' if epochs == 1 else 's'}")

    def on_epoch_end(self, record: EpochRecord) -> None:
        epoch = int(record["epoch"])
        if is_one_of_few(epoch, self._epochs, LINES):
            left = (time.monotonic() - self._started) / epoch * (self._epochs - epoch)
            losses = describe_losses(record)
            self._training.say(f"{self._name}: epoch {epoch}/{self._epochs}, {losses}, {left:.0f} s left")

    def on_train_end(self) -> None:
        self._training.network_ends()
