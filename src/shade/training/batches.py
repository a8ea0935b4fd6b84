"""Batches, and their targets, which are computed ahead of training."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import torch

from shade._base.arrays import FloatArray, IntArray

Item = TypeVar("Item")
Result = TypeVar("Result")

# Takes the rows of a batch; returns them in the order of their tree, and the dc-distance of each to the one before.
Targets = Callable[[IntArray], tuple[IntArray, FloatArray]]

AHEAD = 8


@dataclass(frozen=True)
class Batch:
    """The rows of a batch, in the order of its tree, and the steps of the tree if the density loss needs them.

    `x` holds the values of the rows if these are not among the samples on the device.
    """

    rows: torch.Tensor
    steps: torch.Tensor | None
    x: torch.Tensor | None = None


def shuffle_batches(n_samples: int, batch_size: int, smallest: int, random: np.random.Generator) -> list[IntArray]:
    """Cut a random order into batches. If fewer than `smallest` rows remain, they join the last batch."""
    order = random.permutation(n_samples)
    return np.split(order, batch_starts(n_samples, batch_size, smallest)[1:])


def batch_starts(n: int, size: int, smallest: int) -> list[int]:
    """Return where pieces of a size begin. If fewer than `smallest` rows remain, they join the last piece."""
    starts = list(range(0, n, size))
    if len(starts) > 1 and n - starts[-1] < smallest:
        starts.pop()
    return starts


def rows_after(batches: list[IntArray], done: int) -> list[IntArray]:
    """Return the remaining batches after `done` rows have been trained on."""
    ends = np.cumsum([len(batch) for batch in batches])
    return batches[int(np.searchsorted(ends, done, side="right")) :]


def prepare_batches(
    batches: Iterable[IntArray], targets: Targets | None, device: torch.device, *, ahead: bool = True
) -> Generator[Batch, None, None]:
    """Yield batches with their targets, in order. If `ahead`, a background thread computes the targets.

    The targets do not depend on the network, and their kernels and matrix products release Python's interpreter lock.
    """
    if ahead and targets is not None:
        return compute_ahead(lambda rows: prepare_batch(rows, targets, device), batches)
    return (prepare_batch(rows, targets, device) for rows in batches)


def prepare_batch(rows: IntArray, targets: Targets | None, device: torch.device) -> Batch:
    """Return a batch with its targets."""
    if targets is None:
        return Batch(torch.from_numpy(rows).to(device), None)
    ordered, steps = targets(rows)
    return Batch(torch.from_numpy(ordered).to(device), torch.from_numpy(steps.astype(np.float32)).to(device))


def compute_ahead(
    function: Callable[[Item], Result], items: Iterable[Item], ahead: int = AHEAD
) -> Generator[Result, None, None]:
    """Map a function over items in a background thread, a few items ahead. Results are in order.

    The thread uses the CUDA stream of its caller. Memory that the caller frees can be given to the thread at once. On
    another stream, the thread would overwrite it before the device has read it.
    """
    waiting: deque[Future[Result]] = deque()
    stream = torch.cuda.current_stream() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
    with ThreadPoolExecutor(1, initializer=partial(torch.cuda.set_stream, stream)) as pool:  # type: ignore[arg-type] # None: as it is
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
