"""How well each number of clusters fits, for pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shade._base.arrays import FloatArray
from shade.clustering.clustering import Clustering
from shade.clustering.selection import total_stabilities


def without_wishes(clustering: Clustering) -> Clustering:
    """Return the clustering that is found without a given number or distance and without known rows."""
    rule = replace(clustering.rule, n_clusters=None, cut_distance=None)
    return replace(clustering, rule=rule, known=None, numbers=None)


def score_numbers(clustering: Clustering, most: int) -> FloatArray:
    """Return a score for each number of clusters from 1 up to `most`: the highest one has the number that is found.

    If the number is chosen by the variance in a settled embedding, the score is that index; for one cluster it is 0.
    Otherwise it is the total stability of the best clustering with that number.
    """
    free = without_wishes(clustering)
    if free.variance_index is not None:
        return np.append(0.0, free.variance_index)[:most]
    tree = clustering.structure_tree
    return total_stabilities(tree, min(most, int(tree.n_leaves[0])))
