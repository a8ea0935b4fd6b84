"""Errors of shade as one line on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from shade._errors import ShadeError


@contextmanager
def tell_errors() -> Iterator[None]:
    """Turn an error of shade, or a missing extra, into a line and exit code 1; anything else shows its trace."""
    try:
        yield
    except (ShadeError, ImportError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
