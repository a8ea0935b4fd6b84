"""What the tree of the data shows that no embedding may contradict: a background, and groups of rows before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shade._arrays import BoolArray, FloatArray, IntArray
from shade._distributed import arrays_from_first
from shade.dc_tree_clustering import DCTreeClustering
from shade.density.data_tree import DataTree
from shade.density.dimension import intrinsic_dimension
from shade.stability.background import find_background
from shade.stability.evidence import more_than_chance
from shade.stability.groups import find_groups
from shade.stability.links import follow_links

if TYPE_CHECKING:
    from shade.estimator import SHADE

CLEARLY = 2.0  # times what chance explains: sparse rows that merely look grouped are still background
MOST_BETWEEN = 0.05  # of the rows, where there is no background: more of them, and groups are not all there is
ENOUGH_ROWS = 20_000  # to tell how many dimensions all of them fill


def groups_of_data(model: SHADE, data: DataTree | None, points: FloatArray) -> IntArray | None:
    """The group of each row, −1 for background; None where the data shows nothing or is not asked.

    A background says that the distances in the data tell dense rows from sparse ones; in most data with many columns
    they do not. Without one, groups count only if hardly any row lies between them. Rules other than "information" are
    left to themselves.
    """
    if model.noise == "embedding" or data is None:
        return None
    background = _background_of_data(model, data, points)
    groups = np.where(background, -1, 0)
    if model.selection == "information":
        rows = np.flatnonzero(~background)
        smallest = max(model.min_points, model._smallest(len(rows)))

        def dimension() -> float:
            some = np.random.default_rng(0).permutation(rows)[:ENOUGH_ROWS] if len(rows) > ENOUGH_ROWS else rows
            return intrinsic_dimension(data.samples[some].astype(np.float64), model.n_jobs)

        found = find_groups(data.dc_tree, rows, dimension, smallest)
        arrays_from_first(found)
        between = found < 0
        if not background.any() and between.mean() > MOST_BETWEEN:
            return None
        groups[rows] = _complete(found, _clustering_of(model, points[rows]), smallest) if between.any() else found
    return groups if groups.any() else None


def _complete(groups: IntArray, embedded: DCTreeClustering, smallest: int) -> IntArray:
    """Let rows between groups be groups of their own where the embedding has clusters of them; else they join one."""
    groups = groups.copy()
    for label in range(embedded.n_clusters_):
        members = embedded.labels_ == label
        between = members & (groups < 0)
        if between.sum() >= max(smallest, members.sum() // 2 + 1):
            groups[between] = groups.max() + 1
    return follow_links(groups, embedded._links)


def _clustering_of(model: SHADE, points: FloatArray) -> DCTreeClustering:
    """Clusters of some points by the rule of the defaults, as if nothing were known of them."""
    clustering = DCTreeClustering(
        min_points=model.min_points, selection="information", n_jobs=model.n_jobs, device=model.device
    )
    clustering._cluster(points)
    return clustering


def _background_of_data(model: SHADE, data: DataTree, points: FloatArray) -> BoolArray:
    """Rows that are noise by the tree of the data, unless the embedding clearly shows clusters among them."""
    background = find_background(data.dc_tree)
    arrays_from_first(background)
    nothing = np.zeros(len(points), np.bool_)
    if not background.any() or len(points) - background.sum() < max(2, model.min_points):
        return nothing
    if background.sum() > model.min_points:
        among = _clustering_of(model, points[background])
        found = among._clustering
        if found.n_clusters > 1 and more_than_chance(among.structure_tree_, found, among._dimension, CLEARLY):
            background = nothing
        arrays_from_first(background)
    return background
