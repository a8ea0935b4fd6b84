"""Points outside the clusters: noise put into a cluster on request, and points that were not there in training."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shade._arrays import FloatArray, IntArray
from shade._kernels import condense, merge_tree
from shade.density.dc_tree import DCTree
from shade.density.search import AllPairs, KDTree, make_search
from shade.stability.selection import FlatClustering
from shade.stability.structure_tree import StructureTree

STRATEGIES = ("nearest", "tree")

# A new point closer to a training point than float32 can tell, relative to the largest coordinate, is that point.
SAME_POINT = 1e-6


@dataclass(frozen=True)
class Attachment:
    """Where new points would join the tree: the row that each reaches first, and the distance at which."""

    row: IntArray
    distance: FloatArray


@dataclass(frozen=True)
class TrainingPoints:
    """The points of a tree, made ready for searches when first asked: many users never predict."""

    points: FloatArray
    min_points: int

    @cached_property
    def search(self) -> KDTree | AllPairs:
        """An index of the points."""
        return make_search(self.points)

    @cached_property
    def core(self) -> FloatArray:
        """Squared core distances of the points."""
        core = self.search.core_distances(self.min_points)
        if isinstance(self.search, AllPairs):
            return core
        by_row = np.empty_like(core)
        by_row[self.search.indices] = core
        return by_row

    def attach(self, queries: FloatArray, n_jobs: int | None = None) -> Attachment:
        """Find where new points join.

        The core distance of a new point reaches its `min_points`-th training point. For a training point, which finds
        itself first, that is its own core distance, so it joins where it did in training.
        """
        nearest, squared = self.search.nearest(queries, self.min_points, n_jobs)
        row, distance = self.search.nearest_reachable(self.core, queries, squared[:, -1].copy(), n_jobs)
        scale = np.abs(self.points).max()
        same = squared[:, 0] <= (SAME_POINT * scale) ** 2
        row = np.where(same, nearest[:, 0], row)
        distance = np.where(same, self.core[nearest[:, 0]], distance)
        return Attachment(row, np.sqrt(distance))


def label_new_points(clustering: FlatClustering, attachment: Attachment) -> IntArray:
    """The cluster of the row that each new point reaches, if it is reached within the cluster's limit; else −1."""
    labels = clustering.labels[attachment.row]
    limit = np.append(clustering.limit, -np.inf)[labels]  # noise, −1, reads the last entry
    return np.where(attachment.distance < limit, labels, -1)


def score_new_points(tree: StructureTree, attachment: Attachment) -> FloatArray:
    """Outlier scores of new points: how early they would fall off the branch that they join."""
    branches = tree.branches
    position = np.empty_like(tree.order)
    position[tree.order] = np.arange(len(tree.order))
    where = position[attachment.row]
    leaving = np.maximum(attachment.distance, branches.leaving[where])
    branch = branches.point_branch[where]
    condense.climb(branches.parent, branches.birth, branch, leaving)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1.0 - np.where(leaving > 0, branches.deepest[branch] / leaving, 1.0)


def assign_noise(
    labels: IntArray, points: FloatArray, tree: DCTree, strategy: str = "nearest", n_jobs: int | None = None
) -> IntArray:
    """Put every noise point into a cluster; returns new labels.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
    points : ndarray of shape (n_samples, n_features)
    tree : DCTree
    strategy : {"nearest", "tree"}, default="nearest"
        "nearest": the cluster of the nearest clustered point. "tree": the cluster that the point is density-connected
        to first; where there are several, the one of the nearest point among those met first.
    n_jobs : int, optional
    """
    noise, clustered = np.flatnonzero(labels < 0), np.flatnonzero(labels >= 0)
    assigned = labels.copy()
    if len(noise) == 0 or len(clustered) == 0:
        return assigned
    if strategy == "nearest":
        index, _ = make_search(points[clustered]).nearest(points[noise], 1, n_jobs)
        assigned[noise] = labels[clustered[index[:, 0]]]
    else:
        assigned[noise] = labels[_first_connected(labels, points, tree)[noise]]
    return assigned


def _first_connected(labels: IntArray, points: FloatArray, tree: DCTree) -> IntArray:
    """For each row a clustered row of least dc-distance: of the two next to it in the order, the nearer on a tie."""
    order, n = tree.order, tree.n_points
    before, after = np.empty(n, np.int64), np.empty(n, np.int64)
    before_distance, after_distance = np.empty(n), np.empty(n)
    merge_tree.nearest_marked(labels[order] >= 0, tree.reachability, before, before_distance, after, after_distance)
    here = points[order]
    nearer = np.linalg.norm(here - here[before], axis=1) <= np.linalg.norm(here - here[after], axis=1)
    take_before = (before_distance < after_distance) | ((before_distance == after_distance) & nearer)
    result = np.empty(n, np.int64)
    result[order] = order[np.where(take_before, before, after)]
    return result
