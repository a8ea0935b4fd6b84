"""The targets of training: the dc-distances of a batch, as steps along an order of the batch.

The order of the batch's tree and the dc-distance of each row to the one before it (the step) give all dc-distances of
the batch: that of two rows is the largest step between them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from shade._base.arrays import FloatArray, IntArray, SingleArray
from shade._kernels import prim
from shade.density.dc_tree import DCTree

Targets = Callable[[IntArray], tuple[IntArray, FloatArray]]

# For many columns, scalar products are faster than differences. They lose digits, but there the nearest points are so
# far apart that this does not matter.
FEW_COLUMNS = 32


class Matrices(threading.local):
    """A matrix per batch size, reused for the next batch: allocating memory takes longer than filling it."""

    def __init__(self) -> None:
        self._matrices: dict[int, SingleArray] = {}

    def of_size(self, n: int) -> SingleArray:
        """Return this thread's matrix for batches of n rows. Its values are arbitrary."""
        if n not in self._matrices:
            self._matrices[n] = np.zeros((n, n), np.float32)
        return self._matrices[n]


def batch_order(points: SingleArray, min_samples: int, matrices: Matrices | None = None) -> tuple[IntArray, FloatArray]:
    """Return Prim's order of a batch, and the dc-distance of each point to the one before it (0 for the first)."""
    n, columns = points.shape
    squared = (matrices or Matrices()).of_size(n)
    if columns <= FEW_COLUMNS:
        double = points.astype(np.float64)
        prim.distance_matrix(np.ascontiguousarray(double.T), double, squared)
    else:
        # NumPy uses the symmetry to compute only half of the products, and releases the interpreter lock meanwhile.
        # SciPy's BLAS functions hold the lock, so training would wait for them.
        np.matmul(points, points.T, out=squared)
        prim.distances_from_products(squared)
    order, steps = np.empty(n, np.int64), np.empty(n)
    prim.batch_order(squared, min_samples, order, steps)
    return order, steps


def targets_of_batches(samples: SingleArray, min_samples: int, *, mean_edge: bool) -> Targets:
    """Return targets from a tree per batch, in the unit of the data or of the batch's mean edge."""
    matrices = Matrices()

    def targets(rows: IntArray) -> tuple[IntArray, FloatArray]:
        order, steps = batch_order(samples[rows], min_samples, matrices)
        # The first step is 0 and no edge, so there is one edge less than steps.
        return rows[order], steps / _positive(steps.sum() / max(1, len(steps) - 1)) if mean_edge else steps

    return targets


def targets_of_tree(tree: DCTree, *, mean_edge: bool) -> Targets:
    """Return targets from the tree of all data, in the unit of the data or of the tree's mean edge."""
    unit = _positive(tree.height.mean()) if mean_edge else 1.0

    def targets(rows: IntArray) -> tuple[IntArray, FloatArray]:
        ordered, steps = tree.sort_batch(rows)
        return ordered, steps / unit

    return targets


def _positive(unit: float) -> float:
    """Return a unit to divide by: 1 if all points coincide."""
    return float(unit) if unit > 0 else 1.0
