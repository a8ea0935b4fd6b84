"""Clusters within groups that the data shows."""

import numpy as np
import pytest

from shade.density import DCTree
from shade.density.grouped_tree import grouped_spanning_tree
from shade.stability.group_selection import find_divided, select_in_groups
from shade.stability.selection import FlatClustering, select_clusters
from shade.stability.structure_tree import StructureTree


def select(points: np.ndarray, groups: np.ndarray, divided: list[bool], smallest: int = 10) -> FlatClustering:
    tree = DCTree.from_spanning_tree(grouped_spanning_tree(points, groups, 5))
    structure = StructureTree.from_dc_tree(tree, "information", 5, smallest)
    return select_in_groups(structure, groups, points, lambda: np.array(divided))


def same_partition(labels: np.ndarray, expected: np.ndarray) -> bool:
    pairs = set(zip(labels.tolist(), expected.tolist(), strict=True))
    return len(pairs) == len({label for label, _ in pairs}) == len({label for _, label in pairs})


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Four blobs of 60, the first two farther from the others than from each other."""
    random = np.random.default_rng(0)
    which = np.repeat(np.arange(4), 60)
    return random.normal(size=(240, 3)) + np.array([0.0, 15.0, 60.0, 90.0])[which, None], which


def test_a_group_is_one_cluster_unless_it_is_divided(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    points, which = blobs
    groups = np.maximum(which - 1, 0)  # the first two are one group
    assert same_partition(select(points, groups, [False, False, False]).labels, groups)
    assert same_partition(select(points, groups, [True, False, False]).labels, which)


@pytest.mark.parametrize("columns", [2, 3])
def test_parts_that_chance_explains_make_no_clusters(columns: int) -> None:
    which = np.repeat([0, 1], 400)
    points = np.random.default_rng(columns).uniform(size=(800, columns)) + 5.0 * which[:, None]
    clustering = select(points, which, [True, True])
    assert same_partition(clustering.labels, which)
    assert np.isfinite(clustering.stability).all()


def test_groups_that_mix_stay_apart_and_background_is_noise() -> None:
    random = np.random.default_rng(1)
    groups = np.append(np.arange(100) % 2, np.full(20, -1))
    clustering = select(random.normal(size=(120, 2)), groups, [False, False])
    assert same_partition(clustering.labels, groups)
    assert (clustering.labels[100:] == -1).all()


def test_the_embedding_is_asked_only_where_a_group_may_be_divided(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    points, which = blobs
    tree = DCTree.from_spanning_tree(grouped_spanning_tree(points, which, 5))
    structure = StructureTree.from_dc_tree(tree, "information", 5, 10)
    found = select_in_groups(structure, which, points, lambda: pytest.fail("nothing is clear within the groups"))
    assert same_partition(found.labels, which)


def divided(points: np.ndarray, groups: np.ndarray) -> list[bool]:
    tree = StructureTree.from_dc_tree(DCTree.from_points(points, 5), "information", 5, 10)
    return find_divided(tree, select_clusters(tree), groups).tolist()


@pytest.mark.parametrize(("away", "clusters", "expected"), [(1000.0, 2, False), (200.0, 3, False), (80.0, 3, True)])
def test_parts_divide_a_group_where_they_are_well_ahead_of_it(away: float, clusters: int, expected: bool) -> None:
    """Two blobs, 6 apart, are one group: it is the more stable, the farther the next group is."""
    which = np.repeat(np.arange(3), 60)
    points = np.random.default_rng(2).normal(size=(180, 3)) * 0.5
    points[:, 0] += np.array([0.0, 6.0, 6.0 + away])[which]
    tree = StructureTree.from_dc_tree(DCTree.from_points(points, 5), "information", 5, 10)
    assert select_clusters(tree).n_clusters == clusters
    assert divided(points, np.maximum(which - 1, 0)) == [expected, False]


def test_a_group_that_mixes_with_others_is_not_stable(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    points, which = blobs
    groups = np.where(which < 3, which % 2, 2)  # the first and the third are one group, and the second lies between
    assert divided(points, groups) == [True, False, False]


def test_clusters_belong_to_the_group_of_most_of_their_rows(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    points, _ = blobs
    groups = np.where(np.arange(240) % 60 < 29, 0, 1)  # of each blob, 29 rows and 31
    assert divided(points, groups) == [False, True]
    assert divided(points, np.arange(240) % 2) == [False, False]  # half each
    assert divided(points[:60], np.repeat([0, 1], 30)) == [False, False]
