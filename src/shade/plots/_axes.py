"""Common parts of the plots. Only this module imports matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shade._base.arrays import FloatArray
from shade.plots._groups import Groups, Names, name_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With so many points or more, vector files contain them as pixels. Otherwise such files would take long to open.
RASTERIZE_FROM = 5_001

LONGEST_LEGEND = 12


def choose_axes(ax: Axes | None, width: float = 7.0, height: float = 4.5) -> Axes:
    """Return the given axes, or those of a new figure with this size in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'shade-clustering[plots]'") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def add_legend(ax: Axes, groups: Groups, names: Names | None = None, marker: str = "o") -> None:
    """Add a legend with clusters and sizes, unless there are too many to be distinguished."""
    labels = name_groups(groups, names)
    if len(labels) > LONGEST_LEGEND:
        return
    from matplotlib.lines import Line2D

    texts = [f"{label} ({size:,})" for label, size in zip(labels, groups.sizes, strict=True)]
    colours = list(groups.colours[:-1])
    if groups.n_noise:
        texts.append(f"noise ({groups.n_noise:,})")
        colours.append(groups.colours[-1])
    handles = [
        Line2D([], [], linestyle="none", marker=marker, markersize=6, color=tuple(colour), label=text)
        for text, colour in zip(texts, colours, strict=True)
    ]
    style: dict[str, Any] = {"handles": handles, "title": "Cluster (size)", "handlelength": 1.0, "handletextpad": 0.4}
    if ax.figure.get_layout_engine() is not None:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, **style)
    else:
        # A layout cannot make room beside these axes. To search for the emptiest corner takes long with many points.
        corner: Literal["best", "upper right"] = "best" if len(groups.codes) < RASTERIZE_FROM else "upper right"
        ax.legend(loc=corner, fontsize="x-small", title_fontsize="x-small", labelspacing=0.2, **style)


def spans_decades(values: FloatArray, decades: float = 2.0) -> bool:
    """Return whether the largest positive value is more than 10^decades times the smallest one."""
    positive = values[np.isfinite(values) & (values > 0)]
    return len(positive) > 0 and bool(positive.max() > 10.0**decades * positive.min())
