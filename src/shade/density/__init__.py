"""Density-connectivity: core distances, spanning trees, and the tree of dc-distances."""

from shade.density.dc_tree import DCTree
from shade.density.reachability import core_distances, mutual_reachability
from shade.density.spanning_tree import SpanningTree, minimum_spanning_tree

__all__ = ["DCTree", "SpanningTree", "core_distances", "minimum_spanning_tree", "mutual_reachability"]
