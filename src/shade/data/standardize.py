"""Standardisation in slices, so that the data is never copied as a whole in double precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray, SingleArray, row_slices

SLICE_ENTRIES = 1 << 22  # per partial sum; another number would change the rounding
PIECE_ENTRIES = 1 << 20  # at a time if nothing is summed: little memory, and fast in the cache
FEWEST_PIXELS = 64  # columns: fewer are no image
LONELY_SHARE, LONELY_ROWS = 0.5, 50  # fraction of a column's variance in one row, in data of at least so many rows
SAME_LENGTH = 1e-3  # relative tolerance: rows that were scaled to one length, and rounded
FAR = 1e130  # squares of such deviations and of their inverses are finite, and so are sums of many
LEAST_DEVIATION = 1e-6  # of data without standardisation: networks compute in single precision
PILED_SHARE = 1 / 3  # fraction of pixels that are black in some images and white in others; corners hardly ever are


def choose_standardization(standardize: str | bool, rows: Any, sample_shape: tuple[int, ...]) -> str | bool:
    """Return the meaning of "auto" for rows of samples with this shape: "global" for one unit, else "feature"."""
    if standardize != "auto":
        return standardize
    return "global" if len(sample_shape) > 1 or _share_a_unit(rows) else "feature"


def _share_a_unit(rows: Any) -> bool:
    """Return whether many columns have one unit: bytes, values that pile up at both ends of one range, or TF-IDF.

    The first two are pixels. A column that was scaled to a range usually has one row at each end, and the others
    between. TF-IDF has rows of one length, and most values are zero. There, the scale of a column is the importance of
    a word.
    """
    columns = rows.shape[1]
    if columns < FEWEST_PIXELS:
        return False
    if rows.dtype == np.uint8:
        return True
    low, at_low = np.full(columns, np.inf), np.zeros(columns, np.int64)
    high, at_high = np.full(columns, -np.inf), np.zeros(columns, np.int64)
    zeros = 0
    for part in _parts(rows, PIECE_ENTRIES):
        zeros += part.size - int(np.count_nonzero(part))
        low, at_low = _join_ends(low, at_low, part, np.minimum)
        high, at_high = _join_ends(high, at_high, part, np.maximum)
    piled = (low == low.min()) & (at_low > 1) & (high == high.max()) & (at_high > 1)
    mostly_zero = 2 * zeros > len(rows) * columns
    return bool(np.mean(piled) > PILED_SHARE or (mostly_zero and have_one_length(rows)))


def have_one_length(rows: Any) -> bool:
    """Whether all rows have the same length, as TF-IDF, text embeddings and normalised series have.

    Such rows are directions: what matters is the angle between them. Rows of zeros, such as a text without any known
    word, are left out.
    """
    shortest, longest = np.inf, 0.0
    for part in _parts(rows, PIECE_ENTRIES):
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(part, axis=1)
        lengths = lengths[lengths > 0]
        shortest, longest = min(shortest, lengths.min(initial=np.inf)), max(longest, lengths.max(initial=0.0))
        if longest > min((1.0 + SAME_LENGTH) * shortest, FAR):
            return False
    return longest > 0.0


def scale_to_length_one(rows: FloatArray) -> FloatArray:
    """Divide each row by its length; rows of zeros stay as they are."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1.0)  # so that squares stay finite
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    scaled /= np.where(lengths > 0, lengths, 1.0)
    return scaled


def _join_ends(end: FloatArray, count: IntArray, part: FloatArray, farther: np.ufunc) -> tuple[FloatArray, IntArray]:
    """Return the ends of the columns, and how many rows have these values, after adding a part."""
    joined = farther(end, farther.reduce(part, axis=0))
    return joined, np.where(joined == end, count, 0) + (part == joined).sum(axis=0)


