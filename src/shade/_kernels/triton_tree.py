"""Triton kernels for exact spanning trees on CUDA: brute force over the tiles that bounds could not exclude.

Distances are computed in two ways. For points with few columns, the kernel computes them tile by tile. Otherwise they
come from blocks of a matrix of scalar products that is computed before, in float64, since differences of large products
lose digits. All distances are squared, in float32.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

ROWS = 64  # per program
COLUMNS = 128  # per tile
FAN = 32  # tiles per group: a power of two


@triton.jit
def _as_bits(value):
    """Return the bits of non-negative floats, which have the same order: integers allow an atomic minimum."""
    return value.to(tl.int32, bitcast=True)


@triton.jit
def _as_float(bits):
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def _insert_nearest(distance, column, nearest, nearest_index, slot, K: tl.constexpr):
    """Move the smallest entries of the tile into each row's list of the K nearest, as long as a list improves."""
    unused = slot >= K
    worst = tl.max(tl.where(unused[None, :], -1.0, nearest), axis=1)
    smallest = tl.min(distance, axis=1)
    while tl.max((smallest < worst).to(tl.int32), axis=0) > 0:
        which = tl.argmin(distance, axis=1)
        better = smallest < worst
        last = tl.argmax(tl.where(unused[None, :], -1.0, nearest), axis=1)
        place = better[:, None] & (slot[None, :] == last[:, None])
        chosen = tl.arange(0, distance.shape[1])[None, :] == which[:, None]
        index = tl.sum(tl.where(chosen, column[None, :], 0), axis=1)
        nearest = tl.where(place, smallest[:, None], nearest)
        nearest_index = tl.where(place, index[:, None], nearest_index)
        distance = tl.where(chosen, float("inf"), distance)
        worst = tl.max(tl.where(unused[None, :], -1.0, nearest), axis=1)
        smallest = tl.min(distance, axis=1)
    return nearest, nearest_index


@triton.jit
def _tile_distance(columns, row, row_inside, column, column_inside, n, D, M: tl.constexpr, N: tl.constexpr):
    distance = tl.zeros([M, N], tl.float32)
    for k in range(D):
        own = tl.load(columns + k * n + row, mask=row_inside, other=0.0)
        other = tl.load(columns + k * n + column, mask=column_inside, other=0.0)
        gap = own[:, None] - other[None, :]
        distance += gap * gap
    return distance


@triton.jit
def _box_gap(columns, row, row_inside, low, high, tile, n, D):
    """Return the squared distance from each row to the box around a tile."""
    gaps = tl.zeros(row.shape, tl.float32)
    for k in range(D):
        own = tl.load(columns + k * n + row, mask=row_inside, other=0.0)
        gap = tl.maximum(tl.maximum(tl.load(low + tile * D + k) - own, own - tl.load(high + tile * D + k)), 0.0)
        gaps += gap * gap
    return gaps


@triton.jit
def _outward(own, visit):
    """Return the visit-th number around own, in the order own, own + 1, own − 1, own + 2 and so on."""
    away = (visit + 1) // 2
    return own + tl.where(visit % 2 == 1, away, -away)


