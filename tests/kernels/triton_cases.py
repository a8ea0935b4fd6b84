"""The Triton kernels in Triton's interpreter, against the CPU. Run as a program: see test_triton.py."""

import tests.triton_interpreter  # noqa: F401  (must come before the kernels)

# isort: split
import numpy as np
import torch

from shade._kernels import triton_training
from shade.density import DCTree, minimum_spanning_tree
from shade.density.device_targets import device_targets_of_batches, device_targets_of_tree
from shade.density.device_tree import spanning_tree_on_device
from shade.training.losses import expand_steps, pairwise_density_loss

CPU = torch.device("cpu")


def check_spanning_trees() -> None:
    """Few and many columns, ties, duplicates, points on a line, sizes that fill no tile."""
    for seed, (n, d, min_samples) in enumerate(
        [(40, 3, 5), (300, 2, 4), (60, 40, 5), (260, 5, 3), (129, 1, 2), (70, 2, 1)]
    ):
        X = np.random.default_rng(seed).normal(size=(n, d))
        if seed in (3, 4):
            X = np.round(2 * X)
        X[0] += 1e6 * (seed == 1)
        found = spanning_tree_on_device(X, min_samples, CPU)
        expected = minimum_spanning_tree(X, min_samples)
        scale = expected.weights.max()
        np.testing.assert_allclose(
            np.sort(found.weights),
            np.sort(expected.weights),
            rtol=1e-6,
            atol=1e-6 * scale * (seed == 1),
            err_msg=str(seed),
        )
        DCTree.from_spanning_tree(found)  # refuses anything but a tree


def check_targets() -> None:
    for d in (3, 40):
        samples = np.random.default_rng(d).normal(size=(90, d)).astype(np.float32)
        rows = np.random.default_rng(0).permutation(90).reshape(3, 30)
        tree = DCTree.from_points(samples, 5)
        by_batch = device_targets_of_batches(torch.from_numpy(samples), 5, mean_edge=False)
        by_tree = device_targets_of_tree(tree, CPU, mean_edge=False)
        in_units = device_targets_of_batches(torch.from_numpy(samples), 5, mean_edge=True)(torch.from_numpy(rows))[1]
        np.testing.assert_allclose(in_units[:, 1:].mean(dim=1).numpy(), 1.0, rtol=1e-5)
        for targets, whole in ((by_batch, None), (by_tree, tree)):
            ordered, steps = targets(torch.from_numpy(rows))
            matrices = torch.full((3, 30, 30), -1.0)
            triton_training.expand_steps(steps.contiguous(), matrices)
            for batch in range(3):
                assert sorted(ordered[batch].tolist()) == sorted(rows[batch])
                own = ordered[batch].numpy()
                expected = whole.dc_distances(own) if whole else DCTree.from_points(samples[own], 5).dc_distances()
                np.testing.assert_allclose(matrices[batch].numpy(), expected, rtol=1e-4)


def check_loss() -> None:
    steps = torch.rand(2, 37, generator=torch.Generator().manual_seed(0))
    matrices = torch.empty(2, 37, 37)
    triton_training.expand_steps(steps, matrices)
    for d in (1, 2, 10):
        for squared, distance in ((True, "sqeuclidean"), (False, "euclidean")):
            z = torch.randn(37, d, generator=torch.Generator().manual_seed(d)).requires_grad_()
            precise = z.detach().double().requires_grad_()
            expected = pairwise_density_loss(precise, expand_steps(steps[1].double()), distance)
            [gradient] = torch.autograd.grad(3.0 * expected, precise)
            found = triton_training.DensityLoss.apply(z, matrices, torch.tensor([1]), squared)
            torch.testing.assert_close(found, expected.float(), rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(torch.autograd.grad(3.0 * found, z)[0], gradient.float(), rtol=1e-3, atol=1e-5)


if __name__ == "__main__":
    check_spanning_trees()
    check_targets()
    check_loss()
