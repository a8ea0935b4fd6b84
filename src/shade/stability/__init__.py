"""From a density tree to clusters: candidates, choices, and points outside them."""

from shade.stability.selection import (
    FlatClustering,
    cut_at_distance,
    select_clusters,
    select_each_number,
    select_n_clusters,
    total_stabilities,
)
from shade.stability.structure_tree import StructureTree

__all__ = [
    "FlatClustering",
    "StructureTree",
    "cut_at_distance",
    "select_clusters",
    "select_each_number",
    "select_n_clusters",
    "total_stabilities",
]
