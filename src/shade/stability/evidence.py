"""Is there more than one cluster? Chance alone makes dense and sparse places in any sample.

How much chance explains depends on the dimension of the points, which takes a search for neighbours: it is given as a
function and asked for where the answer depends on it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shade._arrays import BoolArray, FloatArray, IntArray
from shade.stability.selection import FlatClustering
from shade.stability.structure_tree import StructureTree

# What Gaussian and uniform samples hardly reach, by dimension: measured in 1 to 50 dimensions (docs/experiments.md).
FALLING, FEWEST = 6.0, 2.0


def more_than_chance(
    tree: StructureTree, clustering: FlatClustering, dimension: Callable[[], float], factor: float = 1.0
) -> bool:
    """Whether clusters stand out by more than chance explains, or a factor of it."""
    return stand_out(*mass_and_size(tree, clustering), dimension, factor)


def firm_clusters(tree: StructureTree, clustering: FlatClustering, dimension: Callable[[], float]) -> BoolArray:
    """Which clusters stand out by more than chance explains, each alone."""
    mass, size = mass_and_size(tree, clustering)
    return _enough(mass / np.sqrt(np.maximum(size, 1)), dimension, 1.0)


def stand_out(mass: FloatArray, size: IntArray, dimension: Callable[[], float], factor: float) -> bool:
    """What `more_than_chance` says of clusters with these masses and sizes."""
    return bool(_enough(np.array(standard_errors(mass, size)), dimension, factor))


def _enough(errors: FloatArray, dimension: Callable[[], float], factor: float) -> BoolArray:
    enough = errors >= factor * enough_errors(1.0)  # what is enough for one dimension is enough for any
    if enough.all():
        return enough
    known = dimension()
    return errors * known >= factor * enough_errors(known)


def enough_errors(dimension: float) -> float:
    """How many standard errors are more than chance: many on a line, fewer where points have more ways around a gap."""
    return max(FEWEST, FALLING / dimension)


def standard_errors(mass: FloatArray, size: IntArray) -> float:
    """By how many standard errors clusters stand out from where they part, on average over their points, a dimension.

    In D dimensions density falls with the D-th power of distance, so a point that leaves its cluster at distance d lies
    D · log(birth / d) nats above the density at which the cluster was born. Counting points makes the mean of that over
    s points uncertain by about 1 / sqrt(s). The cluster with the most mass is left out: it holds the peak that even a
    single cluster has. Times D, Gaussian and uniform samples reach up to 5 on a line, 3 in the plane and 1.8 above four
    dimensions, small clusters of real data 2 to 6, and most clusterings 5 to 500.
    """
    if len(size) < 2:
        return 0.0
    others = np.arange(len(size)) != np.argmax(mass)
    return float(np.average((mass / np.sqrt(size))[others], weights=size[others]))


def mass_and_size(tree: StructureTree, clustering: FlatClustering) -> tuple[FloatArray, IntArray]:
    """Of each cluster the sum of log(birth / d) over points that leave it at distances d, and their number."""
    clustered = np.flatnonzero(clustering.labels >= 0)
    labels = clustering.labels[clustered]
    leaving = tree.leaving_distances()[clustered]
    above = np.log(np.maximum(clustering.limit[labels], tree.floor) / leaving)
    k = clustering.n_clusters
    mass: FloatArray = np.bincount(labels, above, minlength=k).astype(np.float64, copy=False)
    return mass, np.bincount(labels, minlength=k).astype(np.int64, copy=False)
