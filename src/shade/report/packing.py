"""Arrays as text that the script of the page reads."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray


def pack(values: AnyArray, dtype: Any) -> str:
    """Return an array as base64 of little-endian numbers."""
    return base64.b64encode(np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<")).tobytes()).decode()
