"""The class `Clustering`, and functions that make one: from points, another clustering, or a spanning tree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from shade._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from shade._base.validation import check_min_samples
from shade.clustering.assignment import Attachment, PointIndex
from shade.clustering.background import find_background
from shade.clustering.between import assign_between
from shade.clustering.joining import choose_number, join_clusters, joining_order, variance_index
from shade.clustering.known import Known
from shade.clustering.known_clusters import KnownClusters, constrain
from shade.clustering.links import follow_links, links_of, sort_links
from shade.clustering.numbering import renumber
from shade.clustering.rule import ClusterRule
from shade.clustering.selection import (
    FlatClustering,
    cut_at_distance,
    find_branches,
    flatten_nodes,
    number_by_size,
    select_clusters,
    select_n_clusters,
)
from shade.clustering.shown import Shown
from shade.clustering.split_test import VALLEY_ON_A_LINE
from shade.clustering.structure_tree import StructureTree, make_test
from shade.density.data_tree import DataClusters, DataTree
from shade.density.dc_tree import DCTree
from shade.density.dimension import dimension_of_rows
from shade.density.grouped_tree import TreeOfRows, grouped_spanning_tree, tree_of_rows
from shade.density.spanning_tree import SpanningTree

FEW_COLUMNS = 3  # with so few columns in the data, an embedding can only lose clusters


@dataclass(frozen=True)
class Clustering:
    """Points, their density tree, and the clusters chosen by a rule. Objects of this class never change.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_columns)
    rule : ClusterRule
    dimension : float
        Number of dimensions that the points fill; 1 if the rule does not use it.
    dc_tree : DCTree
    links : ndarray of shape (n_links, 2)
        Pairs of neighbouring rows, in the order in which noise reaches a cluster over them.
    shown : Shown
        What was found in the data.
    settled : bool
        Whether the points are an embedding of SHADE after settling.
    known : Known, optional
        What is known of some rows. The clusters agree with it.
    numbers : ndarray of shape (n_clusters,), optional
        The number of each cluster, the largest first, if they keep the numbers that they had with fewer points.
    """

    points: FloatArray
    rule: ClusterRule
    dimension: float
    dc_tree: DCTree
    links: AnyArray
    shown: Shown
    settled: bool = False
    known: Known | None = None
    numbers: IntArray | None = None

    @cached_property
    def automatic(self) -> Clustering:
        """The same clustering without a given number of clusters."""
        rule = self.rule
        return self if rule.n_clusters is None else replace(self, rule=replace(rule, n_clusters=None), numbers=None)

    def with_number(self, n_clusters: int) -> Clustering:
        """Return the same clustering with a given number of clusters."""
        return replace(self, rule=replace(self.rule, n_clusters=n_clusters, cut_distance=None), numbers=None)

    @cached_property
    def structure_tree(self) -> StructureTree:
        """The candidate clusters."""
        n_counted, rule = int(np.sum(~self.shown.background)), self.rule
        if rule.n_clusters is not None:
            return self.automatic.structure_tree.with_branches(self.dc_tree, rule.n_clusters)
        test = make_test(
            rule.selection, rule.min_samples, rule.min_cluster_size, n_counted, self.dimension, settled=self.settled
        )
        return StructureTree.from_dc_tree(self.dc_tree, rule.selection, test, n_counted)

    @cached_property
    def flat(self) -> FlatClustering:
        """The clusters."""
        if (agreeing := self._agreeing) is not None:
            found = agreeing.flat
        else:
            found = self.joined(self._number) if self.joins else finish(self, self._choose())
        return found if self.numbers is None else renumber(found, self.numbers)

    def joined(self, number: int) -> FlatClustering:
        """Return this number of clusters, of one or more of the parts each."""
        parts = self.parts
        return parts if number == parts.n_clusters else join_clusters(parts, self.joining_order, number, self.dc_tree)

    @cached_property
    def parts(self) -> FlatClustering:
        """The clusters found without a given number, before any are joined. Known rows may divide some of them."""
        if (agreeing := self._agreeing) is not None:
            return agreeing.parts
        return finish(self, self._choose()) if self.rule.n_clusters is None else self.automatic.parts

    @property
    def known_labels(self) -> IntArray:
        """For each cluster the known label of its rows; −1 if none is known."""
        known, labels, k = self.known, self.flat.labels, self.flat.n_clusters
        return np.full(k, -1) if known is None else known.name_clusters(labels, k)

    @cached_property
    def _agreeing(self) -> KnownClusters | None:
        """The clusters that agree with what is known; None if nothing is."""
        if self.known is None:
            return None
        free = replace(self, known=None, numbers=None)
        parts = free.parts if free.joins else free.flat
        return constrain(free.flat, parts, self.known, free.structure_tree, self.dc_tree, self.points)

    @property
    def joins(self) -> bool:
        """Whether each cluster consists of one or more of the `parts`, joined in their order."""
        return self.known is None and self._number <= self.parts.n_clusters

    @cached_property
    def _number(self) -> int:
        """The given number of clusters. By default, that of the parts or, after settling, the one that fits best."""
        if self.rule.n_clusters is not None:
            return self.rule.n_clusters
        return self.parts.n_clusters if self.variance_index is None else choose_number(self.variance_index)

    @cached_property
    def variance_index(self) -> FloatArray | None:
        """For 2, 3, … clusters, the index by which the number is chosen after settling; None if it is not."""
        found = self.automatic
        chosen_by_it = found.settled and found.rule.selection == "information" and found.of_branches
        if not chosen_by_it or found.parts.n_clusters < 2:
            return None
        return variance_index(found.parts.labels, found.joining_order, found.points, found.dimension)

    @cached_property
    def joining_order(self) -> IntArray:
        """Which of the parts are joined first."""
        return joining_order(self.parts, self.links, self.dc_tree, self.automatic.structure_tree.floor)

    @cached_property
    def index(self) -> PointIndex:
        """An index of the points for searches, built at the first use, since many users never predict."""
        return PointIndex(self.points, self.rule.min_samples)

    @property
    def of_branches(self) -> bool:
        """Whether the clusters are real branches, and not from a cut or from the data."""
        rule = self.rule
        if rule.cut_distance is not None or self.known is not None:
            return False
        return not self.shown.decides or (rule.n_clusters is not None and not self.joins)

    def _choose(self) -> FlatClustering:
        """Choose the branches of the tree that are the clusters."""
        rule, tree, shown = self.rule, self.structure_tree, self.shown
        if rule.cut_distance is not None:
            return cut_at_distance(tree, rule.cut_distance)
        if rule.n_clusters is not None:
            return select_n_clusters(tree, min(rule.n_clusters, int(tree.n_leaves[0])))
        if shown.decides:
            nodes = find_branches(tree, shown.groups)[0]
            return flatten_nodes(tree, nodes)
        return select_clusters(tree)


def finish(clustering: Clustering, chosen: FlatClustering) -> FlatClustering:
    """Return chosen clusters without background, and with or without the rows around them."""
    rule, shown = clustering.rule, clustering.shown
    if rule.n_clusters is not None or rule.cut_distance is not None:  # then the clusters are not those of the data
        shown = Shown(np.minimum(shown.groups, 0), np.zeros_like(shown.outside))
    if rule.cut_distance is None and not rule.between_noise:
        return assign_between(clustering.structure_tree, chosen, clustering.links, shown.groups)
    noise = shown.background | shown.outside
    return number_by_size(chosen.without(noise)) if noise.any() else chosen


def cluster(
    points: FloatArray,
    rule: ClusterRule,
    *,
    data: DataTree | None = None,
    settled: bool = False,
    n_jobs: int | None = None,
    device: str = "cpu",
    tree_of: TreeOfRows | None = None,
) -> Clustering:
    """Cluster points.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_columns)
    rule : ClusterRule
    data : DataTree, optional
        The tree of the data, if the points are an embedding. Its clusters are the result if the data has few columns,
        or if they are clear.
    settled : bool, default=False
        Whether the points are an embedding of SHADE after settling. There chance makes denser places, so splits need
        more evidence, and clusters are joined if that explains the variance better.
    n_jobs : int, optional
        Number of threads; all cores if None.
    device : str, default="cpu"
        The device that builds the trees.
    tree_of : callable, optional
        Builds the minimum spanning tree of given rows. It is given if other processes help to build trees.

    Returns
    -------
    Clustering
    """
    tree_of = tree_of or partial(tree_of_rows, points, rule.min_samples, n_jobs=n_jobs, device=device)
    build = partial(grouped_spanning_tree, tree_of)
    if rule.with_small_clusters != rule:  # so that fit with a minimum size gives the same as `recluster` with it
        found = cluster(points, rule.with_small_clusters, data=data, settled=settled, n_jobs=n_jobs, tree_of=tree_of)
        return recluster(found, rule, tree_of=tree_of)
    shown, own = Shown.nothing(len(points)), None
    if data is None:
        own = DataTree.from_spanning_tree(points, build(shown.groups))
        background = look_for_background(own, rule, n_jobs)
    else:
        background = data.background
    if background.any():
        shown, own = replace(shown, groups=np.where(background, -1, 0)), None
    spanning = build(shown.groups) if own is None else own.spanning
    tree = DCTree.from_spanning_tree(spanning) if own is None else own.dc_tree
    links = links_of(spanning)
    if data is not None:
        links = sort_links([spanning.edges, data.spanning.edges], [points, data.samples])
    if rule.selection != "information":
        dimension = 1.0
    elif own is not None:
        dimension = own.dimension
    else:
        dimension = dimension_of_rows(points, np.flatnonzero(~background), n_jobs)
    found = Clustering(points, rule, dimension, tree, links, shown, settled)
    if data is None or data.clusters is None or rule.selection != "information":
        return found
    labels = data.clusters.labels
    groups = np.where(shown.background, -1, follow_links(labels, links))
    shown = Shown(groups, (labels < 0) & (groups >= 0), True, data.clusters.strongest_split)
    return replace(found, dc_tree=DCTree.from_spanning_tree(build(groups, spanning)), shown=shown)


def read_data(tree: DataTree, rule: ClusterRule, n_jobs: int | None = None) -> tuple[BoolArray, DataClusters | None]:
    """Return the background of the data, and its clusters if they are clear, from the density tree of the data."""
    rule = rule.with_small_clusters
    background = look_for_background(tree, rule, n_jobs)
    return background, find_clear_clusters(tree, background, rule, n_jobs)


def look_for_background(tree: DataTree, rule: ClusterRule, n_jobs: int | None) -> BoolArray:
    """Find rows of a sparse background; none if the rule excludes it, or if too few other rows would remain."""
    background = np.zeros(len(tree.samples), np.bool_)
    if rule.background_noise:
        background = find_background(tree.dc_tree, read_tree(tree, rule, None, n_jobs))
    return background if np.sum(~background) >= max(2, rule.min_samples) else np.zeros_like(background)


def find_clear_clusters(
    data: DataTree, background: BoolArray, rule: ClusterRule, n_jobs: int | None
) -> DataClusters | None:
    """Return the clusters of the data if they are the result, whatever an embedding shows, else None.

    This is so if the data has few columns, or if all its clusters are clear: each has more evidence than chance
    reaches in branches of any size on a line, where it reaches most.
    """
    rows = np.flatnonzero(~background)
    tree = read_tree(data, rule, rows, n_jobs)
    found = select_clusters(tree)
    inside = found.labels >= 0
    own = found.labels[inside]
    gained = np.log(found.limit[own] / tree.leaving_distances()[inside])
    evidence = np.bincount(own, gained, found.n_clusters) / np.bincount(own, minlength=found.n_clusters)
    clear = found.n_clusters > 1 and evidence.min() >= VALLEY_ON_A_LINE
    if not clear and data.samples.shape[1] > FEW_COLUMNS:
        return None
    labels = np.full(len(background), -1)
    labels[rows] = found.labels
    strongest = tree.strongest_split(data.dc_tree.among(rows)) if found.n_clusters == 1 else None
    return DataClusters(labels, strongest)


def read_tree(tree: DataTree, rule: ClusterRule, rows: IntArray | None, n_jobs: int | None) -> StructureTree:
    """Return the real branches of the tree of the data, or of some of its rows."""
    rows = np.arange(len(tree.samples)) if rows is None else rows
    everything = len(rows) == len(tree.samples)
    dimension = tree.dimension if everything else dimension_of_rows(tree.samples, rows, n_jobs)
    test = make_test("information", rule.min_samples, rule.min_cluster_size, len(rows), dimension)
    return StructureTree.from_dc_tree(tree.dc_tree.among(rows), "information", test)


def cluster_tree(
    edges: IntArray, weights: FloatArray, dimension: float, rule: ClusterRule | None = None
) -> tuple[StructureTree, FlatClustering]:
    """Cluster by a spanning tree that was built elsewhere.

    Parameters
    ----------
    edges : ndarray of shape (n_samples - 1, 2)
        The rows that each edge joins.
    weights : ndarray of shape (n_samples - 1,)
        Length of each edge: mutual reachability or another distance.
    dimension : float
        Number of dimensions of the space in which the distances were measured. In few dimensions, chance alone makes
        deeper gaps between dense places.
    rule : ClusterRule, optional

    Returns
    -------
    tree : StructureTree
    clustering : FlatClustering

    Examples
    --------
    >>> import numpy as np
    >>> from shade.clustering import cluster_tree
    >>> edges = np.column_stack([np.arange(39), np.arange(1, 40)])
    >>> _, clustering = cluster_tree(edges, np.where(edges[:, 0] == 19, 50.0, 1.0), dimension=2.0)
    >>> clustering.n_clusters
    2
    """
    rule = rule or ClusterRule()
    spanning = SpanningTree(np.asarray(edges, np.int64), np.asarray(weights, np.float64))
    tree, n = DCTree.from_spanning_tree(spanning), spanning.n_points
    found = Clustering(np.empty((n, 0)), rule, dimension, tree, links_of(spanning), Shown.nothing(n))
    return found.structure_tree, found.flat


def recluster(
    clustering: Clustering,
    rule: ClusterRule,
    *,
    n_jobs: int | None = None,
    device: str = "cpu",
    tree_of: TreeOfRows | None = None,
) -> Clustering:
    """Cluster the same points by another rule. What was found in the data stays the same."""
    if rule.background_noise != clustering.rule.background_noise:
        raise ValueError(
            "recluster cannot change 'background_noise', as the background is found during fit. Fit again with the new "
            "value."
        )
    check_min_samples(rule.min_samples, len(clustering.points), 2, "recluster")
    shown, links = _join_small_groups(clustering, rule), clustering.links
    if rule.min_samples == clustering.rule.min_samples and shown is clustering.shown:
        return replace(clustering, rule=rule, numbers=None)
    tree_of = tree_of or partial(tree_of_rows, clustering.points, rule.min_samples, n_jobs=n_jobs, device=device)
    spanning = grouped_spanning_tree(tree_of, shown.groups)
    if len(links) < len(clustering.points):  # the links come from this tree only, not from the tree of the data too
        links = links_of(spanning)
    tree = DCTree.from_spanning_tree(spanning)
    return replace(clustering, rule=rule, dc_tree=tree, links=links, shown=shown, numbers=None)


def _join_small_groups(clustering: Clustering, rule: ClusterRule) -> Shown:
    """Join groups of the data that are too small to be clusters by a rule to the groups next to them."""
    shown = clustering.shown
    test = make_test(rule.selection, rule.min_samples, rule.min_cluster_size, 2, 1.0)
    smallest = max(rule.min_samples, test.smallest)
    large = np.bincount(shown.groups[~shown.background]) >= smallest
    if not shown.decides or large.all():
        return shown
    if np.sum(large) < 2:
        return Shown(np.minimum(shown.groups, 0), np.zeros_like(shown.outside))
    kept = np.append(np.where(large, np.cumsum(large) - 1, -1), -1)  # the last entry is for background
    groups = np.where(shown.background, -1, follow_links(kept[shown.groups], clustering.links))
    return replace(shown, groups=groups)


def attach(clustering: Clustering, points: FloatArray, n_jobs: int | None = None) -> Attachment:
    """Find where new points join the tree."""
    return clustering.index.attach(points, n_jobs)
