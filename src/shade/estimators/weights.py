"""Weights of rows: a row of weight 3 is clustered as three equal rows, and reported as one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade._base.memory import check_room
from shade._base.validation import to_numpy
from shade.clustering.assignment import Attachment
from shade.clustering.clustering import Clustering, attach
from shade.clustering.known import Known

ROW_BYTES = 400  # per row that is clustered, beyond its columns: trees and labels
HOW = "Give whole numbers: a row of weight 3 counts as three equal rows."


@dataclass(frozen=True)
class Weights:
    """How often each given row is clustered, and the points of the given rows."""

    counts: IntArray
    points: FloatArray

    @classmethod
    def from_user(cls, sample_weight: object, points: FloatArray) -> Weights | None:
        """Check weights of points; None if all rows count once."""
        if sample_weight is None:
            return None
        given: AnyArray = np.asarray(to_numpy(sample_weight))
        if given.shape != (len(points),):
            raise ValueError(
                f"sample_weight has shape {given.shape}, but X has {len(points)} rows. Give one number per row."
            )
        if given.dtype.kind not in "fiub":
            raise ValueError(f"sample_weight must be numbers. Got {given.dtype}. {HOW}")
        odd = np.flatnonzero(~((given >= 0) & (given == np.floor(given)) & (given < 2**53)))
        if len(odd):
            raise ValueError(f"The weight of row {odd[0]} is {given[odd[0]]:.6g}. {HOW}")
        if not given.any():
            raise ValueError(f"The weight of every row is zero, so nothing can be clustered. {HOW}")
        if (given == 1).all():
            return None
        total = float(given.sum(dtype=np.float64))
        what = f"Clustering {len(points):,} rows with weights that sum to {total:,.0f}"
        check_room(total * (8 * points.shape[1] + ROW_BYTES), None, what, "Divide all weights by a number and round.")
        return cls(given.astype(np.int64), points)

    @cached_property
    def rows(self) -> IntArray:
        """The given row of each row that is clustered."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @property
    def first(self) -> IntArray:
        """The first of the rows that are clustered for each given row; for a weight of 0 that of another row."""
        before: IntArray = np.cumsum(self.counts) - self.counts
        return np.minimum(before, len(self.rows) - 1)

    @property
    def repeated(self) -> FloatArray:
        """The points that are clustered."""
        return self.points[self.rows]

    def repeat_known(self, known: Known | None) -> Known | None:
        """Return what is known of the given rows as knowledge of those that are clustered."""
        if known is None:
            return None
        told = known.labels >= 0
        told[np.concatenate([known.must_link, known.cannot_link]).ravel()] = True
        if (self.counts[told] == 0).any():
            row = int(np.flatnonzero(told & (self.counts == 0))[0])
            raise ValueError(f"Row {row} has the weight 0 and a label or a pair. Leave out one of them.")
        must_link, cannot_link = self.first[known.must_link], self.first[known.cannot_link]
        return replace(known, labels=known.labels[self.rows], must_link=must_link, cannot_link=cannot_link)

    def with_more(self, points: FloatArray) -> Weights:
        """Return the weights after adding points that count once."""
        return Weights(np.append(self.counts, np.ones(len(points), np.int64)), np.concatenate([self.points, points]))

    def attach(self, clustering: Clustering, n_jobs: int | None) -> Attachment:
        """Find where the given rows join the tree: at themselves or, for a weight of 0, as new rows do."""
        row, distance = self.first, np.zeros(len(self.counts))
        left_out = np.flatnonzero(self.counts == 0)
        if len(left_out):
            joining = attach(clustering, self.points[left_out], n_jobs)
            row[left_out], distance[left_out] = joining.row, joining.distance
        return Attachment(row, distance)
