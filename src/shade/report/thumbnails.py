"""Many thumbnails in one image, a sheet, which the page cuts into pieces."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from PIL import Image

from shade._base.arrays import AnyArray, IntArray

SHARPEST, ROUGHEST = 75, 20  # quality of WebP
SMALLEST_SIDE = 8


def make_sheet(
    images: AnyArray, rows: IntArray, *, longest_side: int, most_pixels: int, most_bytes: int
) -> dict[str, Any]:
    """Return thumbnails of some rows as JSON for the page, within the given sizes.

    If there are more rows than fit at the smallest size, only every second, third, … row is kept.
    """
    step = -(-len(rows) * SMALLEST_SIDE**2 // most_pixels)
    rows = rows[:: max(step, 1)]
    height, width = images.shape[1:3]
    area = min(most_pixels / max(len(rows), 1), float(longest_side**2))
    low, high = _value_range(images)
    while True:
        shrink = min(1.0, float(np.sqrt(area / (height * width))))
        cell = max(1, round(width * shrink)), max(1, round(height * shrink))
        columns = max(1, int(np.sqrt(len(rows) * cell[1] / cell[0])))
        sheet = _paste(images, rows, cell, columns, low, high)
        for quality in (SHARPEST, 50, ROUGHEST):
            encoded = io.BytesIO()
            sheet.save(encoded, "WEBP", quality=quality, method=2)
            if encoded.tell() <= most_bytes:
                size = {"width": cell[0], "height": cell[1], "columns": columns}
                return {"source": base64.b64encode(encoded.getvalue()).decode(), **size, "rows": rows.tolist()}
        area /= 2


def _value_range(images: AnyArray) -> tuple[float, float]:
    """Return the values of black and white: 0 and 255 for bytes, else the smallest and the largest number."""
    if images.dtype == np.uint8 and images.max(initial=0) > 1:
        return 0.0, 255.0
    low, high = float(images.min(initial=0)), float(images.max(initial=0))
    return low, high if high > low else low + 1.0


def _paste(
    images: AnyArray, rows: IntArray, cell: tuple[int, int], columns: int, low: float, high: float
) -> Image.Image:
    width, height = cell
    mode = "RGB" if images.ndim == 4 else "L"
    sheet = Image.new(mode, (columns * width, -(-len(rows) // columns) * height))
    for place, row in enumerate(rows):
        values = images[row]
        if (low, high) != (0.0, 255.0):
            values = np.clip((np.asarray(values, np.float64) - low) * (255.0 / (high - low)), 0, 255)
        thumbnail = Image.fromarray(np.ascontiguousarray(values, np.uint8), mode).resize(cell, Image.Resampling.BOX)
        sheet.paste(thumbnail, (place % columns * width, place // columns * height))
    return sheet
