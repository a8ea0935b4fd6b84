"""The tree of the data itself. Training can use it, and it is used to find a background."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shade._base.arrays import AnyArray, BoolArray, IntArray
from shade.density.dc_tree import DCTree
from shade.density.dimension import dimension_of_rows
from shade.density.spanning_tree import SpanningTree


@dataclass(frozen=True)
class DataClusters:
    """Clusters of the data: the cluster of each row, −1 for rows in none.

    Of a single cluster also the evidence of the strongest split, and the evidence that it would need.
    """

    labels: IntArray
    strongest_split: tuple[float, float] | None = None


@dataclass(frozen=True)
class DataTree:
    """The density tree of the data. The points of an embedding have the same rows."""

    samples: AnyArray  # the standardised rows
    spanning: SpanningTree
    dc_tree: DCTree
    background: BoolArray  # rows of a sparse background; all False until it has been searched for
    clusters: DataClusters | None = None  # only clear clusters

    @classmethod
    def from_spanning_tree(cls, samples: AnyArray, spanning: SpanningTree) -> DataTree:
        """Build the tree of rows from their spanning tree."""
        return cls(samples, spanning, DCTree.from_spanning_tree(spanning), np.zeros(len(samples), np.bool_))

    @cached_property
    def dimension(self) -> float:
        """Number of dimensions that the rows fill, computed at the first use."""
        return dimension_of_rows(self.samples)
