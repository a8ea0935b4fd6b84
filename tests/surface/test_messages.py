"""Every message of the command line and of `fit`, in one table for a reader: messages.txt beside this file.

A message that is new or changed fails here until the table is written again, with SHADE_WRITE_MESSAGES=1, and read.
What the messages say in a given case is tested where the case is, mostly in test_messages.py of the command line.
"""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import shade

SOURCE, TABLE = Path(shade.__file__).parent, Path(__file__).parent / "messages.txt"
PACKAGES = ("_base", "cli", "clustering", "data", "estimators", "persistence", "training")
ELSEWHERE = {"publishers.py", "catalogue.py", "paper.py", "generators.py"}  # the benchmark datasets and the paper
SAYING = {"say", "warn", "info", "echo", "append", "with_note", "check_room", "need", "told_as", "check_same"}
NAMED = {"message", "note", "notes", "what", "why", "how", "cause", "remedy", "hint", "problem", "problems", "told"}


def text_of(node: ast.expr) -> str:
    """A text with {…} where values go, or nothing if it is not a text."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr():
            return "".join(text_of(part) or "{}" for part in node.values)
        case ast.BinOp(op=ast.Add()):
            return text_of(node.left) + text_of(node.right)
        case ast.IfExp():
            return text_of(node.body) or text_of(node.orelse)
    return ""


def texts_in(node: ast.AST) -> Iterator[str]:
    """The texts of an expression, each once: those in the values of a text are part of it."""
    if isinstance(node, ast.expr) and (text := text_of(node)):
        yield text
        inner = [part.value for part in ast.walk(node) if isinstance(part, ast.FormattedValue)]
        yield from (text for value in inner for text in texts_in(value) if not isinstance(value, ast.Name))
        return
    for child in ast.iter_child_nodes(node):
        yield from texts_in(child)


def messages_in(path: Path) -> list[str]:
    """What a module raises, says or returns as a sentence."""
    found: dict[str, None] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Raise(exc=ast.Call() as call):
                found |= dict.fromkeys(texts_in(call))
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in SAYING:
                found |= dict.fromkeys(texts_in(node))
            case ast.Return(value=ast.expr() as value):
                found |= dict.fromkeys(texts_in(value))
            case ast.Assign(targets=[ast.Name(id=name), *_]) | ast.AugAssign(target=ast.Name(id=name)) if name in NAMED:
                found |= dict.fromkeys(texts_in(node.value))
    return [text for text in found if len(re.findall(r"[a-z]{2,}", text)) > 2 and " " in text and "(?" not in text]


def all_messages() -> str:
    parts = []
    for path in (path for package in PACKAGES for path in sorted((SOURCE / package).glob("*.py"))):
        if path.name not in ELSEWHERE and (messages := messages_in(path)):
            parts += [f"\n{path.relative_to(SOURCE).as_posix()}\n", *(f"    {message!r}\n" for message in messages)]
    return "".join(parts).lstrip()


def test_the_table_of_messages_is_complete() -> None:
    found = all_messages()
    if os.environ.get("SHADE_WRITE_MESSAGES"):
        TABLE.write_text(found, encoding="utf-8")
    assert found.splitlines() == TABLE.read_text(encoding="utf-8").splitlines()
