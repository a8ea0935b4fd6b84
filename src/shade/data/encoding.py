"""From table columns to numbers: the encoding of each column, the same for all tables that a model reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray, row_slices
from shade._base.errors import DataError
from shade._base.validation import check_whole_numbers
from shade.data.filler import Filler
from shade.data.numerals import NUMBER_LIKE
from shade.data.samples import counted, enumerate_names, shorten

FEW_VALUES = 20  # at most so many different values of a column may be categories, and become the clusters
KINDS = ("number", "truth", "date", "category")
TRUTHS = (("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("off", "on"))
DATES = {  # formats, and the pattern of their text: a year of two digits would be read as one of the first century
    "iso": r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?$",
    "%Y/%m/%d": r"^\d{4}/\d\d?/\d\d?$",
    "%d.%m.%Y": r"^\d\d?\.\d\d?\.\d{4}$",
    "%d/%m/%Y": r"^\d\d?/\d\d?/\d{4}$",
    "%m/%d/%Y": r"^\d\d?/\d\d?/\d{4}$",
}
NUMBER_OR_DATE = "|".join(f"({pattern})" for pattern in (NUMBER_LIKE, *DATES.values()))
MICROSECONDS_A_DAY = 86_400_000_000


@dataclass(frozen=True)
class Column:
    """How a column becomes one or more features.

    `values` are the categories, the words for 0 and 1, or the format of dates. It is empty if the column has a type.
    """

    name: str
    kind: str
    values: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        if self.kind == "category":
            return [f"{self.name}={value}" for value in self.values]
        return [f"{self.name} (days since 1970)" if self.kind == "date" else self.name]


@dataclass(frozen=True)
class TableEncoding:
    """How the columns of a table become features, and how missing values are filled."""

    columns: tuple[Column, ...] = ()
    filler: Filler | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features before missing values are filled."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def places(self) -> list[tuple[int, int]]:
        """For each column, the numbers of its first feature and of the next column's first feature."""
        ends = np.cumsum([len(column.features) for column in self.columns]).tolist()
        return list(zip([0, *ends], ends, strict=False))

    @property
    def exclusive(self) -> list[tuple[int, int]]:
        """Places of columns whose features are all 0, or of which one is 1."""
        both = zip(self.columns, self.places, strict=True)
        return [place for column, place in both if column.kind in ("category", "truth")]

    def encode(self, table: Any, source: str) -> tuple[AnyArray, list[str]]:
        """Return a pyarrow table as a matrix of the smallest type that fits, with NaN for empty cells; and notes."""
        blocks: list[AnyArray] = []
        notes: list[str] = []
        for column in self.columns:
            blocks += _encode(column, table.column(column.name), source, notes)
        matrix = np.empty((table.num_rows, len(blocks)), np.result_type(*blocks) if blocks else np.float64)
        for rows in row_slices(matrix):  # row by row, the order of a matrix in memory
            for index, values in enumerate(blocks):
                matrix[rows, index] = values[rows]
        return matrix, notes

    def to_json(self) -> dict[str, Any]:
        """Return a value for `from_json`."""
        filler = None if self.filler is None else self.filler.to_json()
        return {"columns": [asdict(column) for column in self.columns], "filler": filler}

    @classmethod
    def from_json(cls, found: Any) -> TableEncoding:
        """Read the encoding from a model file, which may hold anything; raise ValueError if it is invalid."""
        try:
            columns = tuple(
                Column(str(column["name"]), str(column["kind"]), tuple(map(str, column["values"])))
                for column in found["columns"]
            )
            filler = None if found["filler"] is None else Filler.from_json(found["filler"])
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise ValueError(f"the encoding of its table cannot be read ({error!r:.80})") from None
        for column in columns:
            if column.kind not in KINDS or (column.kind == "truth" and len(column.values) not in (0, 2)):
                raise ValueError(f"the column {column.name!r:.80} of its table has an unknown encoding")
        encoding = cls(columns, filler)
        if len(set(encoding.feature_names)) < len(encoding.feature_names):
            raise ValueError("two features of its table have one name")
        return encoding


