"""Training on a CUDA device: the targets of many batches in one launch, and each training step as a CUDA graph."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import torch

from shade._base.arrays import IntArray
from shade._kernels import triton_training
from shade.training.losses import reconstruction_loss
from shade.training.trainer import Trainer

# Takes rows of batches, one batch per row, on the device. Returns them in the order of their trees, and their steps.
DeviceTargets = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]

TARGET_ENTRIES = 1 << 27  # per piece, in the matrices of targets: 512 MB, held three times
WARM_UP = 3

logger = logging.getLogger("shade")


@dataclass
class Prepared:
    """Batches of one size with their targets, computed on a second stream; `ready` is the event of their completion."""

    rows: torch.Tensor
    targets: torch.Tensor | None
    ready: torch.cuda.Event


@dataclass
class BatchGroup:
    """Buffers for batches of one size, and the function that trains on the next of these batches."""

    rows: torch.Tensor
    targets: torch.Tensor | None
    position: torch.Tensor
    totals: torch.Tensor
    replay: Callable[[], None]


@dataclass
class CudaTrainer(Trainer):
    """The same training as `Trainer`, with work for the device in large pieces.

    While the device trains on some batches, it computes the targets of the next ones on a second stream.
    """

    device_targets: DeviceTargets | None = None
    _groups: dict[int, BatchGroup] = field(default_factory=dict)
    _pieces: Iterator[Prepared] = field(init=False)

    def __post_init__(self) -> None:
        """Remove the targets if the density loss has weight 0."""
        super().__post_init__()
        if self.settings.density_weight == 0:
            self.device_targets = None

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return an Adam optimizer whose step can be part of a CUDA graph."""
        rate = self.settings.learning_rate
        return torch.optim.Adam(self.network.parameters(), lr=rate, fused=True, capturable=True)

    @contextmanager
    def prepare(self) -> Iterator[None]:
        """Start preparing pieces; at the end, release graphs and buffers."""
        self._pieces = self._prepare_ahead()
        try:
            yield
        finally:
            self._groups.clear()
            del self._pieces

    def train_next(self) -> tuple[torch.Tensor, int]:
        """Train on the next piece."""
        piece = next(self._pieces)
        return self._train_piece(piece), piece.rows.numel()

    def _all_pieces(self) -> Iterator[IntArray]:
        """Yield the batches of all epochs in pieces of one batch size, whose targets fit into memory."""
        for batches in self._epochs():
            for size, same in groupby(batches, key=len):
                part = np.stack(list(same))
                at_a_time = max(1, TARGET_ENTRIES // size**2)
                yield from (part[start : start + at_a_time] for start in range(0, len(part), at_a_time))

    def _prepare_ahead(self) -> Iterator[Prepared]:
        """Yield the pieces in order; the next piece is being prepared while one is used."""
        stream = torch.cuda.Stream(self.samples.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())  # the samples must have arrived
        waiting: Prepared | None = None
        for rows in self._all_pieces():
            following = self._prepare_piece(rows, stream)
            if waiting is not None:
                yield waiting
            waiting = following
        if waiting is not None:
            yield waiting

    def _prepare_piece(self, rows: IntArray, stream: torch.cuda.Stream) -> Prepared:
        with torch.cuda.stream(stream):
            on_device = torch.from_numpy(rows).to(self.samples.device)
            targets = None
            if self.device_targets is not None:
                on_device, steps = self.device_targets(on_device)
                targets = steps.new_empty(*rows.shape, rows.shape[1])
                triton_training.expand_steps(steps.contiguous(), targets)
            ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
            ready.record(stream)
        return Prepared(on_device, targets, ready)

    def _train_piece(self, piece: Prepared) -> torch.Tensor:
        """Train on a piece: batches of one size."""
        count, size = piece.rows.shape
        if size not in self._groups or len(self._groups[size].rows) < count:
            self._groups[size] = self._make_group(count, size)
        group = self._groups[size]
        piece.ready.wait()
        group.rows[:count] = piece.rows
        piece.rows.record_stream(torch.cuda.current_stream())
        if piece.targets is not None and group.targets is not None:
            group.targets[:count] = piece.targets
            piece.targets.record_stream(torch.cuda.current_stream())
        group.position.zero_()
        group.totals.zero_()
        for _ in range(count):
            group.replay()
        return torch.mul(group.totals, size)

    def _make_group(self, count: int, size: int) -> BatchGroup:
        """Build buffers and a recorded step. Only the rest of a resumed epoch is smaller than the pieces after it."""
        device = self.samples.device
        group = BatchGroup(
            rows=torch.zeros(count, size, dtype=torch.int64, device=device),
            targets=None if self.device_targets is None else self.samples.new_zeros(count, size, size),
            position=torch.zeros(1, dtype=torch.int64, device=device),
            totals=torch.zeros_like(self.progress.totals),
            replay=lambda: None,
        )
        group.replay = self._capture(lambda: self._group_step(group), group)
        return group

    def _group_step(self, group: BatchGroup) -> None:
        """Train on the batch at the group's position and advance it. Few kernels are used: each launch costs time."""
        settings = self.settings
        self.optimizer.zero_grad(set_to_none=True)
        rows = group.rows.index_select(0, group.position)[0]
        x = self.samples[rows]
        wanted = x if self.outputs is None else self.outputs[rows]
        z = self.network.encode(x)  # type: ignore[operator]
        reconstruction = reconstruction_loss(wanted, self.network.decode(z), settings.reconstruction)  # type: ignore[operator]
        loss = reconstruction * settings.reconstruction_weight
        group.totals[0] += reconstruction.detach()
        if group.targets is not None:
            squared = settings.distance == "sqeuclidean"
            density = triton_training.DensityLoss.apply(z, group.targets, group.position, squared)  # type: ignore[no-untyped-call]
            loss = torch.add(loss, density, alpha=settings.density_weight)
            group.totals[1] += density.detach()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        group.position += 1

    def _capture(self, step: Callable[[], None], group: BatchGroup) -> Callable[[], None]:
        """Record the step as a CUDA graph. If the network cannot be recorded, return the step itself."""
        before = [tensor.clone() for tensor in self._tensors()]
        generator = torch.cuda.get_rng_state(self.samples.device)
        here = torch.cuda.current_stream()
        try:
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(here)
            with torch.cuda.stream(stream):  # what is set up on first use must not become part of the graph
                for _ in range(WARM_UP):
                    step()
                    group.position.zero_()
            here.wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
            return graph.replay
        except RuntimeError as error:
            logger.warning("Training step by step: the network cannot be recorded as a CUDA graph (%s).", error)
            torch.cuda.synchronize()
            return step
        finally:
            torch.cuda.set_stream(here)  # if a recording fails, torch does not restore the stream
            self._restore_state(before)
            torch.cuda.set_rng_state(generator, self.samples.device)  # warming up leaves random numbers unchanged

    def _restore_state(self, before: list[torch.Tensor]) -> None:
        """Undo the warm-up in place, since a graph keeps addresses. New optimizer state is set to zero."""
        tensors = self._tensors()
        with torch.no_grad():
            for tensor in tensors[len(before) :]:
                tensor.zero_()
            for tensor, value in zip(tensors, before, strict=False):
                tensor.copy_(value)

    def _tensors(self) -> list[torch.Tensor]:
        """Return weights and buffers of the network, then the optimizer's state so far."""
        tensors: list[torch.Tensor] = [*self.network.parameters(), *self.network.buffers()]
        for parameter in self.network.parameters():
            tensors += self.optimizer.state.get(parameter, {}).values()
        return [tensor.detach() for tensor in tensors]
