"""Points grouped by class, for the indices that compare classes."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade._base.validation import check_extent, check_points


def check_labels(labels: object, n: int) -> AnyArray:
    """Return labels as an array of n whole numbers."""
    found = np.asarray(labels)
    if found.shape != (n,):
        raise ValueError(f"There must be one label a row: {n}. Got labels of shape {found.shape} instead.")
    if found.dtype.kind not in "iub" and not (found.dtype.kind == "f" and np.all(np.mod(found, 1) == 0)):
        raise ValueError(f"Labels must be whole numbers, those of noise negative. Got dtype {found.dtype} instead.")
    return found


def split_classes(X: object, labels: object, smallest: int = 1) -> tuple[FloatArray, list[IntArray]]:
    """Return all points, and the rows of each class of at least `smallest` points. Negative labels are noise."""
    points = check_points(X)
    check_extent(points)
    classes = check_labels(labels, len(points))
    rows = [np.flatnonzero(classes == label) for label in np.unique(classes[classes >= 0])]
    return points, [members for members in rows if len(members) >= smallest]
