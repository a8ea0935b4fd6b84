"""Tables with named columns: csv and tsv, and what they have in common with parquet."""

from __future__ import annotations

import codecs
import io
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError, told_as
from shade._base.memory import available_memory, check_room
from shade._base.text import is_number
from shade._base.validation import LARGEST_WHOLE, check_whole_numbers
from shade.data.samples import ReadOptions, Samples, counted, enumerate_names

STANDARD_INPUT = Path("-")
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
TABBED = {".tsv", ".tab"}
QUOTED = re.compile('"[^"]*"')
PACKED = {".gz": "gzip", ".bz2": "bz2"}
HEAD_BYTES = 1 << 20
BYTES_A_CELL = 32  # beside the text, while a csv is read and made a matrix; 25 to 32 were measured
NAMES_OF_ROW_NUMBERS = {"", "id", "index", "row", "rowid", "row_id", "unnamed: 0"}
NAMES_OF_GROUPS = {"class", "cluster", "ground_truth", "label", "labels", "target", "truth"}


def read_text(path: Path, options: ReadOptions) -> Samples:
    """Read csv or tsv; the path "-" is standard input."""
    import pyarrow
    from pyarrow import csv, types

    source = "standard input" if path == STANDARD_INPUT else str(path)
    errors = (pyarrow.ArrowException, OSError, LookupError, ValueError, TypeError)
    with told_as(DataError, f"{source} cannot be read as a table", *errors):
        text = _open_text(path, options)
        first, delimiter, notes = text.first, options.delimiter, []
        if not first.strip():
            raise DataError(f"{source} is empty.")
        bare = QUOTED.sub("", first)
        if delimiter is None:
            delimiter = max(DELIMITERS, key=bare.count) if any(map(bare.count, DELIMITERS)) else ","
            if "\t" in bare and not TABBED.isdisjoint(path.suffixes):
                delimiter = "\t"
            if delimiter in ";|" or (delimiter == "\t" and path == STANDARD_INPUT):
                notes.append(f"columns are separated by {DELIMITERS[delimiter]}")
        if options.header is None and all(is_number(cell.strip().strip('"')) for cell in first.split(delimiter)):
            raise DataError(
                f"The first line of {source} holds numbers only: say whether it is a row (--no-header) or names "
                "(--header)."
            )
        columns = 1 + bare.count(delimiter)
        what = f"Reading {source}, of at least {text.n_lines:,} lines of {counted(columns, 'column')},"
        remedy = "Give more, or write it as parquet, of which rows can be read as they are needed."
        check_room(text.n_bytes + text.n_lines * columns * BYTES_A_CELL, options.memory, what, remedy)
        empty = [*csv.ConvertOptions().null_values, *options.empty]
        try:
            read = partial(
                csv.read_csv,
                text.stream,
                csv.ReadOptions(autogenerate_column_names=options.header is False, encoding=options.encoding),
                csv.ParseOptions(delimiter=delimiter),
            )
            table = read(csv.ConvertOptions(decimal_point=options.decimal, null_values=empty))
            if far := _far_columns(table):  # read again as text, which tells integers from fractions
                kinds = dict.fromkeys(far, pyarrow.string())
                if path == STANDARD_INPUT:
                    text.stream.seek(0)
                table = _as_text(table, read(csv.ConvertOptions(column_types=kinds, include_columns=far)))
            # Names that are not of the encoding raise when they are read, cells stay bytes.
            decoded = bool(table.column_names) and not any(map(types.is_binary, table.schema.types))
        except UnicodeError:
            decoded = False
        if not decoded:
            raise DataError(f"{source} holds text of another encoding: name it, for example with --encoding latin1.")
    return samples_of_table(table, source, options, notes)


def _far_columns(table: Any) -> list[str]:
    """Columns of floats that may have been integers beyond those that floats can tell apart."""
    from pyarrow import compute, types

    floats = [index for index, field in enumerate(table.schema) if types.is_floating(field.type)]
    ends = {table.column_names[index]: compute.min_max(table.column(index)).as_py().values() for index in floats}
    return [name for name, found in ends.items() if max(abs(end or 0.0) for end in found) >= LARGEST_WHOLE]


