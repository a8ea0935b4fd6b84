"""Filling missing values with those of similar rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray, BoolArray, FloatArray, IntArray, row_slices
from shade._base.errors import DataError
from shade.data.samples import FILLS

MOST_GROUPS = 64
ROWS_A_GROUP = 20  # complete rows per group, on average; fewer than FEWEST_ROWS would reveal values of single rows
FEWEST_ROWS = 5
MOST_ROWS = 10_000  # from which groups are made
MOST_NUMBERS = 1 << 16  # in all groups together, since a model file holds them


@dataclass(frozen=True)
class Filler:
    """Fills missing values with those of the most similar group of rows, compared in the columns with values.

    With the same value for all rows, the filled rows would be close to each other and to nothing else, and could become
    a cluster.

    Attributes
    ----------
    kind : {"mean", "median", "indicator"}
        "mean" or "median" of a group. "indicator" fills with the median and adds a column of 0 and 1 for each column in
        `flagged`.
    values : list of list of float
        For each group, a value for each column.
    scale : list of float
        Standard deviation of each column.
    flagged : list of int
    """

    kind: str
    values: list[list[float]]
    scale: list[float]
    flagged: list[int]

    @classmethod
    def fit(cls, rows: AnyArray, kind: str, flagged: Sequence[int] = ()) -> Filler:
        """Find groups of similar rows among the complete rows."""
        values = np.where(np.isfinite(rows), rows, np.nan).astype(np.float64)
        middle = np.nanmean if kind == "mean" else np.nanmedian
        whole, scale = middle(values, axis=0), np.nanstd(values, axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        empty = np.isnan(values)
        complete = np.flatnonzero(~empty.any(axis=1))
        number = min(MOST_GROUPS, len(complete) // ROWS_A_GROUP, MOST_NUMBERS // values.shape[1])
        groups = [whole]
        if empty.any() and number > 1:
            chosen = values[complete[:: -(-len(complete) // MOST_ROWS)]]
            labels = _group(chosen / scale, number)
            members = (chosen[labels == group] for group in range(number))
            groups = [middle(group, axis=0) for group in members if len(group) >= FEWEST_ROWS] or groups
        return cls(kind, np.array(groups).tolist(), scale.tolist(), list(flagged))

    def fill(self, rows: AnyArray, whole: Sequence[tuple[int, int]] = ()) -> AnyArray:
        """Return rows without missing values; `whole` are ranges of columns with 0 and 1, at most one of them 1."""
        values, scale = np.array(self.values), np.array(self.scale)
        if rows.shape[1] != len(scale):
            raise DataError(
                f"The data has {rows.shape[1]} columns without names. Give the {len(scale)} of the training data."
            )
        empty = ~np.isfinite(rows)
        if empty.any():
            rows = np.array(rows, np.float64)
            for part in row_slices(rows):
                holes = empty[part]
                nearest = _nearest_groups(rows[part] / scale, holes, values / scale)
                rows[part] = np.where(holes, values[nearest], rows[part])
            for start, stop in whole:
                filled = np.flatnonzero(empty[:, start])
                block = rows[filled, start:stop]
                chosen = block.argmax(axis=1)[:, None] == np.arange(stop - start)
                rows[filled, start:stop] = chosen if stop - start > 1 else block.round()
        return np.hstack([rows, empty[:, self.flagged]]) if self.flagged else rows

    def to_json(self) -> dict[str, Any]:
        """Return a value for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Any) -> Filler:
        """Read the filler from a model file, which may hold anything; raise ValueError if it is invalid."""
        values, scale = np.array(found["values"], np.float64), np.array(found["scale"], np.float64)
        flagged = found["flagged"]
        sound = values.ndim == 2 and len(values) > 0 and values.shape[1:] == scale.shape
        finite = np.isfinite(values).all() and np.isfinite(scale).all() and (scale > 0).all()
        if not (sound and finite) or found["kind"] not in FILLS or not set(flagged) <= set(range(len(scale))):
            raise ValueError("the values that fill its table cannot be read")
        return cls(found["kind"], values.tolist(), scale.tolist(), [int(column) for column in flagged])


def _group(rows: FloatArray, number: int) -> IntArray:
    from sklearn.cluster import KMeans

    labels: IntArray = KMeans(number, n_init=1, max_iter=20, random_state=0).fit_predict(rows)
    return labels


def _nearest_groups(rows: FloatArray, holes: BoolArray, groups: FloatArray) -> IntArray:
    """Return for each row the nearest group, compared in the columns with values."""
    known = np.where(holes, 0.0, rows)
    squares: FloatArray = (~holes).astype(np.float64) @ np.square(groups).T - 2.0 * known @ groups.T
    nearest: IntArray = squares.argmin(axis=1)
    return nearest
