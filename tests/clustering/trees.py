"""Candidates of a density tree, as the estimators find them."""

from __future__ import annotations

from shade.clustering import StructureTree
from shade.clustering.structure_tree import make_test
from shade.density import DCTree


def read_tree(
    tree: DCTree, selection: str, min_samples: int = 5, min_cluster_size: int | None = None, dimension: float = 2.0
) -> StructureTree:
    """The candidates of a rule for points that fill so many dimensions."""
    test = make_test(selection, min_samples, min_cluster_size, tree.n_points, dimension)
    return StructureTree.from_dc_tree(tree, selection, test)
