"""The two losses.

The rows of a batch are in the order of its tree. The dc-distance of each row to the one before it is called a step. The
dc-distance of two rows is the largest step between them.
"""

from __future__ import annotations

from typing import Any, cast

import torch

from shade._kernels.density_loss import loss_and_gradient


def reconstruction_loss(x: torch.Tensor, reconstruction: torch.Tensor, reduction: str) -> torch.Tensor:
    """Return the squared error, averaged over samples, and over features averaged ("mean") or summed ("sum")."""
    loss = torch.nn.functional.mse_loss(reconstruction, x)
    return loss if reduction == "mean" else loss * (x.numel() // max(1, len(x)))


def density_loss(z: torch.Tensor, steps: torch.Tensor, distance: str) -> torch.Tensor:
    """Return the mean of (d_dc − e)² over all ordered pairs, where e is the squared or the plain Euclidean distance."""
    if z.device.type == "cpu":
        return cast(torch.Tensor, _FusedDensityLoss.apply(z, steps, distance))  # type: ignore[no-untyped-call]
    return pairwise_density_loss(z, expand_steps(steps), distance)


def density_gradient(z: torch.Tensor, steps: torch.Tensor, distance: str) -> tuple[float, torch.Tensor]:
    """Return the loss and its gradient on a CPU, from a compiled kernel that visits each pair once."""
    columns = z.T.contiguous()
    gradient = torch.zeros_like(columns)
    loss = loss_and_gradient(columns.numpy(), steps.numpy(), distance == "sqeuclidean", gradient.numpy())
    return loss, gradient.T


def pairwise_density_loss(z: torch.Tensor, targets: torch.Tensor, distance: str) -> torch.Tensor:
    """Return the same loss from a matrix of dc-distances, in plain torch for any device."""
    norms = z.square().sum(1)
    squared = torch.addmm(norms[:, None] + norms[None, :], z, z.T, alpha=-2.0)
    if distance == "euclidean":
        squared = squared.clamp_min(1e-12).sqrt()  # the square root has an infinite slope at zero
    return torch.nn.functional.mse_loss(squared, targets)


def expand_steps(steps: torch.Tensor) -> torch.Tensor:
    """Return the matrix of dc-distances of a batch from its steps, in plain torch for any device."""
    rows = torch.arange(len(steps), device=steps.device)
    below = rows[:, None] > rows[None, :]
    lower = torch.where(below, steps[:, None], 0.0)
    reach = 1  # a running maximum by doubling, since not every device has a function for it
    while reach < len(steps):
        lower = torch.cat([lower[:reach], torch.maximum(lower[reach:], lower[:-reach])])
        reach *= 2
    lower = torch.where(below, lower, 0.0)
    return lower + lower.T


class _FusedDensityLoss(torch.autograd.Function):
    """`density_gradient` for autograd."""

    @staticmethod
    def forward(ctx: Any, z: torch.Tensor, steps: torch.Tensor, distance: str) -> torch.Tensor:
        loss, gradient = density_gradient(z.detach(), steps, distance)
        ctx.save_for_backward(gradient)
        return z.new_tensor(loss)

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * slopes[0], None, None