def _as_text(table: Any, texts: Any) -> Any:
    """The table with columns as text where a float is another number than the integer that the file has."""
    for name in texts.column_names:
        whole = (value for value in texts.column(name).to_pylist() if value and re.fullmatch(r"[+-]?\d+", value))
        if any(int(value) != int(float(value)) for value in whole):
            table = table.set_column(table.column_names.index(name), name, texts.column(name))
    return table


@dataclass(frozen=True)
class OpenText:
    """What pyarrow reads from, its first line that is not empty, and how many bytes and lines it has."""

    stream: Any
    first: str
    n_bytes: int
    n_lines: int


def _open_text(path: Path, options: ReadOptions) -> OpenText:
    import pyarrow

    if path == STANDARD_INPUT:
        # One byte more than may be taken is enough to be refused.
        stream: Any = io.BytesIO(sys.stdin.buffer.read(-1 if options.memory is None else options.memory + 1))
        measured = _measure_text(stream, "standard input", options)
        stream.seek(0)
        return OpenText(stream, *measured)
    stream = str(path)
    with pyarrow.OSFile(stream) as file, pyarrow.input_stream(file, PACKED.get(path.suffix.lower())) as unpacked:
        return OpenText(stream, *_measure_text(unpacked, path, options))


def _measure_text(file: Any, file_name: object, options: ReadOptions) -> tuple[str, int, int]:
    """First line, bytes and lines of a text, which is read to its end: what is packed may be packed in any way."""
    most = available_memory() if options.memory is None else options.memory
    head = part = bytes(file.read(HEAD_BYTES))
    n_bytes = n_lines = 0
    while part and (most is None or n_bytes <= most):
        n_bytes, n_lines = n_bytes + len(part), n_lines + part.count(b"\n")
        part = bytes(file.read(HEAD_BYTES))
    if b"\0" in head[:4] and options.encoding == "utf8":
        raise DataError(f"{file_name} holds text of another encoding: add --encoding {_wide_encoding(head)}.")
    lines = head.decode(options.encoding, "replace").lstrip("\ufeff").split("\n")
    return next((line for line in lines if line.strip("\r")), ""), n_bytes, n_lines