@dataclass(frozen=True)
class Plan:
    """Columns that can be encoded, and notes and problems for the user.

    `odd` are columns that seem to be numbers or dates, each with the different cells that are neither, and the row of
    the first.
    """

    columns: tuple[Column, ...]
    odd: Mapping[str, tuple[int, list[str]]]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def plan_columns(table: Any, names: Sequence[str], categories: Collection[str], keep: Collection[str]) -> Plan:
    """Choose the encoding of the columns of a pyarrow table. Text with many different values is left out."""
    columns, left, odd, notes, problems = [], [], {}, [], []
    for name in names:
        cells = table.column(name)
        wanted = name in categories
        if not wanted and (found := _find_odd_cells(cells)) is not None:
            odd[name] = found
            continue
        column = None if wanted else _choose(name, cells)
        if wanted or (column is None and name in keep and is_text(cells.type)):
            column = Column(name, "category", _categories(cells))
        if column is not None:
            columns.append(column)
        else:
            left.append(name)
        if column is not None and len(column.values) > 1 and column.kind == "date":
            problems.append(
                f"the dates of column {name!r} may have the day or the month first, such as "
                f"{cells.drop_null()[0].as_py()!r}: write them as 2024-12-31, or add --drop {quote(name)}"
            )
    encoded = [_describe(column, table) for column in columns if column.kind == "category"]
    dates = [column.name for column in columns if column.kind == "date"]
    if left:
        notes.append(_tell_left_out(table, left))
    if encoded:
        notes.append(f"encoded {counted(len(encoded), 'column')} of categories: {', '.join(encoded)}")
    if dates:
        notes.append(f"read {counted(len(dates), 'column')} of dates as days: {enumerate_names(dates)}")
    return Plan(tuple(columns), odd, tuple(notes), tuple(problems))


def _tell_left_out(table: Any, names: Sequence[str]) -> str:
    """Name columns that are neither numbers nor categories, and say how to use them."""
    described: list[str] = []
    options: dict[str, str] = {}
    for name in names:
        if not is_text(table[name].type):
            described.append(f"{name!r} (of type {table[name].type})")
            continue
        values = as_text(table[name]).unique().drop_null()
        described.append(f"{name!r} ({counted(len(values), 'value')}, such as {str(values[0])[:20]!r})")
        option = "--id" if len(values) == table.num_rows else "--categories"
        options.setdefault(option, f"{option} {quote(name)}")
    uses = {"--categories": "encodes a column all the same", "--id": "names the rows by a column"}
    how = ", ".join(f"{options[option]} {use}" for option, use in uses.items() if option in options)
    what = f"left out {counted(len(names), 'column')} with neither numbers nor categories: {shorten(described)}"
    return f"{what}. {how}" if how else what


def _describe(column: Column, table: Any) -> str:
    """Describe a column of categories: how many there are, and which occur in one row only, perhaps by mistake."""
    from pyarrow import compute

    values, counts = compute.value_counts(as_text(table[column.name]).drop_null()).flatten()
    alone = sorted(values.filter(compute.equal(counts, 1)).to_pylist()) if table.num_rows > FEW_VALUES else []
    slips = f", of which {enumerate_names(alone, 3)} in 1 row" if alone else ""
    return f"{column.name!r} ({len(column.values)}{slips})"


def _choose(name: str, cells: Any) -> Column | None:
    """Return the encoding of a column, or None for text with many values and for unknown types."""
    from pyarrow import types

    kind = cells.type
    if is_numeric(kind):
        return Column(name, "number")
    if types.is_timestamp(kind) or types.is_date(kind):
        return Column(name, "date")
    if not is_text(kind):
        return None
    if words := _truths(cells):
        return Column(name, "truth", words)
    if formats := _date_formats(cells):
        return Column(name, "date", formats)
    values = _categories(cells)
    few = 0 < len(values) <= FEW_VALUES and len(values) < len(cells)
    return Column(name, "category", values) if few else None


def _find_odd_cells(column: Any) -> tuple[int, list[str]] | None:
    """Return the cells that are no numbers or dates, for a text column in which at least half of the values are."""
    from pyarrow import compute

    if not is_text(column.type):
        return None
    text = as_text(column)
    values = text.unique().drop_null()
    odd = values.filter(compute.invert(compute.match_substring_regex(values, NUMBER_OR_DATE)))
    if not 0 < 2 * len(odd) <= len(values):
        return None
    return compute.index(text, odd[0]).as_py(), odd.to_pylist()


def is_numeric(kind: Any) -> bool:
    """Return whether a pyarrow type is numeric, or the type of a column without values."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def is_text(kind: Any) -> bool:
    """Return whether a pyarrow type is text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def to_numbers(column: Any, name: str) -> AnyArray:
    """Return a column of numbers or truth values as an array; empty cells are NaN."""
    import pyarrow

    if pyarrow.types.is_integer(column.type):
        check_whole_numbers(column.drop_null().to_numpy(), f"Column {name!r}")
    if pyarrow.types.is_boolean(column.type):
        column = column.cast(pyarrow.uint8())
    elif not (pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)):
        column = column.cast(pyarrow.float64())
    values: AnyArray = column.to_numpy()  # integers with empty cells become floats
    return values.astype(np.float64) if values.dtype == object else values


