"""Data after reading: rows, their names, and notes on what was done to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shade._base.arrays import AnyArray, BoolArray
from shade._base.errors import DataError
from shade._base.extras import need
from shade._base.validation import Whole, check_choice, check_parameter
from shade.data.row_sources import open_memmap

if TYPE_CHECKING:
    from shade.data.encoding import TableEncoding

FILLS = ("mean", "median", "indicator")
MISSING = (*FILLS, "drop-rows", "drop-columns", "refuse")


@dataclass(frozen=True)
class Samples:
    """Rows to cluster.

    Attributes
    ----------
    rows : ndarray
        One row per sample: n × features, or images of n × height × width or n × channels × height × width. If memory is
        short, a matrix whose rows are read when slices are taken.
    kind : {"table", "images", "frames"}
    source : str
        Where the rows came from.
    ids : ndarray of shape (n_samples,)
        Names of the rows; row numbers if there are none.
    feature_names : tuple of str, optional
    labels : ndarray of shape (n_samples,), optional
        Known groups, never used for training.
    notes : tuple of str
        What was done while reading, one sentence each.
    encoding : TableEncoding, optional
        How table columns were encoded and missing values filled. A model reads other tables in the same way.
    filled : ndarray of bool of shape (n_samples,), optional
        Which rows had missing values, if any were filled.
    cells : mapping of str to ndarray
        Columns as they were read, for people to look at: those that are not in `rows` as they were. Text has None, and
        numbers have NaN, for an empty cell.
    """

    rows: Any
    kind: str
    source: str
    ids: AnyArray
    feature_names: tuple[str, ...] | None = None
    labels: AnyArray | None = None
    notes: tuple[str, ...] = ()
    encoding: TableEncoding | None = None
    filled: BoolArray | None = None
    cells: Mapping[str, AnyArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of samples, then the shape of one."""
        return (len(self.rows), *getattr(self.rows, "sample_shape", self.rows.shape[1:]))

    @property
    def in_memory(self) -> bool:
        """Whether the rows are an array in memory."""
        return isinstance(self.rows, np.ndarray)

    def load(self) -> Samples:
        """Return the samples with all rows in memory. A memmap is copied: it ends the process if its file is cut."""
        rows = open_memmap(self.rows) if isinstance(self.rows, np.memmap) else self.rows
        return self if isinstance(rows, np.ndarray) else replace(self, rows=rows[:].reshape(self.shape))

    def to_features(self) -> Any:
        """Return the input for an estimator: a DataFrame if columns have names, else the rows."""
        if self.feature_names is None or not self.in_memory:
            return self.rows
        pandas = need("pandas", "io", "Keeping the names of columns")
        return pandas.DataFrame(self.rows, columns=list(self.feature_names), copy=False)

    def keep_rows(self, kept: BoolArray) -> Samples:
        """Return only some of the rows."""
        labels = None if self.labels is None else self.labels[kept]
        cells = {name: values[kept] for name, values in self.cells.items()}
        return replace(self, rows=self.rows[kept], ids=self.ids[kept], labels=labels, cells=cells)

    def with_note(self, note: str) -> Samples:
        """Return the samples with one more note."""
        return replace(self, notes=(*self.notes, note))


@dataclass(frozen=True)
class ReadOptions:
    """The options of `read_samples`, which documents them."""

    label: str | None = None
    id: str | None = None
    drop: Collection[str] = ()
    drop_non_numeric: bool = False
    keep: Collection[str] = ()
    categories: Collection[str] = ()
    text: str | None = None
    missing: str | None = None
    columns: Sequence[str] | None = None
    table: TableEncoding | None = None
    key: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    empty: Collection[str] = ()
    encoding: str = "utf8"
    resize: tuple[int, int] | None = None
    every: int = 1
    memory: int | None = None

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, (None, *MISSING), "read_samples")
        check_choice("decimal", self.decimal, (None, ".", ","), "read_samples")
        check_choice("thousands", self.thousands, (None, "", ",", ".", " ", "'"), "read_samples")
        if self.decimal == self.thousands and self.decimal is not None:
            raise DataError(f"The decimal point and the separator of thousands cannot both be {self.decimal!r}.")
        check_parameter("every", self.every, Whole(1), "read_samples")
        if self.resize is not None and (len(self.resize) != 2 or min(self.resize) < 1):
            found = "x".join(map(str, self.resize))
            raise DataError(
                f"Pictures are resized to a width and a height, such as --resize 64x48. Got {found} instead."
            )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def enumerate_names(names: list[str], most: int = 8) -> str:
    """Return names in quotes; if there are many, the first few."""
    return shorten([repr(name) for name in names], most)


def shorten(parts: list[str], most: int = 8, separator: str = ", ") -> str:
    """Return a list in one line; if it is long, its beginning."""
    return separator.join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")