@dataclass(frozen=True)
class Standardizer:
    """Shift and scale of the columns: one entry per column, or a single one for all columns.

    `lonely` are the columns in which one row has more than half of the variance, so that all other rows look alike.
    """

    mean: FloatArray
    scale: FloatArray
    lonely: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def fit(
        cls, X: AnyArray, standardize: str | bool, *, unit_free: bool = False, one_hot: bool = False
    ) -> Standardizer:
        """Compute means and deviations per column ("feature"), over all entries ("global"), or none (False).

        With False and `unit_free`, all entries are divided by the root of the mean variance of a column, so that the
        result does not depend on the unit of the data. With `one_hot`, the columns of one category have one deviation,
        so that together they weigh like one column of numbers.
        """
        axis = None if standardize == "global" else 0
        mean, scale, share, largest = _moments(X, axis, np.zeros(X.shape[1] if axis == 0 else 1, np.int64))
        if not np.all((scale > 1.0 / FAR) & (scale < FAR) | (scale == 0) & ((largest == 0) | (largest > 1.0 / FAR))):
            # Units that are powers of two do not change the rounding, and keep squares in the range of floats.
            mean, scale, share, _ = _moments(X, axis, np.frexp(largest)[1].astype(np.int64))
        if not np.all(np.isfinite(scale)) or largest.max() > np.finfo(np.float64).max / 4:
            raise ValueError(
                "The data has values too large to be standardised: their range exceeds that of double precision. "
                "Divide the data by a constant first."
            )
        # A deviation that is only the rounding error of a constant column's mean is zero.
        constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(mean)
        if standardize is False:
            deviations = np.where(constant, 0.0, scale)
            exponent = int(np.frexp(deviations.max())[1])
            unit = math.ldexp(float(np.sqrt(np.mean(np.square(np.ldexp(deviations, -exponent))))), exponent)
            if unit_free:
                return cls(np.zeros(1), np.full(1, unit if unit > 0 else 1.0))
            if 0.0 < unit < LEAST_DEVIATION:
                raise ValueError(
                    f"The data deviates by {unit:.3g} from its mean, so little that all rows look alike to a network. "
                    'Use standardize="feature" or another density_unit, or multiply the data by a constant first.'
                )
            return cls(np.zeros(1), np.ones(1))
        lonely = (share > LONELY_SHARE) & ~constant & (len(X) >= LONELY_ROWS)
        for start, stop in find_one_hot(X) if one_hot and axis == 0 else ():
            scale[start:stop] = np.sqrt(np.square(scale[start:stop]).sum())
            lonely[start:stop] = False
        return cls(mean, np.where(constant, 1.0, scale), np.flatnonzero(lonely))

    def apply(self, X: AnyArray) -> SingleArray:
        """Standardise rows. Each entry is computed in double precision and rounded once."""
        result = np.empty(X.shape, np.float32)
        for rows in row_slices(X, PIECE_ENTRIES):
            with np.errstate(over="ignore"):
                shifted = np.asarray(X[rows], np.float64) - self.mean
                shifted /= self.scale
                result[rows] = shifted
        if not np.all(np.isfinite(result)):
            raise ValueError(
                "The data has values too large for single precision after standardisation. Use "
                'standardize="feature", or divide the data by a constant first.'
            )
        return result

    def undo(self, X: AnyArray) -> FloatArray:
        """Convert standardised rows back to the unit of the data."""
        return np.asarray(X, np.float64) * self.scale + self.mean


def find_one_hot(X: AnyArray) -> list[tuple[int, int]]:
    """Return ranges of columns that encode one category: in every row, one of them is 1 and the others are 0."""
    n, columns = X.shape
    binary, counts = np.ones(columns, np.bool_), np.zeros(columns)
    for part in _parts(X):
        binary[binary] = np.isin(part[:, binary], (0.0, 1.0)).all(axis=0)
        if not binary.any():
            return []
        counts += np.where(binary, part.sum(axis=0), 0.0)
    ones = np.concatenate([[0.0], np.cumsum(np.where(binary, counts, n + 1.0))])  # other columns are in no range
    starts = np.flatnonzero(binary & (counts > 0))
    stops = np.searchsorted(ones, ones[starts] + n)
    whole = (stops <= columns) & (ones[np.minimum(stops, columns)] == ones[starts] + n) & (stops - starts > 1)
    starts, stops = starts[whole], stops[whole]
    for part in _parts(X):
        sums = np.cumsum(np.where(binary, part, 0.0), axis=1)
        before = np.where(starts > 0, sums[:, starts - 1], 0.0)
        alone = (sums[:, stops - 1] - before == 1).all(axis=0)
        starts, stops = starts[alone], stops[alone]
        if len(starts) == 0:
            return []
    found: list[tuple[int, int]] = []
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if not found or start >= found[-1][1]:
            found.append((start, stop))
    return found


def _moments(X: AnyArray, axis: int | None, exponents: IntArray) -> tuple[FloatArray, ...]:
    """Return mean, deviation, largest fraction of squares in one entry, and largest magnitude, by column or of all.

    Squares are computed in units of two to the power of the exponents.
    """
    count = len(X) if axis == 0 else len(X) * X.shape[1]
    total, magnitude, squares, largest = (np.zeros(len(exponents)) for _ in range(4))
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        for part in _parts(X):
            magnitude = np.maximum(magnitude, np.abs(part).max(axis=axis))
            total += _in_units(part, exponents).sum(axis=axis)
        mean = total / count
        for part in _parts(X):
            parts = np.square(_in_units(part, exponents) - mean)
            squares += parts.sum(axis=axis)
            np.maximum(largest, parts.max(axis=axis), out=largest)
        scale = np.sqrt(squares / count)
        return np.ldexp(mean, exponents), np.ldexp(scale, exponents), largest / squares, magnitude


def _in_units(part: FloatArray, exponents: IntArray) -> FloatArray:
    """Return values in units of powers of two; without exponents, no copy is made."""
    return np.ldexp(part, -exponents) if exponents.any() else part


def _parts(X: AnyArray, entries: int | None = None) -> Iterator[FloatArray]:
    """Yield the rows in slices, in double precision."""
    return (np.asarray(X[rows], np.float64) for rows in row_slices(X, entries or SLICE_ENTRIES))
