"""The two losses and the matrix of targets."""

from __future__ import annotations

import torch

from shade._kernels import prim


def reconstruction_loss(x: torch.Tensor, reconstruction: torch.Tensor, reduction: str) -> torch.Tensor:
    """Squared error, averaged over the samples and over the features averaged ("mean") or summed ("sum")."""
    loss = torch.nn.functional.mse_loss(reconstruction, x)
    return loss if reduction == "mean" else loss * (x.numel() // max(1, len(x)))


def density_loss(z: torch.Tensor, targets: torch.Tensor, distance: str) -> torch.Tensor:
    """Mean over all ordered pairs of (d_dc − e)², e being the squared or the plain Euclidean distance."""
    norms = z.square().sum(1)
    squared = torch.addmm(norms[:, None] + norms[None, :], z, z.T, alpha=-2.0)
    if distance == "euclidean":
        # The square root has no slope at zero: distances below float32's resolution count as it.
        squared = squared.clamp_min(1e-12).sqrt()
    return torch.nn.functional.mse_loss(squared, targets)


def expand_targets(steps: torch.Tensor) -> torch.Tensor:
    """Matrix of dc-distances of a batch in tree order from the distance of each point to the one before it."""
    n = len(steps)
    if steps.device.type == "cpu":
        targets = torch.empty((n, n), dtype=torch.float32)
        prim.running_maximum(steps.numpy(), targets.numpy())
        return targets
    below = torch.ones((n, n), dtype=torch.bool, device=steps.device).tril(-1)
    lower = torch.where(below, steps[:, None], 0.0).cummax(dim=0).values.tril(-1)
    return lower + lower.T
