"""From a density tree to clusters: the class `Clustering`, and functions that make one."""

from shade.clustering.clustering import Clustering, attach, cluster, cluster_tree, recluster
from shade.clustering.layers import Layers, find_layers
from shade.clustering.rule import ClusterRule
from shade.clustering.selection import (
    FlatClustering,
    cut_at_distance,
    select_clusters,
    select_each_number,
    select_n_clusters,
    total_stabilities,
)
from shade.clustering.split_test import SplitTest
from shade.clustering.structure_tree import StructureTree

__all__ = [
    "ClusterRule", "Clustering", "FlatClustering", "Layers", "SplitTest", "StructureTree", "attach", "cluster",
    "cluster_tree", "cut_at_distance", "find_layers", "recluster", "select_clusters", "select_each_number",
    "select_n_clusters", "total_stabilities",
]  # fmt: skip
