"""The places of the branches of the density tree in a map: far apart if they merge late."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shade._base.arrays import BoolArray, FloatArray, IntArray
from shade._kernels import merge_tree
from shade.clustering.clustering import cluster
from shade.clustering.rule import ClusterRule
from shade.clustering.structure_tree import StructureTree
from shade.density.dc_tree import DCTree

MOST_BRANCHES = 200  # all pairs of their distances are compared in every step
FAR = 1.5  # in medians: longer distances are drawn as this, so that one far branch does not shrink all others
STARTING_STEPS = 200  # with the stress of some hundred branches, later steps change nothing visible


@dataclass(frozen=True)
class Arrangement:
    """Branches of the density tree that contain no others, and the distances that they should have in a map.

    Attributes
    ----------
    branch : ndarray of shape (n_samples,)
        The branch of each row. Rows in no branch belong to the one that they are density-connected to first.
    distance : ndarray of shape (n_branches, n_branches)
        Distances in the map, up to a factor. They are squares of dc-distances: two dimensions are too few for all
        distances, and the large ones should be right.
    """

    branch: IntArray
    distance: FloatArray

    @classmethod
    def of_points(cls, points: FloatArray, n_jobs: int | None = None) -> Arrangement:
        """Build the arrangement of the real branches; a single branch if there are none."""
        n, rule = len(points), ClusterRule(background_noise=False)
        if n < rule.min_samples:
            return cls(np.zeros(n, np.int64), np.zeros((1, 1)))
        found = cluster(points, rule, n_jobs=n_jobs)
        return cls.of_tree(found.dc_tree, found.structure_tree)

    @classmethod
    def of_tree(cls, tree: DCTree, candidates: StructureTree) -> Arrangement:
        """Build the arrangement of the largest candidates that contain no others."""
        childless = np.ones(candidates.n_candidates, np.bool_)
        childless[candidates.parent[1:]] = False
        chosen = np.flatnonzero(childless)
        chosen = np.sort(chosen[np.argsort(-candidates.size[chosen], kind="stable")][:MOST_BRANCHES])
        merges, nodes = candidates.merges, candidates.node[chosen]
        inside = np.full(tree.n_points, -1)
        for number, node in enumerate(nodes):
            inside[merges.start[node] : merges.stop[node]] = number
        branch = np.empty(tree.n_points, np.int64)
        branch[tree.order] = inside[_nearest_inside(tree, inside >= 0)]
        distance = tree.dc_distances(tree.order[merges.start[nodes]]) ** 2
        apart = distance[distance > 0]
        return cls(branch, np.minimum(distance, FAR**2 * np.median(apart)) if len(apart) else distance)

    @property
    def n_branches(self) -> int:
        """Number of branches."""
        return len(self.distance)

    @property
    def matters(self) -> bool:
        """Whether there are several distances to keep."""
        return self.n_branches > 2

    def start(self, components: FloatArray) -> FloatArray:
        """Return the first places: branches at their distances, and within them principal components."""
        components = components / max(float(components.std()), np.finfo(np.float64).tiny)
        if not self.matters:
            return components
        centres = self._centres(components)
        for _ in range(STARTING_STEPS):
            centres += self._towards_distances(centres)
        # A tenth is narrower than the gaps between branches, and wide enough to separate the rows of a branch.
        places: FloatArray = (centres / centres.std())[self.branch] + 0.1 * components
        return places

    def shift(self, places: FloatArray) -> FloatArray:
        """Return how far each row would move to give branches their distances. Rows of a branch move alike."""
        return self._towards_distances(self._centres(places))[self.branch]

    def _centres(self, places: FloatArray) -> FloatArray:
        size = np.bincount(self.branch, minlength=self.n_branches)
        sums = [np.bincount(self.branch, column, self.n_branches) for column in places.T]
        return np.column_stack(sums) / size[:, None]

    def _towards_distances(self, centres: FloatArray) -> FloatArray:
        """Return one step of stress majorisation (de Leeuw), with distances scaled to the current size of the map."""
        gaps = centres[:, None] - centres
        actual = np.sqrt(np.square(gaps).sum(axis=2))
        unit = float((self.distance * actual).sum() / np.square(self.distance).sum())
        ratio = np.divide(unit * self.distance, actual, out=np.zeros_like(actual), where=actual > 0)
        aimed = (ratio[:, :, None] * gaps).sum(axis=1) / len(centres)
        step: FloatArray = aimed - (centres - centres.mean(axis=0))
        return step


def _nearest_inside(tree: DCTree, inside: BoolArray) -> IntArray:
    """Return for each position of the tree's order the position in a branch that it is density-connected to first."""
    n = tree.n_points
    before, after = np.empty(n, np.int64), np.empty(n, np.int64)
    before_distance, after_distance = np.empty(n), np.empty(n)
    merge_tree.nearest_marked(inside, tree.reachability, before, before_distance, after, after_distance)
    return np.where(before_distance <= after_distance, before, after)
