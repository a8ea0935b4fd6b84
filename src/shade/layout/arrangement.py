"""Where the branches of the density tree lie in a map: far apart if they merge late."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shade._base.arrays import BoolArray, FloatArray, IntArray
from shade._kernels import merge_tree
from shade.clustering.clustering import cluster
from shade.clustering.rule import ClusterRule
from shade.clustering.structure_tree import StructureTree
from shade.density.dc_tree import DCTree

MOST_BRANCHES = 200  # whose distances are compared pair by pair in every step
FAR = 1.5  # distances beyond so many medians are drawn as this: one far branch must not leave a dot of all others
STARTING_STEPS = 200  # with the stress of some hundred branches, later ones change nothing that can be seen


@dataclass(frozen=True)
class Arrangement:
    """Branches of the density tree that contain no other, and how far they should be apart in a map.

    Attributes
    ----------
    branch : ndarray of shape (n_samples,)
        The branch of each row. Rows in none belong to the one that they are density-connected to first.
    distance : ndarray of shape (n_branches, n_branches)
        Distances in the map, up to a factor. They are squares of dc-distances, as two dimensions are too few for all
        of them, and the large ones are to be right.
    """

    branch: IntArray
    distance: FloatArray

    @classmethod
    def of_points(cls, points: FloatArray, n_jobs: int | None = None) -> Arrangement:
        """The branches that are more than chance; a single one if there are none."""
        n, rule = len(points), ClusterRule(background_noise=False)
        if n < rule.min_samples:
            return cls(np.zeros(n, np.int64), np.zeros((1, 1)))
        found = cluster(points, rule, n_jobs=n_jobs)
        return cls.of_tree(found.dc_tree, found.structure_tree)

    @classmethod
    def of_tree(cls, tree: DCTree, candidates: StructureTree) -> Arrangement:
        """The largest candidates that contain no other."""
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
        """Places to start from: branches as far apart as they should be, and within them principal components."""
        components = components / max(float(components.std()), np.finfo(np.float64).tiny)
        if not self.matters:
            return components
        centres = self._centres(components)
        for _ in range(STARTING_STEPS):
            centres += self._towards_distances(centres)
        # A tenth: narrower than the gaps between branches, wide enough to tell the rows of a branch apart.
        places: FloatArray = (centres / centres.std())[self.branch] + 0.1 * components
        return places

    def shift(self, places: FloatArray) -> FloatArray:
        """How far each row would have to move, all rows of a branch alike, so that branches are as far apart as due."""
        return self._towards_distances(self._centres(places))[self.branch]

    def _centres(self, places: FloatArray) -> FloatArray:
        size = np.bincount(self.branch, minlength=self.n_branches)
        sums = [np.bincount(self.branch, column, self.n_branches) for column in places.T]
        return np.column_stack(sums) / size[:, None]

    def _towards_distances(self, centres: FloatArray) -> FloatArray:
        """One step of stress majorisation (de Leeuw), for distances of the size that the centres have already."""
        gaps = centres[:, None] - centres
        actual = np.sqrt(np.square(gaps).sum(axis=2))
        unit = float((self.distance * actual).sum() / np.square(self.distance).sum())
        ratio = np.divide(unit * self.distance, actual, out=np.zeros_like(actual), where=actual > 0)
        aimed = (ratio[:, :, None] * gaps).sum(axis=1) / len(centres)
        step: FloatArray = aimed - (centres - centres.mean(axis=0))
        return step


def _nearest_inside(tree: DCTree, inside: BoolArray) -> IntArray:
    """For each position in the order of the tree, the position in a branch that it is density-connected to first."""
    n = tree.n_points
    before, after = np.empty(n, np.int64), np.empty(n, np.int64)
    before_distance, after_distance = np.empty(n), np.empty(n)
    merge_tree.nearest_marked(inside, tree.reachability, before, before_distance, after, after_distance)
    return np.where(before_distance <= after_distance, before, after)
