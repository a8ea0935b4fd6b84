"""Optional packages."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any


def need(module: str, extra: str, purpose: str, *, install: str = "") -> Any:
    """Import an optional package; if it is missing, raise an error that explains how to install it."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        what = install or f"'shade-clustering[{extra}]'"
        raise ImportError(f"{purpose} needs {package}: install it with pip install {what}.") from None


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
