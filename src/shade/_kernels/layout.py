"""Forces between points of a two-dimensional map: neighbours attract each other, all points repel each other.

The repulsion comes from a potential on a grid. Cubic B-splines distribute points over the grid and read the potential
from it. Their derivatives are continuous, so the force is the exact slope of the values. Sums have a fixed order, and
one thread computes each row. So the result does not depend on the number of threads.
"""

import numpy as np

from shade._kernels.compile import kernel

HALVINGS = 50  # of the range of a bandwidth: enough for all relevant bits
SMALLEST_GAIN = 0.01
GAIN_UP, GAIN_DOWN = 0.2, 0.8  # of van der Maaten's descent: faster while a slope keeps its sign, else slower


@kernel
def neighbour_weights(squared, perplexity, weights, start, stop):
    """Compute Gaussian weights, with sum 1 and the given perplexity, of the neighbours of rows start … stop − 1.

    `squared` are squared distances, the nearest first. Only ratios within a row matter, so they may have any scale.
    """
    k = squared.shape[1]
    wanted = np.log(perplexity)
    for i in range(start, stop):
        unit = squared[i, k - 1]
        low = 0.0
        high = np.inf
        sharpness = 1.0
        for _ in range(HALVINGS):
            total = 0.0
            moment = 0.0
            for j in range(k):
                gap = (squared[i, j] - squared[i, 0]) / unit if unit > 0.0 else 0.0
                weights[i, j] = np.exp(-sharpness * gap)
                total += weights[i, j]
                moment += weights[i, j] * gap
            if np.log(total) + sharpness * moment / total > wanted:
                low = sharpness
                sharpness = 2.0 * sharpness if high == np.inf else (low + high) / 2.0
            else:
                high = sharpness
                sharpness = (low + high) / 2.0
        for j in range(k):
            weights[i, j] /= total


@kernel
def spline(t, values, slopes):
    """Compute the cubic B-spline at the four grid lines around a place; t is its distance beyond the second of them."""
    s = 1.0 - t
    values[0] = s * s * s / 6.0
    values[1] = 2.0 / 3.0 - t * t + t * t * t / 2.0
    values[2] = 2.0 / 3.0 - s * s + s * s * s / 2.0
    values[3] = t * t * t / 6.0
    slopes[0] = -s * s / 2.0
    slopes[1] = -2.0 * t + 1.5 * t * t
    slopes[2] = 2.0 * s - 1.5 * s * s
    slopes[3] = t * t / 2.0


@kernel
def spread_points(places, left, low, step, grid):
    """Distribute a unit for each point over the grid, whose first corner is (left, low)."""
    grid[:] = 0.0
    across = np.empty(4)
    up = np.empty(4)
    slopes = np.empty(4)
    for i in range(places.shape[0]):
        x = (places[i, 0] - left) / step
        y = (places[i, 1] - low) / step
        column = int(x)
        line = int(y)
        spline(x - column, across, slopes)
        spline(y - line, up, slopes)
        for p in range(4):
            for q in range(4):
                grid[column - 1 + p, line - 1 + q] += across[p] * up[q]


@kernel
def repel_by_pairs(places, felt, push, start, stop):
    """Compute for rows start … stop − 1 the sums of 1 / (1 + d²) and of repulsions over all points; O(n) per row."""
    for i in range(start, stop):
        total = 0.0
        x_push = 0.0
        y_push = 0.0
        for j in range(places.shape[0]):
            x_gap = places[i, 0] - places[j, 0]
            y_gap = places[i, 1] - places[j, 1]
            near = 1.0 / (1.0 + x_gap * x_gap + y_gap * y_gap)
            total += near
            x_push += near * near * x_gap
            y_push += near * near * y_gap
        felt[i] = total
        push[i, 0] = x_push
        push[i, 1] = y_push


@kernel
def repel_by_grid(places, left, low, step, potential, felt, push, start, stop):
    """Compute the same from the potential on a grid: half its slope is the sum of the repulsions. O(1) per row."""
    across = np.empty(4)
    up = np.empty(4)
    across_slope = np.empty(4)
    up_slope = np.empty(4)
    for i in range(start, stop):
        x = (places[i, 0] - left) / step
        y = (places[i, 1] - low) / step
        column = int(x)
        line = int(y)
        spline(x - column, across, across_slope)
        spline(y - line, up, up_slope)
        total = 0.0
        x_slope = 0.0
        y_slope = 0.0
        for p in range(4):
            for q in range(4):
                value = potential[column - 1 + p, line - 1 + q]
                total += across[p] * up[q] * value
                x_slope += across_slope[p] * up[q] * value
                y_slope += across[p] * up_slope[q] * value
        felt[i] = total
        push[i, 0] = -0.5 * x_slope / step
        push[i, 1] = -0.5 * y_slope / step


@kernel
def attract(places, starts, neighbours, weights, pull, start, stop):
    """Compute for rows start … stop − 1 the sum of the attractions of their neighbours."""
    for i in range(start, stop):
        x_pull = 0.0
        y_pull = 0.0
        for edge in range(starts[i], starts[i + 1]):
            j = neighbours[edge]
            x_gap = places[i, 0] - places[j, 0]
            y_gap = places[i, 1] - places[j, 1]
            strength = weights[edge] / (1.0 + x_gap * x_gap + y_gap * y_gap)
            x_pull += strength * x_gap
            y_pull += strength * y_gap
        pull[i, 0] = x_pull
        pull[i, 1] = y_pull


@kernel
def move_points(places, speed, gains, pull, push, attraction, repulsion, rate, momentum):
    """Take a step of gradient descent with momentum."""
    for i in range(places.shape[0]):
        for axis in range(2):
            slope = attraction * pull[i, axis] - repulsion * push[i, axis]
            if (slope > 0.0) == (speed[i, axis] > 0.0):  # the movement would be reversed
                gains[i, axis] = max(SMALLEST_GAIN, GAIN_DOWN * gains[i, axis])
            else:
                gains[i, axis] += GAIN_UP
            speed[i, axis] = momentum * speed[i, axis] - rate * gains[i, axis] * slope
            places[i, axis] += speed[i, axis]
