"""Training on a CUDA device: targets of many batches in one launch, and a training step as a replayed graph."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch

from shade._kernels import triton_training
from shade.network.batches import shuffle_batches
from shade.network.losses import reconstruction_loss
from shade.network.trainer import Trainer

# Rows of batches, one batch a row, on the device: the same in the order of their trees, and their steps.
DeviceTargets = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]

TARGET_ENTRIES = 1 << 28  # entries of matrices of targets held at a time: 1 GB
WARM_UP = 3

logger = logging.getLogger("shade")


@dataclass
class BatchGroup:
    """Batches of one size on the device, and the step that trains on the next of them."""

    rows: torch.Tensor
    targets: torch.Tensor | None
    position: torch.Tensor
    totals: torch.Tensor
    replay: Callable[[], None]


@dataclass
class CudaTrainer(Trainer):
    """The same training as `Trainer`, with work handed to the device in large pieces."""

    device_targets: DeviceTargets | None = None
    _groups: dict[int, BatchGroup] = field(default_factory=dict)

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Adam whose step can be part of a graph."""
        rate = self.settings.learning_rate
        return torch.optim.Adam(self.network.parameters(), lr=rate, fused=True, capturable=True)

    @contextmanager
    def prepare(self) -> Iterator[None]:
        """Nothing runs in the background here; graphs and buffers are let go in the end."""
        try:
            yield
        finally:
            self._groups.clear()

    def run_epoch(self) -> torch.Tensor:
        """Train on each row once, in groups of batches whose targets fit into memory."""
        settings = self.settings
        batches = shuffle_batches(len(self.samples), settings.batch_size, settings.smallest_batch, self.random)
        totals = torch.zeros(2, device=self.samples.device)
        full = batches[:-1] if len(batches) > 1 else []
        if full and len(batches[-1]) == len(full[0]):
            full, last = batches, []
        else:
            last = batches[-1:]
        for part in (full, last):
            size = len(part[0]) if part else 1
            most = max(1, TARGET_ENTRIES // size**2)
            for start in range(0, len(part), most):
                totals += self._train_group(np.stack(part[start : start + most]), most=min(most, len(part)))
        return totals

    def _train_group(self, rows: np.ndarray, most: int) -> torch.Tensor:
        """Train on batches of one size."""
        count, size = rows.shape
        if size not in self._groups:
            self._groups[size] = self._make_group(size, most)
        group = self._groups[size]
        on_device = torch.from_numpy(rows).to(self.samples.device)
        if self.device_targets is not None and group.targets is not None:
            on_device, steps = self.device_targets(on_device)
            triton_training.expand_steps(steps.contiguous(), group.targets)
        group.rows[:count] = on_device
        group.position.zero_()
        group.totals.zero_()
        for _ in range(count):
            group.replay()
        return torch.mul(group.totals, size)

    def _make_group(self, size: int, most: int) -> BatchGroup:
        device = self.samples.device
        targets = None
        if self.device_targets is not None:
            targets = torch.zeros(most, size, size, device=device)
        group = BatchGroup(
            torch.zeros(most, size, dtype=torch.int64, device=device),
            targets,
            torch.zeros(1, dtype=torch.int64, device=device),
            torch.zeros(2, device=device),
            lambda: None,
        )

        def step() -> None:
            self.optimizer.zero_grad(set_to_none=True)
            losses = self._group_losses(group)
            weights = (self.settings.reconstruction_weight, self.settings.density_weight)
            (losses[0] * weights[0] + losses[1] * weights[1]).backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            group.totals += losses.detach()
            group.position += 1

        group.replay = self._capture(step, group)
        return group

    def _group_losses(self, group: BatchGroup) -> torch.Tensor:
        x = self.samples[group.rows.index_select(0, group.position)[0]]
        z = self.network.encode(x)  # type: ignore[operator]
        reconstruction = reconstruction_loss(x, self.network.decode(z), self.settings.reconstruction)  # type: ignore[operator]
        if group.targets is None:
            return torch.stack([reconstruction, torch.zeros_like(reconstruction)])
        squared = self.settings.distance == "sqeuclidean"
        density = triton_training.DensityLoss.apply(z, group.targets, group.position, squared)  # type: ignore[no-untyped-call]
        return torch.stack([reconstruction, density])

    def _capture(self, step: Callable[[], None], group: BatchGroup) -> Callable[[], None]:
        """Record the step as a graph; a network that cannot be recorded is trained step by step instead."""
        before = self._save_state()
        try:
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):  # what is set up on first use must not become part of the graph
                for _ in range(WARM_UP):
                    group.position.zero_()
                    step()
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            group.position.zero_()
            with torch.cuda.graph(graph):
                step()
            return graph.replay
        except RuntimeError as error:
            logger.warning("Training step by step: the network cannot be recorded as a CUDA graph (%s).", error)
            torch.cuda.synchronize()
            return step
        finally:
            self._restore_state(before)

    def _save_state(self) -> list[torch.Tensor]:
        return [tensor.clone() for tensor in self._tensors()]

    def _restore_state(self, before: list[torch.Tensor]) -> None:
        """Undo the warm-up in place: a graph keeps the addresses. State made by it is as good as zero."""
        tensors = self._tensors()
        with torch.no_grad():
            for tensor in tensors[len(before) :]:
                tensor.zero_()
            for tensor, value in zip(tensors, before, strict=False):
                tensor.copy_(value)

    def _tensors(self) -> list[torch.Tensor]:
        """Weights and buffers of the network, then what the optimizer has made so far."""
        tensors: list[torch.Tensor] = [*self.network.parameters(), *self.network.buffers()]
        for parameter in self.network.parameters():
            tensors += self.optimizer.state.get(parameter, {}).values()
        return [tensor.detach() for tensor in tensors]
