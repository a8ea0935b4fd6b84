"""The tree of the data itself, which training follows and which is asked for noise and groups afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from shade._arrays import SingleArray
from shade.density.dc_tree import DCTree
from shade.density.spanning_tree import SpanningTree


@dataclass(frozen=True)
class DataTree:
    """The trees of the data that points are an embedding of, and where its rows lie in them."""

    spanning: SpanningTree
    dc_tree: DCTree
    samples: SingleArray
