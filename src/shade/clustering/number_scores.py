"""How well each number of clusters fits, for pictures."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import FloatArray
from shade.clustering.clustering import Clustering
from shade.clustering.selection import total_stabilities


def score_numbers(clustering: Clustering, most: int) -> FloatArray:
    """Return a score for each number of clusters from 1 up to `most`: the highest one has the number that is found.

    If the number is chosen by the variance in an embedding, the score is that index; for one cluster it is 0. Otherwise
    it is the total stability of the best clustering with that number.
    """
    index = clustering.variance_index
    if index is not None:
        return np.append(0.0, index)[:most]
    tree = clustering.structure_tree
    return total_stabilities(tree, min(most, int(tree.n_leaves[0])))
