"""Points grouped by label: clusters or classes, as numbers or text, with or without noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade.plots.palette import NOISE_COLOUR, cluster_colours

Names = Sequence[str] | Mapping[object, str]

# Integers from 0 up to here are numbers of clusters, which have the same colours in every plot. Other labels, such as
# years or identifiers, get colours by rank.
MOST_CLUSTERS = 256


@dataclass(frozen=True)
class Groups:
    """The distinct labels in ascending order, without noise, and the index of each point's label among them.

    `codes` is −1 for noise. The last of the `colours` is that of noise, so colours[codes] are the colours of the
    points.
    """

    values: list[object]
    codes: IntArray
    colours: FloatArray

    @property
    def n_noise(self) -> int:
        """Number of noise points."""
        return int(np.count_nonzero(self.codes < 0))

    @property
    def sizes(self) -> IntArray:
        """Number of points per label, without noise."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))


def group_points(labels: object, n_points: int) -> Groups:
    """Group points by label, with −1 as noise. If `labels` is None, all points are in one group."""
    values = np.zeros(n_points, np.int64) if labels is None else _plain_labels(labels)
    if values.shape != (n_points,):
        raise ValueError(
            f"The labels must be one for each of the {n_points} points, an array of shape ({n_points},). "
            f"Got shape {values.shape} instead."
        )
    noise = values == -1 if values.dtype.kind in "if" else np.zeros(n_points, np.bool_)
    distinct, inverse = np.unique(values[~noise], return_inverse=True)
    codes = np.full(n_points, -1)
    codes[~noise] = inverse
    numbered = distinct.dtype.kind in "iu" and len(distinct) > 0 and distinct[0] >= 0 and distinct[-1] < MOST_CLUSTERS
    places = distinct.astype(np.int64) if numbered else np.arange(len(distinct))
    palette = cluster_colours(int(places.max(initial=-1)) + 1)
    return Groups(distinct.tolist(), codes, np.vstack([palette[places], NOISE_COLOUR]))


def name_groups(groups: Groups, names: Names | None) -> list[str]:
    """Return the names of the labels, without noise: the given names, or the labels as text."""
    if names is None:
        return [str(value) for value in groups.values]
    if isinstance(names, Mapping):
        return [str(names.get(value, value)) for value in groups.values]
    if len(names) != len(groups.values):
        raise ValueError(
            f"The names must be one for each of the {len(groups.values)} labels in ascending order, or a mapping from "
            f"label to name. Got {len(names)} names instead."
        )
    return [str(name) for name in names]


def _plain_labels(labels: object) -> AnyArray:
    """Labels as an array that can be sorted; numbers without a fraction become integers."""
    values = np.asarray(labels)
    if values.dtype.kind == "O":
        values = np.array(values.tolist())
    if values.dtype.kind == "O":
        values = values.astype(str)
    if values.dtype.kind == "f" and np.all(np.isfinite(values)) and np.all(values == np.round(values)):
        values = values.astype(np.int64)
    return values
