"""Checks of parameters and data. An error is one sentence with the expected and the given value."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, row_slices
from shade._base.errors import DataError

LARGEST_EXTENT = 1e150  # of points, so that their squared distances are finite; the smallest is one over it
LARGEST_WHOLE = 1 << 53


@dataclass(frozen=True)
class Whole:
    """An int of at least `smallest`; also None if `optional`."""

    smallest: int
    optional: bool = False

    def accepts(self, value: object) -> bool:
        """Whether a value is allowed."""
        if value is None:
            return self.optional
        return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= self.smallest

    def __str__(self) -> str:
        return f"an int in the range [{self.smallest}, inf){' or None' if self.optional else ''}"


@dataclass(frozen=True)
class Real:
    """A finite number above `smallest`, or equal if `inclusive`."""

    smallest: float
    inclusive: bool = True

    def accepts(self, value: object) -> bool:
        """Whether a value is allowed."""
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or not np.isfinite(float(value)):
            return False
        return float(value) >= self.smallest if self.inclusive else float(value) > self.smallest

    def __str__(self) -> str:
        return f"a float in the range {'[' if self.inclusive else '('}{self.smallest}, inf)"


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    options: Collection[object]

    def accepts(self, value: object) -> bool:
        """Return whether a value is allowed. True and 1 are different values here."""
        return any(type(value) is type(option) and value == option for option in self.options)

    def __str__(self) -> str:
        *others, last = (repr(option) for option in self.options)
        return f"{', '.join(others)} or {last}" if others else last


Rule = Whole | Real | Choice


def check_parameter(name: str, value: object, rule: Rule, owner: str) -> None:
    """Raise the standard error if a value is not allowed."""
    if not rule.accepts(value):
        raise ValueError(f"The '{name}' parameter of {owner} must be {rule}. Got {value!r} instead.")


def check_parameters(values: Mapping[str, object], rules: Mapping[str, Rule], owner: str) -> None:
    """Check each parameter that has a rule."""
    for name, rule in rules.items():
        check_parameter(name, values[name], rule, owner)


def check_choice(name: str, value: object, options: Collection[object], owner: str = "this function") -> None:
    """Check that a value is one of a few allowed ones."""
    check_parameter(name, value, Choice(options), owner)


def check_min_samples(min_samples: object, n_points: int, smallest: int, owner: str = "this function") -> None:
    """Check min_samples, also against the number of points."""
    check_parameter("min_samples", min_samples, Whole(smallest), owner)
    if int(min_samples) > n_points:  # type: ignore[call-overload]
        raise ValueError(
            f"The data has n_samples = {n_points}, fewer than min_samples = {min_samples}. "
            "Give more rows or a smaller 'min_samples'."
        )


def check_n_jobs(n_jobs: object, owner: str) -> None:
    """Check a number of threads: positive, or negative to leave some cores free."""
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ValueError(
            f"The 'n_jobs' parameter of {owner} must be an int other than 0 or None. Got {n_jobs!r} instead."
        )


def check_points(X: object) -> FloatArray:
    """Convert array-like data into a C-ordered float64 matrix of finite numbers."""
    points = np.asarray(to_numpy(X))
    check_whole_numbers(points)
    if points.ndim != 2:
        raise ValueError(f"Expected 2D array of points, got an array of shape {points.shape} instead.")
    if points.shape[0] == 0 or points.shape[1] == 0:
        raise ValueError(f"Found array with {points.shape[0]} sample(s) and {points.shape[1]} feature(s).")
    result: FloatArray = check_finite(check_numeric(points).astype(np.float64, order="C", copy=False))
    return result


def check_extent(points: FloatArray) -> None:
    """Raise an error for points whose squared distances overflow, or underflow to zero."""
    with np.errstate(over="ignore"):
        extent = float(np.ptp(points, axis=0).max())
    if extent > LARGEST_EXTENT or 0.0 < extent < 1.0 / LARGEST_EXTENT:
        raise ValueError(
            f"The points span {extent:.3g}, and the squares of such distances are too large or too small for double "
            "precision. Multiply the points by a constant first."
        )


def check_whole_numbers(X: Any, name: str = "X") -> None:
    """Raise an error for integers that double precision cannot distinguish from others."""
    kind, size = X.dtype.kind, X.dtype.itemsize
    for rows in row_slices(X) if kind == "O" or (kind in "iu" and size >= 8) else ():
        part = X[rows]
        if kind == "O":
            part = np.array([value for value in part.flat if isinstance(value, int)], dtype=object)
        far = part[(part > LARGEST_WHOLE) | (part < -LARGEST_WHOLE)]
        if far.size:
            raise DataError(
                f"{name} holds the integer {far.flat[0]}. Integers beyond 2^53 = {LARGEST_WHOLE} cannot be told apart "
                "in double precision. Leave the column out if it is an id; else subtract a constant from it first."
            )


def check_numeric(X: AnyArray) -> AnyArray:
    """Raise an error for complex, text and other non-numeric data."""
    if np.iscomplexobj(X):
        raise ValueError(f"Complex data not supported: got dtype {X.dtype}. Give real numbers.")
    if X.dtype.kind in "fiub":
        return X
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The data must be numeric, got dtype {X.dtype} ({error}). Encode or drop the columns with text."
        ) from None


def check_finite(X: Any, place: Callable[[int], str] = "row {}".format, names: Sequence[str] | None = None) -> Any:
    """Raise an error with the place of the first NaN or infinity. Slices avoid a copy of large data."""
    if X.dtype.kind != "f":
        return X
    for rows in row_slices(X):
        part = X[rows]
        bad = ~np.isfinite(part)
        if bad.any():
            row, *rest = np.argwhere(bad)[0]
            value = "NaN" if np.isnan(part[(row, *rest)]) else "infinity"
            column = ", ".join(map(str, rest)) if names is None else repr(str(names[rest[0]]))
            where = f"{place(rows.start + int(row))}, column {column}"
            filler = "sklearn.impute.SimpleImputer" if names is None else "shade.data.TableEncoder"
            raise ValueError(
                f"Input X contains {value} in {where}. Drop the row, or fill in a value, for example with {filler}."
            )
    return X


def to_numpy(X: Any) -> Any:
    """Convert a torch tensor to NumPy without importing torch."""
    if hasattr(X, "detach") and hasattr(X, "cpu"):
        return X.detach().cpu().numpy()
    return X
