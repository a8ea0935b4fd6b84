"""Makes text from files safe for terminals and spreadsheets."""

from __future__ import annotations

import re
import unicodedata

FORMULA = re.compile(r"'*[=+\-@\t\r]")


def printable(text: str) -> str:
    """Replace characters that control a terminal, or the direction of writing, by their codes."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character == "\n" or unicodedata.category(character) == "Zs"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def as_cell(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would treat as a formula."""
    if FORMULA.match(text) is None or is_number(text):
        return text
    return f"'{text}"


def from_cell(text: str) -> str:
    """Undo `as_cell`."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def is_number(text: str) -> bool:
    """Return whether text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
