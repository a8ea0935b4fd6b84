"""Checks that the contents of a model file fit together, so that later code never reads outside of an array.

Hashes only prove that a file was not changed after it was written. Its author may have written anything. Therefore
values that follow from others are computed again: the clusters from the tree and, for the tree, the distance from each
point to its nearest neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from shade._base.arrays import AnyArray, BoolArray, FloatArray, IntArray, part_of
from shade._base.errors import ModelFileError, told_as
from shade._kernels.merge_tree import smallest_rows
from shade.clustering.clustering import Clustering
from shade.clustering.known import Known, check_pairs
from shade.clustering.rule import ClusterRule
from shade.clustering.selection import FlatClustering, find_branches
from shade.density.dc_tree import DCTree
from shade.density.spanning_tree import SpanningTree
from shade.persistence.model_file import ModelContents

HISTORY, LARGEST_RECORD = {"epoch", "loss", "reconstruction_loss", "seconds"}, 1e300
MOST_FEATURES = 1 << 24  # of one sample, if no weights tell how many there are
MOST_PROBES = 64
STEPS_AT_A_TIME = 1 << 16
MOST_PAIRS = 1 << 22  # of points that are measured to check the tree
FEW_COLUMNS = 64  # with more columns, fewer pairs are measured in proportion
MOST_GROUPS = 1000  # in which distances are measured
MOST_CHOICES = 1 << 23  # in memory when a given number of clusters is chosen: numbers of clusters over all branches
TOLD = 1e-6  # of a squared distance, relative to the extent of the points: a device searches in single precision
ESTIMATORS = ("SHADE", "DCTreeClustering")
TREE = {
    "order": np.int64, "reachability": np.float64, "left": np.int64, "right": np.int64, "height": np.float64,
    "size": np.int64,
}  # fmt: skip
CLUSTERING = {
    "labels": np.int64, "strengths": np.float64, "outlier_scores": np.float64, "stability": np.float64,
    "persistence": np.float64, "death": np.float64, "limit": np.float64, "exemplars": np.int64, "outskirts": np.int64,
}  # fmt: skip
KNOWN = {"known.rows": np.int64, "known.labels": np.int64, "known.must_link": np.int64, "known.cannot_link": np.int64}
DIMENSIONS = {  # of arrays with more than one
    "embedding": 2, "links": 2, "probe.embedding": 2, "known.must_link": 2, "known.cannot_link": 2,
}  # fmt: skip
DEEP = {
    "standardizer.mean": np.float64, "standardizer.scale": np.float64, "probe.row": np.float64,
    "probe.embedding": np.float32,
}  # fmt: skip


def check_contents(contents: ModelContents) -> None:
    """Check everything that can be checked without the networks."""
    description, arrays = contents.description, contents.arrays
    _check_description(description)
    deep = description["estimator"] == "SHADE"
    of_distances = description["parameters"].get("metric") == "precomputed"
    kinds = {
        "embedding": np.float32 if deep else np.float64,
        "groups": np.int64,
        "outside": np.int64,
        "links": np.int32,
        **{f"dc_tree.{name}": kind for name, kind in TREE.items()},
        **{f"clustering.{name}": kind for name, kind in CLUSTERING.items()},
        **(DEEP if deep else {}),
        **(KNOWN if set(arrays) & set(KNOWN) else {}),
        **({"numbers": np.int64} if "numbers" in arrays else {}),
        **({} if deep or of_distances or "weights" not in arrays else {"weights": np.int64}),
        **({"core": np.float64} if of_distances and "core" in arrays else {}),
    }
    _require(set(arrays) == set(kinds), f"it holds the arrays {sorted(arrays)!s:.400}, not {sorted(kinds)}")
    for name, kind in kinds.items():
        _require(arrays[name].dtype == kind, f"{name} is of {arrays[name].dtype}, not {np.dtype(kind)}")
        dimensions = DIMENSIONS.get(name, 1)
        _require(
            arrays[name].ndim == dimensions and arrays[name].size >= name.startswith("probe."),
            f"{name} has shape {arrays[name].shape}, not {dimensions} dimensions",
        )
    n, columns = arrays["embedding"].shape
    enough = n >= (1 if "weights" in arrays else 2) and (columns >= 1) != of_distances
    _require(enough, f"the embedding has shape {(n, columns)}")
    _require(np.isfinite(arrays["embedding"]), "the embedding has values that are not numbers")
    features = math.prod(description["sample_shape"])
    if deep:
        _check_standardizer(arrays["standardizer.mean"], arrays["standardizer.scale"], features)
        sizes = len(arrays["probe.row"]), arrays["probe.embedding"].shape[-1]
        _require(sizes == (features, columns), f"the probe has {sizes} columns, not {(features, columns)}")
        _require(len(arrays["probe.embedding"]) <= MOST_PROBES, "there are too many probes")
    else:
        expected = n if of_distances else columns
        _require(features == expected and not contents.tensors, f"it has {expected} columns, not {features}")
    if "weights" in arrays:  # the tree holds each row as often as it counts
        n = _count_repeated(arrays["weights"], n, len(arrays["dc_tree.order"]))
    _check_tree(part_of(arrays, "dc_tree."), n)
    _check_clustering(part_of(arrays, "clustering."), n)
    if "numbers" in arrays:
        _check_numbers(arrays["numbers"], len(arrays["clustering.limit"]))
    _check_links(arrays, n, deep, grown=description.get("grown") is True)
    groups, outside = arrays["groups"], arrays["outside"]
    _require(len(groups) == n and (groups >= -1) & (groups < n), "there are groups that are none")
    _require(int(np.sum(groups >= 0)) >= 2, "there is nothing but background")
    _require(np.bincount(groups[groups >= 0]) > 0, "there are groups without rows")
    if known_of(arrays) is None:  # else rows of it can have a known label
        _require(arrays["clustering.labels"][groups < 0] == -1, "there is background in a cluster")
    _require((outside >= 0) & (outside < n), "there are rows outside that are no rows")
    _require(np.diff(outside) > 0, "the rows outside are not told in order")
    _require(groups[outside] >= 0, "there is background among the rows outside")
    inside = np.delete(groups, outside)
    counts = np.bincount(inside[inside >= 0], minlength=int(groups.max()) + 1)
    _require(counts > 0, "there are groups of rows outside alone")
    _require(len(outside) == 0 or bool(groups.max() > 0), "there are rows outside of no groups")


def known_of(arrays: Mapping[str, AnyArray]) -> Known | None:
    """What the arrays of a file say is known of some rows; None if nothing is."""
    if "known.rows" not in arrays:
        return None
    labels, rows = np.full(len(arrays["dc_tree.order"]), -1), arrays["known.rows"]
    _require(len(rows) == len(arrays["known.labels"]), "there are not as many known labels as rows that have one")
    _require((rows >= 0) & (rows < len(labels)), "there are known labels of what is no row")
    _require(np.diff(rows) > 0, "the rows with known labels are not told in order")
    _require(arrays["known.labels"] >= 0, "there are known labels that are none")
    labels[rows] = arrays["known.labels"]
    _require(any(arrays[name].size for name in KNOWN), "it has labels and pairs of which none is known")
    with told_as(ModelFileError, "What is known of rows in the model file cannot be used", ValueError):
        pairs = [check_pairs(name, arrays[f"known.{name}"], len(labels)) for name in ("must_link", "cannot_link")]
        return Known(labels, *pairs)


def rule_of(description: Mapping[str, Any], parameters: Mapping[str, Any]) -> ClusterRule:
    """Return the rule of a file. It must agree with the parameters, apart from the number of clusters and the cut."""
    rule = description["rule"]
    names = {field.name for field in fields(ClusterRule)}
    _require(isinstance(rule, dict) and set(rule) == names, "it has no rule of its clusters")
    for name in names & set(parameters):
        _require(type(rule[name]) is type(parameters[name]) and rule[name] == parameters[name], f"{name} is told twice")
    number, cut = rule["n_clusters"], rule["cut_distance"]
    _require(number is None or (type(number) is int and number >= 1), "the number of clusters is none")
    _require(cut is None or (type(cut) in (int, float) and 0.0 <= cut < math.inf), "the cut is no distance")
    _require(number is None or cut is None, "it has both a number of clusters and a cut")
    dimension: Any = description.get("dimension")
    _require(type(dimension) in (int, float) and 1.0 <= dimension < math.inf, "the dimension is none")
    return ClusterRule(**rule)


def strongest_split_of(description: Mapping[str, Any]) -> tuple[float, float] | None:
    """The strongest split of data that is one cluster; files of earlier versions do not say it."""
    split = description.get("strongest_split")
    if split is None:
        return None
    numbers = isinstance(split, list) and len(split) == 2 and all(type(value) is float for value in split)
    _require(numbers and all(0.0 <= value < math.inf for value in split), "the strongest split of the data is none")
    return split[0], split[1]


def check_clusters(clustering: Clustering, stored: FlatClustering) -> None:
    """Check that the tree gives the stored clusters and all their values."""
    groups = clustering.shown.groups
    alone = groups.max() <= 0 and not clustering.shown.outside.any()
    _require(clustering.shown.decides or alone, "there are groups of the data, which do not count")
    divisible = clustering.shown.strongest_split is None or (clustering.shown.decides and alone)
    _require(divisible, "the strongest split of the data is of other clusters")
    if clustering.shown.decides:
        sizes = np.bincount(groups[groups >= 0])
        # All rows together are one cluster, even if there are few.
        enough = (sizes >= clustering.structure_tree.test.smallest) | (len(sizes) == 1)
        _require(enough & find_branches(clustering.structure_tree, groups)[1], "there are groups that are no branches")
    if clustering.rule.n_clusters is not None:
        leaves = clustering.structure_tree.n_leaves
        choices = np.minimum(leaves, clustering.rule.n_clusters)
        few = choices.sum() <= MOST_CHOICES and float(choices[0]) * float(leaves[0]) <= MOST_CHOICES**1.3
        _require(few, f"its {clustering.rule.n_clusters} clusters would take too long to choose again")
    with told_as(ModelFileError, "The contents of the model file do not fit together", ValueError):
        again = clustering.flat.to_arrays()
    for name, values in stored.to_arrays().items():
        exact = values.dtype.kind == "i"
        close = np.array_equal if exact else partial(np.allclose, rtol=1e-6, atol=1e-9, equal_nan=True)
        same = values.shape == again[name].shape and close(values, again[name])
        _require(same, f"the {name} of the clusters are not those that the tree gives")


def check_points(clustering: Clustering) -> None:
    """Check that the tree is one of the points: all rows as far as linear time allows, a sample of rows exactly.

    For rows outside of the sample, heights that are too small are not found: that would need a search for all rows.
    """
    groups, tree, min_samples = clustering.shown.groups, clustering.dc_tree, clustering.rule.min_samples
    size = np.bincount(groups[groups >= 0])
    dense = int(size.sum())
    _require(size >= min_samples, f"there are {size.min()} rows in a group, fewer than min_samples")
    if clustering.points.shape[1] == 0:
        _check_core(clustering)
        return
    first_merge = np.empty(2 * tree.n_points)
    first_merge[tree.left] = first_merge[tree.right] = tree.height
    by_group = np.argsort(groups, kind="stable")[len(groups) - dense :]
    _check_steps(clustering, first_merge)
    groups_of_rows = np.split(by_group, np.cumsum(size)[:-1])
    pairs = MOST_PAIRS // max(1, clustering.points.shape[1] // FEW_COLUMNS)
    for rows in groups_of_rows[:: 1 + len(groups_of_rows) // MOST_GROUPS]:
        _check_nearest(clustering.points[rows], first_merge[rows], min_samples, pairs * len(rows) // dense)


def _check_core(clustering: Clustering) -> None:
    """Check core distances where there are no points: no row joins the tree nearer than that."""
    core, tree = clustering.core, clustering.dc_tree
    if core is not None:
        _require(len(core) == tree.n_points, f"there are {len(core)} core distances for {tree.n_points} rows")
        joining = np.minimum(tree.reachability, np.append(tree.reachability[1:], np.inf))[tree.position]
        _require((core >= 0) & (core < np.inf), "there are core distances that are no distances")
        _require((core <= joining) | clustering.shown.background, "the tree is not of the core distances")


def _check_steps(clustering: Clustering, first_merge: FloatArray) -> None:
    """Check that no step in the tree's order is longer than the direct step, and that background joins last.

    The direct step between two rows is the largest of their distance and both core distances. Core distances are at
    most as large as first merges.
    """
    tree, groups, points = clustering.dc_tree, clustering.shown.groups, clustering.points
    outside, height = clustering.shown.background, tree.height
    if outside.any():
        top = np.count_nonzero(outside)
        _require(height[-top:] == 2.0 * height[-top - 1], "the background does not join above all else")
        _require(first_merge[: len(groups)][outside] == height[-1], "there is background that does not join last")
    extent = float(np.ptp(points, axis=0).max()) or 1.0
    for at in range(1, len(groups), STEPS_AT_A_TIME):
        rows, before = tree.order[at : at + STEPS_AT_A_TIME], tree.order[at - 1 : at - 1 + STEPS_AT_A_TIME]
        before = before[: len(rows)]
        gaps = (points[rows] - points[before]) / extent
        direct = np.maximum(np.einsum("ij,ij->i", gaps, gaps), np.square(first_merge[rows] / extent))
        direct = np.maximum(direct, np.square(first_merge[before] / extent))
        step = np.square(tree.reachability[at : at + len(rows)] / extent)
        inside = (groups[rows] == groups[before]) & (groups[rows] >= 0)
        _require(~inside | (step <= direct + TOLD * (1.0 + direct)), "the tree is not of the points")


def _check_nearest(points: FloatArray, first_merge: FloatArray, min_samples: int, most_pairs: int) -> None:
    """Check the distance at which each point first merges, for all points or for a sample.

    A row merges at its smallest mutual reachability, which is at least its core distance. It is at most the smallest
    one within the sample, and equal to it if the sample has all rows. Distances are compared in the accuracy of single
    precision.
    """
    n = len(points)
    with np.errstate(over="ignore", invalid="ignore"):
        centred = points - points.mean(axis=0)
        extent = float(np.abs(centred).max()) or 1.0
        centred /= extent
    _require(np.isfinite(centred), "there are points too far apart")
    sample = np.unique(np.linspace(0, n - 1, min(n, max(16, most_pairs // n))).astype(np.int64))
    squares = np.empty((len(sample), len(sample)))
    core = np.empty(len(sample))
    for place, row in enumerate(sample):
        distances = cdist(centred[row : row + 1], centred, "sqeuclidean")[0]
        squares[place] = distances[sample]
        core[place] = np.partition(distances, min_samples - 1)[min_samples - 1]
    reach = np.maximum(squares, np.maximum(core, core[:, None]))
    np.fill_diagonal(reach, np.inf)
    least, most = core, reach.min(axis=1)
    if len(sample) == n:
        least = most
    with np.errstate(over="ignore"):
        merged = np.square(first_merge[sample] / extent)
    wrong = (merged < least - TOLD * (1.0 + least)) | (merged > most + TOLD * (1.0 + most))
    _require(~wrong, "the tree is not of the points")


def _check_description(description: Mapping[str, Any]) -> None:
    kinds = {
        "estimator": str, "versions": dict, "parameters": dict, "sample_shape": list, "history": list,
        "feature_names": list, "rule": dict,
    }  # fmt: skip
    for name, kind in kinds.items():
        _require(isinstance(description.get(name), kind), f"the manifest has no {name} of type {kind.__name__}")
    _require(description["estimator"] in ESTIMATORS, f"it is of a {description['estimator']!r:.80}")
    shape, names = description["sample_shape"], description["feature_names"]
    _require(0 < len(shape) < 8 and all(type(size) is int and size > 0 for size in shape), "the sample shape is none")
    features = math.prod(shape)
    _require(features <= MOST_FEATURES, f"samples have {features} features, more than {MOST_FEATURES}")
    _require(all(isinstance(name, str) for name in names), "names of features are not text")
    _require(len(names) in (0, features), f"there are {len(names)} names of {features} features")
    _check_history(description["history"], description["estimator"] == "SHADE")
    _require(all(isinstance(text, str) for text in description["versions"].values()), "versions are not text")
    deep = description["estimator"] == "SHADE"
    trees = ("batch", "complete") if deep else (None,)
    _require(description.get("training_tree") in trees, "the tree of training is neither of batches nor complete")
    precisions = ("bfloat16", "float32") if deep else (None,)
    _require(description.get("precision", precisions[-1]) in precisions, "the precision of training is none")
    seed = description.get("seed")
    _require(seed is None or (type(seed) is int and seed >= 0), "the seed is no whole number")
    limit: Any = description.get("reconstruction_limit")
    right = limit is None or (deep and type(limit) in (int, float) and 0.0 <= limit < math.inf)
    _require(right, "the limit of reconstruction is no number")
    settled = description.get("settled")
    _require(type(settled) is bool and (deep or not settled), "it does not say whether the embedding has settled")
    _require(type(description.get("of_data")) is bool, "it does not say whether the clusters are those of the data")


def _check_history(history: list[Any], deep: bool) -> None:
    """Check that every epoch has a record of finite numbers, since other code uses them without checks."""
    _require(bool(history) == deep, "there is no history of training, or one where nothing was trained")
    for record in history:
        numbers = isinstance(record, dict) and all(type(value) in (int, float) for value in record.values())
        _require(numbers and set(record) >= HISTORY, "the history is not of epochs with numbers")
        _require(all(abs(value) < LARGEST_RECORD for value in record.values()), "the history has numbers that are none")


def _check_standardizer(mean: AnyArray, scale: AnyArray, features: int) -> None:
    for name, values in (("mean", mean), ("scale", scale)):
        _require(len(values) in (1, features), f"the {name} has {len(values)} entries for {features} features")
        _require(np.isfinite(values), f"the {name} has values that are not numbers")
    _require(len(mean) == len(scale), "mean and scale have different lengths")
    _require(scale > 0, "the scale has values that are not positive")


def _check_tree(tree: dict[str, AnyArray], n: int) -> None:
    for name, values in tree.items():
        expected = n if name in ("order", "reachability") else n - 1
        _require(len(values) == expected, f"the {name} of the tree has {len(values)} entries, not {expected}")
    left, right, height = tree["left"], tree["right"], tree["height"]
    _require(np.isfinite(height) & (height >= 0), "the tree has heights that are no distances")
    _require(np.diff(height) >= 0, "the heights of the tree are not in ascending order")
    nodes = np.concatenate([left, right])
    _require((nodes >= 0) & (nodes < 2 * n - 2), "the merges of the tree are not of its nodes")
    _require(np.bincount(nodes, minlength=2 * n - 2) == 1, "the merges of the tree are not of its nodes")
    _require(np.maximum(left, right) < n + np.arange(n - 1), "the tree merges nodes before they are made")
    below = smallest_rows(left, right)
    again = DCTree.from_spanning_tree(SpanningTree(np.column_stack([below[left], below[right]]), height)).to_arrays()
    for name, values in tree.items():
        _require(np.array_equal(values, again[name]), f"the {name} of the tree does not follow from its merges")


def _check_links(arrays: Mapping[str, AnyArray], n: int, deep: bool, *, grown: bool) -> None:
    links = arrays["links"]
    of_points, of_both = n - 1, 2 * (n - 1)  # the edges of the tree of the points, and of the data too
    whole = len(links) in ((of_points, of_both) if deep else (of_points,))
    if deep and grown:  # rows were added, and between those there are no links of the data
        whole = of_points <= len(links) <= of_both
    _require(whole and links.shape[1] == 2, f"the links have shape {links.shape}")
    _require((links >= 0) & (links < n), "there are links to what is no row")
    if len(links) < n:  # links of the points only: they must be the merges of the tree
        with told_as(ModelFileError, "The links in the model file are not a tree", ValueError):
            along = DCTree.from_spanning_tree(SpanningTree(links, arrays["dc_tree.height"])).to_arrays()
        same = all(np.array_equal(along[name], arrays[f"dc_tree.{name}"]) for name in ("left", "right"))
        _require(same, "the links are not those along which the tree merges")
    joined = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), (n, n))
    _require(connected_components(joined, directed=False)[0] == 1, "the links do not reach all rows")


def _check_clustering(clustering: dict[str, AnyArray], n: int) -> None:
    labels, limit, exemplars = clustering["labels"], clustering["limit"], clustering["exemplars"]
    k = len(limit)
    for name in ("labels", "strengths", "outlier_scores"):
        _require(len(clustering[name]) == n, f"there are {len(clustering[name])} {name} for {n} rows")
    for name in ("stability", "persistence", "death"):
        _require(len(clustering[name]) == k, f"there are {len(clustering[name])} values of {name} for {k} clusters")
    _require((labels >= -1) & (labels < k), f"there are labels outside −1 … {k - 1}")
    _require(np.bincount(labels[labels >= 0], minlength=k) > 0, "there are clusters without rows")
    for name in ("strengths", "outlier_scores", "persistence"):
        _require((clustering[name] >= 0) & (clustering[name] <= 1), f"there are {name} outside 0 … 1")
    _require(~np.isnan(limit), "there are clusters without a limit")
    outskirts = clustering["outskirts"]
    for name, rows in (("exemplars", exemplars), ("outskirts", outskirts)):
        _require((rows >= 0) & (rows < n), f"there are {name} that are no rows")
        _require(len(rows) <= n and np.bincount(rows, minlength=n) <= 1, f"there are {name} that are told twice")
    inside = np.delete(labels, outskirts)
    _require(np.bincount(inside[inside >= 0], minlength=k) > 0, "there are clusters of outskirts alone")


def _count_repeated(weights: IntArray, n: int, n_repeated: int) -> int:
    """Return the sum of the weights, after a check that there is a row of the tree for each."""
    _require(len(weights) == n, f"there are {len(weights)} weights for {n} rows")
    _require((weights >= 0) & (weights <= n_repeated), "there are weights that are none")
    _require(n_repeated >= 2 and float(weights.sum(dtype=np.float64)) == n_repeated, "the weights are not of the tree")
    return n_repeated


def _check_numbers(numbers: IntArray, n_clusters: int) -> None:
    _require(np.array_equal(np.sort(numbers), np.arange(n_clusters)), "the numbers of the clusters are none")


def _require(right: bool | BoolArray, problem: str) -> None:
    if not np.all(right):
        raise ModelFileError(f"The contents of the model file do not fit together: {problem}.")
