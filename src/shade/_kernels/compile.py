"""How every CPU kernel is compiled.

Kernels release the interpreter lock, so that threads can run them side by side, and are cached on disk. Numba keeps
the cache beside the source, or in the user's cache folder where the source is read-only. There is no fast-math: sums
run over the columns in their order, so that a distance has the same bits in whichever kernel it is computed and
ties are ties for every algorithm.
"""

from collections.abc import Callable
from typing import Any

import numba

Kernel = Callable[..., Any]


def kernel(function: Kernel) -> Kernel:
    """Compile a function at its first call."""
    return numba.njit(nogil=True, cache=True, error_model="numpy")(function)
