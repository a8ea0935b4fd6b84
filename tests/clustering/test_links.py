"""Noise goes where the shortest links lead, whatever the units of the spaces and the order of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.csgraph import minimum_spanning_tree as scipy_tree

from shade.clustering.links import follow_links, links_of, sort_links
from shade.density import minimum_spanning_tree
from tests.oracles import draw_groups


def draw_rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two spaces of the same rows, and labels of which many are noise."""
    random = np.random.default_rng(seed)
    first = draw_groups(seed, 50 + seed, 2)
    second = np.column_stack([first[:, ::-1] * 30.0, random.normal(size=(len(first), 3))])
    labels = np.where(random.uniform(size=len(first)) < 0.3, (first[:, 0] > np.median(first[:, 0])).astype(int), -1)
    labels[:2] = 0, 1
    return first, second, labels


def edges_of(*spaces: np.ndarray) -> list[np.ndarray]:
    return [minimum_spanning_tree(space, 4).edges for space in spaces]


def forest_labels(labels: np.ndarray, edges: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """By SciPy: all rows with a label hang on one root; the tree without the root falls into one part a label."""
    n = len(labels)
    known = np.flatnonzero(labels >= 0)
    rows = np.concatenate([edges[:, 0], np.full(len(known), n)])
    columns = np.concatenate([edges[:, 1], known])
    weights = np.concatenate([1.0 + lengths, np.full(len(known), 0.5)])
    tree = scipy_tree(coo_array((weights, (rows, columns)), shape=(n + 1, n + 1)).tocsr())
    part = connected_components(tree[:n, :n], directed=False)[1]
    label_of = np.full(part.max() + 1, -1)
    label_of[part[known]] = labels[known]
    return label_of[part]


def test_noise_goes_where_a_spanning_forest_of_the_links_puts_it() -> None:
    for seed in range(60):
        first, second, labels = draw_rows(seed)
        trees = edges_of(first, second)
        edges = np.unique(np.sort(np.vstack(trees), axis=1), axis=0)
        squares = sum(
            np.square(space[edges[:, 0]] - space[edges[:, 1]]).sum(axis=1) / space.var(axis=0).sum()
            for space in (first, second)
        )
        found = follow_links(labels, sort_links(trees, [first, second]))
        np.testing.assert_array_equal(found, forest_labels(labels, edges, np.sqrt(squares)), err_msg=f"{seed=}")
        np.testing.assert_array_equal(found[labels >= 0], labels[labels >= 0])


def test_a_tree_alone_leads_noise_over_its_lightest_edges() -> None:
    for seed in range(30):
        points, _, labels = draw_rows(seed)
        tree = minimum_spanning_tree(points, 2)
        found = follow_links(labels, links_of(tree))
        np.testing.assert_array_equal(found, forest_labels(labels, tree.edges, tree.weights), err_msg=f"{seed=}")


@pytest.mark.parametrize("scale", [1e-6, 1e5])
def test_the_units_of_the_spaces_do_not_matter(scale: float) -> None:
    first, second, labels = draw_rows(1)
    trees = edges_of(first, second)
    expected = follow_links(labels, sort_links(trees, [first, second]))
    np.testing.assert_array_equal(follow_links(labels, sort_links(trees, [scale * first, second])), expected)
    np.testing.assert_array_equal(follow_links(labels, sort_links(trees, [first, scale * second])), expected)


def test_the_order_of_the_rows_and_of_the_edges_does_not_matter() -> None:
    for seed in range(20):
        first, second, labels = draw_rows(seed)
        trees = edges_of(first, second)
        random = np.random.default_rng(seed)
        shuffled = random.permutation(len(first))
        place = np.argsort(shuffled)
        before = follow_links(labels, sort_links(trees, [first, second]))
        moved = [place[random.permutation(edges)] for edges in trees]
        after = follow_links(labels[shuffled], sort_links(moved, [first[shuffled], second[shuffled]]))
        np.testing.assert_array_equal(after, before[shuffled], err_msg=f"{seed=}")


def test_a_space_without_extent_says_nothing() -> None:
    first, _, labels = draw_rows(2)
    trees = edges_of(first)
    constant = np.full((len(first), 3), 7.0)
    expected = follow_links(labels, sort_links(trees, [first]))
    np.testing.assert_array_equal(follow_links(labels, sort_links(trees, [first, constant])), expected)


def test_labels_without_noise_or_of_noise_alone_are_returned_as_a_copy() -> None:
    first, _, _ = draw_rows(3)
    links = sort_links(edges_of(first), [first])
    for labels in (np.arange(len(first)) % 3, np.full(len(first), -1)):
        found = follow_links(labels, links)
        np.testing.assert_array_equal(found, labels)
        assert not np.shares_memory(found, labels)


def test_lengths_are_the_same_when_they_are_measured_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, _ = draw_rows(4)
    trees = edges_of(first, second)
    expected = sort_links(trees, [first, second.astype(np.float32)])
    monkeypatch.setattr("shade.clustering.links.CHUNK_ENTRIES", 17)
    np.testing.assert_array_equal(sort_links(trees, [first, second.astype(np.float32)]), expected)
