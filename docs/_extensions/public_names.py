"""The reference shows what shade defines, not what its classes inherit from scikit-learn or torch."""

from __future__ import annotations

import re
from typing import Any


def skip_foreign(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out members that are defined elsewhere."""
    home = getattr(member, "__module__", None) or getattr(
        getattr(member, "fget", None), "__module__", None
    )
    return True if home is not None and not home.startswith("shade") else None


def escape_shapes(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """The underscore of `shape (n_clusters_,)` is no link."""
    lines[:] = [re.sub(r"\((\w+)_,\)", r"(\1\\_,)", line) for line in lines]


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect(
        "autodoc-process-docstring", escape_shapes, priority=100
    )  # before numpydoc
    return {"parallel_read_safe": True}
