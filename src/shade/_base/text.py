"""Text from files, made harmless for what it is shown in."""

from __future__ import annotations

import re
import unicodedata

FORMULA = re.compile(r"'*[=+\-@\t\r]")


def printable(text: str) -> str:
    """Text in which characters that steer a terminal, or turn the direction of writing, are spelled out."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character == "\n" or unicodedata.category(character) == "Zs"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def as_cell(text: str) -> str:
    """Text that a spreadsheet would take for a formula, with an apostrophe before it."""
    if FORMULA.match(text) is None or is_number(text):
        return text
    return f"'{text}"


def from_cell(text: str) -> str:
    """What `as_cell` was given."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def is_number(text: str) -> bool:
    """Whether text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
