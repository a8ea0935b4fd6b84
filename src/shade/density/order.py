"""An order of points that does not depend on the order in which they come."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import AnyArray, BoolArray, IntArray
from shade._kernels import row_order


def canonical_order(points: AnyArray) -> IntArray:
    """The rows by their first column, then by the second, and so on.

    Where distances tie, a spanning tree may hold one edge or another, and a sample of rows may be one or another. Rows
    in this order always give the same.
    """
    order = np.argsort(points[:, 0], kind="stable")
    row_order.sort_ties(points, order, np.empty_like(order))
    return order


def differs_from_last(points: AnyArray, order: IntArray) -> BoolArray:
    """For each position of a canonical order, whether its row differs from the row before it; true for the first."""
    new = np.empty(len(order), np.bool_)
    row_order.mark_new_rows(points, order, new)
    return new
