"""Tables with named columns: the choice of columns to cluster by, and notes for the user."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError, told_as
from shade.data.encoding import FEW_VALUES, Column, Plan, TableEncoding, as_text, is_numeric, is_text, plan_columns
from shade.data.missing import describe_missing
from shade.data.numerals import HEAD, PLAIN, read_numbers
from shade.data.samples import FILLS, ReadOptions, Samples, counted, enumerate_names, shorten

NAMES_OF_ROW_NUMBERS = {"", "id", "index", "rownames", "unnamed: 0"}
MOST_CELLS = 1 << 26  # bytes
NAMES_OF_GROUPS = {"class", "cluster", "label", "target", "truth"}


@dataclass(frozen=True)
class RawTable:
    """A pyarrow table as read from a file. In a text table, numbers are text, and `separator` separates its columns."""

    table: Any
    separator: str | None = None
    notes: tuple[str, ...] = ()


def join_tables(tables: Mapping[str, RawTable]) -> RawTable:
    """Concatenate the rows of several files, given by name; they must have the same columns."""
    import pyarrow

    name, first = next(iter(tables.items()))
    if len(tables) == 1:
        return first
    for other, found in tables.items():
        different = sorted(set(found.table.column_names) ^ set(first.table.column_names))
        if different or found.separator != first.separator:
            what = (
                f"only one of them has {enumerate_names(different)}" if different else "they are separated differently"
            )
            raise DataError(f"{name} and {other} have different columns: {what}. Write them all with the same columns.")
    what = "Columns of the files have different types"
    with told_as(DataError, what, pyarrow.ArrowException):
        parts = [found.table.select(first.table.column_names) for found in tables.values()]
        joined = pyarrow.concat_tables(parts, promote_options="permissive")
    return RawTable(joined, first.separator, (*first.notes, f"read the rows of {len(tables)} files"))


def samples_of_table(raw: RawTable, source: str, options: ReadOptions) -> Samples:
    """Choose the columns to cluster by and encode them. All problems are reported in one error."""
    separator, table = raw.separator, _without_dictionaries(raw.table)
    if separator is None and options.empty:
        table = _without_cells(table, options.empty)
    names: list[str] = table.column_names
    told = list(raw.notes)
    check_names(
        source, names,
        {"--label": [options.label], "--id": [options.id], "--drop": options.drop, "--keep": options.keep,
         "--categories": options.categories if options.table is None else ()},
    )  # fmt: skip
    if table.num_rows == 0:
        raise DataError(f"{source} has {counted(len(names), 'column')}, but no rows.")
    features = [name for name in names if name not in {options.label, options.id, *options.drop}]
    encoding = _encoding_of_model(options)
    if encoding is not None:
        features = known_columns(source, features, [column.name for column in encoding.columns], told)
    problems: list[str] = []
    if separator is not None:
        known = [] if encoding is None else [found.name for found in encoding.columns if found.kind != "number"]
        table = _with_numbers(
            table, [name for name in features if name not in known], options, separator, told, problems
        )
    if encoding is None:
        encoding = TableEncoding(_choose_columns(table, features, source, options, told, problems))
        check_names(source, list(encoding.feature_names), {})
    elif problems:
        raise DataError(f"{source}: {'; '.join(problems)}.")
    rows, encoded = encoding.encode(table, source)
    ids, labels = (None if name is None else values_of(table, name) for name in (options.id, options.label))
    ids = np.arange(len(rows)) if ids is None else ids
    whole = [
        column.name for column in encoding.columns if column.kind == "number" and not table[column.name].null_count
    ]
    cells, left_out = cells_of(table, {options.label, options.id, *whole})
    samples = Samples(
        rows, "table", source, ids, encoding.feature_names, labels, (*told, *encoded, *left_out), encoding, cells=cells
    )  # fmt: skip
    if problems:
        missing = describe_missing(samples, options) if options.missing == "refuse" and encoding.columns else ""
        raise DataError(f"{source}: {'; '.join(problems)}.{f' It also {missing}.' if missing else ''}")
    return samples


def _without_dictionaries(table: Any) -> Any:
    """Replace categorical columns of pandas, and of some files, by their values."""
    from pyarrow import types

    for place, field in enumerate(table.schema):
        if types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


def _without_cells(table: Any, empty: Collection[str]) -> Any:
    """Make some texts of a typed table empty cells; a column of which numbers are left becomes a column of numbers."""
    import pyarrow
    from pyarrow import compute

    for place, name in enumerate(table.column_names):
        if is_text(table.column(place).type):
            text = as_text(table.column(place))
            left = compute.if_else(compute.is_in(text, pyarrow.array(empty, text.type)), None, text)
            if left.null_count > text.null_count:
                numbers = PLAIN.parse(left)
                table = table.set_column(place, name, left if numbers is None else numbers)
    return table


def check_names(source: str, names: list[str], options: Mapping[str, Collection[str | None]]) -> None:
    """Raise an error for duplicate column names, and for names in options that no column has."""
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise DataError(f"{source} has several columns of one name: {enumerate_names(twice)}. Rename them.")
    for option, wanted in ((option, name) for option, given in options.items() for name in given):
        if wanted is not None and wanted not in names:
            several = (
                f" Give {option} once for each column." if option not in ("--id", "--label") and "," in wanted else ""
            )
            raise DataError(
                f"{source} has no column {wanted!r} for {option}. It has {enumerate_names(names, 20)}.{several}"
            )


def known_columns(source: str, found: list[str], columns: Sequence[str], notes: list[str]) -> list[str]:
    """Return the columns of the model's training data, in its order."""
    lacking = [name for name in columns if name not in set(found)]
    if lacking:
        raise DataError(
            f"{source} lacks {len(lacking)} of the {len(columns)} columns the model was trained on: "
            f"{enumerate_names(lacking)}. Add them to the data, or fit a model without them."
        )
    unknown = [name for name in found if name not in set(columns)]
    if unknown:
        notes.append(
            f"left out {counted(len(unknown), 'column')} the model was not trained on: {enumerate_names(unknown)}"
        )
    return list(columns)


