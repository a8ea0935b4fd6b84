"""Computes 16 or 32 float32 distances at once, in vector registers.

Each function has two versions. The plain Python version defines its meaning. Compiled kernels run the other one, a few
vector instructions in the language of LLVM. The loops that LLVM would generate itself keep their sums in memory and
test one distance at a time. LLVM splits the vectors to the width of the processor.

The points of a leaf are stored by column, (columns, 32); a group of boxes as (columns, 2, 16), low and high. The
compiler may choose the order in which columns are summed and rounded: a margin covers the difference (`kd_tree.limit`).
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

LANES = 16  # boxes per group
LEAF = 32  # points per leaf

i64 = ir.IntType(64)
_single = ir.FloatType()
_fast = ("reassoc", "contract", "nsz")


def point_lanes(leaves, leaf, points, i, bound):
    """Return the lanes of a leaf whose squared distance to points[i] is at most `bound`, as bits."""
    return _bits(((leaves[leaf] - points[i][:, None]) ** 2).sum(axis=0) <= bound)


def box_lanes(groups, group, lows, highs, i, bound, out):
    """Write the squared distances from box i to a group of boxes; return the lanes up to `bound`, as bits."""
    gaps = np.maximum(groups[group][:, 0] - highs[i][:, None], lows[i][:, None] - groups[group][:, 1])
    out[:] = (np.maximum(gaps, 0.0) ** 2).sum(axis=0)
    return _bits(out <= bound)


def lanes_near_box(leaves, leaf, boxes, parent, lane, bounds):
    """Return the lanes of a leaf whose squared distance to a box is at most their bounds."""
    box = boxes[parent][:, :, lane, None]
    gaps = np.maximum(np.maximum(box[:, 0] - leaves[leaf], leaves[leaf] - box[:, 1]), 0.0)
    return _bits((gaps**2).sum(axis=0) <= bounds)


def lowest_lane(lanes):
    """Return the lowest lane in a set of bits, which must not be empty."""
    return (int(lanes) & -int(lanes)).bit_length() - 1


def _bits(chosen: Any) -> int:
    return int(sum(1 << int(lane) for lane in np.flatnonzero(chosen)))


def _vector(lanes: int) -> ir.VectorType:
    return ir.VectorType(_single, lanes)


def _splat(builder: ir.IRBuilder, value: ir.Value, lanes: int) -> ir.Value:
    """Return a vector with one value in all lanes."""
    one = builder.insert_element(ir.Constant(_vector(lanes), ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))


def _larger(builder: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


def _load_vector(builder: ir.IRBuilder, pointer: ir.Value, lanes: int) -> ir.Value:
    return builder.load(builder.bitcast(pointer, _vector(lanes).as_pointer()), align=4)


def _sum_of_squares(builder, columns, lanes, gaps):
    """Return the sum over the columns of the squares of the vectors gaps(column)."""
    total = cgutils.alloca_once(builder, _vector(lanes))  # becomes a register
    builder.store(ir.Constant(_vector(lanes), [0.0] * lanes), total)
    with cgutils.for_range(builder, columns) as loop:
        gap = gaps(loop.index)
        builder.store(builder.fadd(builder.load(total), builder.fmul(gap, gap, flags=_fast), flags=_fast), total)
    return builder.load(total)


def _outside(builder, low, high, one_low, one_high):
    """Return the gap between two intervals, 0 if they overlap."""
    gap = _larger(builder, builder.fsub(low, one_high), builder.fsub(one_low, high))
    return _larger(builder, gap, ir.Constant(gap.type, [0.0] * gap.type.count))


def _compare(builder, sums, bounds):
    near = builder.fcmp_ordered("<=", sums, bounds)
    return builder.zext(builder.bitcast(near, ir.IntType(sums.type.count)), ir.IntType(64))


class _Arrays:
    """Addresses in the arrays of an intrinsic, all C-ordered float32."""

    def __init__(self, context, builder, signature, arguments):
        self.builder = builder
        self.arguments = arguments
        self.make = lambda place: context.make_array(signature.args[place])(context, builder, arguments[place])

    def address(self, place, *indices):
        """Return the address of an element from its leading indices; the other indices are zero."""
        array = self.make(place)
        strides = cgutils.unpack_tuple(self.builder, array.strides)
        offset = ir.Constant(ir.IntType(64), 0)
        for index, stride in zip(indices, strides, strict=False):
            offset = self.builder.add(offset, self.builder.mul(index, stride))
        start = self.builder.ptrtoint(array.data, ir.IntType(64))
        return self.builder.inttoptr(self.builder.add(start, offset), _single.as_pointer())

    def columns(self, place):
        return self.builder.extract_value(self.make(place).shape, 1)


@intrinsic
def _point_lanes(typing, leaves, leaf, points, i, bound):
    def generate(context, builder, signature, arguments):
        arrays = _Arrays(context, builder, signature, arguments)
        _, leaf, _, i, bound = arguments

        def gaps(column):
            value = _splat(builder, builder.load(arrays.address(2, i, column)), LEAF)
            return builder.fsub(_load_vector(builder, arrays.address(0, leaf, column), LEAF), value)

        sums = _sum_of_squares(builder, arrays.columns(0), LEAF, gaps)
        return _compare(builder, sums, _splat(builder, bound, LEAF))

    return types.int64(leaves, types.int64, points, types.int64, types.float32), generate


@intrinsic
def _box_lanes(typing, groups, group, lows, highs, i, bound, out):
    def generate(context, builder, signature, arguments):
        arrays = _Arrays(context, builder, signature, arguments)
        _, group, _, _, i, bound, _ = arguments

        def gaps(column):
            low, high = (_load_vector(builder, arrays.address(0, group, column, i64(side)), LANES) for side in (0, 1))
            one_low, one_high = (
                _splat(builder, builder.load(arrays.address(place, i, column)), LANES) for place in (2, 3)
            )
            return _outside(builder, low, high, one_low, one_high)

        sums = _sum_of_squares(builder, arrays.columns(0), LANES, gaps)
        builder.store(sums, builder.bitcast(arrays.address(6), _vector(LANES).as_pointer()), align=4)
        return _compare(builder, sums, _splat(builder, bound, LANES))

    return types.int64(groups, types.int64, lows, highs, types.int64, types.float32, out), generate


@intrinsic
def _lanes_near_box(typing, leaves, leaf, boxes, parent, lane, bounds):
    def generate(context, builder, signature, arguments):
        arrays = _Arrays(context, builder, signature, arguments)
        _, leaf, _, parent, lane, _ = arguments

        def gaps(column):
            point = _load_vector(builder, arrays.address(0, leaf, column), LEAF)
            low, high = (
                _splat(builder, builder.load(arrays.address(2, parent, column, i64(side), lane)), LEAF)
                for side in (0, 1)
            )
            return _outside(builder, low, high, point, point)

        sums = _sum_of_squares(builder, arrays.columns(0), LEAF, gaps)
        return _compare(builder, sums, _load_vector(builder, arrays.address(5), LEAF))

    return types.int64(leaves, types.int64, boxes, types.int64, types.int64, bounds), generate


@intrinsic
def _lowest_lane(typing, lanes):
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@overload(point_lanes)
def _compile_point_lanes(leaves, leaf, points, i, bound):
    return lambda leaves, leaf, points, i, bound: _point_lanes(leaves, leaf, points, i, bound)


@overload(box_lanes)
def _compile_box_lanes(groups, group, lows, highs, i, bound, out):
    return lambda groups, group, lows, highs, i, bound, out: _box_lanes(groups, group, lows, highs, i, bound, out)


@overload(lanes_near_box)
def _compile_lanes_near_box(leaves, leaf, boxes, parent, lane, bounds):
    return lambda leaves, leaf, boxes, parent, lane, bounds: _lanes_near_box(leaves, leaf, boxes, parent, lane, bounds)


@overload(lowest_lane)
def _compile_lowest_lane(lanes):
    return lambda lanes: _lowest_lane(lanes)