def _wide_encoding(head: bytes) -> str:
    """The encoding of text with characters of several bytes, by its beginning."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-16-be" if head.startswith(b"\0") else "utf-16-le"


def samples_of_table(table: Any, source: str, options: ReadOptions, notes: Sequence[str] = ()) -> Samples:
    """Choose the columns to cluster by; text is left out only if an option says so."""
    names: list[str] = table.column_names
    told, columns = list(notes), options.columns
    check_names(source, names, {"--label": [options.label], "--id": [options.id], "--drop": options.drop})
    if table.num_rows == 0:
        raise DataError(f"{source} has {len(names)} columns, but no rows.")
    features = [name for name in names if name not in {options.label, options.id, *options.drop}]
    if columns is not None:
        features = known_columns(source, features, columns, told)
    text = [name for name in features if not is_numeric(table.schema.field(name).type)]
    if text and columns is not None:
        raise DataError(f"{source} has text where the model needs numbers: {_with_examples(table, text)}.")
    if text and not options.drop_non_numeric:
        drops = " ".join(f"--drop {quote(name)}" for name in text)
        raise DataError(
            f"{source} has {len(text)} of {len(names)} columns not of numbers: {_with_examples(table, text)}. "
            f"Leave them out with {drops} (or all with --drop-non-numeric), or name one as --id or --label."
            f"{_hint(table, text)}"
        )
    if text:
        told.append(f"left out {counted(len(text), 'column')} not of numbers: {enumerate_names(text)}")
    features = [name for name in features if name not in text]
    if not features:
        raise DataError(f"{source} has no column of numbers left to cluster by, out of {len(names)} columns.")
    rows = to_matrix(table, features)
    told += [
        f"column {name!r} looks like a number of the row, not a measurement: consider --id {quote(name)}"
        for name, column in zip(features, rows.T, strict=True)
        if _counts(name, column)
    ]
    told += [
        f"column {name!r} is clustered by as any other: if it says which group a row is of, use --label {quote(name)}"
        for name in features
        if columns is None and name.strip().lower() in NAMES_OF_GROUPS
    ]
    ids, labels = (None if name is None else values_of(table, name) for name in (options.id, options.label))
    ids = np.arange(len(rows)) if ids is None else ids
    return Samples(rows, "table", source, ids, tuple(features), labels, tuple(told))


def check_names(source: str, names: list[str], options: Mapping[str, Collection[str | None]]) -> None:
    """Refuse columns of one name, and names that are given to options but that no column has."""
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise DataError(f"{source} has several columns of one name: {enumerate_names(twice)}. Rename them.")
    for option, wanted in ((option, name) for option, given in options.items() for name in given):
        if wanted is not None and wanted not in names:
            several = " Give --drop once for each column." if option == "--drop" and "," in wanted else ""
            raise DataError(
                f"{source} has no column {wanted!r} for {option}. It has {enumerate_names(names, 20)}.{several}"
            )


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
        notes.append(
            f"left out {counted(len(unknown), 'column')} the model was not trained on: {enumerate_names(unknown)}"
        )
    return list(columns)


def is_numeric(kind: Any) -> bool:
    """Whether a type of pyarrow is of numbers, or of nothing but empty cells."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def to_matrix(table: Any, names: list[str]) -> AnyArray:
    """Columns as a matrix in the smallest type that holds them all; empty cells become NaN."""
    import pyarrow

    columns = []
    for name in names:
        column = table.column(name)
        if pyarrow.types.is_integer(column.type):
            check_whole_numbers(column.drop_null().to_numpy(), f"Column {name!r}")
        if pyarrow.types.is_boolean(column.type):
            column = column.cast(pyarrow.uint8())
        elif not (pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)):
            column = column.cast(pyarrow.float64())
        values = column.to_numpy()  # integers with empty cells become floats
        columns.append(values.astype(np.float64) if values.dtype == object else values)
    matrix = np.empty((table.num_rows, len(columns)), np.result_type(*columns))
    for index, values in enumerate(columns):
        matrix[:, index] = values
    return matrix


def values_of(table: Any, name: str) -> AnyArray:
    """A column as it is, numbers as numbers and everything else as text."""
    column = table.column(name)
    if is_numeric(column.type) and column.null_count == 0:
        return np.asarray(column.to_numpy())
    return np.array(["" if value is None else str(value) for value in column.to_pylist()])


def _counts(name: str, column: AnyArray) -> bool:
    """Whether a column just counts the rows."""
    if name.strip().lower() in NAMES_OF_ROW_NUMBERS:
        return True
    first = np.asarray(column[:10_000], np.float64)
    return len(first) > 2 and bool(np.all(first[1:] == first[:-1] + 1))


def _with_examples(table: Any, names: list[str]) -> str:
    shown = []
    for name in names[:8]:
        values = ((row, str(value)) for row, value in enumerate(table.column(name).to_pylist()) if value is not None)
        row, value = next(((row, value) for row, value in values if not is_number(value or "0")), (0, ""))
        shown.append(f"{name!r} (such as {value[:20]!r}{f' in row {row}' if row else ''})")
    return ", ".join(shown) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _hint(table: Any, names: list[str]) -> str:
    """What else may be wrong when numbers are taken for text."""
    values = {str(value) for name in names for value in table.column(name).slice(0, 1000).to_pylist()}
    if any(re.fullmatch(r"-?\d+,\d+", value) for value in values):
        return " Numbers with a decimal comma need --decimal ,"
    marks = sorted(values & {"?", "-", "--", ".", "*", "missing", "unknown"})
    return f" If {marks[0]!r} stands for an empty cell, add --empty {quote(marks[0])}" if marks else ""