def values_of(table: Any, name: str) -> AnyArray:
    """Return a column, numbers as numbers and everything else as text."""
    column = table.column(name)
    if is_numeric(column.type) and column.null_count == 0:
        return np.asarray(column.to_numpy())
    return np.array(["" if value is None else str(value) for value in column.to_pylist()])


def cells_of(table: Any, others: Collection[str | None]) -> tuple[dict[str, AnyArray], list[str]]:
    """Return all columns but some as they were read, within `MOST_CELLS` bytes; and a note on what is left out."""
    names = [name for name in table.column_names if name not in others]
    sizes = np.cumsum([table[name].nbytes for name in names])
    kept = [name for name, size in zip(names, sizes.tolist(), strict=True) if size <= MOST_CELLS]
    left = names[len(kept) :]
    notes = [f"did not keep the text of {enumerate_names(left)} for the report: it is too long"] if left else []
    return {name: _cells_of_column(table[name]) for name in kept}, notes


def _cells_of_column(column: Any) -> AnyArray:
    """Return numbers with NaN for empty cells, or text with None. Equal texts are stored once."""
    from pyarrow import ArrowNotImplementedError

    if is_numeric(column.type):
        return np.asarray(column.to_numpy())
    try:
        encoded = column.combine_chunks().dictionary_encode()
    except ArrowNotImplementedError:  # lists and the like
        return np.array([None if value is None else str(value) for value in column.to_pylist()], object)
    texts = np.array([*map(str, encoded.dictionary.to_pylist()), None], object)
    return np.asarray(texts[encoded.indices.fill_null(len(texts) - 1).to_numpy()])


def _encoding_of_model(options: ReadOptions) -> TableEncoding | None:
    """Return a model's encoding; if the model only has column names, all columns are numbers."""
    if options.table is not None and options.table.columns:
        return options.table
    if options.columns is None:
        return None
    return TableEncoding(tuple(Column(name, "number") for name in options.columns))


def _with_numbers(
    table: Any, names: Sequence[str], options: ReadOptions, separator: str, told: list[str], problems: list[str]
) -> Any:
    """Convert the number columns of a text table, and the label. Ids stay as they are written."""
    wanted = [name for name in names if name not in options.categories]
    found = read_numbers(
        {name: table.column(name) for name in wanted}, options.decimal, options.thousands, separator
    )  # fmt: skip
    told += found.notes
    problems += found.problems
    columns = dict(found.columns)
    if options.label is not None and (labels := PLAIN.parse(table.column(options.label))) is not None:
        columns[options.label] = labels
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _choose_columns(
    table: Any, names: Sequence[str], source: str, options: ReadOptions, told: list[str], problems: list[str]
) -> tuple[Column, ...]:
    """Choose the columns to cluster by."""
    counting = [name for name in names if name not in {*options.keep, *options.categories} and _counts(table, name)]
    if counting and len(counting) < len(names):
        told += [
            f"left out column {name!r}, as it numbers the rows: --keep {quote(name)} clusters by it all the same, "
            f"--id {quote(name)} names the rows by it"
            for name in counting
        ]
        names = [name for name in names if name not in counting]
    if options.drop_non_numeric:
        left = [
            name for name in names if not is_numeric(table.schema.field(name).type) and name not in options.categories
        ]
        if left:
            told.append(f"left out {counted(len(left), 'column')} not of numbers: {enumerate_names(left)}")
        names = [name for name in names if name not in left]
    if options.missing is None or options.missing in FILLS:
        names = _without_empty(table, names, options, told)
    plan = plan_columns(table, names, options.categories, options.keep)
    if plan.odd:
        problems.append(_explain_odd_cells(plan.odd))
    problems += plan.problems
    told += plan.notes
    if not plan.columns and not problems:
        raise DataError(f"{source} has no column left to cluster by: {'; '.join(told)}.")
    told += _notes_on_values(table, plan)
    return plan.columns