def as_text(column: Any) -> Any:
    """Return cells as text without surrounding blanks. Whole numbers have no point; empty cells are null."""
    import pyarrow
    from pyarrow import compute

    if pyarrow.types.is_floating(column.type) and compute.all(compute.equal(column, compute.floor(column))).as_py():
        column = column.cast(pyarrow.int64(), safe=False)
    trimmed = compute.utf8_trim_whitespace(column.cast(pyarrow.string()))
    return compute.if_else(compute.equal(trimmed, ""), None, trimmed)


def _encode(column: Column, found: Any, source: str, notes: list[str]) -> list[AnyArray]:
    """Return the features of one column."""
    if column.kind == "number":
        if not is_numeric(found.type):
            example = next((str(value) for value in found.to_pylist() if value not in (None, "")), "")
            raise DataError(
                f"{source} has text where the model needs numbers: {column.name!r} (such as {example[:20]!r}). "
                "Correct these cells."
            )
        return [to_numbers(found, column.name)]
    if column.kind == "date":
        return [_to_days(column, found, source)]
    text = as_text(found)
    cells = np.array(text.to_pylist(), dtype=object)
    if column.kind == "truth":
        cells = np.array([None if value is None else value.lower() for value in cells], dtype=object)
    known: Mapping[Any, int] = {value: place for place, value in enumerate(column.values)}
    places = np.array([known.get(value, -1) for value in cells], np.int64)
    empty = np.array([value is None for value in cells], np.bool_)
    unknown = (places < 0) & ~empty
    if unknown.any():
        first = next(str(value) for value in cells[unknown])
        if column.kind == "truth":
            no, yes = column.values or ("0", "1")
            raise DataError(
                f"{source} has {first!r} in column {column.name!r}, where the model knows {no!r} and {yes!r}. "
                "Write one of these."
            )
        notes.append(
            f"column {column.name!r} has values that the model was not trained on, such as {first[:40]!r}, in "
            f"{counted(int(unknown.sum()), 'row')}: they belong to none of its categories"
        )
    if column.kind == "truth":
        return [np.where(empty, np.nan, places) if empty.any() else places.astype(np.uint8)]
    chosen = places[:, None] == np.arange(len(column.values))
    return list((np.where(empty[:, None], np.nan, chosen) if empty.any() else chosen.astype(np.uint8)).T)


def _to_days(column: Column, found: Any, source: str) -> AnyArray:
    import pyarrow
    from pyarrow import compute

    what = f"{source} has a cell in column {column.name!r} that is not a date in the format of the training data"
    try:
        if is_text(found.type):
            found = _parse_dates(as_text(found), column.values[0] if column.values else "iso")
        moments = found.cast(pyarrow.timestamp("us")).cast(pyarrow.int64())
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        raise DataError(f"{what}. Write all dates of the column in that format.") from None
    return np.asarray(compute.divide(moments.cast(pyarrow.float64(), safe=False), float(MICROSECONDS_A_DAY)).to_numpy())


def _parse_dates(text: Any, form: str) -> Any:
    """Return text as timestamps; raise ArrowInvalid if a cell is no date of this format."""
    import pyarrow
    from pyarrow import compute

    if compute.all(compute.match_substring_regex(text, DATES.get(form, "^$")), min_count=0).as_py() is False:
        raise pyarrow.ArrowInvalid("not of this format")
    if form == "iso":
        return compute.replace_substring(text, "Z", "").cast(pyarrow.timestamp("us"))
    return compute.strptime(text, form, "us")


def _date_formats(column: Any) -> tuple[str, ...]:
    """Return the formats in which all cells are dates. Of formats with equal results, only the first is returned."""
    import pyarrow

    text = as_text(column)
    if text.null_count == len(text):
        return ()
    found: dict[str, Any] = {}
    for form in DATES:
        try:
            moments = _parse_dates(text, form)
        except pyarrow.ArrowInvalid:
            continue
        if not any(moments.equals(other) for other in found.values()):
            found[form] = moments
    return tuple(found)


def _truths(column: Any) -> tuple[str, str] | None:
    """Return the words for no and yes, if a column has both and nothing else."""
    from pyarrow import compute

    words = set(compute.unique(compute.utf8_lower(as_text(column))).to_pylist()) - {None}
    return next((pair for pair in TRUTHS if words == set(pair)), None)


def _categories(column: Any) -> tuple[str, ...]:
    from pyarrow import compute

    return tuple(sorted(value for value in compute.unique(as_text(column)).to_pylist() if value is not None))
