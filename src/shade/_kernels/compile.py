"""How every CPU kernel is compiled.

Kernels release the interpreter lock, so that threads can run them side by side, and are cached on disk. Numba keeps
the cache beside the source, or in the user's cache folder where the source is read-only; where neither can be written,
kernels are compiled again in every process. There is no fast-math: sums run over the columns in their order, so that a
distance has the same bits in whichever kernel it is computed and ties are ties for every algorithm.
"""

import logging
import sys
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

Kernel = Callable[..., Any]

_MESSAGE = "Compiling kernels that are needed for the first time, some seconds; they are kept on disk for later runs."


def kernel(function: Kernel, **options: Any) -> Kernel:
    """Compile a function at its first call."""
    options = {"nogil": True, "error_model": "numpy", **options}
    compiled: Kernel
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba has found no folder to cache in
        compiled = numba.njit(**options)(function)
    return compiled


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
            sys.stderr.write(f"{_MESSAGE}\n")

    def on_end(self, event: Any) -> None:
        """Nothing is said about the end."""


event.register("numba:compile", _Announcement())
