"""Checkpoints: the state of training, written from time to time, so that it can resume with the same result."""

from __future__ import annotations

import hashlib
import json
import math
import operator
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field, replace
from itertools import count, takewhile
from pathlib import Path
from types import FrameType
from typing import Any

import safetensors
import safetensors.torch
import torch

from shade._base.arrays import part_of
from shade._base.errors import CheckpointError, ShadeWarning, told_as
from shade._base.files import write_whole
from shade._base.parallel import INTERRUPTING
from shade._base.ranks import ALONE, Ranks

FORMAT = 2
DESCRIPTION = "shade_checkpoint"  # the entry of the file's header with everything except tensors
NO_DIGEST = "0" * 64  # placeholder in the header while the digest of the file is computed


@dataclass
class Progress:
    """Progress of training: whole epochs, and for the current epoch its rows so far with the sums of their losses."""

    totals: torch.Tensor
    rows: int = 0
    seconds: float = 0.0
    stopped: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class TrainState:
    """Everything needed to resume; `epoch_start` is the state of NumPy's generator before the current epoch."""

    progress: Progress
    epoch_start: Mapping[str, Any]
    network: Mapping[str, torch.Tensor]
    optimizer: Mapping[str, torch.Tensor]
    torch_generators: Mapping[str, torch.Tensor]

    def copy(self) -> TrainState:
        """Return a copy on the CPU, since training changes the original."""
        progress = replace(
            self.progress, totals=self.progress.totals.detach().cpu().clone(), history=list(self.progress.history)
        )
        parts = (self.network, self.optimizer, self.torch_generators)
        return TrainState(progress, dict(self.epoch_start), *(_copy_tensors(part) for part in parts))

    def describe(self) -> dict[str, Any]:
        """Return everything except tensors, for JSON."""
        progress = {name: getattr(self.progress, name) for name in ("rows", "seconds", "stopped", "history")}
        return {**progress, "epoch_start": self.epoch_start}

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the tensors by name."""
        parts = {"network": self.network, "optimizer": self.optimizer, "generator": self.torch_generators}
        named = {f"{part}.{name}": tensor for part, tensors in parts.items() for name, tensor in tensors.items()}
        return {"totals": self.progress.totals, **named}

    @classmethod
    def from_file(cls, description: dict[str, Any], tensors: Mapping[str, torch.Tensor]) -> TrainState:
        """Rebuild a state from `describe` and `tensors`; raise ValueError if its values are invalid."""
        epoch_start = description.pop("epoch_start")
        progress = Progress(totals=tensors["totals"], **description)
        numbers = [progress.seconds, *(value for record in progress.history for value in record.values())]
        if progress.totals.shape != (2,) or type(progress.rows) is not int or progress.rows < 0:
            raise ValueError("the rows of the epoch or their losses are no numbers")
        if type(progress.stopped) is not bool or not all(
            type(value) in (int, float) and math.isfinite(value) for value in numbers
        ):
            raise ValueError("the history is not of numbers")
        parts = (part_of(tensors, f"{name}.") for name in ("network", "optimizer", "generator"))
        return cls(progress, dict(epoch_start), *parts)


class TorchGenerators:
    """torch's global generators, used by layers such as dropout. A state has them only if training draws from them."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._before = self._current()
        self._used = False

    def changed(self) -> dict[str, torch.Tensor]:
        """Return the states of the generators if training has drawn from them, else nothing."""
        current = self._current()
        self._used |= any(not torch.equal(current[name], self._before[name]) for name in current)
        return current if self._used else {}

    def restore(self, states: Mapping[str, torch.Tensor]) -> None:
        """Set the generators to the given states; a generator without a state is not changed."""
        self._used = bool(states)
        if "cpu" in states:
            torch.random.set_rng_state(states["cpu"])
        if "cuda" in states and self._device.type == "cuda":
            torch.cuda.set_rng_state(states["cuda"], self._device)

    def _current(self) -> dict[str, torch.Tensor]:
        states = {"cpu": torch.random.get_rng_state()}
        if self._device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self._device)
        return states


@dataclass(frozen=True)
class Checkpoint:
    """Contents of a file: a description of the training (`identity`), and the state of each network so far."""

    identity: dict[str, Any]
    states: list[TrainState]


@dataclass
class Checkpoints:
    """Writes a checkpoint every `minutes` or `epochs`; `found` is the checkpoint that training resumes from.

    Networks that train side by side share this object. All ranks have the same state, so only one of them writes.
    """

    path: Path
    minutes: float | None
    epochs: int | None
    identity: dict[str, Any]
    found: InitVar[Checkpoint | None]
    writes: bool
    states: dict[int, TrainState] = field(init=False)

    def __post_init__(self, found: Checkpoint | None) -> None:
        self.states = {} if found is None else dict(enumerate(found.states))
        self._writing = threading.Lock()
        self._written = time.monotonic()

    def due(self, epoch: int | None) -> bool:
        """Return whether the minutes have passed or, at the end of an epoch, the epochs."""
        if not self.writes:
            return False
        if self.epochs is not None and epoch is not None and epoch % self.epochs == 0:
            return True
        return self.minutes is not None and time.monotonic() - self._written >= 60.0 * self.minutes

    def keep(self, member: int, state: TrainState) -> None:
        """Copy a network's state for the next write."""
        self.states[member] = state.copy()

    def write(self) -> None:
        """Write the file. If that fails, the earlier file is not changed."""
        with self._writing:
            if self.writes:
                # A file holds states of the first networks, without gaps: a network waits for those before it.
                begun = [self.states[member] for member in takewhile(self.states.__contains__, count())]
                write_checkpoint(self.path, Checkpoint(self.identity, begun))
            self._written = time.monotonic()

    def try_to_write(self) -> None:
        """Write the file, or warn if that fails: an error would lose hours of training."""
        try:
            self.write()
        except OSError as error:
            self._written = time.monotonic()  # do not try again before the interval is over
            warnings.warn(
                f"The checkpoint {self.path} could not be written: {error.strerror or error}. Training goes "
                "on; the checkpoint written before is still there.",
                ShadeWarning,
                stacklevel=2,
            )


