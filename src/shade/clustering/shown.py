"""What was found in the tree of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shade._base.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class Shown:
    """What was found in the tree of the data, before any network was trained.

    Attributes
    ----------
    groups : ndarray of shape (n_samples,)
        −1 is background. All other rows are 0, or have the number of a cluster of the data. In the second case, no
        cluster has rows of two groups.
    outside : ndarray of bool of shape (n_samples,)
        Rows between the clusters of the data.
    decides : bool
        Whether the clusters are those of the data.
    strongest_split : tuple of float, optional
        If the data decides that there is one cluster: the evidence of its strongest split, and the limit.
    """

    groups: IntArray
    outside: BoolArray
    decides: bool = False
    strongest_split: tuple[float, float] | None = None

    @classmethod
    def nothing(cls, n: int) -> Shown:
        """Return neither background nor clusters."""
        return cls(np.zeros(n, np.int64), np.zeros(n, np.bool_))

    @property
    def background(self) -> BoolArray:
        """Rows that are noise, whatever the tree of the points is."""
        return self.groups < 0
