"""Spanning trees on a CUDA device. Needs torch and Triton, so it is only imported if there is such a device.

The device searches for edges in float32. The same code as on a CPU decides which edges join the tree, and the weights
of the finished tree are computed again in float64. So where both select the same edges, the weights are equal to the
last bit.
"""

from __future__ import annotations

import numpy as np
import torch

from shade._base.arrays import FloatArray, IntArray
from shade._kernels import boruvka, triton_tree
from shade.density.spanning_tree import BoruvkaRounds, SpanningTree

FEW_COLUMNS = 32  # up to here the kernel computes tiles of distances itself; above, a matrix product does
BLOCK_ENTRIES = 1 << 28  # scalar products held at once: 2 GB


def spanning_tree_on_device(points: FloatArray, min_samples: int, device: torch.device) -> SpanningTree:
    """Return the minimum spanning tree under mutual reachability."""
    # float32 is most precise near zero. The median is moved there, since most points are near it, whatever the
    # outliers. Scaling keeps squares in the range of float32. Errors remain only for points closer than float32 can
    # resolve.
    centred = torch.from_numpy(points).to(device)
    centred = centred - centred.median(dim=0).values
    centred /= max(float(centred.abs().max()), np.finfo(np.float64).tiny)
    if points.shape[1] <= FEW_COLUMNS:
        centred = centred.float()
        indices = spatial_order(centred)
        search: triton_tree.Tiles | _ProductSearch = triton_tree.Tiles.from_points(centred[indices])
    else:
        indices = torch.arange(len(points), device=device)
        search = _ProductSearch(centred)
    core, nearest = search.core_distances(min_samples)
    rounds = BoruvkaRounds(core.double().cpu().numpy())
    n = len(points)
    partner = torch.empty(n, dtype=torch.int64, device=device)
    reach = torch.empty(n, dtype=torch.float32, device=device)
    while rounds.unfinished:
        rounds.begin()
        rows = rounds.searching()  # by position: neighbours in space are side by side, so their program skips tiles
        on_device = torch.from_numpy(rows).to(device)
        component = torch.from_numpy(rounds.component.astype(np.int32)).to(device)
        bound = torch.from_numpy(rounds.bound.astype(np.float32).view(np.int32)).to(device)
        search.search(core, component, bound, on_device, partner, reach)
        rounds.partner[rows] = partner[on_device].cpu().numpy()
        rounds.reach[rows] = reach[on_device].double().cpu().numpy()
        rounds.finish()
    order = indices.cpu().numpy()
    return _measure(points, rounds.tree(order).edges, order, nearest.cpu().numpy(), min_samples)


def spatial_order(points: torch.Tensor) -> torch.Tensor:
    """Return an order in which every tile of points is compact: cut in halves repeatedly, across the widest extent."""
    n, dimensions = points.shape
    order = torch.arange(n, device=points.device)
    levels = max(0, int(np.ceil(np.log2(max(1, n / triton_tree.COLUMNS)))))
    positions = torch.arange(n, device=points.device)
    for level in range(levels):
        segments = 1 << level
        segment = (positions * segments).div(n, rounding_mode="floor")
        here = points[order]
        spread = segment[:, None].expand(n, dimensions)
        start = here.new_zeros(segments, dimensions)
        low = start.scatter_reduce(0, spread, here, "amin", include_self=False)
        high = start.scatter_reduce(0, spread, here, "amax", include_self=False)
        widest = (high - low).argmax(dim=1)[segment]
        value = here.gather(1, widest[:, None])[:, 0].double()
        bottom = low[segment].gather(1, widest[:, None])[:, 0].double()
        extent = (high - low)[segment].gather(1, widest[:, None])[:, 0].double()
        # One sort for all segments: the integer part is the segment, the fraction the place within its extent.
        fraction = torch.where(extent > 0, (value - bottom) / extent, 0.0) * (1.0 - 1e-9)
        order = order[torch.argsort(segment + fraction, stable=True)]
    return order


class _ProductSearch:
    """Searches among points with many columns by blocks of scalar products, in float64."""

    def __init__(self, points: torch.Tensor) -> None:
        self.points = points
        self.norms = points.square().sum(dim=1)
        self.rows_at_a_time = max(1, BLOCK_ENTRIES // len(points))

    def _products(self, rows: torch.Tensor) -> torch.Tensor:
        return self.points[rows] @ self.points.T

    def core_distances(self, min_samples: int) -> tuple[torch.Tensor, torch.Tensor]:
        n = len(self.points)
        core = torch.zeros_like(self.norms, dtype=torch.float32)
        nearest = torch.arange(n, device=core.device)
        for rows in torch.split(torch.arange(n, device=core.device), self.rows_at_a_time):
            triton_tree.nearest_of_products(self._products(rows), self.norms, rows, core, nearest, min_samples)
        return core, nearest

    def search(
        self, core: torch.Tensor, component: torch.Tensor, bound: torch.Tensor, rows: torch.Tensor,
        partner: torch.Tensor, reach: torch.Tensor,
    ) -> None:  # fmt: skip
        for part in torch.split(rows, self.rows_at_a_time):
            triton_tree.search_products(self._products(part), self.norms, core, component, bound, part, partner, reach)


def _measure(points: FloatArray, edges: IntArray, order: IntArray, nearest: IntArray, min_samples: int) -> SpanningTree:
    """Return the tree with edge weights in float64. Core distances use the neighbours that the device found."""
    core = np.zeros(len(points))
    if min_samples > 1:
        boruvka.pair_distances(points, order, order[nearest], core)
        core[order] = core.copy()
    weights = np.empty(len(edges))
    tails, heads = edges[:, 0].copy(), edges[:, 1].copy()
    boruvka.pair_distances(points, tails, heads, weights)
    np.maximum(weights, np.maximum(core[tails], core[heads]), out=weights)
    return SpanningTree(edges, np.sqrt(weights))
