"""A model as it is where the data shows groups, and a background, that a test decides on."""

from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from shade import DCTreeClustering
from shade.clustering.links import links_of
from shade.clustering.shown import Shown
from shade.density import DCTree
from shade.density.grouped_tree import grouped_spanning_tree, tree_of_rows

Model = TypeVar("Model", bound=DCTreeClustering)


def with_groups(model: Model, groups: np.ndarray) -> Model:
    """The same model with groups; −1 is background."""
    known = model.clustering_
    spanning = grouped_spanning_tree(partial(tree_of_rows, known.points, known.rule.min_samples), groups)
    shown = Shown(groups, np.zeros(len(groups), np.bool_), decides=bool(groups.max() > 0))
    other = model.recluster()
    tree = DCTree.from_spanning_tree(spanning)
    other.set_clustering(replace(known, dc_tree=tree, links=links_of(spanning), shown=shown))
    return other
