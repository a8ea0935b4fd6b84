"""Compiled vector instructions do what their plain Python says."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from shade._kernels import lanes
from shade._kernels.lanes import LANES, LEAF


@numba.njit
def compiled(leaves, boxes, points, lows, highs, group, i, bound, bounds, out):  # type: ignore[no-untyped-def]
    """Call each function once."""
    near_points = lanes.point_lanes(leaves, group, points, i, bound)
    near_boxes = lanes.box_lanes(boxes, group, lows, highs, i, bound, out)
    near_box = lanes.lanes_near_box(leaves, group, boxes, group, i % 7, bounds)
    return near_points, near_boxes, near_box


@numba.njit
def lowest(bits):  # type: ignore[no-untyped-def]
    """Call it from compiled code."""
    return lanes.lowest_lane(bits)


@pytest.mark.parametrize("columns", [1, 2, 5, 10, 24])
def test_distances_and_lanes_equal_those_of_plain_python(columns: int) -> None:
    rng = np.random.default_rng(columns)
    leaves = rng.normal(size=(4, columns, LEAF)).astype(np.float32)
    leaves[3, :, 5:] = np.inf  # lanes without a point
    boxes = np.sort(rng.normal(size=(4, columns, 2, LANES)), axis=2).astype(np.float32)
    boxes[3, :, 0, 7:], boxes[3, :, 1, 7:] = np.inf, -np.inf
    points = rng.normal(size=(20, columns)).astype(np.float32)
    lows, highs = (points - np.float32(0.1), points + np.float32(0.2))
    bounds = (2.0 * columns * rng.random(LEAF)).astype(np.float32)
    bound = np.float32(2.0 * columns)
    found = 0
    for group in range(4):
        for i in range(20):
            out, expected = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
            sets = compiled(leaves, boxes, points, lows, highs, group, i, bound, bounds, out)
            assert sets == (
                lanes.point_lanes(leaves, group, points, i, bound),
                lanes.box_lanes(boxes, group, lows, highs, i, bound, expected),
                lanes.lanes_near_box(leaves, group, boxes, group, i % 7, bounds),
            )
            np.testing.assert_allclose(out, expected, rtol=1e-5)
            found += sum(bits not in (0, (1 << LANES) - 1, (1 << LEAF) - 1) for bits in sets)
    assert found > 20  # most sets hold some lanes and not others


def test_the_lowest_lane_of_every_set_of_bits() -> None:
    for bits in range(1, 1 << 10):
        assert lowest(bits) == lanes.lowest_lane(bits) == min(b for b in range(10) if bits >> b & 1)
    assert lowest(1 << 15) == lanes.lowest_lane(1 << 15) == 15
