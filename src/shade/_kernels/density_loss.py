"""The density loss of a batch and its gradient in one pass, without a matrix of pairs.

The rows are in the order of their tree. The dc-distances of row t to the rows before it are those of row t − 1, raised
to at least the step to row t (identity 2 of the design). The compiler may reorder sums here, since the result is a
training step and not a tree.
"""

from functools import partial

import numpy as np

from shade._kernels.compile import kernel


@partial(kernel, fastmath={"reassoc", "contract", "nsz"})
def loss_and_gradient(columns, steps, squared, gradient):
    """Return the mean of (dc-distance − distance)² over all ordered pairs; columns is the transposed embedding.

    The gradient is added to `gradient`, which has the same shape and must be zero; steps[t] is the dc-distance from row
    t − 1 to row t.
    """
    dimensions, n = columns.shape
    target = np.zeros(n, columns.dtype)
    pull = np.empty(n, columns.dtype)
    total = 0.0
    scale = columns.dtype.type(8.0 / n**2)
    half = columns.dtype.type(4.0 / n**2)
    tiny = columns.dtype.type(1e-12)  # the square root has an infinite slope at zero
    for t in range(1, n):
        step = steps[t]
        for s in range(t):
            target[s] = max(target[s], step)
            pull[s] = 0.0
        for column in range(dimensions):
            value = columns[column, t]
            row = columns[column]
            for s in range(t):
                gap = row[s] - value
                pull[s] += gap * gap
        subtotal = columns.dtype.type(0.0)
        if squared:
            for s in range(t):
                error = pull[s] - target[s]
                subtotal += error * error
                pull[s] = scale * error
        else:
            for s in range(t):
                distance = np.sqrt(max(pull[s], tiny))
                error = distance - target[s]
                subtotal += error * error
                pull[s] = half * error / distance
        total += subtotal
        for column in range(dimensions):
            value = columns[column, t]
            row = columns[column]
            slope = gradient[column]
            moved = columns.dtype.type(0.0)
            for s in range(t):
                move = pull[s] * (row[s] - value)
                slope[s] += move
                moved += move
            slope[t] -= moved
    return 2.0 * total / n**2
