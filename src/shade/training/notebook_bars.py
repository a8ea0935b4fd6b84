"""Progress bars in a notebook, drawn by the notebook itself: no widgets have to be installed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

SECONDS_BETWEEN = 0.2  # of two drawings


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_shell is not None and hasattr(get_shell(), "kernel")


class NotebookBars:
    """Bars of networks that train side by side, in one output of a cell. They stay when training ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: list[dict[str, Any]] = []
        self._handle: Any = None
        self._drawn = 0.0

    def add(self, description: str, epochs: int) -> Callable[..., None]:
        """Add an empty bar and return a function that updates it."""
        line = {"name": description, "epochs": epochs, "completed": 0, "losses": "", "started": time.monotonic()}
        with self._lock:
            self._lines.append(line)
            self._draw(now=True)
        return partial(self._update, line)

    def leave(self) -> None:
        """Draw the last state of a network that ends."""
        with self._lock:
            self._draw(now=True)

    def _update(self, line: dict[str, Any], *, completed: int, losses: str = "") -> None:
        with self._lock:
            line.update(completed=completed, losses=losses)
            self._draw(now=False)

    def _draw(self, *, now: bool) -> None:
        from IPython.display import display

        if not now and time.monotonic() - self._drawn < SECONDS_BETWEEN:
            return
        self._drawn = time.monotonic()
        lines = sorted(self._lines, key=lambda line: (len(line["name"]), line["name"]))  # networks start in any order
        content = {
            "text/plain": "\n".join(f"{line['name']}: {line['completed']}/{line['epochs']}" for line in lines),
            "text/html": f"<div>{''.join(map(_describe, lines))}</div>",
        }
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(content, raw=True)


def _describe(line: dict[str, Any]) -> str:
    done, epochs = line["completed"], line["epochs"]
    left = ""
    if 0 < done < epochs:
        left = f", {(time.monotonic() - line['started']) * (epochs - done) / done:.0f} s left"
    losses = f", {escape(line['losses'])}" if line["losses"] else ""
    bar = f'<progress value="{done}" max="{epochs}" aria-label="{escape(line["name"])}"></progress>'
    return f"<div>{escape(line['name'])} {bar} {done}/{epochs}{losses}{left}</div>"
