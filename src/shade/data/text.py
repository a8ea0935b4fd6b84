"""Text tables: csv and tsv, compressed or not, and from standard input."""

from __future__ import annotations

import codecs
import csv as lines
import gzip
import io
import re
import sys
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shade._base.errors import DataError, told_as
from shade._base.memory import available_memory, check_room
from shade._base.text import is_number
from shade.data.samples import ReadOptions, counted
from shade.data.tables import RawTable

STANDARD_INPUT = Path("-")
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
ESCAPED = {"\\t": "\t", "tab": "\t"}  # how people type a tab on a command line
TABBED = {".tsv", ".tab"}
QUOTED = re.compile('"[^"]*"')
PACKED = {".gz": "gzip", ".bz2": "bz2"}
GZIPPED = b"\x1f\x8b"
HEAD_BYTES = 1 << 20
EMPTY = (".", "..", "?")  # cells that SAS, the World Bank and the UCI repository write for a missing value
BYTES_A_CELL = 32  # in addition to the text, while a csv is read and converted to a matrix; 19 to 29 were measured


def read_text(path: Path, options: ReadOptions) -> RawTable:
    """Read the cells of a csv or tsv as text without surrounding blanks. The path "-" is standard input."""
    import pyarrow

    source = "standard input" if path == STANDARD_INPUT else str(path)
    errors = (pyarrow.ArrowException, OSError, LookupError, ValueError, TypeError, EOFError, zipfile.BadZipFile)
    with told_as(DataError, f"{source} cannot be read as a table", *errors):
        text = _open_text(path, options)
        first, delimiter, notes = text.first, options.delimiter, []
        if not first.strip():
            raise DataError(f"{source} is empty.")
        bare = QUOTED.sub("", first)
        delimiter = ESCAPED.get(delimiter or "", delimiter)
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
        return RawTable(_parse(text, delimiter, source, options), delimiter if columns > 1 else "", tuple(notes))


def _parse(text: OpenText, delimiter: str, source: str, options: ReadOptions) -> Any:
    import pyarrow
    from pyarrow import csv

    names = next(lines.reader([text.first], delimiter=delimiter))
    if options.header is False:
        names = [f"f{place}" for place in range(len(names))]
    try:
        table = csv.read_csv(
            text.stream,
            csv.ReadOptions(autogenerate_column_names=options.header is False, encoding=options.encoding),
            csv.ParseOptions(delimiter=delimiter),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.string()),
                null_values=[*csv.ConvertOptions().null_values, *EMPTY, *options.empty],
                strings_can_be_null=True,
            ),
        )
        _ = table.column_names  # raises an error if names are in another encoding
    except (UnicodeError, pyarrow.ArrowInvalid) as error:
        if isinstance(error, UnicodeError) or "UTF8" in str(error):
            named = "name it, for example with --encoding latin1"
            raise DataError(f"{source} holds text of another encoding: {named}.") from None
        if (found := re.search(r"Expected (\d+) columns, got (\d+): (.*)", str(error), re.DOTALL)) is not None:
            expected, number, line = found.groups()
            raise DataError(
                f"The first line of {source} has {counted(int(expected), 'column')}, but another line has {number}: "
                f"{line[:60]!r}. Correct such lines, or name what separates columns with --delimiter."
            ) from None
        raise
    # A name over several lines is not known in advance, so its column has another type than text.
    return pyarrow.table([_trim(cells, options.empty) for cells in table.columns], names=table.column_names)


def _trim(cells: Any, empty: Collection[str]) -> Any:
    """Remove blanks around text. Cells that are then empty become null."""
    import pyarrow
    from pyarrow import compute

    cells = cells.cast(pyarrow.string())
    trimmed = compute.utf8_trim_whitespace(cells)
    if trimmed.equals(cells):
        return cells
    return compute.if_else(compute.is_in(trimmed, pyarrow.array(["", *EMPTY, *empty], pyarrow.string())), None, trimmed)


@dataclass(frozen=True)
class OpenText:
    """The input of pyarrow, its first line that is not empty, and its number of bytes and lines."""

    stream: Any
    first: str
    n_bytes: int
    n_lines: int


def _open_text(path: Path, options: ReadOptions) -> OpenText:
    import pyarrow

    if path == STANDARD_INPUT or path.suffix.lower() == ".zip":
        stream = io.BytesIO(_read_standard_input(options) if path == STANDARD_INPUT else _unpack(path, options))
        measured = _measure_text(stream, "standard input" if path == STANDARD_INPUT else path, options)
        stream.seek(0)
        return OpenText(stream, *measured)
    with pyarrow.OSFile(str(path)) as file, pyarrow.input_stream(file, PACKED.get(path.suffix.lower())) as unpacked:
        return OpenText(str(path), *_measure_text(unpacked, path, options))


def _read_standard_input(options: ReadOptions) -> bytes:
    """Read and decompress standard input. One byte above the limit is enough to refuse it."""
    most = -1 if options.memory is None else options.memory + 1
    given = sys.stdin.buffer.read(most)
    if given.startswith(GZIPPED):
        with gzip.open(io.BytesIO(given)) as file:
            return file.read(most)
    return given


def _unpack(path: Path, options: ReadOptions) -> bytes:
    """Unpack the only table of a zip. Its size in the zip's directory is checked while unpacking."""
    with zipfile.ZipFile(path) as archive:
        member = table_in_zip(archive)
        size = archive.getinfo(member).file_size
        check_room(size, options.memory, f"Unpacking {path}", "Give more, or write it as parquet.")
        return archive.read(member)


def _measure_text(file: Any, file_name: object, options: ReadOptions) -> tuple[str, int, int]:
    """Return first line, bytes and lines of a text by reading it to its end: compressed sizes prove nothing."""
    most = available_memory() if options.memory is None else options.memory
    head = part = bytes(file.read(HEAD_BYTES))
    n_bytes = n_lines = 0
    while part and (most is None or n_bytes <= most):
        n_bytes, n_lines = n_bytes + len(part), n_lines + part.count(b"\n")
        part = bytes(file.read(HEAD_BYTES))
    if b"\0" in head[:4] and options.encoding == "utf8":
        raise DataError(f"{file_name} holds text of another encoding: add --encoding {_wide_encoding(head)}.")
    lines = head.decode(options.encoding, "replace").lstrip("\ufeff").split("\n")
    return next((line for line in lines if line.strip("\r")), "").strip("\r"), n_bytes, n_lines


def _wide_encoding(head: bytes) -> str:
    """Return the encoding of text with several bytes per character, from its beginning."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-16-be" if head.startswith(b"\0") else "utf-16-le"


def table_in_zip(archive: zipfile.ZipFile) -> str:
    """Return the only text table in a zip; raise an error if there is none, or if there are several."""
    found = [
        name
        for name in archive.namelist()
        if Path(name).suffix.lower() in {".csv", ".txt", *TABBED} and not name.startswith("__MACOSX/")
    ]
    if len(found) != 1:
        raise DataError(
            f"{archive.filename} holds {counted(len(found), 'table')}. Unpack it and give one of its files."
        )
    return found[0]
