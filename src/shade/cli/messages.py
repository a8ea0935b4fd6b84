"""Messages on standard error: progress, notes and warnings."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from shade._base.errors import ShadeWarning
from shade._base.text import printable

if TYPE_CHECKING:
    from rich.console import Console


class Messages:
    """Writes lines for people, or none if `quiet`."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet

    @cached_property
    def console(self) -> Console:
        """Standard error, without colours and bold text if NO_COLOR is set; one, so that lines go above a bar."""
        from rich.console import Console

        plain = bool(os.environ.get("NO_COLOR"))
        return Console(stderr=True, quiet=self.quiet, highlight=False, color_system=None if plain else "auto")

    def say(self, text: str) -> None:
        """Write a line."""
        self.console.print(printable(text), markup=False, soft_wrap=True)

    @contextmanager
    def warnings_as_lines(self, reword: Callable[[str], str] = str) -> Iterator[None]:
        """Write warnings and log messages of shade as one line each, without the place in the code."""
        logger, handler = logging.getLogger("shade"), logging.Handler()
        handler.emit = lambda record: self.say(f"note: {record.getMessage()}")  # type: ignore[method-assign]
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", ShadeWarning)
                warnings.showwarning = lambda message, *_: self.say(
                    f"warning: {' '.join(reword(str(message)).split())}"
                )
                yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
