"""The tree of a small batch, as fast as possible: what training needs of it, in the precision of training."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import ssyrk

from shade._arrays import FloatArray, IntArray, SingleArray
from shade._kernels import prim

# Scalar products are faster than differences for many columns, and there the nearest points are so far apart that
# the digits they lose do not matter.
FEW_COLUMNS = 32


def batch_order(points: SingleArray, min_points: int) -> tuple[IntArray, FloatArray]:
    """Prim's order of a batch, and the dc-distance of each point to the one before it (0 for the first)."""
    n, columns = points.shape
    if columns <= FEW_COLUMNS:
        squared = np.empty((n, n), np.float32)
        double = points.astype(np.float64)
        prim.distance_matrix(np.ascontiguousarray(double.T), double, squared)
    else:
        # BLAS is told that the rows are columns, and fills the lower triangle of the transpose: the upper one here.
        squared = ssyrk(1.0, points.T, trans=1, lower=1).T
        prim.distances_from_products(squared)
    order, steps = np.empty(n, np.int64), np.empty(n)
    prim.batch_order(squared, min_points, order, steps)
    return order, steps
