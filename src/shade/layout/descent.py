"""Computing the map: points are moved until neighbours are near each other, as in t-SNE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from shade._base.arrays import FloatArray, IntArray
from shade._base.parallel import run_chunks
from shade._kernels import layout
from shade.layout.arrangement import Arrangement
from shade.layout.repulsion import CHUNK, Repulsion

RATE = 1.0 / 12.0  # one over the largest attraction: the largest stable step
START = 10.0  # standard deviation of the first places: branches are apart from the beginning
TREE_RATE = 0.03  # fraction of the way to the distances of the tree that a branch moves per step


@dataclass(frozen=True)
class Phase:
    """Steps with the same settings; `attraction` is a multiple of that of t-SNE."""

    steps: int
    attraction: float
    momentum: float


# Attraction is strong first, so that rows find their branch, then weaker, so that they spread out. With 1 at the end,
# the map would be t-SNE, which fills the gaps between clusters. With 4 it would be like UMAP, which has less detail
# inside of clusters. `python -m benchmarks layout` compares maps; 1.5 is the smallest value with clear gaps.
PHASES = (Phase(100, 12.0, 0.5), Phase(100, 4.0, 0.8), Phase(300, 1.5, 0.8))


@dataclass(frozen=True)
class Attraction:
    """Which rows attract each other, and how much: symmetric, stored by row, with a mean sum of one per row."""

    starts: IntArray
    neighbours: IntArray
    weights: FloatArray

    @classmethod
    def of_neighbours(
        cls, neighbours: IntArray, squared: FloatArray, perplexity: float, n_jobs: int | None = None
    ) -> Attraction:
        """Weigh the neighbours of each row by their squared distances."""
        n, k = neighbours.shape
        weights = np.empty((n, k))
        run_chunks(layout.neighbour_weights, squared, perplexity, weights, count=n, n_jobs=n_jobs)
        one_way = csr_array((weights.ravel(), neighbours.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
        both = csr_array((one_way + one_way.T) / 2.0)
        both.sort_indices()
        return cls(both.indptr.astype(np.int64), both.indices.astype(np.int64), both.data)


def descend(start: FloatArray, attraction: Attraction, arrangement: Arrangement, n_jobs: int | None) -> FloatArray:
    """Move the points from their first places. The result does not depend on the number of threads."""
    n, places = len(start), START * start
    speed, gains = np.zeros((n, 2)), np.ones((n, 2))
    felt, push, pull = np.empty(n), np.empty((n, 2)), np.empty((n, 2))
    edges = (attraction.starts, attraction.neighbours, attraction.weights)
    repulsions = Repulsion(n_jobs)
    for phase in PHASES:
        for _ in range(phase.steps):
            repulsions.find(places, felt, push)
            run_chunks(layout.attract, places, *edges, pull, count=n, n_jobs=n_jobs, chunk=CHUNK, few=CHUNK)
            total = float(felt.sum()) - n  # without the force of each point on itself
            repulsion = n / max(total, np.finfo(np.float64).eps)
            layout.move_points(places, speed, gains, pull, push, phase.attraction, repulsion, RATE, phase.momentum)
            if arrangement.matters:
                places += TREE_RATE * arrangement.shift(places)
    return places