@triton.jit(do_not_specialize=["n", "tiles", "groups", "D"])
def _nearest_kernel(
    columns, low, high, group_low, group_high, core, core_index, n, tiles, groups, D,
    K: tl.constexpr, SLOTS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, FAN: tl.constexpr,
):  # fmt: skip
    """One program per M rows: the distance to their K-th nearest point, and that point. Near tiles come first."""
    program = tl.program_id(0)
    row = (program * M + tl.arange(0, M)).to(tl.int64)
    row_inside = row < n
    slot = tl.arange(0, SLOTS)
    nearest = tl.full([M, SLOTS], float("inf"), tl.float32)
    nearest_index = tl.zeros([M, SLOTS], tl.int64)
    own_tile = program * M // N
    for visit in range(2 * groups):
        group = _outward(own_tile // FAN, visit)
        if (group >= 0) & (group < groups):
            worst = tl.max(tl.where(slot[None, :] < K, nearest, -1.0), axis=1)
            gaps = _box_gap(columns, row, row_inside, group_low, group_high, group, n, D)
            if tl.max((row_inside & (gaps < worst)).to(tl.int32), axis=0) > 0:
                for inner in range(FAN):
                    tile = group * FAN + (own_tile + inner) % FAN
                    if tile < tiles:
                        worst = tl.max(tl.where(slot[None, :] < K, nearest, -1.0), axis=1)
                        gaps = _box_gap(columns, row, row_inside, low, high, tile, n, D)
                        if tl.max((row_inside & (gaps < worst)).to(tl.int32), axis=0) > 0:
                            column = (tile * N + tl.arange(0, N)).to(tl.int64)
                            distance = _tile_distance(columns, row, row_inside, column, column < n, n, D, M, N)
                            usable = row_inside[:, None] & (column < n)[None, :]
                            distance = tl.where(usable, distance, float("inf"))
                            nearest, nearest_index = _insert_nearest(distance, column, nearest, nearest_index, slot, K)
    listed = tl.where(slot[None, :] < K, nearest, -1.0)
    last = tl.argmax(listed, axis=1)
    index = tl.sum(tl.where(slot[None, :] == last[:, None], nearest_index, 0), axis=1)
    tl.store(core + row, tl.max(listed, axis=1), mask=row_inside)
    tl.store(core_index + row, index, mask=row_inside)


@triton.jit
def _open_rows(columns, row, row_inside, low, high, box_core, box_component, box, own, own_core, best, n, D):
    """Return whether any of the rows could find a lighter edge in a box."""
    gaps = _box_gap(columns, row, row_inside, low, high, box, n, D)
    lower = tl.maximum(tl.maximum(gaps, own_core), tl.load(box_core + box))
    open_rows = row_inside & (lower < best) & (tl.load(box_component + box) != own)
    return tl.max(open_rows.to(tl.int32), axis=0) > 0


@triton.jit(do_not_specialize=["n", "tiles", "groups", "count", "D"])
def _outside_kernel(
    columns, low, high, tile_core, tile_component, group_low, group_high, group_core, group_component,
    core, component, bound, rows, partner, reach, n, tiles, groups, count, D,
    M: tl.constexpr, N: tl.constexpr, FAN: tl.constexpr,
):  # fmt: skip
    """One program per M searching rows: the lightest edge of each to another component, if it is below the bound."""
    item = tl.program_id(0) * M + tl.arange(0, M)
    row_inside = item < count
    row = tl.load(rows + item, mask=row_inside, other=0)
    own = tl.load(component + row, mask=row_inside, other=-1)
    own_core = tl.load(core + row, mask=row_inside, other=float("inf"))
    best = _as_float(tl.load(bound + own, mask=row_inside, other=0))
    found = tl.full([M], -1, tl.int64)
    own_tile = tl.min(tl.where(row_inside, row, n), axis=0) // N
    for visit in range(2 * groups):
        group = _outward(own_tile // FAN, visit)
        if (group >= 0) & (group < groups):
            if _open_rows(
                columns, row, row_inside, group_low, group_high, group_core, group_component, group, own, own_core,
                best, n, D,
            ):  # fmt: skip
                for inner in range(FAN):
                    tile = group * FAN + (own_tile + inner) % FAN
                    if tile < tiles:
                        if _open_rows(
                            columns, row, row_inside, low, high, tile_core, tile_component, tile, own, own_core,
                            best, n, D,
                        ):  # fmt: skip
                            column = (tile * N + tl.arange(0, N)).to(tl.int64)
                            column_inside = column < n
                            distance = _tile_distance(columns, row, row_inside, column, column_inside, n, D, M, N)
                            other_core = tl.load(core + column, mask=column_inside, other=float("inf"))
                            other = tl.load(component + column, mask=column_inside, other=-1)
                            weight = tl.maximum(tl.maximum(distance, own_core[:, None]), other_core[None, :])
                            usable = column_inside[None, :] & (other[None, :] != own[:, None])
                            weight = tl.where(usable, weight, float("inf"))
                            smallest = tl.min(weight, axis=1)
                            which = tl.argmin(weight, axis=1)
                            better = smallest < best
                            best = tl.where(better, smallest, best)
                            found = tl.where(better, tile * N + which, found)
    tl.store(partner + row, found, mask=row_inside)
    tl.store(reach + row, best, mask=row_inside)
    tl.atomic_min(bound + own, _as_bits(best), mask=row_inside & (found >= 0))


@triton.jit(do_not_specialize=["n"])
def _row_nearest_kernel(
    products, norms, rows, core, core_index, n, K: tl.constexpr, SLOTS: tl.constexpr, N: tl.constexpr
):
    """One program per row of scalar products: the distance to its K-th nearest point, and that point."""
    item = tl.program_id(0).to(tl.int64)
    row = tl.load(rows + item)
    own = tl.load(norms + row)
    slot = tl.arange(0, SLOTS)
    nearest = tl.full([1, SLOTS], float("inf"), tl.float32)
    nearest_index = tl.zeros([1, SLOTS], tl.int64)
    for start in range(0, n, N):
        column = (start + tl.arange(0, N)).to(tl.int64)
        inside = column < n
        product = tl.load(products + item * n + column, mask=inside, other=0.0)
        distance = own + tl.load(norms + column, mask=inside, other=0.0) - 2.0 * product
        distance = tl.where(column == row, 0.0, tl.maximum(distance, 0.0).to(tl.float32))
        distance = tl.where(inside, distance, float("inf"))[None, :]
        nearest, nearest_index = _insert_nearest(distance, column, nearest, nearest_index, slot, K)
    listed = tl.where(slot[None, :] < K, nearest, -1.0)
    last = tl.argmax(listed, axis=1)
    index = tl.sum(tl.where(slot[None, :] == last[:, None], nearest_index, 0), axis=1)
    one = tl.arange(0, 1)
    tl.store(core + row + one, tl.max(listed, axis=1))
    tl.store(core_index + row + one, index)


@triton.jit(do_not_specialize=["n"])
def _row_outside_kernel(products, norms, core, component, bound, rows, partner, reach, n, N: tl.constexpr):
    """One program per row of scalar products: its lightest edge to another component, if it is below the bound."""
    item = tl.program_id(0).to(tl.int64)
    row = tl.load(rows + item)
    norm = tl.load(norms + row)
    own = tl.load(component + row)
    own_core = tl.load(core + row)
    best = _as_float(tl.load(bound + own))
    found = row * 0 - 1
    for start in range(0, n, N):
        column = (start + tl.arange(0, N)).to(tl.int64)
        inside = column < n
        product = tl.load(products + item * n + column, mask=inside, other=0.0)
        distance = (norm + tl.load(norms + column, mask=inside, other=0.0) - 2.0 * product).to(tl.float32)
        weight = tl.maximum(tl.maximum(distance, own_core), tl.load(core + column, mask=inside, other=0.0))
        usable = inside & (tl.load(component + column, mask=inside, other=-1) != own)
        weight = tl.where(usable, weight, float("inf"))
        smallest = tl.min(weight, axis=0)
        which = tl.argmin(weight, axis=0)
        found = tl.where(smallest < best, start + which, found)
        best = tl.minimum(smallest, best)
    tl.store(partner + row, found)
    tl.store(reach + row, best)
    if found >= 0:
        tl.atomic_min(bound + own, _as_bits(best))


@dataclass(frozen=True)
class Tiles:
    """Boxes around tiles of points in spatial order, and around groups of tiles."""

    columns: torch.Tensor
    low: torch.Tensor
    high: torch.Tensor
    group_low: torch.Tensor
    group_high: torch.Tensor

    @classmethod
    def from_points(cls, points: torch.Tensor) -> "Tiles":
        """Store points by column, so that neighbouring threads read neighbouring numbers, and compute their boxes."""
        low, high = _reduce(points, torch.amin, COLUMNS), _reduce(points, torch.amax, COLUMNS)
        return cls(points.T.contiguous(), low, high, _reduce(low, torch.amin, FAN), _reduce(high, torch.amax, FAN))

    def core_distances(self, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the squared distance from each point to its k-th nearest, counting itself, and the index of that."""
        dimensions, n = self.columns.shape
        core = self.columns.new_empty(n)
        index = torch.empty(n, dtype=torch.int64, device=core.device)
        _nearest_kernel[(triton.cdiv(n, ROWS),)](
            self.columns, self.low, self.high, self.group_low, self.group_high, core, index,
            n, len(self.low), len(self.group_low), dimensions,
            K=k, SLOTS=max(2, triton.next_power_of_2(k)), M=ROWS, N=COLUMNS, FAN=FAN, num_warps=4,
        )  # fmt: skip
        return core, index

    def search(
        self, core: torch.Tensor, component: torch.Tensor, bound: torch.Tensor, rows: torch.Tensor,
        partner: torch.Tensor, reach: torch.Tensor,
    ) -> None:  # fmt: skip
        """Run a round of Borůvka's algorithm, like boruvka.search_leaves on a CPU."""
        smallest, largest = _reduce(component, torch.amin, COLUMNS), _reduce(component, torch.amax, COLUMNS)
        group_component = _shared(_reduce(smallest, torch.amin, FAN), _reduce(largest, torch.amax, FAN))
        tile_core = _reduce(core, torch.amin, COLUMNS)
        _outside_kernel[(triton.cdiv(len(rows), ROWS),)](
            self.columns, self.low, self.high, tile_core, _shared(smallest, largest),
            self.group_low, self.group_high, _reduce(tile_core, torch.amin, FAN), group_component,
            core, component, bound, rows, partner, reach,
            len(core), len(self.low), len(self.group_low), len(rows), len(self.columns),
            M=ROWS, N=COLUMNS, FAN=FAN, num_warps=4,
        )  # fmt: skip


def _reduce(values, reduce, width):
    """Reduce runs of `width` rows. The last run is filled up with its last row."""
    runs = triton.cdiv(len(values), width)
    padded = values[torch.arange(runs * width, device=values.device).clamp_max(len(values) - 1)]
    return reduce(padded.reshape(runs, width, *values.shape[1:]), dim=1).contiguous()


def _shared(smallest, largest):
    """Return the component of a box if all of its points are in it, else −1."""
    return torch.where(smallest == largest, smallest, -1)


def nearest_of_products(
    products: torch.Tensor, norms: torch.Tensor, rows: torch.Tensor, core: torch.Tensor, index: torch.Tensor, k: int
) -> None:
    """Compute squared core distances of some rows from their scalar products with all points."""
    _row_nearest_kernel[(len(rows),)](
        products, norms, rows, core, index, len(norms), K=k, SLOTS=max(2, triton.next_power_of_2(k)), N=2048,
        num_warps=8,
    )  # fmt: skip


def search_products(
    products: torch.Tensor, norms: torch.Tensor, core: torch.Tensor, component: torch.Tensor, bound: torch.Tensor,
    rows: torch.Tensor, partner: torch.Tensor, reach: torch.Tensor,
) -> None:  # fmt: skip
    """Run a round of Borůvka's algorithm, like boruvka.search_block on a CPU."""
    _row_outside_kernel[(len(rows),)](
        products, norms, core, component, bound, rows, partner, reach, len(norms), N=2048, num_warps=8
    )
