"""From rows to the embedding and back, one block at a time. Rows need not be in memory; none depends on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from shade._base.arrays import FloatArray, SingleArray
from shade._base.parallel import training_threads
from shade._base.validation import check_finite
from shade.data.row_sources import RowSource
from shade.data.standardize import Standardizer
from shade.training import decode_rows, encode_rows

ENTRIES_AT_A_TIME = 1 << 22
POINTS_AT_A_TIME = 1 << 18
SAMPLED = 1000  # rows whose reconstruction is looked at


@dataclass(frozen=True)
class Embedder:
    """The networks, the values that standardise their rows, and the shape of a sample as the networks take it."""

    standardizer: Standardizer
    networks: Sequence[nn.Module]
    sample_shape: tuple[int, ...]
    device: torch.device

    def embed(self, rows: Any, out: SingleArray | None = None, *, share: slice = slice(None)) -> SingleArray:
        """Embed all rows, or a slice of them, into `out` if given."""
        start, stop, _ = share.indices(len(rows))
        if out is None:
            columns = next(self.blocks(rows, 0, 1)).shape[1]
            out = np.empty((len(rows), columns), np.float32)
        for block in self.blocks(rows, start, stop):
            out[start : start + len(block)] = block
            start += len(block)
        return out

    def points(self, rows: Any) -> Iterator[FloatArray]:
        """Yield the embedding in double precision for searches, in large blocks."""
        waiting: list[SingleArray] = []
        for block in self.blocks(rows, 0, len(rows)):
            waiting.append(block)
            if sum(map(len, waiting)) >= POINTS_AT_A_TIME:
                yield np.concatenate(waiting).astype(np.float64)
                waiting = []
        if waiting:
            yield np.concatenate(waiting).astype(np.float64)

    def decode(self, points: SingleArray) -> FloatArray:
        """Return embedded rows in the unit of the data, one row each. The results of the networks are averaged."""
        return self.standardizer.undo(self._decode(points))

    def errors(self, rows: Any) -> FloatArray:
        """Return the mean squared error of the reconstruction of standardised rows, for a sample if there are many."""
        sampled = min(SAMPLED, max(1, ENTRIES_AT_A_TIME // max(1, rows.shape[1])))
        step = max(1, len(rows) // sampled)
        some = rows[:] if step == 1 else np.concatenate([rows[at : at + 1] for at in range(0, len(rows), step)])
        errors: FloatArray = np.square(self._decode(self.embed(some)) - self.standardizer.apply(some)).mean(axis=1)
        return errors

    def _decode(self, points: SingleArray) -> FloatArray:
        """Return embedded rows as standardised features. The results of the networks are averaged."""
        parts = np.split(points, len(self.networks), axis=1)
        decoded = [
            decode_rows(network, torch.from_numpy(np.ascontiguousarray(part)), self.device).flatten(1).numpy()
            for network, part in zip(self.networks, parts, strict=True)
        ]
        mean: FloatArray = np.mean(np.asarray(decoded, np.float64), axis=0)
        return mean

    def blocks(self, rows: Any, first: int, last: int) -> Iterator[SingleArray]:
        """Yield the embedding of the rows from `first` to `last`, block by block."""
        at_a_time = max(1, ENTRIES_AT_A_TIME // max(1, rows.shape[1]))
        for start in range(first, last, at_a_time):
            part = rows[start : min(start + at_a_time, last)]
            if isinstance(rows, RowSource):
                check_finite(part, partial(_place, rows, start))
            samples = self.standardizer.apply(part)
            shaped = torch.from_numpy(samples).reshape(len(samples), *self.sample_shape)
            with training_threads():
                yield np.hstack([encode_rows(network, shaped, self.device).numpy() for network in self.networks])


def _place(source: RowSource, start: int, row: int) -> str:
    return source.place(start + row)
