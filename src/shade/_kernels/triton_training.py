"""Triton kernels for training on CUDA: targets of many batches in one launch, and the density loss with its gradient.

Imported only if there is a CUDA device (or, in tests, Triton's interpreter). On a CPU, prim.batch_order and
density_loss.loss_and_gradient do the same.
"""

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["size", "D"])
def _distance_kernel(x, squared, size, D, M: tl.constexpr, N: tl.constexpr):
    """One program per tile of a batch's matrix: squared distances, column by column."""
    batch = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * M + tl.arange(0, M)
    j = tl.program_id(2) * N + tl.arange(0, N)
    x += batch * size * D
    distance = tl.zeros([M, N], tl.float32)
    for k in range(D):
        own = tl.load(x + i * D + k, mask=i < size, other=0.0)
        other = tl.load(x + j * D + k, mask=j < size, other=0.0)
        gap = own[:, None] - other[None, :]
        distance += gap * gap
    squared += batch * size * size
    tl.store(squared + i[:, None] * size + j[None, :], distance, mask=(i < size)[:, None] & (j < size)[None, :])


@triton.jit(do_not_specialize=["size"])
def _core_kernel(squared, core, size, K: tl.constexpr, BLOCK: tl.constexpr):
    """One program per row: the K-th smallest of its squared distances, with 0 for the row itself."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < size
    values = tl.load(squared + row * size + column, mask=inside, other=float("inf"))
    values = tl.where(column == row % size, 0.0, tl.maximum(values, 0.0))
    for _ in range(K - 1):
        nearest = tl.argmin(values, axis=0)
        values = tl.where(column == nearest, float("inf"), values)
    tl.store(core + row, tl.min(values, axis=0))


@triton.jit(do_not_specialize=["size"])
def _prim_kernel(squared, core, order, steps, size, BLOCK: tl.constexpr):
    """One program per batch: Prim's algorithm from row 0, with one row of the matrix per step.

    Each step depends on the one before it, so its latency determines the time. Therefore weight and column are packed
    into one integer that is ordered like the weights, and one reduction within a warp finds both.
    """
    batch = tl.program_id(0).to(tl.int64)
    squared += batch * size * size
    core += batch * size
    order += batch * size
    steps += batch * size
    column = tl.arange(0, BLOCK)
    waiting = (column < size) & (column != 0)
    column_core = tl.load(core + column, mask=column < size, other=float("inf"))
    best = tl.full([BLOCK], float("inf"), tl.float32)
    current = batch * 0
    tl.store(order, current)
    tl.store(steps, 0.0)
    for t in range(1, size):
        own_core = tl.load(core + current)
        row = tl.load(squared + current * size + column, mask=waiting, other=float("inf"))
        reach = tl.maximum(tl.maximum(row, column_core), own_core)
        best = tl.where(waiting, tl.minimum(best, reach), float("inf"))
        keys = (best.to(tl.int32, bitcast=True).to(tl.int64) << 32) | column
        smallest = tl.min(keys, axis=0)
        current = smallest & 0xFFFFFFFF
        tl.store(order + t, current)
        tl.store(steps + t, tl.sqrt((smallest >> 32).to(tl.int32).to(tl.float32, bitcast=True)))
        waiting = waiting & (column != current)


@triton.jit(do_not_specialize=["size"])
def _expand_kernel(steps, targets, size, BLOCK: tl.constexpr):
    """One program per batch and slice of columns: running maxima of the steps, down and up from the diagonal."""
    batch = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    steps += batch * size
    targets += batch * size * size
    below = tl.zeros([BLOCK], tl.float32)
    above = tl.zeros([BLOCK], tl.float32)
    for t in range(size):
        below = tl.where(column < t, tl.maximum(below, tl.load(steps + t)), 0.0)
        tl.store(targets + t * size + column, below, mask=(column <= t) & (column < size))
        row = size - 1 - t
        step = tl.load(steps + row + 1, mask=row + 1 < size, other=0.0)
        above = tl.where(column > row, tl.maximum(above, step), 0.0)
        tl.store(targets + row * size + column, above, mask=(column > row) & (column < size))


@triton.jit(do_not_specialize=["size"])
def _loss_kernel(
    z, targets, which, gradient, partial, size,
    SQUARED: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """One program per slice of rows: its part of the loss, and its rows of the gradient over all pairs."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = i < size
    targets += tl.load(which) * size * size
    wide = tl.arange(0, WIDTH)
    slope = tl.zeros([ROWS, WIDTH], tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    for start in range(0, size, COLUMNS):
        j = start + tl.arange(0, COLUMNS)
        pairs = inside[:, None] & (j < size)[None, :] & (i[:, None] != j[None, :])
        distance = tl.zeros([ROWS, COLUMNS], tl.float32)
        for k in range(D):
            own = tl.load(z + i * D + k, mask=inside, other=0.0)
            other = tl.load(z + j * D + k, mask=j < size, other=0.0)
            gap = own[:, None] - other[None, :]
            distance += gap * gap
        target = tl.load(targets + i[:, None] * size + j[None, :], mask=pairs, other=0.0)
        if SQUARED:
            error = tl.where(pairs, distance - target, 0.0)
            pull = 8.0 * error
        else:
            distance = tl.sqrt(tl.maximum(distance, 1e-12))
            error = tl.where(pairs, distance - target, 0.0)
            pull = 4.0 * error / distance
        total += tl.sum(error * error, axis=1)
        for k in range(D):
            own = tl.load(z + i * D + k, mask=inside, other=0.0)
            other = tl.load(z + j * D + k, mask=j < size, other=0.0)
            moved = tl.sum(pull * (own[:, None] - other[None, :]), axis=1)
            slope += tl.where(wide[None, :] == k, moved[:, None], 0.0)
    squares = size.to(tl.float32) * size
    tl.store(gradient + i[:, None] * D + wide[None, :], slope / squares, mask=inside[:, None] & (wide < D)[None, :])
    tl.store(partial + i, total / squares, mask=inside)


def squared_distances(x: torch.Tensor) -> torch.Tensor:
    """Return squared distances within each batch of points with few columns."""
    batches, size, dimensions = x.shape
    squared = x.new_empty(batches, size, size)
    grid = (batches, triton.cdiv(size, 64), triton.cdiv(size, 64))
    _distance_kernel[grid](x.contiguous(), squared, size, dimensions, M=64, N=64, num_warps=4)
    return squared


def batch_orders(squared: torch.Tensor, min_samples: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return Prim's order and steps of each batch from its matrix of squared distances, all batches in one launch."""
    batches, size, _ = squared.shape
    block = triton.next_power_of_2(size)
    core = squared.new_empty(batches, size)
    order = torch.empty(batches, size, dtype=torch.int64, device=squared.device)
    steps = squared.new_empty(batches, size)
    _core_kernel[(batches * size,)](squared, core, size, K=min(min_samples, size), BLOCK=block, num_warps=1)
    _prim_kernel[(batches,)](squared, core, order, steps, size, BLOCK=block, num_warps=1 if block <= 1024 else 4)
    return order, steps


def expand_steps(steps: torch.Tensor, out: torch.Tensor) -> None:
    """Write matrices of dc-distances of batches, computed from their steps, into out[:batches]."""
    batches, size = steps.shape
    block = 128
    _expand_kernel[(batches, triton.cdiv(size, block))](steps, out, size, BLOCK=block, num_warps=4)


class DensityLoss(torch.autograd.Function):
    """Density loss of one of many batches. `which` is a device tensor with the index of the matrix of targets."""

    @staticmethod
    def forward(ctx, z, targets, which, squared):
        """Compute the loss, and the gradient together with it."""
        size, dimensions = z.shape
        z = z.contiguous()
        gradient = torch.empty_like(z)
        partial = z.new_empty(size)
        rows = 8
        _loss_kernel[(triton.cdiv(size, rows),)](
            z, targets, which, gradient, partial, size, SQUARED=squared, D=dimensions,
            WIDTH=max(2, triton.next_power_of_2(dimensions)), ROWS=rows, COLUMNS=256, num_warps=4,
        )  # fmt: skip
        ctx.save_for_backward(gradient)
        return partial.sum()

    @staticmethod
    def backward(ctx, slope):
        """Scale the gradient."""
        (gradient,) = ctx.saved_tensors
        return gradient * slope, None, None, None
