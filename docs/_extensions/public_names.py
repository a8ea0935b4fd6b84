"""The reference shows what shade defines, not what its classes inherit from scikit-learn or torch."""

from __future__ import annotations

from typing import Any


def skip_foreign(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    home = getattr(member, "__module__", None) or getattr(getattr(member, "fget", None), "__module__", None)
    return True if home is not None and not home.startswith("shade") else None


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True}
