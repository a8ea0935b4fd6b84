"""Compilation of all CPU kernels.

Kernels release the interpreter lock, so that threads can run them in parallel, and are cached on disk. Numba stores the
cache beside the source or, if that is read-only, in the user's cache folder. If neither can be written, kernels are
compiled in every process. There is no fast-math: sums run over the columns in their order. So a distance has the same
bits in every kernel, and ties are ties for every algorithm.
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
    """The cache of a kernel. If it is damaged or cannot be written, kernels are compiled as without a cache."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel, or None. A damaged cache is emptied."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling can raise any error
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled kernel for later runs, if possible."""
        with suppress(Exception):
            super().save_overload(sig, data)


def kernel(function: Kernel, **options: Any) -> Kernel:
    """Return a function that is compiled at its first call."""
    options = {"nogil": True, "error_model": "numpy", **options}
    compiled = numba.njit(**options)(function)
    with suppress(RuntimeError):  # numba finds no folder for the cache
        compiled._cache = _Cache(function)  # noqa: SLF001 - as cache=True does, with numba's own class
    return compiled  # type: ignore[no-any-return]


class _Announcement(event.Listener):
    """Reports once that kernels are being compiled: as a log record, and as a line on a terminal."""

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
        """Report nothing at the end."""


event.register("numba:compile", _Announcement())
