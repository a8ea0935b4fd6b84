"""Plot of the losses during training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shade._base.arrays import FloatArray
from shade.plots._axes import choose_axes, spans_decades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {"loss": "Total", "reconstruction_loss": "Reconstruction", "density_loss": "Density"}
COLOURS = {"loss": "0.2", "reconstruction_loss": "#0072b2", "density_loss": "#d55e00"}

# Space for a name, in points.
NAME_WIDTH, NAME_HEIGHT = 85.0, 12.0


def plot_losses(history: Any, *, ax: Axes | None = None) -> Axes:
    """Draw each loss over the epochs: one line per network, with the name of the loss at the end of the first line.

    The axis of losses is logarithmic if they range over more than two decades.

    Parameters
    ----------
    history : sequence of mappings, or a fitted model
        One mapping per epoch, with 'epoch' and any of 'loss', 'reconstruction_loss' and 'density_loss'.
    ax : Axes, optional
        The axes to draw into. If None, those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from shade.plots import plot_losses
    >>> history = [{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.5}]
    >>> ax = plot_losses(history, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['Total']
    """
    history = getattr(history, "history_", history)
    networks = list(dict.fromkeys(entry.get("network", 0) for entry in history))
    lines = [
        (key, values)
        for key in TITLES
        for network in networks
        if len(values := _series([entry for entry in history if entry.get("network", 0) == network], key))
    ]
    series = dict(reversed(lines))  # lines of the first network
    if not series:
        raise ValueError(
            f"The history must have at least one epoch with one of {', '.join(map(repr, TITLES))}. "
            f"Got {len(history)} epochs without any instead."
        )
    axes = choose_axes(ax, 7.0, 4.0)
    everything = np.concatenate([values for _, values in lines])
    axes.set_yscale("log" if spans_decades(everything[:, 1]) else "linear")
    for key, values in lines:
        marker, label = "o" if len(values) == 1 else "", TITLES[key] if values is series[key] else None
        axes.plot(values[:, 0], values[:, 1], color=COLOURS[key], marker=marker, label=label)
    axes.set(xlabel="Epoch", ylabel="Loss")
    if axes.get_yscale() == "linear" and everything[:, 1].min() >= 0:
        axes.set_ylim(bottom=0.0)
    _make_room(axes, everything[:, 0])
    _label_ends(axes, {key: values[-1] for key, values in series.items()})
    return axes


def _series(history: Sequence[Mapping[str, float]], key: str) -> FloatArray:
    """Return epochs and finite values of one loss: shape (n, 2)."""
    pairs = [(entry.get("epoch", number), entry[key]) for number, entry in enumerate(history, 1) if key in entry]
    values = np.array(pairs, np.float64).reshape(-1, 2)
    return values[np.isfinite(values).all(axis=1)]


def _make_room(ax: Axes, epochs: FloatArray) -> None:
    """Make room for the names on the right, without ticks there. Elsewhere, ticks are at whole epochs only."""
    first, last = float(epochs.min()), float(epochs.max())
    span = max(last - first, 1.0)
    share = min(NAME_WIDTH / (ax.get_window_extent().width * 72.0 / ax.figure.dpi), 0.5)
    ax.set_xlim(first - 0.03 * span, first + span / (1.0 - share))
    ax.set_xticks([tick for tick in ax.get_xticks() if first <= tick <= last and tick == round(tick)])


def _label_ends(ax: Axes, ends: Mapping[str, FloatArray]) -> None:
    """Write the name of each loss at the end of its line; names that would overlap are moved up."""
    lowest = -np.inf
    for key, (epoch, value) in sorted(ends.items(), key=lambda item: float(item[1][1])):
        level = float(ax.transData.transform((epoch, value))[1]) * 72.0 / ax.figure.dpi
        place = max(level, lowest)
        lowest = place + NAME_HEIGHT
        ax.annotate(
            TITLES[key], (epoch, value), xytext=(6.0, place - level), textcoords="offset points", va="center",
            color=COLOURS[key], fontsize="small",
        )  # fmt: skip
