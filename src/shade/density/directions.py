"""Directions of rows: their principal components, scaled to length 1.

In thousands of columns all rows are about equally far apart, while their directions from the centre still tell them
apart.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from shade._base.arrays import FloatArray, SingleArray
from shade._base.parallel import training_threads

COMPONENTS = 50  # principal components of which the directions are taken
CENTRE = 1e-6  # relative to the longest row: what is shorter has no direction; likewise for components
SMALL_SIDE = 2048  # rows or columns of which a matrix of all pairs is small
BLOCK_ENTRIES = 1 << 22


def find_directions(samples: SingleArray) -> SingleArray:
    """Principal components of each row, scaled to length 1; a row in the centre of the data stays there."""
    return scale_to_length_one(find_components(samples))


def find_components(samples: SingleArray) -> FloatArray:
    """The first principal components of each row.

    On one thread, so that the last bits, and with them the tree, do not depend on how many there are.
    """
    with training_threads():
        components = _principal_components(samples)
    deviations = components.std(axis=0)
    return components[:, deviations > CENTRE * deviations.max()] if deviations.any() else components[:, :1]


def scale_to_length_one(components: FloatArray) -> SingleArray:
    """Rows divided by their lengths; rows as short as rounding errors stay in the centre."""
    lengths = np.linalg.norm(components, axis=1, keepdims=True)
    apart = lengths > CENTRE * lengths.max(initial=0.0)
    directions: SingleArray = np.where(apart, components / np.where(apart, lengths, 1.0), 0.0).astype(np.float32)
    return directions


def _principal_components(samples: SingleArray) -> FloatArray:
    n, columns = samples.shape
    wanted = min(COMPONENTS, n - 1, columns)
    mean = samples.mean(axis=0, dtype=np.float64)
    step = max(1, BLOCK_ENTRIES // columns)
    blocks = [slice(start, start + step) for start in range(0, n, step)]
    if columns <= SMALL_SIDE:
        products = np.zeros((columns, columns))
        for block in blocks:
            centred = samples[block] - mean
            products += centred.T @ centred
        axes = np.linalg.eigh(products)[1][:, ::-1][:, :wanted]
        return np.concatenate([(samples[block] - mean) @ axes for block in blocks])
    if n <= SMALL_SIDE:
        products = np.zeros((n, n))
        for start in range(0, columns, max(1, BLOCK_ENTRIES // n)):
            part = slice(start, start + max(1, BLOCK_ENTRIES // n))
            centred = samples[:, part] - mean[part]
            products += centred @ centred.T
        values, vectors = np.linalg.eigh(products)
        found: FloatArray = vectors[:, ::-1][:, :wanted] * np.sqrt(np.maximum(values[::-1][:wanted], 0.0))
        return found

    def onto_rows(vector: FloatArray) -> FloatArray:
        vector = vector.ravel()
        projected: FloatArray = np.concatenate([samples[block] @ vector for block in blocks]) - mean @ vector
        return projected

    def onto_columns(vector: FloatArray) -> FloatArray:
        vector = vector.ravel()
        total = sum((vector[block] @ samples[block] for block in blocks), np.zeros(columns))
        result: FloatArray = total - vector.sum() * mean
        return result

    operator = LinearOperator((n, columns), matvec=onto_rows, rmatvec=onto_columns, dtype=np.float64)
    start_vector = np.cos(np.arange(min(n, columns)))
    left, values, _ = svds(operator, k=wanted, v0=start_vector)
    return left[:, ::-1] * values[::-1]
