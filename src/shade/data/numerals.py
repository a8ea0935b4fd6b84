"""Numbers written as text: which character is the decimal point, and which one separates thousands.

Numbers are never guessed. "4,733" is 4733 in some countries and 4.733 in others. Therefore all numbers of a table are
read together. If there are several ways to read them, with different values, the table is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from shade._base.validation import LARGEST_WHOLE

SPACES = " \u00a0\u2009\u202f"
APOSTROPHES = "'\u2019"
MARKS = rf".,{APOSTROPHES}{SPACES}"
WORDS = r"(?i:[-+]?inf(inity)?|nan)"
NUMBER_LIKE = rf"^([-+]?[\d{MARKS}]*\d[\d{MARKS}]*([eE][-+]?\d+)?|{WORDS})$"
IN_THOUSANDS = r"^[-+]?([1-9]\d{0,2}(\.\d{3})+|\d{1,3})$"  # also matches if the point separates thousands
HEAD = 1000  # cells that are checked first; they are usually enough


@dataclass(frozen=True)
class Notation:
    """A way to write numbers."""

    decimal: str = "."
    thousands: str = ""  # each of these characters separates thousands

    @property
    def pattern(self) -> str:
        """The pattern of numbers, as a regular expression."""
        point = re.escape(self.decimal)
        grouped = rf"[1-9]\d{{0,2}}([{self.thousands}]\d{{3}})+|" if self.thousands else ""
        return rf"^([-+]?(({grouped}\d+)({point}\d*)?|{point}\d+)([eE][-+]?\d+)?|{WORDS})$"

    def parse(self, column: Any) -> Any | None:
        """Return the numbers of a text column, or None if a cell is no number."""
        from pyarrow import compute

        if not _all_match(column.slice(0, HEAD), self.pattern):
            return None
        found = _cast(column) if self == PLAIN else None
        if found is not None or not _all_match(column, self.pattern):
            return found
        if self.thousands:
            column = compute.replace_substring_regex(column, f"[{self.thousands}]", "")
        if self.decimal != ".":
            column = compute.replace_substring(column, self.decimal, ".")
        return _cast(compute.replace_substring_regex(column, r"^\+", ""))


def _cast(column: Any) -> Any | None:
    """Convert text to integers if possible, else to floats. Return None if a cell is no number, or is too long."""
    import pyarrow
    from pyarrow import compute

    with suppress(pyarrow.ArrowInvalid):
        return column.cast(pyarrow.int64())
    try:
        found = column.cast(pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return None
    ends = compute.min_max(found)
    if all(end.is_valid and abs(end.as_py()) < LARGEST_WHOLE for end in ends.values()):
        return found
    # Integers that are equal as floats stay text: they are names, not numbers.
    far = column.filter(compute.greater_equal(compute.abs(found), float(LARGEST_WHOLE))).to_pylist()
    whole = (text for text in far if re.fullmatch(r"[+-]?\d+", text))
    return None if any(int(text) != int(float(text)) for text in whole) else found


PLAIN = Notation()
NOTATIONS = tuple(
    Notation(decimal, thousands)
    for thousands in ("", ",", ".", SPACES, APOSTROPHES)
    for decimal in (".", ",")
    if decimal != thousands
)


@dataclass(frozen=True)
class ReadNumbers:
    """Text columns that are numbers, converted; notes for the user; and why other columns cannot be read."""

    columns: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def read_numbers(
    columns: Mapping[str, Any], decimal: str | None = None, thousands: str | None = None, separator: str = ","
) -> ReadNumbers:
    """Convert the text columns that hold numbers, all with the same notation.

    Parameters
    ----------
    columns : mapping of str to pyarrow.ChunkedArray
        Text without surrounding blanks; empty cells are null.
    decimal, thousands : str, optional
        The notation, if the user gives it.
    separator : str, default=","
        Character that separates columns, if there are several: then a comma is hardly a decimal comma.
    """
    from pyarrow.types import is_floating

    plain = {name: found for name, column in columns.items() if (found := PLAIN.parse(column)) is not None}
    odd = [
        name
        for name, column in columns.items()  # plain numbers that were not read are too long
        if name not in plain and _all_match(column, NUMBER_LIKE) and not _all_match(column, PLAIN.pattern)
    ]
    dotted = [name for name, found in plain.items() if is_floating(found.type) and _has_point(columns[name])]
    if not odd and decimal is None and thousands is None:
        unclear = _unclear_points(columns, dotted, separator)
        problem = () if unclear is None else (_ask(unclear, columns[unclear], separator, "."),)
        return ReadNumbers(plain, problems=problem)
    allowed = [found for found in NOTATIONS if _agrees(found, decimal, thousands)]
    mixed: list[str] = []
    wrong: list[str] = []
    for name in odd:
        if all(notation.parse(columns[name]) is None for notation in allowed):
            (mixed if _each_is_number(columns[name], allowed) else wrong).append(name)
    odd = [name for name in odd if name not in {*mixed, *wrong}]
    problems = [_tell_mixed(name, columns[name], allowed) for name in mixed]
    readings = _distinct_readings({name: columns[name] for name in (*odd, *dotted)}, allowed)
    if len(readings) == 1:
        notation, read = readings[0]
        return ReadNumbers({**plain, **read}, _tell(notation, columns, read), tuple(problems))
    if readings:
        first = next(name for name in _read_differently(readings))
        problems.append(_ask(first, columns[first], separator, ","))
    else:
        problems.append(_tell_conflict((*odd, *dotted), columns))
    return ReadNumbers({name: found for name, found in plain.items() if name not in dotted}, (), tuple(problems))


def _read_differently(readings: Sequence[tuple[Notation, Mapping[str, Any]]]) -> Iterable[str]:
    """Yield the columns whose values differ between readings."""
    (_, first), *others = readings
    return (name for name in first if any(not _same(first[name], other[name]) for _, other in others))


def _agrees(notation: Notation, decimal: str | None, thousands: str | None) -> bool:
    """Return whether the user's options allow a notation."""
    grouped = thousands is None or (bool(thousands) == bool(notation.thousands) and thousands in notation.thousands)
    return grouped and decimal in (None, notation.decimal)


