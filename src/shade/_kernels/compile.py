"""How every CPU kernel is compiled.

Kernels release the interpreter lock, so that threads can run them side by side, and are cached on disk. Numba keeps
the cache beside the source, or in the user's cache folder where the source is read-only; where neither can be written,
kernels are compiled again in every process. There is no fast-math: sums run over the columns in their order, so that a
distance has the same bits in whichever kernel it is computed and ties are ties for every algorithm.
"""

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache

Kernel = Callable[..., Any]

_MESSAGE = "Compiling kernels that are needed for the first time, some seconds; they are kept on disk for later runs."


class _Cache(FunctionCache):
    """The cache of a kernel; where it is damaged or cannot be written, kernels are compiled as if there were none."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before, or None; a damaged cache is emptied."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever unpickling raises
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it for later runs, if there is room."""
        with suppress(Exception):
            super().save_overload(sig, data)


def kernel(function: Kernel, **options: Any) -> Kernel:
    """Compile a function at its first call."""
    options = {"nogil": True, "error_model": "numpy", **options}
    compiled = numba.njit(**options)(function)
    with suppress(RuntimeError):  # where numba finds no folder to cache in
        compiled._cache = _Cache(function)  # noqa: SLF001 - as cache=True does, with numba's own class
    return compiled  # type: ignore[no-any-return]


class _Announcement(event.Listener):
    """Says once that kernels are being compiled: a log record, and a line for who waits at a terminal."""

    done = False

    def on_start(self, event: Any) -> None:
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if self.done or not getattr(function, "__module__", "").startswith("shade."):
            return
        self.done = True
        logger = logging.getLogger("shade")
        logger.info(_MESSAGE)
        if sys.stderr is not None and sys.stderr.isatty() and not logger.isEnabledFor(logging.INFO):
            with suppress(OSError):
                sys.stderr.write(f"{_MESSAGE}\n")

    def on_end(self, event: Any) -> None:
        """Nothing is said about the end."""


event.register("numba:compile", _Announcement())
