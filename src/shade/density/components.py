"""Exact principal components of rows, computed in blocks. The result does not depend on the number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from shade._base.arrays import FloatArray, SingleArray
from shade._base.parallel import count_threads, training_threads

COMPONENTS = 50
NOTHING = 1e-6  # relative to the largest standard deviation: components below it are rounding errors
SMALL_SIDE = 2048  # with at most so many rows or columns, a matrix of all pairs is small
BLOCK_ENTRIES = 1 << 22


def find_components(samples: SingleArray, n_jobs: int | None = None) -> FloatArray:
    """Return the first principal components of each row.

    Each product is computed on one thread. So the result, and with it the tree, is the same to the last bit for any
    number of threads.
    """
    with training_threads():
        components = _principal_components(samples, count_threads(n_jobs))
    deviations = components.std(axis=0)
    return components[:, deviations > NOTHING * deviations.max()] if deviations.any() else components[:, :1]


def _principal_components(samples: SingleArray, threads: int) -> FloatArray:
    n, columns = samples.shape
    wanted = min(COMPONENTS, n - 1, columns)
    mean = samples.mean(axis=0, dtype=np.float64)
    step = max(1, BLOCK_ENTRIES // columns)
    blocks = [slice(start, start + step) for start in range(0, n, step)]
    if columns <= SMALL_SIDE:

        def products_of(block: slice) -> FloatArray:
            centred = samples[block] - mean
            result: FloatArray = centred.T @ centred
            return result

        with ThreadPoolExecutor(threads) as pool:  # added in the order of the blocks, so that threads do not matter
            products = sum(pool.map(products_of, blocks), np.zeros((columns, columns)))
            axes = np.linalg.eigh(products)[1][:, ::-1][:, :wanted]
            return np.concatenate(list(pool.map(lambda block: (samples[block] - mean) @ axes, blocks)))
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
