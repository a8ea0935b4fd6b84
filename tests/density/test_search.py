"""Exact searches: the kd-tree, all pairs, and blocks of scalar products agree with brute force to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from shade._kernels.lanes import LANES
from shade.density import search
from shade.density.search import AllPairs, KDTree, ProductBlocks
from tests import oracles
from tests.oracles import draw_points, draw_scaled_points


def larger_points(seed: int) -> np.ndarray:
    """Enough points for a kd-tree of several levels, with ties now and then."""
    rng = np.random.default_rng([8, seed])
    n, d = int(rng.integers(30, 500)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    if seed % 3 == 1:
        X = np.round(X, 1)
    if seed % 3 == 2:
        X = X[rng.integers(0, n // 2, n)]
    return X


def core_by_row(tree: KDTree, k: int) -> np.ndarray:
    core = np.empty(len(tree.points))
    core[tree.indices] = tree.core_distances(k, 1)
    return core


@pytest.mark.parametrize("seed", range(30))
def test_the_kd_tree_is_complete_and_tightly_bounded(seed: int) -> None:
    X = larger_points(seed)
    tree = KDTree.from_points(X)
    np.testing.assert_array_equal(np.sort(tree.indices), np.arange(len(X)))
    np.testing.assert_array_equal(tree.points, X[tree.indices])
    np.testing.assert_allclose(
        tree.singles @ tree.axes.T / tree.scale + tree.shift, tree.points, atol=1e-5 / tree.scale
    )
    inner = len(tree.children)
    np.testing.assert_array_equal(
        np.concatenate([tree.leaves[:, c].ravel()[: len(X)] for c in range(X.shape[1])]), tree.singles.T.ravel()
    )
    assert (tree.first[0], tree.last[0]) == (0, len(X))
    for node in range(inner):
        stop = tree.children[node + 1] if node + 1 < inner else len(tree.first)
        children = range(tree.children[node], stop)
        assert len(children) <= LANES
        assert tree.first[children[0]] == tree.first[node]
        assert tree.last[children[-1]] == tree.last[node]
        for lane in range(LANES):
            child = tree.children[node] + lane
            inside = tree.singles[tree.first[child] : tree.last[child]] if lane < len(children) else tree.singles[:0]
            np.testing.assert_array_equal(tree.boxes[node, :, 0, lane], inside.min(axis=0, initial=np.inf))
            np.testing.assert_array_equal(tree.boxes[node, :, 1, lane], inside.max(axis=0, initial=-np.inf))
            if lane > 0 and lane < len(children):
                assert tree.first[child] == tree.last[child - 1]


@pytest.mark.parametrize("offset", [1e-3, 1.0, 1e3, 1e6, 1e9])
def test_single_precision_loses_nothing_far_from_the_origin_or_beside_outliers(offset: float) -> None:
    for seed in range(6):
        X = larger_points(seed) * 1e-2 + offset
        X[:: max(1, len(X) // 3)] += 1e6 * offset * (seed % 2)
        queries = np.concatenate([X[::9], X[::11] + 1e-5, X[:3] * 1e12, X[:2] * 1e25])
        expected = np.sort(oracles.squared_distances(queries, X), axis=1)[:, :4]
        np.testing.assert_array_equal(KDTree.from_points(X).nearest(queries, 4)[1], expected, err_msg=f"{seed=}")


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64, 65, 97, 511, 512, 513, 1000, 20_000])
def test_all_leaves_but_the_last_are_full(n: int) -> None:
    tree = KDTree.from_points(np.random.default_rng(n).normal(size=(n, 2)))
    sizes = (tree.last - tree.first)[len(tree.children) :]
    sizes = sizes[sizes > 0]
    assert sizes.sum() == n
    assert (sizes[:-1] == search.LEAF).all()


@pytest.mark.parametrize("seed", range(15))
def test_the_smallest_value_in_each_node_is_found(seed: int) -> None:
    tree = KDTree.from_points(larger_points(seed))
    values = np.random.default_rng(seed).normal(size=len(tree.points))
    expected = [values[a:b].min(initial=np.inf) for a, b in zip(tree.first, tree.last, strict=True)]
    np.testing.assert_array_equal(tree.smallest_in_nodes(values), expected)


@pytest.mark.parametrize("seed", range(45))
def test_the_nearest_points_of_new_points_equal_brute_force(seed: int) -> None:
    X = larger_points(seed)
    queries = np.concatenate([X[::7], np.random.default_rng(seed).normal(size=(20, X.shape[1])) * 2])
    table = oracles.distances(queries, X)
    k = 1 + seed % 12
    expected = np.sort(table, axis=1)[:, :k]
    for way in (KDTree, AllPairs, ProductBlocks):
        for n_jobs in (1, 2):
            index, squared = way.from_points(X).nearest(queries, k, n_jobs)
            np.testing.assert_allclose(np.sqrt(squared), expected, rtol=1e-12, err_msg=f"{seed=} {way=}")
            np.testing.assert_allclose(
                np.take_along_axis(table, index, axis=1), expected, rtol=1e-12, err_msg=f"{seed=} {way=}"
            )
            assert all(len(set(row)) == k for row in index.tolist()), f"{seed=}: a point was found twice"


@pytest.mark.parametrize("seed", range(45))
def test_the_nearest_reachable_point_equals_brute_force_and_ties_go_to_the_nearer(seed: int) -> None:
    X = larger_points(seed)
    min_samples = 1 + seed % 8
    core = np.sort(oracles.squared_distances(X), axis=1)[:, min_samples - 1]
    queries = np.concatenate([X[::5], np.random.default_rng(seed).normal(size=(20, X.shape[1])) * 2])
    table = oracles.squared_distances(queries, X)
    query_core = np.sort(table, axis=1)[:, min_samples - 1]
    reach = np.maximum(table, np.maximum(query_core[:, None], core))
    nearest_of_tied = np.where(reach == reach.min(axis=1, keepdims=True), table, np.inf).min(axis=1)
    for way in (KDTree, AllPairs, ProductBlocks):
        index, squared = way.from_points(X).nearest_reachable(core, queries, query_core, 2)
        np.testing.assert_array_equal(squared, reach.min(axis=1), err_msg=f"{seed=} {way=}")
        every = np.arange(len(queries))
        np.testing.assert_array_equal(reach[every, index], squared, err_msg=f"{seed=} {way=}")
        np.testing.assert_array_equal(table[every, index], nearest_of_tied, err_msg=f"{seed=} {way=}")


def test_all_searches_give_core_distances_of_equal_bits() -> None:
    for seed in range(150):
        X = draw_scaled_points(seed).astype(np.float64)
        k = 1 + seed % len(X)
        pairs = AllPairs.from_points(X).core_distances(k, 1)
        np.testing.assert_array_equal(core_by_row(KDTree.from_points(X), k), pairs, err_msg=f"{seed=}")
        np.testing.assert_array_equal(ProductBlocks.from_points(X).core_distances(k, 1), pairs, err_msg=f"{seed=}")
    for seed in range(20):
        X = larger_points(seed)
        for k in (2, 30, 70):
            if k > len(X):
                continue
            pairs = AllPairs.from_points(X).core_distances(k, 2)
            np.testing.assert_array_equal(core_by_row(KDTree.from_points(X), k), pairs, err_msg=f"{seed=} {k=}")
            np.testing.assert_array_equal(
                ProductBlocks.from_points(X).core_distances(k, 2), pairs, err_msg=f"{seed=} {k=}"
            )


def test_the_slack_bounds_the_rounding_of_scalar_products() -> None:
    for seed in range(120):
        X = draw_points(seed, largest=40)
        blocks = ProductBlocks.from_points(X)
        products = blocks.products(np.arange(len(X)))
        by_products = blocks.norms[:, None] + blocks.norms - 2.0 * products
        exact = oracles.distances(X) ** 2
        assert (np.abs(by_products - exact) <= blocks.slack[:, None] * (1 + 1e-6) + 1e-300).all(), f"{seed=}"


def test_blocks_smaller_than_the_data_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(4).normal(size=(130, 4))
    whole = ProductBlocks.from_points(X).core_distances(5)
    monkeypatch.setattr(search, "BLOCK_ENTRIES", 130 * 7)
    assert ProductBlocks.from_points(X).rows_at_a_time() == 7
    np.testing.assert_array_equal(ProductBlocks.from_points(X).core_distances(5), whole)
    monkeypatch.setattr(search, "BLOCK_ENTRIES", 3)
    assert ProductBlocks.from_points(X).rows_at_a_time() == 1
    np.testing.assert_array_equal(ProductBlocks.from_points(X).core_distances(5), whole)


def test_the_algorithm_follows_the_shape_of_the_data() -> None:
    assert search.choose_algorithm(1024, 2) == "prim"
    assert search.choose_algorithm(1024, 500) == "prim"
    assert search.choose_algorithm(1025, 24) == "kd_tree"
    assert search.choose_algorithm(1025, 25) == "blocks"
    assert isinstance(search.make_search(np.zeros((1025, 24))), KDTree)
    assert isinstance(search.make_search(np.zeros((1025, 25))), ProductBlocks)
    assert isinstance(search.make_search(np.zeros((10, 25))), ProductBlocks)
    assert isinstance(search.make_search(np.zeros((1024, 2))), AllPairs)
