"""The parts of a bfloat16 training step between its matrix products, each in one pass over the numbers.

A bfloat16 number is the upper half of a float32. NumPy has no such type, so it is stored as an int16 with the same
bits. All sums are in float32. The compiler may reorder them here, since the result is a training step and not a tree.
"""

from functools import partial

import numpy as np
from numba.core import types
from numba.extending import overload

from shade._kernels.compile import kernel

_SLOPE = np.float32(0.01)  # of LeakyReLU below zero: torch's default
_MEMORY, _MEMORY_OF_SQUARES, _TINY = 0.9, 0.999, np.float32(1e-8)  # of Adam: torch's defaults

_training = partial(kernel, fastmath={"reassoc", "contract", "nsz"})


@_training
def _widen(bits):
    return np.int32(np.int32(bits) << 16).view(np.float32)


@_training
def _narrow(value):
    """Return the nearest bfloat16; of two equally near, the even one."""
    bits = np.float32(value).view(np.int32)
    return np.int16((bits + np.int32(0x7FFF) + ((bits >> 16) & np.int32(1))) >> 16)


def _single(number):
    """Return a number of either format as float32."""
    return _widen(number) if isinstance(number, np.int16) else number


@overload(_single)
def _compile_single(number):
    return (lambda number: _widen(number)) if isinstance(number, types.Integer) else (lambda number: number)


@_training
def take_rows(samples, rows, out):
    """Write some rows of float32 samples in bfloat16; `out` may have more columns."""
    for place in range(len(rows)):
        sample, line = samples[rows[place]], out[place]
        for column in range(len(sample)):
            line[column] = _narrow(sample[column])


@_training
def activate(products, bias):
    """Add the bias and apply LeakyReLU, in place."""
    for place in range(len(products)):
        line = products[place]
        for column in range(len(bias)):
            value = _widen(line[column]) + bias[column]
            line[column] = _narrow(value if value > 0 else _SLOPE * value)


@_training
def activate_backwards(gradient, activated, bias_gradient):
    """Turn the gradient of the output of `activate` into that of its input, in place; also compute that of the bias."""
    bias_gradient[:] = 0
    for place in range(len(gradient)):
        line, output = gradient[place], activated[place]
        for column in range(len(bias_gradient)):
            value = _widen(line[column])
            value = value if output[column] > 0 else _SLOPE * value
            line[column] = _narrow(value)
            bias_gradient[column] += value


@_training
def compare_rows(samples, rows, products, bias, scale, gradient, bias_gradient):
    """Return the sum of (products + bias − samples[rows])²; write its gradients, multiplied by scale / 2."""
    bias_gradient[:] = 0
    total = 0.0
    for place in range(len(rows)):
        sample, product, line = samples[rows[place]], products[place], gradient[place]
        subtotal = np.float32(0.0)
        for column in range(len(sample)):
            error = _widen(product[column]) + bias[column] - sample[column]
            subtotal += error * error
            error *= scale
            line[column] = _narrow(error)
            bias_gradient[column] += error
        total += subtotal
    return total


@_training
def adam_step(weights, gradient, mean, square, copy, step, rate):
    """Take a step of Adam. If the copy in bfloat16 is not empty, the new weights are also written to it.

    The gradient and the copy may have more rows and columns than the weights.
    """
    step[0] += 1
    size = np.float32(rate / (1 - _MEMORY ** step[0]))
    unbias = np.float32(1 / np.sqrt(1 - _MEMORY_OF_SQUARES ** step[0]))
    newest, newest_of_squares = np.float32(1 - _MEMORY), np.float32(1 - _MEMORY_OF_SQUARES)
    copied = copy.size > 0
    for row in range(len(weights)):
        weight, slopes, kept, kept_square = weights[row], gradient[row], mean[row], square[row]
        line = copy[row if copied else 0]
        for column in range(len(weight)):
            slope = _single(slopes[column])
            kept[column] += newest * (slope - kept[column])
            kept_square[column] += newest_of_squares * (slope * slope - kept_square[column])
            weight[column] -= size * kept[column] / (np.sqrt(kept_square[column]) * unbias + _TINY)
            if copied:
                line[column] = _narrow(weight[column])