@dataclass
class MemberCheckpoints:
    """The checkpoints from the view of one network."""

    checkpoints: Checkpoints
    member: int
    _interrupted: bool = False

    @property
    def found(self) -> TrainState | None:
        """A copy of the state to resume from, if any."""
        state = self.checkpoints.states.get(self.member)
        return None if state is None else state.copy()

    def begin(self, state: Callable[[], TrainState]) -> None:
        """Write the first checkpoint, so that an error in writing is found before training."""
        if self.found is not None:
            return
        self.checkpoints.keep(self.member, state())
        try:
            self.checkpoints.write()
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {self.checkpoints.path} cannot be written: {error.strerror or error}. Give another "
                "'checkpoint'."
            ) from error

    def offer(self, state: Callable[[], TrainState], *, epoch: int | None, last: bool) -> None:
        """Write a checkpoint if one is due. `epoch` is the number of the epoch that just ended, if one did."""
        if last or self.checkpoints.due(epoch):
            self.checkpoints.keep(self.member, state())
            self.checkpoints.try_to_write()
        if self._interrupted:
            raise KeyboardInterrupt

    @contextmanager
    def save_when_interrupted(self, state: Callable[[], TrainState]) -> Iterator[None]:
        """Delay Ctrl-C until the end of a step, then write a checkpoint. A second Ctrl-C is not delayed.

        The same holds for other signals if the program handles them like Ctrl-C.
        """
        hurried = False

        def note(number: int, frame: FrameType | None) -> None:
            nonlocal hurried
            if self._interrupted:
                hurried = True
                signal.default_int_handler(number, frame)
            self._interrupted = True

        main = threading.current_thread() is threading.main_thread()
        ours = [number for number in INTERRUPTING if main and signal.getsignal(number) is signal.default_int_handler]
        for number in ours:
            signal.signal(number, note)
        try:
            yield
        except KeyboardInterrupt:
            if not hurried:
                self.checkpoints.keep(self.member, state())
                self.checkpoints.try_to_write()
            raise
        finally:
            for number in ours:
                signal.signal(number, signal.default_int_handler)
        if self._interrupted:  # after the last step
            raise KeyboardInterrupt


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write one safetensors file. Its header holds the rest as JSON, and a digest of the whole file."""
    description = {
        "format": FORMAT,
        "identity": checkpoint.identity,
        "states": [state.describe() for state in checkpoint.states],
    }
    tensors = {
        f"{member}.{name}": tensor
        for member, state in enumerate(checkpoint.states)
        for name, tensor in state.tensors().items()
    }
    data = safetensors.torch.save(tensors, {DESCRIPTION: json.dumps(description), "sha256": NO_DIGEST})
    write_whole(path, _with_digest(data, NO_DIGEST, hashlib.sha256(data).hexdigest()))


def _with_digest(data: bytes, before: str, after: str) -> bytes:
    """Return the bytes of a file with another digest. Text in the description cannot match: its quotes are escaped."""
    return data.replace(f'"sha256":"{before}"'.encode(), f'"sha256":"{after}"'.encode(), 1)


def read_checkpoint(path: Path, ranks: Ranks = ALONE) -> Checkpoint:
    """Read a checkpoint, whose file is on rank 0. Nothing in the file is executed."""
    if ranks.first and not path.is_file():
        raise CheckpointError(f"There is no checkpoint {path} to resume from.")
    with told_as(CheckpointError, f"The checkpoint {path} cannot be read", OSError):
        data = ranks.from_first(path.read_bytes)
    with told_as(CheckpointError, f"{path} is no checkpoint of shade, or a damaged one", Exception):
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])["__metadata__"]
        description = json.loads(header[DESCRIPTION])
        if description["format"] != FORMAT:
            raise CheckpointError(
                f"The checkpoint {path} has format {description['format']!r:.80}, this version of shade reads "
                f"{FORMAT}. Start anew without 'resume'."
            )
        if hashlib.sha256(_with_digest(data, header["sha256"], NO_DIGEST)).hexdigest() != header["sha256"]:
            raise ValueError("its contents do not have the checksum that it was written with")
        tensors = safetensors.torch.load(data)
        states = [
            TrainState.from_file(values, part_of(tensors, f"{member}."))
            for member, values in enumerate(description["states"])
        ]
        identity = {name: dict(description["identity"][name]) for name in ("parameters", "data")}
        return Checkpoint({**identity, "seed": operator.index(description["identity"]["seed"])}, states)


def _copy_tensors(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }
