"""An order of points that does not depend on the order in which they come."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import AnyArray, IntArray


def canonical_order(points: AnyArray) -> IntArray:
    """The rows by their first column, then by the second, and so on.

    Where distances tie, a spanning tree may hold one edge or another, and a sample of rows may be one or another. Rows
    in this order always give the same.
    """
    order = np.argsort(points[:, 0], kind="stable")
    if points.shape[1] > 1 and (np.diff(points[order, 0]) == 0).any():
        order = np.lexsort(points.T[::-1])
    return order
