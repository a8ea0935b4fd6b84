"""A fingerprint of the code that determines labels. It identifies stored runs of earlier code."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

import shade

#: The parts of the package that can change labels.
DECIDING = ("_base/seeds.py", "_kernels", "clustering", "data/standardize.py", "density", "estimators", "training")


@cache
def fingerprint_code(package: Path | None = None) -> str:
    """Hash the syntax of the code that determines labels; comments, docstrings and layout do not change it."""
    top = package or Path(shade.__file__).parent
    digest = hashlib.sha256()
    for part in DECIDING:
        for path in sorted((top / part).rglob("*.py")) if (top / part).is_dir() else [top / part]:
            syntax = _outline(ast.parse(path.read_text(encoding="utf-8")))
            digest.update(f"{path.relative_to(top).as_posix()} {syntax}\n".encode())
    return digest.hexdigest()[:16]


def _outline(node: object) -> str:
    """Return the syntax as text. Empty fields are left out, since Python versions differ in them."""
    if isinstance(node, list):
        return f"[{','.join(map(_outline, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
        node.body = node.body[1:]
    fields = [(name, value) for name, value in ast.iter_fields(node) if value is not None and value != []]
    return f"{type(node).__name__}({','.join(f'{name}={_outline(value)}' for name, value in fields)})"
