"""Tables in other formats: JSON lines, Arrow, Excel, SQLite and DuckDB."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from shade._base.errors import DataError, told_as
from shade.data.samples import ReadOptions, enumerate_names
from shade.data.tables import RawTable


def read_json_lines(path: Path, _: ReadOptions) -> RawTable:
    """Read a file with one JSON object per line."""
    from pyarrow import json

    return _read(path, lambda: json.read_json(str(path)))


def read_arrow(path: Path, _: ReadOptions) -> RawTable:
    """Read a feather or Arrow file, in the file or the stream layout."""
    import pyarrow

    def read() -> Any:
        with pyarrow.OSFile(str(path)) as file:
            layout = pyarrow.ipc.open_file if file.read(6) == b"ARROW1" else pyarrow.ipc.open_stream
            file.seek(0)
            return layout(file).read_all()

    return _read(path, read)


def read_excel(path: Path, options: ReadOptions) -> RawTable:
    """Read the first sheet, or the one in --key. Formulas have their saved values."""
    import openpyxl

    def read() -> Any:
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            sheet = _choose(path, options.key or book.sheetnames[0], book.sheetnames)
            lines = (line for line in book[sheet].iter_rows(values_only=True) if any(cell is not None for cell in line))
            return _table_of(next(lines, ()), lines)

    return _read(path, read)


def read_sqlite(path: Path, options: ReadOptions) -> RawTable:
    """Read the only table of a database, or the one in --key."""

    def read() -> Any:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            names = [name for (name,) in found if not name.startswith("sqlite_")]
            cells = connection.execute(_select(path, names, options))
            return _table_of([column[0] for column in cells.description], cells)

    return _read(path, read)


def read_duckdb(path: Path, options: ReadOptions) -> RawTable:
    """Read the only table of a database, or the one in --key."""
    import duckdb

    def read() -> Any:
        with closing(duckdb.connect(path, read_only=True)) as connection:
            found = connection.execute(
                "SELECT table_name FROM information_schema.tables ORDER BY table_name"
            ).fetchall()
            return connection.sql(_select(path, [name for (name,) in found], options)).to_arrow_table()

    return _read(path, read, duckdb.Error)


def _select(path: Path, names: Sequence[str], options: ReadOptions) -> str:
    """Return the query for the chosen table of a database."""
    if options.key is None and len(names) != 1:
        raise DataError(f"{path} has the tables {enumerate_names(list(names), 20)}: choose with --key.")
    quoted = _choose(path, options.key or names[0], names).replace('"', '""')
    return f'SELECT * FROM "{quoted}"'


def _read(path: Path, read: Callable[[], Any], *more: type[Exception]) -> RawTable:
    import zipfile

    import pyarrow

    errors = (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, sqlite3.Error, zipfile.BadZipFile)
    with told_as(DataError, f"{path} cannot be read as a table", *errors, *more):
        return RawTable(read())


def _choose(path: Path, wanted: str, names: Sequence[str]) -> str:
    if wanted not in names:
        raise DataError(f"{path} has no table {wanted!r} for --key. It has {enumerate_names(list(names), 20)}.")
    return wanted


def _table_of(names: Sequence[object], rows: Iterable[Sequence[Any]]) -> Any:
    """Build a table from rows of values. A column of several types becomes text."""
    import pyarrow

    titles = ["" if name is None else str(name).strip() for name in names]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in titles]
    while titles and not titles[-1] and all(cell is None for cell in columns[-1]):
        titles.pop()
        columns.pop()
    arrays = []
    for column in columns:
        if any(isinstance(cell, float) for cell in column):
            column = [float(cell) if isinstance(cell, int) else cell for cell in column]  # noqa: PLW2901
        try:
            arrays.append(pyarrow.array(column))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            arrays.append(pyarrow.array([None if cell is None else str(cell) for cell in column]))
    return pyarrow.table(arrays, names=titles)
