"""The tree of the data itself, which training follows and which shows a background."""

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
    """Clusters of the data.

    Attributes
    ----------
    labels : ndarray of int of shape (n_samples,)
        Cluster of each row; −1 for rows in none.
    information : float
        Total information of the clusters.
    """

    labels: IntArray
    information: float


@dataclass(frozen=True)
class DataTree:
    """The density tree of the data that points are an embedding of.

    Attributes
    ----------
    samples : ndarray of shape (n_samples, n_columns)
        The standardised rows.
    spanning : SpanningTree
    dc_tree : DCTree
    background : ndarray of bool of shape (n_samples,)
        Rows of a sparse background; none before it was looked for.
    clusters : DataClusters, optional
        The clusters of the data, if they are clear.
    """

    samples: AnyArray
    spanning: SpanningTree
    dc_tree: DCTree
    background: BoolArray
    clusters: DataClusters | None = None

    @classmethod
    def from_spanning_tree(cls, samples: AnyArray, spanning: SpanningTree) -> DataTree:
        """The tree of rows whose spanning tree is known."""
        return cls(samples, spanning, DCTree.from_spanning_tree(spanning), np.zeros(len(samples), np.bool_))

    @cached_property
    def dimension(self) -> float:
        """Number of dimensions that the rows fill, measured when first asked for."""
        return dimension_of_rows(self.samples)
