"""Tables with named columns: csv, tsv and parquet."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shade._arrays import AnyArray
from shade._errors import DataError
from shade._extras import need
from shade.data.samples import Samples, enumerate_names

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
NAMES_OF_ROW_NUMBERS = {"", "id", "index", "row", "rowid", "row_id", "unnamed: 0"}


def read_text_table(path: Path | None, *, header: bool | None, delimiter: str | None) -> tuple[Any, list[str]]:
    """Read csv or tsv, from standard input if the path is None; returns a pyarrow table and notes."""
    csv = need("pyarrow.csv", "io", "Reading tables")
    arrow = need("pyarrow", "io", "Reading tables")
    source = "standard input" if path is None else str(path)
    if path is None:
        text: Any = io.BytesIO(sys.stdin.buffer.read())
        first = text.readline()
        text.seek(0)
    else:
        text = str(path)
        with arrow.input_stream(text) as file:  # unpacks .gz and .bz2
            first = bytes(file.read(1 << 20)).split(b"\n", 1)[0]
    if not first.strip():
        raise DataError(f"{source} is empty.")
    notes = []
    if delimiter is None:
        decoded = first.decode("utf-8", "replace")
        delimiter = max(DELIMITERS, key=decoded.count) if any(map(decoded.count, DELIMITERS)) else ","
        if delimiter in ";|" or (delimiter == "\t" and path is None):
            notes.append(f"columns are separated by {DELIMITERS[delimiter]}")
    names = [cell.strip().strip('"') for cell in first.decode("utf-8", "replace").strip().split(delimiter)]
    if header is None and all(map(_is_number, names)):
        raise DataError(
            f"The first line of {source} holds numbers only: say whether it is a row (--no-header) or names (--header)."
        )
    options = csv.ReadOptions(autogenerate_column_names=header is False)
    try:
        table = csv.read_csv(text, read_options=options, parse_options=csv.ParseOptions(delimiter=delimiter))
    except (arrow.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{source} cannot be read as a table: {_one_line(error)}.") from None
    return table, notes


def read_parquet(path: Path) -> Any:
    """Read a parquet file into a pyarrow table."""
    parquet = need("pyarrow.parquet", "io", "Reading parquet files")
    arrow = need("pyarrow", "io", "Reading parquet files")
    try:
        return parquet.read_table(path)
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read as parquet: {_one_line(error)}.") from None


def samples_of_table(
    table: Any,
    source: str,
    *,
    label: str | None,
    id: str | None,
    drop: Collection[str],
    drop_non_numeric: bool,
    columns: Sequence[str] | None,
    notes: Sequence[str] = (),
) -> Samples:
    """Choose the columns to cluster by; text is never left out without being asked."""
    names: list[str] = table.column_names
    told = list(notes)
    check_names(source, names, label, id, drop)
    if table.num_rows == 0:
        raise DataError(f"{source} has {len(names)} columns, but no rows.")
    special = {name for name in (label, id) if name is not None}
    features = [name for name in names if name not in special and name not in set(drop)]
    if columns is not None:
        features = known_columns(source, features, columns, told)
    text = [name for name in features if not _is_numeric(table.schema.field(name).type)]
    if text and columns is not None:
        raise DataError(f"{source} has text where the model needs numbers: {_with_examples(table, text)}.")
    if text and not drop_non_numeric:
        options = " ".join(f"--drop {_quoted(name)}" for name in text)
        raise DataError(
            f"{source} has {len(text)} of {len(names)} columns that are not numbers: {_with_examples(table, text)}. "
            f"Leave them out with {options} (or all with --drop-non-numeric), or name one as --id or --label."
        )
    if text:
        told.append(f"left out {len(text)} columns that are not numbers: {enumerate_names(text)}")
    features = [name for name in features if name not in text]
    if not features:
        raise DataError(f"{source} has no column of numbers left to cluster by, out of {len(names)} columns.")
    rows = _to_matrix(table, features)
    told += [_row_number_note(name) for name, column in zip(features, rows.T, strict=True) if _counts(name, column)]
    return Samples(
        rows=rows,
        kind="table",
        source=source,
        ids=np.arange(len(rows)) if id is None else _values(table, id),
        feature_names=tuple(features),
        labels=None if label is None else _values(table, label),
        notes=tuple(told),
    )


def check_names(source: str, names: list[str], label: str | None, id: str | None, drop: Collection[str]) -> None:
    """Refuse columns of one name, and names of options that no column has."""
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise DataError(f"{source} has several columns of one name: {enumerate_names(twice)}. Rename them.")
    for option, wanted in [("--label", label), ("--id", id), *(("--drop", name) for name in drop)]:
        if wanted is not None and wanted not in names:
            raise DataError(f"{source} has no column {wanted!r} for {option}. It has {enumerate_names(names, 20)}.")


def known_columns(source: str, found: list[str], columns: Sequence[str], notes: list[str]) -> list[str]:
    """The columns a model was trained on, in its order."""
    lacking = [name for name in columns if name not in set(found)]
    if lacking:
        raise DataError(
            f"{source} lacks {len(lacking)} of the {len(columns)} columns the model was trained on: "
            f"{enumerate_names(lacking)}."
        )
    unknown = [name for name in found if name not in set(columns)]
    if unknown:
        notes.append(f"left out {len(unknown)} columns the model was not trained on: {enumerate_names(unknown)}")
    return list(columns)


def _is_numeric(kind: Any) -> bool:
    types = need("pyarrow.types", "io", "Reading tables")
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _to_matrix(table: Any, names: list[str]) -> AnyArray:
    """Columns as a matrix in the smallest type that holds them all; empty cells become NaN."""
    arrow = need("pyarrow", "io", "Reading tables")
    columns = []
    for name in names:
        column = table.column(name)
        if arrow.types.is_boolean(column.type):
            column = column.cast(arrow.uint8())
        elif not (arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)):
            column = column.cast(arrow.float64())
        values = column.to_numpy()  # integers with empty cells become floats
        columns.append(values.astype(np.float64) if values.dtype == object else values)
    matrix = np.empty((table.num_rows, len(columns)), np.result_type(*columns))
    for index, values in enumerate(columns):
        matrix[:, index] = values
    return matrix


def _values(table: Any, name: str) -> AnyArray:
    """A column as it is, numbers as numbers and everything else as text."""
    column = table.column(name)
    if _is_numeric(column.type) and column.null_count == 0:
        return np.asarray(column.to_numpy())
    return np.array(["" if value is None else str(value) for value in column.to_pylist()])


def _counts(name: str, column: AnyArray) -> bool:
    """Whether a column just counts the rows."""
    if name.strip().lower() in NAMES_OF_ROW_NUMBERS:
        return True
    first = np.asarray(column[:10_000], np.float64)
    return len(first) > 2 and bool(np.all(np.diff(first) == 1))


def _row_number_note(name: str) -> str:
    return f"column {name!r} looks like a number of the row, not a measurement: consider --id {_quoted(name)}"


def _with_examples(table: Any, names: list[str]) -> str:
    shown = []
    for name in names[:8]:
        values = (value for value in table.column(name).slice(0, 100).to_pylist() if value not in (None, ""))
        shown.append(f"{name!r} (such as {str(next(values, ''))[:20]!r})")
    return ", ".join(shown) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(name: str) -> str:
    """A name as a shell takes it."""
    return shlex.quote(name)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()).removesuffix(".")[:200]
