"""Filling missing values with those of similar rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray, BoolArray, FloatArray, IntArray, row_slices
from shade._base.errors import DataError
from shade.data.samples import FILLS

MOST_GROUPS = 8  # more are hardly nearer to the true values (docs/experiments.md)
FEWEST_ROWS = 5  # with a value, of a group: the value of fewer would give single rows away in a model file
MOST_ROWS = 10_000  # that groups are made of
MOST_NUMBERS = 1 << 16  # of all groups, as a model file holds them


@dataclass(frozen=True)
class Filler:
    """Fills missing values with those of the most similar group of rows, compared in the columns with values.

    With the same value for all rows, the filled rows would be close to each other and to nothing else, and could become
    a cluster.

    Attributes
    ----------
    kind : {"mean", "median", "indicator"}
        The mean of a group, or its median; "indicator" fills with the median and adds a column that is 1 for rows
        that lack a value in one of the columns `flagged`. With a column for each, rows that lack a value would be so
        far from others that what is missing becomes the clusters.
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
        """Learn groups of similar rows; where too few rows of a group have a value, it is that of the nearest group."""
        middle = np.nanmean if kind == "mean" else np.nanmedian
        whole, scale = np.empty(rows.shape[1]), np.empty(rows.shape[1])
        for place, column in enumerate(rows.T):  # one after the other, without a copy of all rows
            values = column[np.isfinite(column)].astype(np.float64)
            whole[place], scale[place] = middle(values), values.std() or 1.0
        groups = whole[None]
        some = rows[:: -(-len(rows) // MOST_ROWS)]
        known = np.where(np.isfinite(some), some, np.nan).astype(np.float64)
        number = min(MOST_GROUPS, len(known) // FEWEST_ROWS, MOST_NUMBERS // rows.shape[1])
        if number > 1 and not all(np.isfinite(rows[part]).all() for part in row_slices(rows)):
            points = np.where(np.isnan(known), whole, known) / scale
            labels = _group(points, min(number, len(np.unique(points, axis=0))))
            members = [known[labels == group] for group in np.unique(labels)]
            enough = np.array([np.isfinite(group).sum(axis=0) >= FEWEST_ROWS for group in members])
            middles = [
                middle(np.where(told, group, whole), axis=0) for told, group in zip(enough, members, strict=True)
            ]
            groups = np.where(enough, middles, np.nan)
            complete = groups[enough.all(axis=1)] if enough.all(axis=1).any() else whole[None]
            groups = cls(kind, complete.tolist(), scale.tolist(), []).fill(groups)
        return cls(kind, groups.tolist(), scale.tolist(), list(flagged))

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
        return np.hstack([rows, empty[:, self.flagged].any(axis=1, keepdims=True)]) if self.flagged else rows

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
