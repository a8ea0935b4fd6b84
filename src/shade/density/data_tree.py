"""The tree of the data itself, which training follows and which shows background and clusters afterwards."""

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
    spanning : SpanningTree
    dc_tree : DCTree
    samples : ndarray of shape (n_samples, n_columns)
        The rows as the tree has them.
    view : {"columns", "directions"}
        What these are: the standardised columns, or directions of principal components.
    """

    spanning: SpanningTree
    dc_tree: DCTree
    samples: AnyArray
    view: str = "columns"

    @cached_property
    def dimension(self) -> float:
        """Number of dimensions that the rows fill, measured when first asked for."""
        return dimension_of_rows(self.samples)


@dataclass(frozen=True)
class DataTrees:
    """What is known of the data before training.

    Attributes
    ----------
    columns : DataTree
        The tree of the standardised columns.
    followed : DataTree
        The tree that training follows: the same, or that of another view.
    background : ndarray of bool of shape (n_samples,)
        Rows of a sparse background.
    """

    columns: DataTree
    followed: DataTree
    background: BoolArray
