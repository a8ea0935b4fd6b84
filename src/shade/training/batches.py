"""Batches, and their targets prepared ahead of training."""

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

# Given the rows of a batch, the same rows in the order of their tree and the dc-distance of each to the one before.
Targets = Callable[[IntArray], tuple[IntArray, FloatArray]]

AHEAD = 8


@dataclass(frozen=True)
class Batch:
    """The rows of a batch, and where the density loss is wanted the steps of its tree: the rows are in its order.

    `x` is their values where they are not among the samples on the device.
    """

    rows: torch.Tensor
    steps: torch.Tensor | None
    x: torch.Tensor | None = None


def shuffle_batches(n_samples: int, batch_size: int, smallest: int, random: np.random.Generator) -> list[IntArray]:
    """Cut a random order into batches; a remainder of fewer than `smallest` rows joins the batch before it."""
    order = random.permutation(n_samples)
    return np.split(order, batch_starts(n_samples, batch_size, smallest)[1:])


def batch_starts(n: int, size: int, smallest: int) -> list[int]:
    """Where pieces of a size begin; a remainder of fewer than `smallest` joins the piece before it."""
    starts = list(range(0, n, size))
    if len(starts) > 1 and n - starts[-1] < smallest:
        starts.pop()
    return starts


def rows_after(batches: list[IntArray], done: int) -> list[IntArray]:
    """The batches that are left when so many rows have been trained on."""
    ends = np.cumsum([len(batch) for batch in batches])
    return batches[int(np.searchsorted(ends, done, side="right")) :]


def prepare_batches(
    batches: Iterable[IntArray], targets: Targets | None, device: torch.device, *, ahead: bool = True
) -> Generator[Batch, None, None]:
    """Yield ready batches in order, their targets computed ahead by a background thread unless they are made at once.

    The targets do not depend on the network, and the kernels and products behind them hold no interpreter lock.
    """
    if ahead and targets is not None:
        return compute_ahead(lambda rows: prepare_batch(rows, targets, device), batches)
    return (prepare_batch(rows, targets, device) for rows in batches)


def prepare_batch(rows: IntArray, targets: Targets | None, device: torch.device) -> Batch:
    """A batch with its targets."""
    if targets is None:
        return Batch(torch.from_numpy(rows).to(device), None)
    ordered, steps = targets(rows)
    return Batch(torch.from_numpy(ordered).to(device), torch.from_numpy(steps.astype(np.float32)).to(device))


def compute_ahead(
    function: Callable[[Item], Result], items: Iterable[Item], ahead: int = AHEAD
) -> Generator[Result, None, None]:
    """Map a function over items in a background thread, a few items ahead, results in order.

    The thread works on the CUDA stream of its caller: memory that the caller lets go of is given to the thread at once,
    and on another stream it would be written to while the device has yet to read it.
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
