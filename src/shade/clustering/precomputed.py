"""Clustering by distances between rows, where there are no points."""

from __future__ import annotations

from typing import Any

import numpy as np

from shade._base.arrays import BoolArray, FloatArray, IntArray
from shade.clustering.assignment import Attachment
from shade.clustering.background import find_background
from shade.clustering.clustering import Clustering
from shade.clustering.links import links_of
from shade.clustering.rule import ClusterRule
from shade.clustering.shown import Shown
from shade.clustering.structure_tree import StructureTree, make_test
from shade.density.dc_tree import DCTree
from shade.density.distances import DistanceMatrix, Distances, check_distances, steps_to
from shade.density.grouped_tree import grouped_spanning_tree
from shade.density.spanning_tree import SpanningTree

BLOCK_ENTRIES = 1 << 24  # of distances from new rows, looked at together


def cluster_distances(distances: Distances, rule: ClusterRule, dimension: float | None = None) -> Clustering:
    """Cluster rows by their distances.

    Parameters
    ----------
    distances : DistanceMatrix, NeighbourGraph or SpanningTree
        A background is only searched in a matrix: without the sparse rows, the others might not be connected.
    rule : ClusterRule
    dimension : float, optional
        Number of dimensions in which the distances were measured. If None, it is estimated from the distances to the
        nearest neighbours.

    Returns
    -------
    Clustering
        Its points have no columns. It holds the core distances, so that new rows can be predicted.
    """
    if isinstance(distances, SpanningTree):
        n, core, spanning = distances.n_points, None, distances
    else:
        n, core = distances.n_points, distances.core_distances(rule.min_samples)
        spanning = distances.spanning_tree(core)
    _check_dimension(distances, rule, dimension)
    tree, shown = DCTree.from_spanning_tree(spanning), Shown.nothing(n)
    if isinstance(distances, DistanceMatrix) and rule.background_noise:
        background = _search_background(tree, rule.with_small_clusters, dimension or distances.dimension())
        if background.any():
            whole, distances = distances, distances.among(np.flatnonzero(~background))

            def tree_of(rows: IntArray) -> SpanningTree:
                some = whole.among(rows)
                found = some.spanning_tree(some.core_distances(rule.min_samples))
                return SpanningTree(rows[found.edges], found.weights)

            shown = Shown(np.where(background, -1, 0), shown.outside)
            spanning = grouped_spanning_tree(tree_of, shown.groups)
            tree = DCTree.from_spanning_tree(spanning)
    if isinstance(distances, SpanningTree) or rule.selection != "information":
        dimension = dimension or 1.0
    else:
        dimension = dimension or distances.dimension()
    return Clustering(np.empty((n, 0)), rule, dimension, tree, links_of(spanning), shown, core=core)


def attach_distances(clustering: Clustering, distances: Any) -> Attachment:
    """Find where new rows join the tree, by their distances from all rows that were clustered.

    `distances` is an ndarray or, if only the distances to neighbours are known, a sparse matrix in CSR format.
    """
    core = clustering.core
    if core is None:
        raise ValueError(
            "This model was fitted on a spanning tree, which says nothing about new rows. Fit on distances or on a "
            "graph of neighbours to predict."
        )
    step, n = max(1, BLOCK_ENTRIES // len(core)), distances.shape[0]
    blocks = (_with_unknown(distances[at : at + step]) for at in range(0, n, step))
    steps = [steps_to(core, block, clustering.rule.min_samples) for block in blocks]
    return Attachment(np.concatenate([row for row, _ in steps]), np.concatenate([distance for _, distance in steps]))


def _with_unknown(block: Any) -> FloatArray:
    """Return distances as an ndarray, infinite where a sparse matrix has no entry."""
    if not hasattr(block, "tocoo"):
        return check_distances(block)
    known, full = block.tocoo(), np.full(block.shape, np.inf)
    full[known.coords] = check_distances(known.data)
    return full


def _check_dimension(distances: Distances, rule: ClusterRule, dimension: float | None) -> None:
    if dimension is None and isinstance(distances, SpanningTree) and rule.selection == "information":
        raise ValueError(
            "selection='information' needs the number of dimensions in which a spanning tree was measured. Give "
            "fit(..., dimension=...) or another 'selection'."
        )


def _search_background(tree: DCTree, rule: ClusterRule, dimension: float) -> BoolArray:
    """Find rows of a sparse background; none if too few other rows would remain."""
    test = make_test("information", rule.min_samples, rule.min_cluster_size, tree.n_points, dimension)
    background = find_background(tree, StructureTree.from_dc_tree(tree, "information", test))
    return background if np.sum(~background) >= max(2, rule.min_samples) else np.zeros_like(background)
