"""What training is given: the dc-distances of a batch as steps along an order of its rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from shade.density import DCTree
from shade.density.targets import Matrices, batch_order, targets_of_batches, targets_of_tree
from tests import oracles
from tests.oracles import draw_points


def distances_of_steps(steps: np.ndarray) -> np.ndarray:
    """The largest step between any two places."""
    n = len(steps)
    matrix = np.zeros((n, n))
    for s in range(n):
        for t in range(s + 1, n):
            matrix[s, t] = matrix[t, s] = steps[s + 1 : t + 1].max()
    return matrix


def dc_distances(X: np.ndarray, min_samples: int) -> np.ndarray:
    return oracles.minimax_distances(oracles.mutual_reachability(X, min(min_samples, len(X))))


def test_the_steps_of_a_batch_of_few_columns_hold_its_dc_distances() -> None:
    for seed in range(80):
        X = draw_points(seed).astype(np.float32)
        min_samples = 1 + seed % (len(X) + 2)
        order, steps = batch_order(X, min_samples)
        assert sorted(order.tolist()) == list(range(len(X)))
        assert steps[0] == 0.0
        expected = dc_distances(X, min_samples)[np.ix_(order, order)]
        np.testing.assert_allclose(distances_of_steps(steps), expected, rtol=1e-6, err_msg=f"{seed=}")


@pytest.mark.parametrize("columns", [32, 33, 100, 784])
def test_the_steps_of_a_batch_of_many_columns_hold_its_dc_distances(columns: int) -> None:
    for seed in range(6):
        X = np.random.default_rng([columns, seed]).normal(size=(60, columns)).astype(np.float32)
        matrices = Matrices()
        order, steps = batch_order(X, 5, matrices)
        np.testing.assert_array_equal(matrices.of_size(60), matrices.of_size(60).T)
        expected = dc_distances(X, 5)[np.ix_(order, order)]
        np.testing.assert_allclose(distances_of_steps(steps), expected, rtol=1e-5, err_msg=f"{seed=}")


@pytest.mark.parametrize("mean_edge", [False, True])
def test_targets_of_batches_come_from_the_tree_of_each_batch(mean_edge: bool) -> None:
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(200, 4)).astype(np.float32)
    targets = targets_of_batches(samples, 4, mean_edge=mean_edge)
    for _ in range(5):
        rows = rng.permutation(200)[:50]
        ordered, steps = targets(rows)
        assert sorted(ordered.tolist()) == sorted(rows.tolist())
        matrix = oracles.mutual_reachability(samples[ordered], 4)
        unit = oracles.prim_weights(matrix).mean() if mean_edge else 1.0
        np.testing.assert_allclose(distances_of_steps(steps), oracles.minimax_distances(matrix) / unit, rtol=1e-5)


@pytest.mark.parametrize("mean_edge", [False, True])
def test_targets_of_the_complete_tree_are_its_distances(mean_edge: bool) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 3))
    tree = DCTree.from_points(X, 5)
    targets = targets_of_tree(tree, mean_edge=mean_edge)
    unit = tree.height.mean() if mean_edge else 1.0
    for _ in range(5):
        rows = rng.permutation(150)[:40]
        ordered, steps = targets(rows)
        assert sorted(ordered.tolist()) == sorted(rows.tolist())
        np.testing.assert_allclose(distances_of_steps(steps), tree.dc_distances(ordered) / unit, rtol=1e-12)


def test_targets_in_units_of_the_mean_edge_do_not_depend_on_the_unit_of_the_data() -> None:
    samples = np.random.default_rng(3).normal(size=(60, 4)).astype(np.float32)
    rows = np.arange(60)
    plain = targets_of_batches(samples, 4, mean_edge=True)(rows)
    scaled = targets_of_batches(samples * np.float32(1024), 4, mean_edge=True)(rows)
    np.testing.assert_array_equal(scaled[0], plain[0])
    np.testing.assert_allclose(scaled[1], plain[1], rtol=1e-6)


@pytest.mark.parametrize("mean_edge", [False, True])
def test_batches_of_equal_points_have_targets_of_zero(mean_edge: bool) -> None:
    samples = np.ones((20, 3), np.float32)
    for targets in (
        targets_of_batches(samples, 4, mean_edge=mean_edge),
        targets_of_tree(DCTree.from_points(samples, 4), mean_edge=mean_edge),
    ):
        assert targets(np.arange(10))[1].tolist() == [0.0] * 10


@pytest.mark.parametrize("mean_edge", [False, True])
def test_a_batch_of_one_row_has_the_target_zero(mean_edge: bool) -> None:
    samples = np.random.default_rng(4).normal(size=(20, 3)).astype(np.float32)
    for targets in (
        targets_of_batches(samples, 4, mean_edge=mean_edge),
        targets_of_tree(DCTree.from_points(samples, 4), mean_edge=mean_edge),
    ):
        rows, steps = targets(np.array([7]))
        assert rows.tolist() == [7]
        assert steps.tolist() == [0.0]


@pytest.mark.parametrize("mean_edge", [False, True])
def test_targets_for_a_device_are_those_of_the_tree(mean_edge: bool) -> None:
    pytest.importorskip("triton")
    from shade.density.device_targets import device_targets_of_tree

    tree = DCTree.from_points(np.random.default_rng(5).normal(size=(60, 3)), 4)
    rows = np.random.default_rng(6).permutation(60).reshape(4, 15)
    on_device = device_targets_of_tree(tree, torch.device("cpu"), mean_edge=mean_edge)
    found_rows, found_steps = on_device(torch.from_numpy(rows))
    of_tree = targets_of_tree(tree, mean_edge=mean_edge)
    for batch, found_row, found_step in zip(rows, found_rows, found_steps, strict=True):
        expected_rows, expected_steps = of_tree(batch)
        assert found_row.tolist() == expected_rows.tolist()
        np.testing.assert_allclose(found_step, expected_steps, rtol=1e-6)
