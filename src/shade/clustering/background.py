"""Background noise, found in the data before any network is trained: sparse rows around dense clusters.

An embedding puts such rows together, where they look like a cluster. In the tree of the data they form no cluster, and
a clear gap separates their distances from those of the other rows.
"""

from __future__ import annotations

import numpy as np

from shade._base.arrays import BoolArray, FloatArray
from shade.clustering.selection import select_clusters
from shade.clustering.structure_tree import StructureTree
from shade.density.dc_tree import DCTree

CLEAR_GAP = 1.0  # octaves of distance, factors of two, between dense and sparse rows


def find_background(tree: DCTree, structure: StructureTree) -> BoolArray:
    """Return which rows are background by the tree of the data; none if there is no clear background.

    Takes O(n log n) time. A row joins the tree at some distance. The rows are split in two by the logarithms of these
    distances, where the variance between both sides is largest. The gap between the sides must be wider than a factor
    of two and than the spread of each side; a tenth of each side may be in the gap. There is no background if most of
    the sparse rows are in clusters that are sparse throughout.

    Parameters
    ----------
    tree : DCTree
    structure : StructureTree
        The real branches of the same tree.
    """
    steps = tree.reachability
    joining = np.minimum(steps, np.append(steps[1:], np.inf))
    gap = _gap_of(np.sort(np.log2(joining[joining > 0])))
    background = np.zeros(tree.n_points, np.bool_)
    if gap is None:
        return background
    background[tree.order] = joining > 2.0**gap
    chosen = select_clusters(structure)
    sparse = np.append(chosen.death > 2.0**gap, False)[chosen.labels]  # rows in no cluster read the last entry
    if chosen.n_clusters > 1 and 2 * np.sum(sparse & background) > np.sum(background):
        return np.zeros_like(background)
    return background


def _gap_of(values: FloatArray) -> float | None:
    """Return the middle of a clear gap between the lower and the higher of sorted values, or None.

    A clear gap is wider than the spread of the lower values and than that of the higher values. Scattered noise has
    about one density, but the sparse part of skewed data has many.
    """
    n = len(values)
    if n < 4:
        return None
    below = np.arange(1, n)
    totals = np.cumsum(values)
    difference = (totals[-1] - totals[:-1]) / (n - below) - totals[:-1] / below
    split = int(np.argmax(below * (n - below) * difference**2)) + 1
    (lowest, low), (high, highest) = (np.quantile(part, (0.1, 0.9)) for part in (values[:split], values[split:]))
    clear = max(CLEAR_GAP, low - lowest, highest - high)
    return float(low + high) / 2.0 if high - low >= clear else None
