"""Optional information on the rows of a model, for its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.validation import to_numpy
from shade.data.samples import Samples, counted

IMAGES = ("images", "frames")


@dataclass(frozen=True)
class KnownSamples:
    """Samples that fit the model: one row per point, images with their channels last."""

    table: AnyArray | None = None
    feature_names: tuple[str, ...] | None = None
    images: AnyArray | None = None
    ids: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    columns: Mapping[str, AnyArray] = field(default_factory=dict)


def check_samples(samples: Any, n_points: int) -> KnownSamples:
    """Check that samples have a row per point, and distinguish tables and images."""
    if samples is None:
        return KnownSamples()
    is_array = not isinstance(samples, Samples) and hasattr(samples, "shape")  # a DataFrame may have a column "rows"
    samples = samples if hasattr(samples, "rows") and not is_array else _as_samples(samples)
    rows = None if samples.rows is None else np.asarray(to_numpy(samples.rows))
    if rows is not None and len(rows) != n_points:
        raise ValueError(f"The samples have {counted(len(rows), 'row')}, but the model was fitted to {n_points}.")
    if rows is not None and 0 in rows.shape:
        raise ValueError(f"The samples have the shape {rows.shape}: no length of it may be 0.")
    ids, labels = _as_texts(samples.ids, "ids", n_points), _as_texts(samples.labels, "labels", n_points)
    if ids == tuple(map(str, range(n_points))):
        ids = None  # then ids are the row numbers, which are always there
    known = KnownSamples(
        ids=ids, labels=labels, source=Path(str(getattr(samples, "source", ""))).name,
        notes=tuple(map(str, getattr(samples, "notes", ()))), columns=_columns_of(samples, rows),
    )  # fmt: skip
    if rows is None:
        return known
    if samples.kind in IMAGES and rows.ndim > 2:
        return replace(known, images=_channels_last(rows))
    names = None if samples.feature_names is None else tuple(map(str, samples.feature_names))
    return replace(known, table=rows.reshape(n_points, -1), feature_names=names)


def _as_samples(data: Any) -> Samples:
    """Convert an array, or a DataFrame: its index names the rows, and its complete numeric columns are the features."""
    if hasattr(data, "select_dtypes"):
        numbers = data.select_dtypes(["number", "bool"])
        numbers = numbers.loc[:, numbers.notna().all()]
        names = tuple(map(str, numbers.columns))
        cells = {str(name): _cells_of(values) for name, values in data.items() if name not in numbers}
        rows = numbers.to_numpy(np.float64) if names else None
        return Samples(rows, "table", "", data.index.to_numpy(), names, cells=cells)
    rows = np.asarray(to_numpy(data))
    if rows.ndim < 2:
        raise ValueError(
            "The 'samples' parameter of write_report must be the rows that were fitted, as a DataFrame or an array, or "
            f"what shade.data.read_samples returns. Got {type(data).__name__} instead."
        )
    return Samples(rows, "images" if rows.ndim > 2 else "table", "", np.arange(len(rows)))


def _cells_of(values: Any) -> AnyArray:
    """Return a column of pandas: numbers with NaN, dates with NaT, or text with None for empty cells."""
    if values.dtype.kind in "fiub":
        return np.asarray(values.to_numpy(np.float64, na_value=np.nan))
    if values.dtype.kind == "M" and getattr(values.dt, "tz", None) is None:
        return np.asarray(values.to_numpy())
    return np.asarray(values.astype(object).where(values.notna(), None).to_numpy(object))


def _columns_of(samples: Any, rows: AnyArray | None) -> dict[str, AnyArray]:
    """Return columns as they were read, else those of the matrix, except columns that encode what was read."""
    cells = dict(getattr(samples, "cells", {}))
    if rows is None or rows.ndim != 2:
        return cells
    names = [f"x{place}" for place in range(rows.shape[1])] if samples.feature_names is None else samples.feature_names
    encoded: set[str] = set()
    if (encoding := getattr(samples, "encoding", None)) is not None:
        for column, (place, _) in zip(encoding.columns, encoding.places, strict=True):
            if column.name in cells:
                encoded |= set(column.features)
                if column.kind == "date":
                    empty = [cell is None for cell in cells[column.name].tolist()]
                    cells[column.name] = np.where(empty, np.nan, 86_400 * rows[:, place]).astype("M8[s]")
    return cells | {str(name): rows[:, place] for place, name in enumerate(names) if name not in encoded}


def _as_texts(values: Sequence[Any] | None, name: str, n_points: int) -> tuple[str, ...] | None:
    if values is None:
        return None
    if len(values) != n_points:
        raise ValueError(f"The samples have {len(values)} {name}, but the model was fitted to {n_points} rows.")
    return tuple(str(value) for value in np.asarray(values).tolist())


def _channels_last(images: AnyArray) -> AnyArray:
    """Return images as N × H × W (grey) or N × H × W × 3."""
    if images.ndim == 3:
        return images
    if images.ndim != 4:
        raise ValueError(
            "Images must have shape (n, height, width), (n, channels, height, width) or (n, height, width, 3). "
            f"Got {images.shape} instead."
        )
    if images.shape[-1] not in (1, 3, 4):
        images = np.moveaxis(images, 1, -1)
    return images[..., :3] if images.shape[-1] >= 3 else images[..., 0]
