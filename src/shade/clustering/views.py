"""Where the density of the data is measured: in its columns, or in directions of its principal components.

The networks always see the standardised columns; the tree that training follows may be built in another view.
"""

from __future__ import annotations

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, SingleArray
from shade._base.ranks import arrays_from_first
from shade.clustering.clustering import look_for_background, more_informative, read_tree, total_information
from shade.clustering.rule import ClusterRule
from shade.density.data_tree import DataTree, DataTrees
from shade.density.dc_tree import DCTree
from shade.density.directions import find_components, scale_to_length_one
from shade.density.order import canonical_order
from shade.density.spanning_tree import SpanningTree, minimum_spanning_tree

CLOUDS = 19  # a single cloud tells more than so many others in 5 % of the cases
CLOUD_ROWS = 1_000  # of each, and of the data that is compared with them

VIEWS = ("auto", "columns", "directions")


def build_data_tree(
    space: SingleArray, view: str, min_samples: int, *, n_jobs: int | None = None, device: str = "cpu"
) -> DataTree:
    """The density tree of the rows as a view has them."""
    spanning = minimum_spanning_tree(space, min_samples, n_jobs=n_jobs, device=device)
    return DataTree(spanning, DCTree.from_spanning_tree(spanning), space, view)


def read_data(
    samples: SingleArray, view: str, rule: ClusterRule, fewer_columns: int, *, n_jobs: int | None, device: str
) -> DataTrees:
    """Build the density trees of the data, look for a background, and choose the tree that training follows.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_columns)
    view : {"auto", "columns", "directions"}
        "auto" takes the view whose clusters tell more about the rows.
    rule : ClusterRule
    fewer_columns : int
        Columns of the embedding. "auto" takes the columns as they are where the data has no more of them, as directions
        would lose too much, and where they show a background.
    n_jobs, device
        For the trees.
    """
    columns = build_data_tree(samples, "columns", rule.min_samples, n_jobs=n_jobs, device=device)
    background = look_for_background(columns, rule, n_jobs)
    known = samples.shape[1] <= fewer_columns or background.any()
    if view == "columns" or (view == "auto" and known):
        return DataTrees(columns, columns, background)
    components = find_components(samples)
    space = scale_to_length_one(components)
    directions = build_data_tree(space, "directions", rule.min_samples, n_jobs=n_jobs, device=device)
    if view == "auto":
        both = [read_tree(tree, rule, None, n_jobs) for tree in (columns, directions)]
        if more_informative(both) == 0 or not _tell_more_than_clouds(components, rule):
            return DataTrees(columns, columns, background)
    return DataTrees(columns, _put_on_scale(directions, columns), background)


def _tell_more_than_clouds(components: FloatArray, rule: ClusterRule) -> bool:
    """Whether clusters of directions tell more than those of single clouds that are as elongated as the data.

    The directions of an elongated cloud gather at the ends of its axes, which is more than chance, but no cluster.
    """
    order = canonical_order(components)
    some = order[np.linspace(0, len(order) - 1, min(len(order), CLOUD_ROWS)).astype(np.int64)]
    deviations = components.std(axis=0)
    random = np.random.default_rng(0)
    clouds = [
        scale_to_length_one(random.standard_normal((len(some), len(deviations))) * deviations) for _ in range(CLOUDS)
    ]
    information = np.array(
        [_information_of(points, rule) for points in (scale_to_length_one(components[some]), *clouds)]
    )
    arrays_from_first(information)
    return bool(information[0] > information[1:].max())


def _information_of(points: SingleArray, rule: ClusterRule) -> float:
    spanning = minimum_spanning_tree(points, rule.min_samples, algorithm="prim")
    return total_information(
        read_tree(DataTree(spanning, DCTree.from_spanning_tree(spanning), points), rule, None, None)
    )


def _put_on_scale(tree: DataTree, other: DataTree) -> DataTree:
    """The same tree with distances that are on average those of another, so that the loss weighs both views alike."""
    mean = tree.dc_tree.mean_distance()
    factor = other.dc_tree.mean_distance() / mean if mean > 0 else 1.0
    spanning = SpanningTree(tree.spanning.edges, factor * tree.spanning.weights)
    space: AnyArray = (factor * tree.samples).astype(np.float32, copy=False)
    return DataTree(spanning, DCTree.from_spanning_tree(spanning), space, tree.view)
