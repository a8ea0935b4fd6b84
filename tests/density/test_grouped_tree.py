"""Spanning trees in which groups stay together."""

from functools import partial

import numpy as np
import pytest

from shade.density import DCTree
from shade.density.grouped_tree import grouped_spanning_tree, tree_of_rows
from shade.density.spanning_tree import SpanningTree, minimum_spanning_tree
from tests.oracles import spans


def spanning_tree_of(points: np.ndarray, groups: np.ndarray, min_samples: int) -> SpanningTree:
    return grouped_spanning_tree(partial(tree_of_rows, points, min_samples), groups)


def tree_of(points: np.ndarray, groups: np.ndarray, min_samples: int = 4) -> DCTree:
    return DCTree.from_spanning_tree(spanning_tree_of(points, groups, min_samples))


def edge_set(tree: SpanningTree) -> set[tuple[int, int]]:
    return {(min(pair), max(pair)) for pair in tree.edges.tolist()}


def test_one_group_is_the_minimum_spanning_tree() -> None:
    points = np.random.default_rng(0).normal(size=(80, 3))
    found = spanning_tree_of(points, np.zeros(80, np.int64), 4)
    expected = minimum_spanning_tree(points, 4)
    assert spans(found.edges, 80)
    np.testing.assert_array_equal(np.sort(found.weights), np.sort(expected.weights))
    np.testing.assert_array_equal(
        DCTree.from_spanning_tree(found).dc_distances(), DCTree.from_spanning_tree(expected).dc_distances()
    )


def test_where_distances_tie_the_order_of_the_rows_does_not_choose_the_edges() -> None:
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(7.0)), axis=-1).reshape(-1, 2)
    for seed in range(20):
        random = np.random.default_rng(seed)
        points = grid[random.permutation(42)[: 30 + seed % 12]]
        groups = np.zeros(len(points), np.int64) if seed % 2 else (points[:, 0] > 2).astype(np.int64)
        groups[points[:, 1] == 6] = -1
        shuffled = random.permutation(len(points))
        before = spanning_tree_of(points, groups, 3)
        after = spanning_tree_of(points[shuffled], groups[shuffled], 3)
        inside = {pair for pair in edge_set(before) if (groups[list(pair)] >= 0).all()}
        moved = SpanningTree(shuffled[after.edges], after.weights)
        assert {pair for pair in edge_set(moved) if (groups[list(pair)] >= 0).all()} == inside, seed


@pytest.mark.parametrize("n_groups", [2, 3, 7])
@pytest.mark.parametrize("noise", [0, 9])
@pytest.mark.parametrize("apart", [0.0, 0.5, 20.0])
def test_groups_are_branches_that_hold_their_own_trees(n_groups: int, noise: int, apart: float) -> None:
    random = np.random.default_rng(n_groups)
    groups = np.append(np.arange(100) % n_groups, np.full(noise, -1))
    points = random.normal(size=(len(groups), 2)) + apart * groups[:, None]
    distances = tree_of(points, groups).dc_distances()
    inside = groups >= 0
    highest = distances[np.ix_(inside, inside)].max()
    for group in range(n_groups):
        rows, others = np.flatnonzero(groups == group), np.flatnonzero(inside & (groups != group))
        np.testing.assert_array_equal(distances[np.ix_(rows, rows)], DCTree.from_points(points[rows], 4).dc_distances())
        assert distances[np.ix_(rows, rows)].max() < distances[np.ix_(rows, others)].min()
    for row in np.flatnonzero(~inside):
        np.testing.assert_array_equal(np.delete(distances[row], row), 2.0 * highest)


def test_groups_that_lie_apart_change_nothing() -> None:
    random = np.random.default_rng(1)
    groups = np.repeat([0, 1, 2], 40)
    points = random.normal(size=(120, 3)) + 50.0 * groups[:, None] ** 2
    np.testing.assert_array_equal(tree_of(points, groups).dc_distances(), DCTree.from_points(points, 4).dc_distances())


def test_groups_that_are_equally_far_join_at_once() -> None:
    places = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0], [100.0, 100.0]])
    groups = np.repeat(np.arange(4), 5)
    points = places[groups] + 0.25 * np.tile(np.arange(5.0), 4)[:, None]
    tree = tree_of(points, groups)
    assert len(set(tree.height[-3:])) == 1
    np.testing.assert_array_equal(tree.dc_distances(), DCTree.from_points(points, 4).dc_distances())


def test_a_loose_group_does_not_keep_others_apart() -> None:
    tight = np.concatenate([np.arange(5.0) * 0.1, 3.0 + np.arange(5.0) * 0.1])
    loose = 20.0 + 10.0 * np.arange(5.0)
    points = np.append(tight, loose)[:, None]
    tree = tree_of(points, np.repeat([0, 1, 2], 5), min_samples=2)
    assert tree.dc_distance(0, 5) == pytest.approx(2.6)
    assert 10.0 < tree.dc_distance(0, 14) < 20.0


@pytest.mark.parametrize("elsewhere", [0, 8])
def test_groups_that_coincide_are_still_branches(elsewhere: int) -> None:
    points = np.vstack([np.zeros((16, 2)), np.random.default_rng(0).normal(size=(elsewhere, 2)) + 9.0])
    groups = np.append(np.arange(16) % 2, np.full(elsewhere, 2))
    tree = tree_of(points, groups)
    assert tree.dc_distance(0, 2) == 0.0
    assert tree.dc_distance(0, 1) >= 1e-3
