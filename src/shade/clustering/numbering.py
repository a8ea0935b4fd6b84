"""Numbers of clusters that go on when data grows: as many rows as possible keep theirs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from shade._base.arrays import IntArray
from shade.clustering.selection import FlatClustering


def keep_numbers(before: FlatClustering, labels: IntArray) -> IntArray:
    """The number that each cluster of new labels gets, so that as many rows as possible keep the number they had.

    New clusters get the next numbers. If a cluster disappears, a new cluster or the last one gets its number.
    """
    n_before, k = before.n_clusters, int(labels.max(initial=-1)) + 1
    shared = np.zeros((k, n_before), np.int64)
    both = (before.labels >= 0) & (labels[: len(before.labels)] >= 0)
    np.add.at(shared, (labels[: len(before.labels)][both], before.labels[both]), 1)
    numbers = np.full(k, -1)
    for new, old in zip(*linear_sum_assignment(shared, maximize=True), strict=True):
        if shared[new, old] and old < k:
            numbers[new] = old
    numbers[numbers < 0] = np.setdiff1d(np.arange(k), numbers)
    return numbers


def renumber(flat: FlatClustering, numbers: IntArray) -> FlatClustering:
    """The same clusters with other numbers."""
    order = np.argsort(numbers)
    return replace(
        flat,
        labels=np.append(numbers, -1)[flat.labels],
        stability=flat.stability[order],
        persistence=flat.persistence[order],
        death=flat.death[order],
        limit=flat.limit[order],
        exemplars=tuple(flat.exemplars[cluster] for cluster in order),
    )
