"""Kernels that batches are made with, and the small searches below all others."""

from __future__ import annotations

import numpy as np
import pytest

from shade._kernels import kd_tree, merge_tree, prim
from tests import oracles
from tests.oracles import draw_points


def test_the_kth_smallest_value_is_found_with_and_without_scratch_space_for_it() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        values = np.round(rng.normal(size=int(rng.integers(1, 90))), seed % 3)
        for k in {1, len(values) // 2 + 1, len(values)}:
            for room in (k, k + 5, 1):
                found = prim.kth_smallest(values, k, np.empty(room))
                assert found == np.sort(values)[k - 1], f"{seed=} {k=} {room=}"


def test_the_order_of_a_batch_holds_the_dc_distances_among_its_points() -> None:
    for seed in range(150):
        X = draw_points(seed)
        n = len(X)
        min_samples = 1 + seed % (n + 3)  # a batch may have fewer points than min_samples
        order, weights = np.empty(n, np.int64), np.empty(n)
        prim.batch_order(oracles.squared_distances(X), min_samples, order, weights)
        assert sorted(order.tolist()) == list(range(n)), f"{seed=}"
        assert order[0] == 0
        assert weights[0] == 0.0
        expected = oracles.minimax_distances(oracles.mutual_reachability(X, min(min_samples, n)))
        np.testing.assert_allclose(
            oracles.expand_steps(weights), expected[np.ix_(order, order)], rtol=1e-9, err_msg=f"{seed=}"
        )


def test_products_become_squared_distances() -> None:
    for n in (1, 2, 7, 40):
        X = np.random.default_rng(n).normal(size=(n, 5))
        out = X @ X.T
        prim.distances_from_products(out)
        np.testing.assert_allclose(out, oracles.squared_distances(X), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(out, out.T)
        assert (np.diag(out) == 0.0).all()
        assert (out >= 0.0).all()


def test_a_matrix_of_squared_distances_is_summed_by_column() -> None:
    X = np.random.default_rng(3).normal(size=(30, 4))
    out = np.empty((30, 30))
    prim.distance_matrix(np.ascontiguousarray(X.T), X, out)
    np.testing.assert_array_equal(out, oracles.squared_distances(X))


def test_the_middle_of_a_slice_parts_smaller_from_larger_values() -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 60))
        values = np.round(rng.normal(size=n), seed % 2)
        start, stop = sorted(rng.integers(0, n + 1, 2).tolist())
        if start == stop:
            continue
        middle = (start + stop) // 2
        indices = rng.permutation(n)
        before = indices.copy()
        kd_tree.select_middle(indices, values, start, stop, middle)
        np.testing.assert_array_equal(indices[:start], before[:start])
        np.testing.assert_array_equal(indices[stop:], before[stop:])
        assert sorted(indices.tolist()) == list(range(n))
        if middle > start:
            assert values[indices[start:middle]].max() <= values[indices[middle:stop]].min(), f"{seed=}"


def test_range_maxima_of_every_range_are_right() -> None:
    for n in (1, 2, 3, 7, 8, 9, 33):
        table = np.empty((max(1, n.bit_length()), n))
        table[0] = np.random.default_rng(n).normal(size=n)
        values = table[0].copy()
        merge_tree.fill_sparse_table(table)
        for low in range(n):
            for high in range(low + 1, n + 1):
                assert merge_tree.range_maximum(table, low, high) == values[low:high].max()


def test_the_nearest_marked_places_on_both_sides_are_found() -> None:
    for seed in range(80):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 40))
        marked = rng.random(n) < 0.3
        reachability = np.concatenate([[np.inf], rng.integers(1, 9, n - 1).astype(float)])
        before, after = np.empty(n, np.int64), np.empty(n, np.int64)
        before_distance, after_distance = np.empty(n), np.empty(n)
        merge_tree.nearest_marked(marked, reachability, before, before_distance, after, after_distance)
        for t in range(n):
            left = [s for s in range(t + 1) if marked[s]]
            right = [s for s in range(t, n) if marked[s]]
            assert before[t] == (left[-1] if left else -1), f"{seed=}"
            assert after[t] == (right[0] if right else -1), f"{seed=}"
            if left:
                assert before_distance[t] == reachability[left[-1] + 1 : t + 1].max(initial=0.0), f"{seed=}"
            if right:
                assert after_distance[t] == reachability[t + 1 : right[0] + 1].max(initial=0.0), f"{seed=}"
            assert left or before_distance[t] == np.inf
            assert right or after_distance[t] == np.inf


def test_items_are_sorted_by_their_keys() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        keys = rng.permutation(seed + 3)
        items = rng.permutation(seed + 3)
        count = int(rng.integers(0, seed + 4))
        rest = items[count:].copy()
        expected = sorted(items[:count].tolist(), key=lambda item: keys[item])
        merge_tree.sort_by(keys, items, count)
        assert items[:count].tolist() == expected, f"{seed=}"
        np.testing.assert_array_equal(items[count:], rest)


@pytest.mark.parametrize("k", [1, 2, 5, 16, 17, 64, 65, 80])
def test_core_distances_of_a_batch_are_the_kth_smallest_of_each_row(k: int) -> None:
    rng = np.random.default_rng(k)
    for n in (80, 97):
        squared = np.round(rng.random((n, n)) * 50).astype(np.float32)  # with ties
        squared += squared.T
        core = np.empty(n, np.float32)
        prim.batch_core_distances(squared, k, core)
        np.testing.assert_array_equal(core, np.sort(squared, axis=1)[:, k - 1])
