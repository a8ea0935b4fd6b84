"""Tables in parquet: a file, or the files of a folder in order. Row groups are read as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError, told_as
from shade._base.files import files_in
from shade._base.memory import check_room
from shade.data.encoding import Column, TableEncoding, is_numeric
from shade.data.row_sources import RowSource, Stamps
from shade.data.samples import ReadOptions, Samples, enumerate_names
from shade.data.tables import RawTable, cells_of, samples_of_table, values_of

HEAD_ROWS = 10_000
BYTES_A_CELL = 48  # of a table that is read as a whole, and of its matrix


def read_parquet(path: Path, options: ReadOptions) -> Samples:
    """Choose columns from the first rows. The rows of the features are read later.

    A table with columns to encode is read as a whole.
    """
    source = ParquetFiles(path)
    if options.memory is None and not options.drop_non_numeric and source.has_text(options):
        size = BYTES_A_CELL * len(source.all_names) * source.n_rows
        check_room(size, None, f"Reading {path}", "Leave out text with --drop-non-numeric.")
        return samples_of_table(RawTable(source.read_columns(source.all_names)), str(path), options)
    head = samples_of_table(RawTable(source.head(HEAD_ROWS)), str(path), options)
    encoded = [] if head.encoding is None else [found.name for found in head.encoding.columns if found.kind != "number"]
    if encoded:
        raise DataError(
            f"{path} has columns that can only be encoded when all rows are read at once: {enumerate_names(encoded)}. "
            "Leave out --memory, or these columns with --drop."
        )
    rows = source.choose(head.feature_names or ())
    named = sorted({name for name in (options.label, options.id) if name is not None})
    table = source.read_columns(named) if named else None
    ids = np.arange(len(rows)) if options.id is None else values_of(table, options.id)
    labels = None if options.label is None else values_of(table, options.label)
    others = [name for name in source.all_names if name not in {*(head.feature_names or ()), *named}]
    cells, notes = cells_of(source.read_columns(others), ()) if options.memory is None and others else ({}, [])
    return replace(head, rows=rows, ids=ids, labels=labels, cells=cells, notes=(*head.notes, *notes))


def open_parquet(path: Path) -> RowSource:
    """Open a parquet file or folder with all columns, which must be numbers."""
    source = ParquetFiles(path)
    return source.choose(source.all_names)


class ParquetFiles(RowSource):
    """Files with the same columns. `all_names` are all columns; `choose` selects the features."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = [path]
        if path.is_dir():
            self._files = [file for file in files_in(path) if file.suffix.lower() == ".parquet"]
        self._groups: list[tuple[Path, int]] = []
        self._kinds: dict[str, np.dtype[Any]] = {}
        self._text: dict[str, Path] = {}
        self._stamps = Stamps()
        self._latest: tuple[int, AnyArray] | None = None
        starts = [0]
        for file in self._files:
            metadata = self._read(file, lambda opened: opened.metadata)
            schema = metadata.schema.to_arrow_schema()
            if file == self._files[0]:
                self.all_names, self._schema = list(schema.names), schema
            self._check_names(file, list(schema.names))
            self._note_kinds(file, metadata, schema)
            for group in range(metadata.num_row_groups):
                if rows := metadata.row_group(group).num_rows:
                    self._groups.append((file, group))
                    starts.append(starts[-1] + rows)
        self._starts = self.boundaries = np.array(starts)

    @property
    def n_rows(self) -> int:
        """Number of rows of all files."""
        return int(self._starts[-1])

    def has_text(self, options: ReadOptions) -> bool:
        """Return whether columns to cluster by are no numbers, or a model encodes them."""
        left_out = {options.label, options.id, *options.drop}
        wanted = self.all_names if options.columns is None else options.columns
        if options.table is not None and options.table.columns:
            wanted = [column.name for column in options.table.columns]
            if any(column.kind != "number" for column in options.table.columns):
                return True
        return bool(options.categories) or any(name in self._text for name in wanted if name not in left_out)

    def choose(self, names: Sequence[str]) -> ParquetFiles:
        """Select the features, in the smallest type that fits all files."""
        text = [name for name in names if name in self._text]
        if text:
            raise DataError(
                f"{self._text[text[0]]} has columns that are not numbers: {', '.join(map(repr, text[:8]))}. Write it "
                "without them."
            )
        self.names = list(names)
        kind = np.result_type(*(self._kinds[name] for name in names)) if names else np.dtype(np.float64)
        self._set_shape((self.n_rows, len(names)), kind, str(self._path))
        return self

    def read(self, start: int, stop: int) -> AnyArray:
        """Read the row groups of the rows."""
        starts = self._starts
        first = int(np.searchsorted(starts, start, side="right")) - 1
        last = int(np.searchsorted(starts, stop, side="left"))
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        for group in range(first, last):
            begin, end = max(start, int(starts[group])), min(stop, int(starts[group + 1]))
            rows[begin - start : end - start] = self._read_group(group)[begin - starts[group] : end - starts[group]]
        return rows

    def read_columns(self, names: Sequence[str]) -> Any:
        """Read columns of all rows as a pyarrow table."""
        import pyarrow

        tables = [self._read(file, lambda opened: opened.read(columns=names)) for file in self._files]
        what = f"Columns of the files in {self._path} have different types"
        with told_as(DataError, what, pyarrow.ArrowException):
            return pyarrow.concat_tables(tables, promote_options="permissive")

    def head(self, rows: int) -> Any:
        """Read all columns of the first rows, at most those of the first row group, as a pyarrow table."""
        import pyarrow

        if not self._groups:
            return self._schema.empty_table()
        file, group = self._groups[0]

        def read(opened: Any) -> Any:
            # One column after the other: a page of each of many columns may not fit into memory.
            columns = [next(opened.iter_batches(rows, row_groups=[group], columns=[name])) for name in self.all_names]
            return pyarrow.Table.from_arrays([column.column(0) for column in columns], names=self.all_names)

        return self._read(file, read)

    def place(self, row: int) -> str:
        """Return row number, file, and row number in the file."""
        group = int(np.searchsorted(self._starts, row, side="right")) - 1
        file = self._groups[group][0]
        first = next(start for (other, _), start in zip(self._groups, self._starts, strict=False) if other == file)
        return f"row {row} (row {row - int(first)} of {file.name})"

    def _read_group(self, group: int) -> AnyArray:
        """Return a row group as a matrix. The last one is kept, since slices often end within a group."""
        if self._latest is None or self._latest[0] != group:
            self._latest = None  # two groups together may not fit into memory
            file, number = self._groups[group]
            names = self.names or []
            table = self._read(file, lambda opened: opened.read_row_group(number, columns=names, use_threads=False))
            encoding = TableEncoding(tuple(Column(name, "number") for name in names))
            self._latest = (group, encoding.encode(table, str(file))[0])
        return self._latest[1]

    def _read(self, file: Path, read: Callable[[Any], Any]) -> Any:
        import pyarrow.parquet

        what = f"{file} cannot be read as parquet, it may have been cut short"
        with told_as(DataError, what, pyarrow.ArrowException, OSError):
            self._stamps.check(file)
            with pyarrow.parquet.ParquetFile(file) as opened:
                found = read(opened)
            self._stamps.check(file)
            return found

    def _check_names(self, file: Path, names: list[str]) -> None:
        if names == self.all_names:
            return
        lacking = [name for name in self.all_names if name not in names]
        unknown = [name for name in names if name not in self.all_names]
        what = [f"lacks {', '.join(map(repr, lacking[:8]))}"] if lacking else []
        what += [f"has {', '.join(map(repr, unknown[:8]))} in addition"] if unknown else []
        raise DataError(
            f"The shards have different columns: {file.name} {' and '.join(what) or 'has them in another order'}, "
            f"compared with {self._files[0].name}. Write them all with the same columns."
        )

    def _note_kinds(self, file: Path, metadata: Any, schema: Any) -> None:
        """Store the type of each column: integers with empty cells become floats."""
        from pyarrow import types

        places = {metadata.schema.column(index).path: index for index in range(metadata.num_columns)}
        for field in schema:
            name: str = field.name
            kind: np.dtype[Any] = np.dtype(np.float64)
            if not is_numeric(field.type):
                self._text.setdefault(name, file)
                continue
            if types.is_floating(field.type):
                kind = np.dtype(field.type.to_pandas_dtype())
            elif (types.is_integer(field.type) or types.is_boolean(field.type)) and _is_full(metadata, places[name]):
                kind = np.dtype(np.uint8 if types.is_boolean(field.type) else field.type.to_pandas_dtype())
            self._kinds[name] = np.result_type(self._kinds.get(name, kind), kind)


def _is_full(metadata: Any, column: int) -> bool:
    """Return whether statistics prove that a column has no empty cells."""
    groups = (metadata.row_group(group).column(column) for group in range(metadata.num_row_groups))
    return all(group.is_stats_set and group.statistics.null_count == 0 for group in groups)
