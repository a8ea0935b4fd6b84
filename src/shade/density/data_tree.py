"""The tree of the data itself, which training follows and which shows a background."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shade._base.arrays import AnyArray, BoolArray
from shade.density.dc_tree import DCTree
from shade.density.dimension import dimension_of_rows
from shade.density.spanning_tree import SpanningTree


@dataclass(frozen=True)
class DataTree:
    """The density tree of the data that points are an embedding of.

    Attributes
    ----------
    samples : ndarray of shape (n_samples, n_columns)
        The standardised rows.
    spanning : SpanningTree
    dc_tree : DCTree
    background : ndarray of bool of shape (n_samples,), optional
        Rows of a sparse background, once it was looked for.
    clear : bool
        Whether distances in the data tell its clusters as well as an embedding does.
    """

    samples: AnyArray
    spanning: SpanningTree
    dc_tree: DCTree
    background: BoolArray | None = None
    clear: bool = False

    @classmethod
    def from_spanning_tree(cls, samples: AnyArray, spanning: SpanningTree) -> DataTree:
        """The tree of rows whose spanning tree is known."""
        return cls(samples, spanning, DCTree.from_spanning_tree(spanning))

    @cached_property
    def dimension(self) -> float:
        """Number of dimensions that the rows fill, measured when first asked for."""
        return dimension_of_rows(self.samples)