def _distinct_readings(
    columns: Mapping[str, Any], allowed: Sequence[Notation]
) -> list[tuple[Notation, dict[str, Any]]]:
    """Return the notations in which all columns are numbers. Of those with equal values, only the first."""
    readings: list[tuple[Notation, dict[str, Any]]] = []
    for notation in allowed:
        read = {}
        for name, column in columns.items():
            found = notation.parse(column)
            if found is None:
                break
            read[name] = found
        else:
            if not any(all(_same(read[name], other[name]) for name in read) for _, other in readings):
                readings.append((notation, read))
    return readings


def _unclear_points(columns: Mapping[str, Any], dotted: Sequence[str], separator: str) -> str | None:
    """Return a column whose points may separate thousands, if nothing in the table proves that they are decimal.

    If commas separate columns, "1.234" is a decimal number unless all other cells have no point.
    """
    if not dotted or not all(_all_match(columns[name], IN_THOUSANDS) for name in dotted):
        return None
    return next((name for name in dotted if separator != "," or not _all_match(columns[name], r"\.")), None)


def _ask(name: str, column: Any, separator: str, mark: str) -> str:
    """Describe the two readings of a number, and the option for each."""
    example = _find(column, rf"\d{re.escape(mark)}\d{{3}}$")
    whole, part = example.replace(mark, ""), example.replace(mark, ".")
    how = f"if the {_NAMES[mark]} separates thousands, add --thousands '{mark}'"
    if mark != separator:
        how += f"; if it is the decimal {_NAMES[mark]}, add --decimal '{mark}'"
    return f"{example!r} in column {name!r} may be the number {whole} or {part} ({how})"


def _tell(notation: Notation, columns: Mapping[str, Any], read: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe how numbers were read, with an example, unless they are in the usual notation of programs."""
    marks = notation.thousands + notation.decimal.replace(".", "")
    if not marks:
        return ()
    places = ((name, _first_place(columns[name], f"[{marks}]")) for name in read)
    found = next(((name, place) for name, place in places if place is not None), None)
    if found is None:
        return ()
    name, place = found
    separated = f"{_NAMES[notation.thousands[0]]}s separate thousands" if notation.thousands else ""
    point = "the decimal point is a comma" if notation.decimal == "," else ""
    how = " and ".join(part for part in (point, separated) if part)
    return (f"in numbers {how}: {columns[name][place].as_py()!r} in {name!r} is {read[name][place].as_py()}",)


def _tell_mixed(name: str, column: Any, allowed: Sequence[Notation]) -> str:
    """Describe two cells of a column that are written in different notations."""
    cells = sorted(column.drop_null().unique().to_pylist(), key=lambda cell: sum(mark in MARKS for mark in cell))
    marked = cells[-1]  # the cell with most marks
    fits = next(found for found in allowed if re.match(found.pattern, marked))
    other = next((cell for cell in reversed(cells) if not re.match(fits.pattern, cell)), cells[0])
    return f"column {name!r} has numbers written in two ways, such as {marked!r} and {other!r}: write all in one way"


def _tell_conflict(names: Sequence[str], columns: Mapping[str, Any]) -> str:
    """Describe columns that no single notation can read."""
    shown = " and ".join(f"{_find(columns[name], '[.,]')!r} in {name!r}" for name in (names[0], names[-1]))
    return f"numbers are written in two ways, such as {shown}: write all in one way, or leave one out with --drop"


def _each_is_number(column: Any, allowed: Sequence[Notation]) -> bool:
    cells = column.drop_null().unique()
    return all(any(re.match(found.pattern, cell) for found in allowed) for cell in cells.to_pylist())


def _all_match(column: Any, pattern: str) -> bool:
    """Return whether all non-empty cells match. The first cells are checked first, as they often decide."""
    from pyarrow import compute

    parts = (column.slice(0, HEAD), column.slice(HEAD))
    return all(compute.all(compute.match_substring_regex(part, pattern), min_count=0).as_py() for part in parts)


def _has_point(column: Any) -> bool:
    from pyarrow import compute

    parts = (column.slice(0, HEAD), column.slice(HEAD))
    return any(compute.any(compute.match_substring(part, "."), min_count=0).as_py() for part in parts)


def _first_place(column: Any, pattern: str) -> int | None:
    from pyarrow import compute

    place = compute.index(compute.match_substring_regex(column, pattern), True).as_py()
    return None if place < 0 else int(place)


def _find(column: Any, pattern: str) -> str:
    """Return the first cell that matches, or the first cell."""
    place = _first_place(column, pattern)
    return str(column[place].as_py() if place is not None else column.drop_null()[0].as_py())


def _same(one: Any, other: Any) -> bool:
    import pyarrow

    kind = pyarrow.float64()
    return bool(one.cast(kind, safe=False).fill_null(0).equals(other.cast(kind, safe=False).fill_null(0)))


_NAMES = {",": "comma", ".": "point", SPACES[0]: "space", APOSTROPHES[0]: "apostrophe"}
