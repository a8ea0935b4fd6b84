"""Points sorted into classes, for the indices that compare classes."""

from __future__ import annotations

import numpy as np

from shade._arrays import FloatArray, IntArray
from shade._validation import check_points


def split_classes(X: object, labels: object, smallest: int = 1) -> tuple[FloatArray, list[IntArray]]:
    """All points, and the rows of each class of at least `smallest` points; negative labels are noise, in no class."""
    points, classes = check_points(X), np.asarray(labels)
    if classes.shape != (len(points),):
        raise ValueError(f"There must be one label a row: {len(points)}. Got labels of shape {classes.shape} instead.")
    rows = [np.flatnonzero(classes == label) for label in np.unique(classes[classes >= 0])]
    return points, [members for members in rows if len(members) >= smallest]
