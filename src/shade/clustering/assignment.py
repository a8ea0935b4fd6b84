"""Points outside the clusters: noise points that get a cluster on request, and new points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shade._base.arrays import FloatArray, IntArray
from shade._kernels import condense
from shade.clustering.selection import FlatClustering
from shade.clustering.structure_tree import StructureTree
from shade.density.search import AllPairs, KDTree, ProductBlocks, make_search

# A new point is taken for a training point if float32 cannot tell them apart. The limit is relative to the distance of
# the new point from the centre, or to that of most points, so that one far training point does not merge all others.
SAME_POINT, MOST = 1e-6, 0.9
EXTENT_ROWS = 10_000  # enough to know how far from the centre most rows are


@dataclass(frozen=True)
class Attachment:
    """Where new points join the tree: the row that each point reaches first, and the distance of that step."""

    row: IntArray
    distance: FloatArray


@dataclass(frozen=True)
class PointIndex:
    """The points of a tree. The index for searches is built at the first use, since many users never predict."""

    points: FloatArray
    min_samples: int

    @cached_property
    def search(self) -> KDTree | AllPairs | ProductBlocks:
        """An index of the points."""
        return make_search(self.points)

    @cached_property
    def core(self) -> FloatArray:
        """Squared core distances of the points."""
        core = self.search.core_distances(self.min_samples)
        if not isinstance(self.search, KDTree):
            return core
        by_row = np.empty_like(core)
        by_row[self.search.indices] = core
        return by_row

    @cached_property
    def _extent(self) -> tuple[FloatArray, float]:
        """The centre of the points, and how far most of them are from it at most, in any column."""
        some = self.points[:: 1 + len(self.points) // EXTENT_ROWS]
        centre: FloatArray = np.median(some, axis=0)
        return centre, float(np.quantile(_farthest_column(some, centre), MOST))

    def attach(self, queries: FloatArray, n_jobs: int | None = None) -> Attachment:
        """Find the rows and distances at which new points join the tree.

        The core distance of a new point is the distance to its `min_samples`-th nearest training point. A training
        point joins itself at distance 0, so it gets the results of training.
        """
        nearest, squared = self.search.nearest(queries, self.min_samples, n_jobs)
        row, distance = self.search.nearest_reachable(self.core, queries, squared[:, -1].copy(), n_jobs)
        centre, usual = self._extent
        same = squared[:, 0] <= (SAME_POINT * np.maximum(_farthest_column(queries, centre), usual)) ** 2
        row = np.where(same, nearest[:, 0], row)
        return Attachment(row, np.sqrt(np.where(same, 0.0, distance)))


def _farthest_column(points: FloatArray, centre: FloatArray) -> FloatArray:
    """Return the distance of each point from the centre in the column where it is largest."""
    farthest = np.zeros(len(points))
    for column, middle in zip(points.T, centre, strict=True):  # by column: no copy of all points
        np.maximum(farthest, np.abs(column - middle), out=farthest)
    return farthest


def join_attachments(parts: Sequence[Attachment]) -> Attachment:
    """Concatenate attachments."""
    return Attachment(np.concatenate([part.row for part in parts]), np.concatenate([part.distance for part in parts]))


def label_new_points(clustering: FlatClustering, attachment: Attachment) -> IntArray:
    """Return the cluster of the row that each new point reaches, or −1 beyond the limit of that cluster."""
    labels = clustering.labels[attachment.row]
    limit = np.append(clustering.limit, -np.inf)[labels]  # noise, −1, reads the last entry
    return np.where(attachment.distance < limit, labels, -1)


def strengths_of_new_points(
    clustering: FlatClustering, tree: StructureTree, attachment: Attachment, labels: IntArray
) -> FloatArray:
    """Return the membership strengths of new points: that of the reached row, or less if the step to it is longer."""
    leaving = tree.leaving_distances()
    death = np.append(clustering.death, 0.0)  # noise, −1, reads the last entry
    distance, strengths = np.maximum(attachment.distance, tree.floor), clustering.strengths[attachment.row]
    farther = distance > leaving[attachment.row]
    strengths[farther] = np.minimum(strengths, death[labels] / distance)[farther]
    return np.where(labels >= 0, strengths, 0.0)


def score_new_points(tree: StructureTree, attachment: Attachment) -> FloatArray:
    """Return outlier scores of new points: how early they leave the branch that they join."""
    branches = tree.branches
    position = np.empty_like(tree.order)
    position[tree.order] = np.arange(len(tree.order))
    where = position[attachment.row]
    leaving = np.maximum(attachment.distance, branches.leaving[where])
    branch = branches.point_branch[where]
    condense.climb(branches.parent, branches.birth, branch, leaving)
    floor = tree.floor
    return 1.0 - np.maximum(branches.deepest[branch], floor) / np.maximum(leaving, floor)


def assign_nearest(labels: IntArray, points: FloatArray, n_jobs: int | None = None) -> IntArray:
    """Assign every noise point to the cluster of the nearest clustered point; return new labels."""
    noise, clustered = np.flatnonzero(labels < 0), np.flatnonzero(labels >= 0)
    assigned = labels.copy()
    if len(noise) and len(clustered):
        index, _ = make_search(points[clustered]).nearest(points[noise], 1, n_jobs)
        assigned[noise] = labels[clustered[index[:, 0]]]
    return assigned
