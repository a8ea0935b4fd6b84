"""Type names for arrays, and slices of their rows."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
SingleArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

SLICE_ENTRIES = 1 << 22


def row_slices(X: Any, entries: int = SLICE_ENTRIES) -> Iterator[slice]:
    """Return slices of rows with about so many entries, so that large data is never copied as a whole."""
    rows = max(1, entries // max(1, math.prod(X.shape[1:])))
    return (slice(start, min(start + rows, len(X))) for start in range(0, len(X), rows))


def part_of(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the values whose names begin with a prefix, by the rest of the name."""
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