def _without_empty(table: Any, names: Sequence[str], options: ReadOptions, told: list[str]) -> list[str]:
    """Leave out columns without values, and by default those of which filling would invent most values."""
    empty = [name for name in names if table[name].null_count == table.num_rows]
    if empty:
        told.append(f"left out {counted(len(empty), 'column')} without any value: {enumerate_names(empty)}")
    left = [name for name in names if name not in empty]
    mostly = [name for name in left if 2 * table[name].null_count > table.num_rows and name not in options.keep]
    if options.missing is not None or len(mostly) in (0, len(left)):
        return left
    shares = shorten([f"{name!r} ({table[name].null_count})" for name in mostly])
    told.append(
        f"left out {counted(len(mostly), 'column')} with empty cells in most of the {table.num_rows} rows: {shares}. "
        f"--keep {quote(mostly[0])} fills a column all the same"
    )
    return [name for name in left if name not in mostly]


def _notes_on_values(table: Any, plan: Plan) -> list[str]:
    """Which columns may become the clusters, or name them."""
    names = [column.name for column in plan.columns if table.num_rows > FEW_VALUES and column.kind != "date"]
    groups = [column.name for column in plan.columns if column.name.strip().lower() in NAMES_OF_GROUPS]
    few = [name for name in names if name not in groups and _has_few_values(table[name])]
    notes = []
    if 0 < len(few) < len(plan.columns):  # of which something must be left
        what = f"{counted(len(few), 'column')} with few different values may become the clusters"
        notes.append(f"{what}: {enumerate_names(few)}. --drop leaves a column out")
    notes += [
        f"column {name!r} is used for clustering like any other column. If it holds known groups, add --label "
        f"{quote(name)}"
        for name in groups
    ]
    return notes


def _counts(table: Any, name: str) -> bool:
    """Return whether a column only numbers the rows: by its name and distinct values, or as it counts from 0 or 1."""
    from pyarrow import compute, types

    column = table.column(name)
    if not types.is_integer(column.type) or column.null_count or len(column) <= FEW_VALUES:
        return False
    if name.strip().lower() in NAMES_OF_ROW_NUMBERS:
        return bool(compute.count_distinct(column).as_py() == len(column))
    values = column.to_numpy()
    return bool(values[0] in (0, 1) and np.all(values[1:] == values[:-1] + 1))  # from 1960, they may be years


def _has_few_values(column: Any) -> bool:
    """Return whether a column has few different values. The first cells usually decide."""
    from pyarrow import compute

    if compute.count_distinct(column.slice(0, HEAD)).as_py() > FEW_VALUES:
        return False
    return bool(2 <= compute.count_distinct(column).as_py() <= FEW_VALUES)


def _explain_odd_cells(odd: Mapping[str, tuple[int, list[str]]]) -> str:
    """Describe cells that prevent columns from being numbers or dates, and what can be done with them."""
    examples = [f"{name!r} (such as {cells[0][:20]!r} in row {row})" for name, (row, cells) in odd.items()]
    different = dict.fromkeys(cell for _, cells in odd.values() for cell in cells)
    empty = shorten([f"--empty {quote(cell)}" for cell in different], separator=" ")
    categories, drop = (" ".join(f"{option} {quote(name)}" for name in odd) for option in ("--categories", "--drop"))
    return (
        f"{counted(len(odd), 'column')} of numbers or dates with other text: {shorten(examples)}. Correct these cells, "
        f"or add {empty} to treat them as empty, {categories} to treat each value as a category, or {drop} to "
        f"leave {'it' if len(odd) == 1 else 'them'} out"
    )
