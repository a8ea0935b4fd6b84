"""Noise that the data shows before any network has seen it: a sparse background behind dense clusters.

An embedding gathers such points in a place of their own, where they look like a cluster. In the tree of the data they
are far sparser than the rest, with a clear gap between, and join the rest as early as they join each other.
"""

from __future__ import annotations

import numpy as np

from shade._arrays import BoolArray, FloatArray
from shade._kernels import merge_tree
from shade.density.dc_tree import DCTree

CLEAR_GAP = 1.0  # octaves of distance between the sparsest of the dense and the densest of the sparse
EARLY = 1.5  # a separate sparse cluster joins the rest at a multiple of its points' own distances


def find_background(tree: DCTree) -> BoolArray:
    """Which rows are background by the tree of the data; none if there is no clear one.

    Takes O(n log n) time. The split into dense and sparse rows is the one of largest variance between both, of the
    logarithms of the distances at which rows join anything; a tenth of each side may lie in the gap.
    """
    steps = tree.reachability
    joining = np.minimum(steps, np.append(steps[1:], np.inf))
    gap = _gap_of(np.sort(np.log2(joining[joining > 0])))
    background = np.zeros(tree.n_points, np.bool_)
    if gap is None:
        return background
    sparse = joining > 2.0**gap
    if np.median(_joining_others(sparse, steps)[sparse] / joining[sparse]) <= EARLY:
        background[tree.order] = sparse
    return background


def _gap_of(values: FloatArray) -> float | None:
    """The middle of a clear gap between the lower and the higher of sorted values, or None."""
    n = len(values)
    if n < 4:
        return None
    below = np.arange(1, n)
    totals = np.cumsum(values)
    difference = (totals[-1] - totals[:-1]) / (n - below) - totals[:-1] / below
    split = int(np.argmax(below * (n - below) * difference**2)) + 1
    low, high = np.quantile(values[:split], 0.9), np.quantile(values[split:], 0.1)
    return float(low + high) / 2.0 if high - low >= CLEAR_GAP else None


def _joining_others(sparse: BoolArray, steps: FloatArray) -> FloatArray:
    """dc-distance of each position to the nearest one that is not sparse."""
    n = len(steps)
    before, after = np.empty(n, np.int64), np.empty(n, np.int64)
    before_distance, after_distance = np.empty(n), np.empty(n)
    merge_tree.nearest_marked(~sparse, steps, before, before_distance, after, after_distance)
    return np.minimum(before_distance, after_distance)
