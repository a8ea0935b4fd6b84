"""The losses against the sums they stand for."""

import numpy as np
import pytest
import torch

from shade.density import DCTree
from shade.density.targets import batch_order, targets_of_batches, targets_of_tree
from shade.training.losses import density_loss, expand_steps, pairwise_density_loss, reconstruction_loss


def random_batch(seed: int, n: int = 40, d: int = 6) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32))


def test_reconstruction_loss_is_the_mean_over_rows_of_the_mean_or_sum_over_features() -> None:
    x, y = random_batch(0), random_batch(1)
    errors = ((x - y) ** 2).numpy()
    assert reconstruction_loss(x, y, "mean").item() == pytest.approx(errors.mean(1).mean(), rel=1e-5)
    assert reconstruction_loss(x, y, "sum").item() == pytest.approx(errors.sum(1).mean(), rel=1e-5)


def test_reconstruction_loss_sums_over_all_axes_of_an_image() -> None:
    x, y = random_batch(0, 4, 24).reshape(4, 2, 3, 4), random_batch(1, 4, 24).reshape(4, 2, 3, 4)
    expected = ((x - y) ** 2).sum((1, 2, 3)).mean().item()
    assert reconstruction_loss(x, y, "sum").item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("distance", ["sqeuclidean", "euclidean"])
def test_density_loss_is_the_mean_over_all_ordered_pairs(distance: str) -> None:
    z = random_batch(0, 17, 3)
    steps = torch.rand(17, generator=torch.Generator().manual_seed(0))
    total = 0.0
    for i in range(17):
        for j in range(17):
            target = float(steps[min(i, j) + 1 : max(i, j) + 1].max()) if i != j else 0.0
            squared = float(((z[i] - z[j]) ** 2).sum())
            total += (target - (squared if distance == "sqeuclidean" else squared**0.5)) ** 2
    assert density_loss(z, steps, distance).item() == pytest.approx(total / 17**2, rel=1e-4)
    assert pairwise_density_loss(z, expand_steps(steps), distance).item() == pytest.approx(total / 17**2, rel=1e-4)


@pytest.mark.parametrize("distance", ["sqeuclidean", "euclidean"])
@pytest.mark.parametrize("n", [1, 2, 3, 65, 500])
def test_the_fused_loss_and_its_gradient_equal_autograd_over_the_matrix(distance: str, n: int) -> None:
    z = random_batch(n, n, 10).requires_grad_()
    steps = 3 * torch.rand(n, generator=torch.Generator().manual_seed(n))
    expected = pairwise_density_loss(z, expand_steps(steps), distance)
    [gradient] = torch.autograd.grad(7.0 * expected, z)
    found = density_loss(z, steps, distance)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(torch.autograd.grad(7.0 * found, z)[0], gradient, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("distance", ["sqeuclidean", "euclidean"])
def test_density_loss_has_finite_gradients_where_points_coincide(distance: str) -> None:
    for loss in (density_loss, lambda z, steps, kind: pairwise_density_loss(z, expand_steps(steps), kind)):
        z = torch.zeros(6, 2, requires_grad=True)
        loss(z, torch.ones(6), distance).backward()
        assert torch.isfinite(z.grad).all()


@pytest.mark.parametrize("columns", [2, 20, 33, 300])
def test_expanded_steps_of_a_batch_are_its_dc_distances(columns: int) -> None:
    for seed in range(5):
        points = random_batch(seed, 60, columns).numpy()
        order, steps = batch_order(points, 5)
        assert sorted(order) == list(range(60))
        expected = DCTree.from_points(points, 5).dc_distances(order)
        np.testing.assert_allclose(expand_steps(torch.from_numpy(steps)).numpy(), expected, rtol=1e-5, atol=1e-6)


def test_targets_of_a_tree_are_the_dc_distances_among_all_data() -> None:
    points = random_batch(3, 200, 4).numpy()
    tree = DCTree.from_points(points, 5)
    rows = np.random.default_rng(0).choice(200, 50, replace=False)
    ordered, steps = targets_of_tree(tree, mean_edge=False)(rows)
    assert set(ordered) == set(rows)
    np.testing.assert_allclose(expand_steps(torch.from_numpy(steps)).numpy(), tree.dc_distances(ordered), rtol=1e-6)


def test_the_mean_edge_makes_targets_free_of_the_unit() -> None:
    points = random_batch(3, 100, 4).numpy()
    rows = np.arange(100)
    for scale in (np.float32(1e-3), np.float32(1e3)):
        first = targets_of_batches(points, 5, mean_edge=True)(rows)[1]
        second = targets_of_batches(points * scale, 5, mean_edge=True)(rows)[1]
        np.testing.assert_allclose(first, second, rtol=1e-4)
        assert first[1:].mean() == pytest.approx(1.0)
        tree = DCTree.from_points(points * scale, 5)
        _, steps = targets_of_tree(tree, mean_edge=True)(rows)
        assert steps[1:].mean() == pytest.approx(1.0)


def test_targets_of_coinciding_points_are_zero_in_any_unit() -> None:
    points = np.ones((20, 3), np.float32)
    for mean_edge in (False, True):
        _, steps = targets_of_batches(points, 5, mean_edge=mean_edge)(np.arange(20))
        assert not steps.any()
