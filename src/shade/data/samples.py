"""Data as it was read from somewhere: rows, what they are called, and what was done to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray, BoolArray, FloatArray, row_slices
from shade._base.errors import DataError
from shade._base.extras import need
from shade._base.memory import check_room
from shade._base.validation import Whole, check_choice, check_parameter

MISSING = ("refuse", "mean", "drop-rows", "drop-columns")


@dataclass(frozen=True)
class Samples:
    """Rows to cluster.

    Attributes
    ----------
    rows : ndarray
        One row a sample: n × features, or images of n × height × width or n × channels × height × width. Where memory
        is short, a matrix that is read as slices of it are taken.
    kind : {"table", "images", "frames"}
    source : str
        Where the rows came from.
    ids : ndarray of shape (n_samples,)
        What each row is called; the number of the row where nothing says otherwise.
    feature_names : tuple of str, optional
    labels : ndarray of shape (n_samples,), optional
        Known groups, never used for training.
    notes : tuple of str
        What was done on the way, one sentence each.
    """

    rows: Any
    kind: str
    source: str
    ids: AnyArray
    feature_names: tuple[str, ...] | None = None
    labels: AnyArray | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of samples, and the shape of one."""
        return (len(self.rows), *getattr(self.rows, "sample_shape", self.rows.shape[1:]))

    @property
    def in_memory(self) -> bool:
        """Whether the rows are an array, not what is read when it is used."""
        return isinstance(self.rows, np.ndarray)

    def load(self) -> Samples:
        """The same with all rows in memory."""
        return self if self.in_memory else replace(self, rows=self.rows[:].reshape(self.shape))

    def to_features(self) -> Any:
        """What an estimator takes: a DataFrame where columns have names, else the rows as they are."""
        if self.feature_names is None or not self.in_memory:
            return self.rows
        pandas = need("pandas", "io", "Keeping the names of columns")
        return pandas.DataFrame(self.rows, columns=list(self.feature_names), copy=False)

    def keep_rows(self, kept: BoolArray) -> Samples:
        """Only some of the rows."""
        labels = None if self.labels is None else self.labels[kept]
        return replace(self, rows=self.rows[kept], ids=self.ids[kept], labels=labels)

    def with_note(self, note: str) -> Samples:
        """The same with one more note."""
        return replace(self, notes=(*self.notes, note))


@dataclass(frozen=True)
class ReadOptions:
    """The options of `read_samples`, which documents them."""

    label: str | None
    id: str | None
    drop: Collection[str]
    drop_non_numeric: bool
    missing: str
    means: FloatArray | None
    columns: Sequence[str] | None
    key: str | None
    header: bool | None
    delimiter: str | None
    decimal: str
    empty: Collection[str]
    encoding: str
    resize: tuple[int, int] | None
    every: int
    memory: int | None

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, MISSING, "read_samples")
        check_parameter("every", self.every, Whole(1), "read_samples")
        if self.resize is not None and (len(self.resize) != 2 or min(self.resize) < 1):
            found = "x".join(map(str, self.resize))
            raise DataError(
                f"Pictures are resized to a width and a height, such as --resize 64x48. Got {found} instead."
            )


def resolve_missing(samples: Samples, options: ReadOptions) -> Samples:
    """Refuse, fill or drop NaN and infinity, as the option says.

    Rows that are read when they are used are checked then, unless they are to be mended, which takes all of them.
    """
    missing = options.missing
    if samples.rows.dtype.kind != "f" or (missing == "refuse" and not samples.in_memory):
        return samples
    if not samples.in_memory:
        what = f"Mending {samples.source} with --missing {missing}"
        check_room(2 * samples.rows.nbytes, options.memory, what, "Give more, or mend the file before.")
    samples = samples.load()
    rows = samples.rows
    flat = rows.reshape(len(rows), -1)
    bad_rows, bad_columns = _count_missing(flat)
    if not bad_rows.any():
        return samples
    places = f"{np.count_nonzero(bad_rows)} of {len(flat)} rows and {np.count_nonzero(bad_columns)} of "
    places = f"{counted(int(bad_columns.sum()), 'value')} in {places}{flat.shape[1]} columns"
    if missing == "refuse":
        all_needed = options.columns is not None
        remedies = ("drop-rows",) if rows.ndim > 2 else ("mean", "drop-rows") if all_needed else MISSING[1:]
        raise DataError(
            f"{samples.source} lacks {places} (empty, NaN or infinite){_worst(samples, bad_columns)}. Choose what to "
            f"do with them: {' or '.join(f'--missing {remedy}' for remedy in remedies)}."
        )
    if missing == "drop-rows":
        if bad_rows.all():
            raise DataError(f"Every row of {samples.source} lacks a value: drop-rows leaves none. Try drop-columns.")
        return samples.keep_rows(~bad_rows).with_note(
            f"left out {counted(int(bad_rows.sum()), 'row')} with missing values"
        )
    if rows.ndim > 2:
        raise DataError(f"{samples.source} lacks {places}. For images, --missing takes drop-rows only.")
    if missing == "drop-columns":
        return _drop_columns(samples, bad_columns > 0)
    return _fill(samples, bad_columns, options.means).with_note(f"put the mean of the column in place of {places}")


def _count_missing(flat: AnyArray) -> tuple[BoolArray, AnyArray]:
    """Which rows lack a value, and how many values each column lacks; in slices, as the rows may lie on disk."""
    bad_rows, bad_columns = np.zeros(len(flat), np.bool_), np.zeros(flat.shape[1], np.int64)
    for rows in row_slices(flat):
        bad = ~np.isfinite(flat[rows])
        bad_rows[rows] = bad.any(axis=1)
        bad_columns += bad.sum(axis=0)
    return bad_rows, bad_columns


def _worst(samples: Samples, bad_columns: AnyArray) -> str:
    if samples.feature_names is None:
        return ""
    worst = np.argsort(-bad_columns, kind="stable")[: min(3, np.count_nonzero(bad_columns))]
    return ", most in " + ", ".join(f"{samples.feature_names[column]!r} ({bad_columns[column]})" for column in worst)


def _drop_columns(samples: Samples, dropped: BoolArray) -> Samples:
    if dropped.all():
        raise DataError(f"Every column of {samples.source} lacks a value: drop-columns leaves none. Try mean.")
    names = samples.feature_names
    note = f"left out {counted(int(dropped.sum()), 'column')} with missing values"
    if names is not None:
        note += f": {enumerate_names(list(compress(names, dropped)))}"
        names = tuple(compress(names, ~dropped))
    return replace(samples, rows=samples.rows[:, ~dropped], feature_names=names).with_note(note)


def _fill(samples: Samples, bad_columns: AnyArray, means: FloatArray | None) -> Samples:
    empty = bad_columns == len(samples.rows)
    if means is None and empty.any():
        names = samples.feature_names or tuple(map(str, range(len(empty))))
        which = enumerate_names(list(compress(names, empty)))
        raise DataError(f"{samples.source} has columns without any value, so without a mean: {which}. --drop them.")
    rows = np.array(samples.rows, dtype=np.float64)
    for column in np.flatnonzero(bad_columns):
        present = np.isfinite(rows[:, column])
        mean = rows[present, column].mean() if means is None else means[column]
        rows[~present, column] = mean
    return replace(samples, rows=rows)


def counted(number: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def enumerate_names(names: list[str], most: int = 8) -> str:
    """Names in quotes, the first few of many."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
