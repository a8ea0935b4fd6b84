"""Estimate how much memory a fit needs before it starts, and choose: all data in memory, or streamed in windows."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from shade._base.arrays import IntArray
from shade._base.errors import MemoryBudgetError
from shade._base.memory import available_memory, check_room, format_memory, parse_memory, short_memory
from shade._base.parallel import count_threads
from shade.density.search import FEW_COLUMNS
from shade.training.autoencoders import build_network, count_entries, count_weights
from shade.training.stream_trainer import WINDOWS_HELD

# Measured with tracemalloc on 10^5 to 10^7 rows; a test measures again.
WORKING = 160_000_000  # slices in double precision, batches, the network and its optimizer
NETWORK_BYTES = 40_000_000  # included in WORKING, for networks: the default networks need less
WEIGHT_BYTES = 16  # per weight: the weight, its gradient, and two numbers of the optimizer
ENTRY_BYTES = 24  # per number that a layer outputs for a row: value, gradient, convolutions' copies; measured 18 to 25
ORDER_BYTES = 16  # per row: the shuffled order of this epoch and of the next
TREE_BYTES, TREE_BYTES_A_COLUMN = 125, 21  # per row, while the spanning tree is built with a kd-tree
BLOCKS_BYTES_A_COLUMN = 8  # per row, while the spanning tree is built by blocks of matrix products
AFTER_TREE_BYTES = 230  # per row, while clusters are chosen
DATA_TREE_BYTES = 900  # per row, for the tree of the data, its 50 components, and the search for neighbours
BLOCK_BYTES = 1 << 20  # of rows that are read at once
BLOCKS_A_WINDOW = 16  # at least, so that windows mix rows from all over the data
BATCHES_A_WINDOW = 4

logger = logging.getLogger("shade")


@dataclass(frozen=True)
class FitPlan:
    """How rows are passed to training. If `window_rows` is None, all rows are in memory."""

    window_rows: int | None
    boundaries: IntArray | None
    needed: int

    def identity(self) -> dict[str, Any]:
        """Return the parts of the plan that determine the batches."""
        return {"window_rows": self.window_rows, "blocks": 1 if self.boundaries is None else len(self.boundaries) - 1}


def clustering_bytes(n_rows: int, embedding_columns: int) -> int:
    """Return the bytes needed for the embedding, in single and double precision, and its trees."""
    tree = TREE_BYTES + embedding_columns * (
        TREE_BYTES_A_COLUMN if embedding_columns <= FEW_COLUMNS else BLOCKS_BYTES_A_COLUMN
    )
    return n_rows * (12 * embedding_columns + max(tree, AFTER_TREE_BYTES))


def training_bytes(job: Any, batch_size: int, n_jobs: int | None) -> int:
    """Return the bytes needed to train networks side by side, beyond those included in `WORKING`.

    Raise `MemoryBudgetError` if the weights alone do not fit. `job` has the `network`, the `sample_shape` that the
    network takes, the `embedding_size` and the number `n_networks`.
    """
    weights = count_weights(job.network, job.sample_shape, job.embedding_size)
    together: int = min(job.n_networks, count_threads(n_jobs))
    needed = WEIGHT_BYTES * weights * together
    what = (
        f"Training {together} networks of {weights:,} weights at a time"
        if together > 1
        else f"A network of {weights:,} weights"
    )
    check_room(needed, None, what, "Use a smaller 'network' or 'embedding_size'.")
    entries = 0
    with suppress(Exception), torch.random.fork_rng(devices=[]):  # a user's module may fail on this row of zeros
        network = build_network(job.network, job.sample_shape, job.embedding_size, torch.Generator(), False).eval()
        row = torch.zeros(1, *job.sample_shape, dtype=torch.float32)
        entries = count_entries(network, row, "encode", "decode", copies=False)
    return max(0, int(needed) + ENTRY_BYTES * entries * batch_size * together - NETWORK_BYTES)


def plan_fit(
    rows: Any, memory: object, *, embedding_columns: int, batch_size: int, complete_tree: bool, networks: int = 0
) -> FitPlan:
    """Choose between memory and streaming, log the choice, and raise an error if the fit needs more than there is.

    Streaming changes the order of the batches. Therefore only the parameter `memory` decides about it, never the amount
    of memory that happens to be free. `networks` is the number of bytes that `training_bytes` returns.
    """
    working = WORKING + networks
    n, columns = rows.shape
    clustering = clustering_bytes(n, embedding_columns)
    whole = n * 4 * columns + max(n * ORDER_BYTES, clustering) + working
    if complete_tree:
        whole = max(whole + n * DATA_TREE_BYTES, n * columns * (12 + TREE_BYTES_A_COLUMN) + working)
    what = f"{n:,} rows of {columns:,} columns"
    budget = available_memory() if memory is None else parse_memory(memory, "fit")
    if networks and budget is not None and working > budget:
        limit, give = f"more than memory={memory!r}", "Give more,"
        if memory is None:
            limit, give = f"and {format_memory(budget)} are free", "Use"
        raise MemoryBudgetError(
            f"Training networks on batches of {batch_size} rows takes about {format_memory(working)}, {limit}. "
            f"{give} a smaller 'batch_size', or n_jobs=1 to train one network after the other."
        )
    if budget is None or (memory is None and whole <= budget):
        return FitPlan(None, None, whole)
    if memory is None:
        raise MemoryBudgetError(
            f"Fitting {what} in memory takes about {format_memory(whole)}, and {format_memory(budget)} are free. "
            f"Give memory='{short_memory(0.8 * budget)}' to read the rows as they are needed."
        )
    if whole <= budget:
        logger.info("Fitting %s in memory: about %s of %s.", what, format_memory(whole), format_memory(budget))
        return FitPlan(None, None, whole)
    if complete_tree:
        raise MemoryBudgetError(
            f"Fitting {what} with tree='complete' takes about {format_memory(whole)}, more than memory={memory!r}, "
            "since the tree of all data needs all of it at once. Give more, or use tree='batch'."
        )
    if clustering + working > budget:
        raise MemoryBudgetError(
            f"Clustering {n:,} embedded rows takes about {format_memory(clustering + working)} "
            f"({clustering // n} bytes a row), more than memory={memory!r}. Give more, a smaller "
            "'embedding_size', or fit a part of the rows and predict the others."
        )
    room = budget - working - n * ORDER_BYTES
    window_rows = min(n, max(0, room) // (WINDOWS_HELD * 4 * columns))
    boundaries = _blocks(rows, window_rows)
    least = max(BATCHES_A_WINDOW * batch_size, int(np.diff(boundaries).max()))
    if window_rows < least:
        least_bytes = working + n * ORDER_BYTES + WINDOWS_HELD * 4 * columns * least
        raise MemoryBudgetError(
            f"Streaming {what} takes at least {format_memory(least_bytes)} for windows of {least:,} rows, more than "
            f"memory={memory!r}. Give more, a smaller 'batch_size', or data in smaller chunks or row groups."
        )
    needed = max(clustering + working, working + n * ORDER_BYTES + WINDOWS_HELD * 4 * columns * window_rows)
    logger.info(
        "Fitting %s in windows of %s rows: about %s of %s; in memory it would be %s.",
        what, f"{window_rows:,}", format_memory(needed), format_memory(budget), format_memory(whole),
    )  # fmt: skip
    return FitPlan(window_rows, boundaries, needed)


def _blocks(rows: Any, window_rows: int) -> IntArray:
    """Return where blocks begin and end. Blocks are large enough to be read fast; many of them fit into a window."""
    n, columns = rows.shape
    wanted = max(1, min(BLOCK_BYTES // (4 * columns), window_rows // BLOCKS_A_WINDOW))
    natural: IntArray | None = getattr(rows, "boundaries", None)
    if natural is None:
        return np.append(np.arange(0, n, wanted), n)
    kept = [0]
    for start, stop in zip(natural[1:-1].tolist(), natural[2:].tolist(), strict=True):
        if stop - kept[-1] > max(wanted, 1):
            kept.append(start)
    return np.append(kept, n)
