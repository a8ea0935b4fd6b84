"""Cluster colours that colour-blind readers can also distinguish. Cluster i has colour i in every plot."""

from __future__ import annotations

from functools import cache

import numpy as np

from shade._base.arrays import FloatArray

NOISE_COLOUR: tuple[float, float, float] = (0.80, 0.80, 0.80)
DARK_NOISE_COLOUR: tuple[float, float, float] = (0.38, 0.38, 0.38)
DARK_PAGE: tuple[float, float, float] = (0.08, 0.09, 0.11)

# After Okabe and Ito. Their yellow is darker here, to be visible on white, and indigo replaces their black.
FIRST_COLOURS = ("0072b2", "e69f00", "009e73", "d55e00", "cc79a7", "56b4e9", "e4d400", "332288")
DARK_FIRST_COLOURS = ("2b86d0", "e69f00", "009e73", "e8601c", "d787b0", "86d0fa", "f0e442", "9d8cf5")

# From linear sRGB to cone responses, and to OKLab, where equal distances look equally large (Ottosson 2020).
_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)

# Vision without red or green cones, in linear sRGB (Machado, Oliveira and Fernandes 2009).
_VISIONS = np.array(
    [
        np.eye(3),
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ]
)


def cluster_colours(n: int, *, dark: bool = False) -> FloatArray:
    """Return colours of clusters 0 … n − 1 as red, green and blue between 0 and 1.

    The first eight are nearly those of Okabe and Ito. Each further colour is the colour of an OKLab grid that is
    farthest from all colours before it, for readers with and without red and green cones. The grid ends after about two
    hundred colours, which nobody can distinguish. Then the colours repeat.

    Parameters
    ----------
    n : int
    dark : bool, default=False
        Whether to return lighter colours for a dark page.

    Returns
    -------
    ndarray of shape (n, 3)

    Examples
    --------
    >>> from shade.plots import cluster_colours
    >>> cluster_colours(2).round(2).tolist()
    [[0.0, 0.45, 0.7], [0.9, 0.62, 0.0]]
    """
    colours = _all_colours(dark)
    return colours[np.arange(n) % len(colours)]


@cache
def _all_colours(dark: bool) -> FloatArray:
    """Return the first colours, then the grid, farthest colours first."""
    codes = DARK_FIRST_COLOURS if dark else FIRST_COLOURS
    first = np.array([[int(code[i : i + 2], 16) / 255 for i in (0, 2, 4)] for code in codes])
    grid = _grid_colours(*((0.55, 0.92) if dark else (0.35, 0.85)))
    looks = _appearance(grid)
    # The colours of paper and noise are not available.
    paper = np.vstack([DARK_PAGE, DARK_NOISE_COLOUR]) if dark else np.vstack([np.ones(3), NOISE_COLOUR])
    taken = _appearance(np.vstack([first, paper]))
    gap = np.min([_difference(looks, other) for other in taken], axis=0)
    picked = []
    for _ in range(len(grid)):
        best = int(gap.argmax())
        picked.append(best)
        gap = np.minimum(gap, _difference(looks, looks[best]))
        gap[best] = -1.0
    return np.vstack([first, grid[picked]])


def _grid_colours(darkest: float, lightest: float) -> FloatArray:
    """Return the colours of a grid over lightness, chroma and hue that a screen can display."""
    lightness, chroma, hue = np.meshgrid(
        np.linspace(darkest, lightest, 6), [0.08, 0.13, 0.18], np.arange(24) * (2 * np.pi / 24), indexing="ij"
    )
    lab = np.column_stack([lightness.ravel(), (chroma * np.cos(hue)).ravel(), (chroma * np.sin(hue)).ravel()])
    linear = (lab @ np.linalg.inv(_TO_LAB).T) ** 3 @ np.linalg.inv(_TO_CONES).T
    linear = linear[np.all((linear >= 0.0) & (linear <= 1.0), axis=1)]
    colours: FloatArray = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return colours


def _appearance(colours: FloatArray) -> FloatArray:
    """Return the OKLab coordinates of each colour for each kind of reader: shape (n, readers, 3)."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.einsum("rij,nj->nri", _VISIONS, linear), 0.0, 1.0)
    lab: FloatArray = np.cbrt(seen @ _TO_CONES.T) @ _TO_LAB.T
    return lab


def _difference(looks: FloatArray, other: FloatArray) -> FloatArray:
    """Return the distances of colours from another, for the kind of reader who sees the smallest distance."""
    worst: FloatArray = np.linalg.norm(looks - other, axis=-1).min(axis=-1)
    return worst
