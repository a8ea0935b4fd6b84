"""Tables in parquet: a file, or the files of a folder one after the other, of which row groups are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError
from shade._base.extras import need
from shade._base.files import files_in
from shade.data.tables import is_numeric, to_matrix


class ParquetShards:
    """Files with the same columns.

    Attributes
    ----------
    names : list of str
        Names of all columns.
    starts : ndarray of int
        Rows at which row groups begin and end, from 0 to the number of rows.
    """

    def __init__(self, path: Path) -> None:
        self._parquet = need("pyarrow.parquet", "io", "Reading parquet files")
        self._arrow = need("pyarrow", "io", "Reading parquet files")
        self.path = path
        self._files = [path]
        if path.is_dir():
            self._files = [file for file in files_in(path) if file.suffix.lower() == ".parquet"]
        self._groups: list[tuple[Path, int]] = []
        self._kinds: dict[str, np.dtype[Any]] = {}
        self._text: dict[str, Path] = {}
        self._stamps: dict[Path, tuple[int, int]] = {}
        starts = [0]
        for file in self._files:
            metadata = self._read(file, lambda opened: opened.metadata)
            schema = metadata.schema.to_arrow_schema()
            if file == self._files[0]:
                self.names, self._schema = list(schema.names), schema
            self._check_names(file, list(schema.names))
            self._note_kinds(file, metadata, schema)
            for group in range(metadata.num_row_groups):
                if rows := metadata.row_group(group).num_rows:
                    self._groups.append((file, group))
                    starts.append(starts[-1] + rows)
        self.starts = np.array(starts)

    def kind_of(self, names: Sequence[str]) -> np.dtype[Any]:
        """The smallest type that holds columns in all files; all of them must be numbers."""
        text = [name for name in names if name in self._text]
        if text:
            raise DataError(
                f"{self._text[text[0]]} has columns that are not numbers: {', '.join(map(repr, text[:8]))}. Write it "
                "without them."
            )
        return np.result_type(*(self._kinds[name] for name in names)) if names else np.dtype(np.float64)

    def read_group(self, group: int, names: Sequence[str]) -> AnyArray:
        """Columns of a row group as a matrix."""
        file, number = self._groups[group]
        table = self._read(file, lambda opened: opened.read_row_group(number, columns=names, use_threads=False))
        return to_matrix(table, list(names))

    def read_columns(self, names: Sequence[str]) -> Any:
        """Columns of all rows as a pyarrow table."""
        tables = [self._read(file, lambda opened: opened.read(columns=names)) for file in self._files]
        try:
            return self._arrow.concat_tables(tables, promote_options="permissive")
        except self._arrow.ArrowException as error:
            message = f"Columns of the files in {self.path} have types that do not go together: {error}."
            raise DataError(message) from None

    def head(self, rows: int) -> Any:
        """All columns of the first rows, of the first row group at most, as a pyarrow table."""
        if not self._groups:
            return self._schema.empty_table()
        file, group = self._groups[0]

        def read(opened: Any) -> Any:
            # One after the other, for a page of each of many columns may be more than there is memory.
            columns = [next(opened.iter_batches(rows, row_groups=[group], columns=[name])) for name in self.names]
            return self._arrow.Table.from_arrays([column.column(0) for column in columns], names=self.names)

        return self._read(file, read)

    def place(self, row: int) -> str:
        """The file of a row, and its number in it."""
        group = int(np.searchsorted(self.starts, row, side="right")) - 1
        file = self._groups[group][0]
        first = next(start for (other, _), start in zip(self._groups, self.starts, strict=False) if other == file)
        return f"row {row} (row {row - int(first)} of {file.name})"

    def _read(self, file: Path, read: Callable[[Any], Any]) -> Any:
        try:
            status = file.stat()
            stamp = (status.st_size, status.st_mtime_ns)
            if self._stamps.setdefault(file, stamp) != stamp:
                raise DataError(f"{file} was written anew after reading began: start again.")
            with self._parquet.ParquetFile(file) as opened:
                return read(opened)
        except (self._arrow.ArrowException, OSError) as error:
            text = " ".join(str(error).split()).removesuffix(".")[:200]
            raise DataError(f"{file} cannot be read as parquet, it may have been cut short: {text}.") from None

    def _check_names(self, file: Path, names: list[str]) -> None:
        if names == self.names:
            return
        lacking = [name for name in self.names if name not in names]
        unknown = [name for name in names if name not in self.names]
        what = [f"lacks {', '.join(map(repr, lacking[:8]))}"] if lacking else []
        what += [f"has {', '.join(map(repr, unknown[:8]))} in addition"] if unknown else []
        raise DataError(
            f"The shards have different columns: {file.name} {' and '.join(what) or 'has them in another order'}, "
            f"compared with {self._files[0].name}. Write them all with the same columns."
        )

    def _note_kinds(self, file: Path, metadata: Any, schema: Any) -> None:
        """Note the type that each column is read as: whole numbers with empty cells become floats."""
        types = self._arrow.types
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
    """Whether a column is known to have no empty cell."""
    groups = (metadata.row_group(group).column(column) for group in range(metadata.num_row_groups))
    return all(group.is_stats_set and group.statistics.null_count == 0 for group in groups)
