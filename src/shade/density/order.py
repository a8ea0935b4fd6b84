"""An order of points that does not depend on the order in which they are given."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import AnyArray, BoolArray, IntArray
from shade._kernels import row_order


def canonical_order(points: AnyArray) -> IntArray:
    """Sort the rows by their first column, then by the second, and so on.

    If distances are tied, the edges of a spanning tree depend on the order of the rows, and so does a sample of rows.
    With this order, the result is always the same.
    """
    order = np.argsort(points[:, 0], kind="stable")
    row_order.sort_ties(points, order, np.empty_like(order))
    return order


def differs_from_last(points: AnyArray, order: IntArray) -> BoolArray:
    """Return for each position of a canonical order whether its row differs from the row before; True for the first."""
    new = np.empty(len(order), np.bool_)
    row_order.mark_new_rows(points, order, new)
    return new
