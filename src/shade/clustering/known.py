"""What is known of some rows before they are clustered: their labels, and pairs of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from shade._base.arrays import AnyArray, IntArray
from shade._base.validation import to_numpy

HOW = "Give whole numbers from 0 on, and -1 for rows whose label is unknown."


@dataclass(frozen=True)
class Known:
    """Labels of some rows, pairs of rows that belong together, and pairs that do not, without a contradiction.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        −1 where the label is unknown.
    must_link, cannot_link : ndarray of shape (n_pairs, 2)
        Row numbers.
    """

    labels: IntArray
    must_link: IntArray
    cannot_link: IntArray

    def __post_init__(self) -> None:
        self._check_links()

    def __repr__(self) -> str:  # the same in all processes for the same content, and short
        content = b"".join(values.tobytes() for values in (self.labels, self.must_link, self.cannot_link))
        sizes = f"{np.sum(self.labels >= 0)} labels, {len(self.must_link)} and {len(self.cannot_link)} pairs"
        return f"Known({sizes}, {sha256(content).hexdigest()[:16]})"

    @classmethod
    def from_user(cls, y: object, must_link: object, cannot_link: object, n_rows: int) -> Known | None:
        """What a user says about so many rows, checked; None if nothing is known.

        A `y` without unknown rows is not used: nothing is left to find, and pipelines pass such a `y` to each step.
        """
        labels = check_labels(y, n_rows)
        pairs = [check_pairs(name, given, n_rows) for name, given in
                 (("must_link", must_link), ("cannot_link", cannot_link))]  # fmt: skip
        if (labels < 0).all() and not any(map(len, pairs)):
            return None
        return cls(labels, *pairs)

    def with_unknown(self, n_rows: int) -> Known:
        """The same with so many more rows of which nothing is known."""
        return replace(self, labels=np.append(self.labels, np.full(n_rows, -1)))

    @cached_property
    def groups(self) -> IntArray:
        """For each row the number of the rows that are known to belong with it; −1 where nothing is known.

        Rows of one label, and rows that must-link pairs connect, are one group. Groups of labels come first, in
        ascending order of the labels, then the others, by their first row.
        """
        found, inverse = np.unique(self.labels, return_inverse=True)
        n_labels, n = len(found), len(self.labels)
        linked = np.unique(np.concatenate([self.must_link, self.cannot_link]))
        rows = np.union1d(np.flatnonzero(self.labels >= 0), linked)
        labelled = rows[self.labels[rows] >= 0]
        first = np.concatenate([labelled, self.must_link[:, 0]])
        second = np.concatenate([n + inverse[labelled], self.must_link[:, 1]])  # a node for each label
        joined = coo_array((np.ones(len(first)), (first, second)), (n + n_labels, n + n_labels))
        part = connected_components(joined, directed=False)[1]
        named = np.concatenate([part[n:][found >= 0], part[rows]])
        _, place, of_rows = np.unique(named, return_index=True, return_inverse=True)
        groups = np.full(n, -1)
        groups[rows] = np.argsort(np.argsort(place))[of_rows[np.sum(found >= 0) :]]
        return groups

    @cached_property
    def label_of_group(self) -> IntArray:
        """The label of each group, −1 for a group of pairs alone."""
        label = np.full(int(self.groups.max(initial=-1)) + 1, -1)
        rows = np.flatnonzero(self.labels >= 0)
        label[self.groups[rows]] = self.labels[rows]
        return label

    def count_unmet(self, clusters: IntArray) -> int:
        """How many labels and pairs the clusters of all rows do not agree with."""
        one, other = clusters[self.must_link].T
        first, second = clusters[self.cannot_link].T
        wrong = int(np.sum(self.labels >= 0)) - len(self._rows_in_place(clusters))
        return wrong + int(np.sum(one != other)) + int(np.sum((first == second) & (first >= 0)))

    def name_clusters(self, clusters: IntArray, n_clusters: int) -> IntArray:
        """For each cluster the known label of its rows, −1 if none is known."""
        names, rows = np.full(n_clusters, -1), self._rows_in_place(clusters)
        names[clusters[rows]] = self.labels[rows]
        return names

    def _rows_in_place(self, clusters: IntArray) -> IntArray:
        """Rows in the cluster that holds most rows of their label, if their label is the most frequent one there."""
        rows = np.flatnonzero((self.labels >= 0) & (clusters >= 0))
        held = np.column_stack([self.labels[rows], clusters[rows]])
        pairs, pair, count = np.unique(held, axis=0, return_inverse=True, return_counts=True)
        right = np.ones(len(pairs), np.bool_)
        for column in (0, 1):
            best_first = np.lexsort((-count, pairs[:, column]))
            first = np.unique(pairs[best_first, column], return_index=True)[1]
            best = np.zeros(len(pairs), np.bool_)
            best[best_first[first]] = True
            right &= best
        return rows[right[pair.reshape(-1)]]

    def _check_links(self) -> None:
        """Refuse what no clustering can satisfy."""
        groups, rows = self.groups, np.flatnonzero(self.labels >= 0)
        label = self.label_of_group
        wrong = rows[label[groups[rows]] != self.labels[rows]]
        if len(wrong):
            row = int(wrong[0])
            other = int(rows[(groups[rows] == groups[row]) & (self.labels[rows] == label[groups[row]])][0])
            raise ValueError(
                f"Row {row} has the label {self.labels[row]} and row {other} the label {self.labels[other]}, but "
                "must-link pairs connect them. Correct the labels or the pairs."
            )
        apart = groups[self.cannot_link]
        for row, other in self.cannot_link[apart[:, 0] == apart[:, 1]].tolist():
            raise ValueError(
                f"Rows {row} and {other} are a cannot-link pair, but labels or must-link pairs put them together. "
                "Correct the labels or the pairs."
            )


def check_labels(y: object, n_rows: int) -> IntArray:
    """Labels as whole numbers, −1 where they are unknown; all are unknown if `y` is None or has one for every row."""
    unknown = np.full(n_rows, -1)
    if y is None:
        return unknown
    given: AnyArray = np.asarray(to_numpy(y))
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1 or len(given) != n_rows:
        raise ValueError(f"y has shape {given.shape}, but X has {n_rows} rows. Give one label per row. {HOW}")
    try:
        values = given.astype(np.float64)
    except (TypeError, ValueError):
        if all(isinstance(value, str) and value not in ("", "-1") for value in given):
            return unknown  # names of all rows
        raise ValueError(f"y must be numbers where some labels are unknown. Got {given.dtype}. {HOW}") from None
    values = np.where(np.isnan(values), -1.0, values)
    if (values != -1.0).all():
        return unknown
    odd = np.flatnonzero((values < -1.0) | (values != np.floor(values)) | (values >= 2.0**53))
    if len(odd):
        raise ValueError(f"y holds {given[odd[0]]} in row {odd[0]}. {HOW}")
    return values.astype(np.int64)


def check_pairs(name: str, given: object, n_rows: int) -> IntArray:
    """Pairs of different rows as an array of row numbers."""
    pairs: AnyArray = np.asarray([] if given is None else to_numpy(given))
    if pairs.size == 0:
        return np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"The '{name}' parameter of fit must be pairs of row numbers, an int array of shape (n_pairs, 2). Got "
            f"{pairs.dtype} of shape {pairs.shape} instead."
        )
    wrong = (pairs < 0) | (pairs >= n_rows)
    if wrong.any():
        raise ValueError(f"The '{name}' parameter of fit names row {pairs[wrong][0]}, but X has {n_rows} rows.")
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(same):
        raise ValueError(f"The '{name}' parameter of fit pairs row {pairs[same[0], 0]} with itself. Remove this pair.")
    return pairs.astype(np.int64)
