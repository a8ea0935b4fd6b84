"""The empty plots of a report. The script of the page fills and colours them."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.embed import json_item
from bokeh.models import (
    BoxSelectTool,
    ColumnDataSource,
    LassoSelectTool,
    LinearColorMapper,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    ResetTool,
    WheelZoomTool,
)
from bokeh.plotting import figure
from bokeh.resources import Resources

from shade._base.arrays import BoolArray
from shade.clustering.structure_tree import StructureTree
from shade.plots._axes import spans_decades
from shade.plots.losses import TITLES
from shade.report.views import View

MOST_CANDIDATES = 400

# On a linear axis, a wall this many times as high as the median would leave no room for the valleys.
FAR_WALL = 8.0
LOSS_DASHES = {"loss": "solid", "reconstruction_loss": "dashed", "density_loss": "dotted"}


def draw_embedding(view: View, members: BoolArray) -> figure:
    """Draw axes, tools and names of clusters. The script paints the points into a canvas behind them."""
    plot = _new_figure("embedding", 460, match_aspect=True)
    corners = ColumnDataSource(dict(zip("xy", view.corners(members).T, strict=True)), name="corners")
    unseen = plot.scatter("x", "y", source=corners, alpha=0)
    # Ranges follow only the corners. Otherwise they would also follow the box of the last selection.
    plot.x_range.renderers = plot.y_range.renderers = [unseen]
    names = ColumnDataSource({"x": [], "y": [], "text": []}, name="names")
    plot.text(
        "x", "y", "text", source=names, text_align="center", text_baseline="middle", text_font_size="12px",
        text_font_style="bold", background_fill_alpha=0.75, padding=3, border_radius=4, name="name-labels",
    )  # fmt: skip
    plot.add_tools(LassoSelectTool(continuous=False))
    plot.grid.visible = False
    plot.xaxis.axis_label, plot.yaxis.axis_label = view.axes
    plot.axis.visible = view.measured
    return plot


def draw_reachability(top: float, low: float, log: bool, x_range: Range1d, mapper: LinearColorMapper) -> figure:
    """Draw bars over the order of the tree. The script computes the bins of the visible part."""
    source = ColumnDataSource(
        {name: [] for name in ("left", "right", "high", "middle", "label", "alpha", "faint")}, name="bars"
    )
    plot = _new_figure(
        "reachability", 230, x_range=x_range, y_range=Range1d(low, top * (1.5 if log else 1.05)),
        y_axis_type="log" if log else "linear",
    )  # fmt: skip
    colour = {"field": "label", "transform": mapper}
    for height, alpha in (("high", "faint"), ("middle", "alpha")):
        # The thin line closes gaps between bars that end within a pixel.
        look = {"fill_color": colour, "fill_alpha": alpha, "line_color": colour, "line_alpha": alpha, "line_width": 0.5}
        plot.quad("left", "right", height, low, source=source, **look)
    plot.xaxis.axis_label, plot.yaxis.axis_label = "Points in the order of the tree", "Reachability"
    return plot


def draw_structure_tree(tree: StructureTree, low: float, high: float, log: bool, x_range: Range1d) -> figure:
    """Draw the candidates as bars over their points. The script colours the chosen ones."""
    largest = np.argsort(-tree.size, kind="stable")[:MOST_CANDIDATES]
    nodes = tree.node[largest]
    box = {name: name for name in ("left", "right", "bottom", "top")}
    bottom, top = np.maximum(tree.death[largest], low), np.minimum(tree.birth[largest], high)
    edges = (tree.merges.start[nodes], tree.merges.stop[nodes], bottom, top)
    candidates = ColumnDataSource(dict(zip(box, edges, strict=True)), name="candidates")
    chosen = ColumnDataSource({name: [] for name in (*box, "colour", "alpha")}, name="chosen")
    plot = _new_figure("tree", 230, x_range=x_range, y_range=Range1d(low, high), y_axis_type="log" if log else "linear")
    grey = {"fill_color": "#888888", "fill_alpha": 0.07, "line_color": "#888888", "line_alpha": 0.7, "line_width": 0.7}
    plot.quad(**box, source=candidates, **grey)
    plot.quad(**box, source=chosen, fill_color="colour", fill_alpha="alpha", line_color="colour")
    plot.xaxis.axis_label, plot.yaxis.axis_label = "Points in the order of the tree", "dc-distance"
    return plot


def draw_scores(scores: list[float]) -> figure:
    """Draw how well each number of clusters fits."""
    numbers = np.arange(1, len(scores) + 1)
    plot = _new_figure("scores", 230, x_range=Range1d(0.5, len(scores) + 0.5), tools=[])
    plot.y_range.start = min(0.0, *scores) - 0.03 * np.ptp([0.0, *scores])  # so that the axis cuts no mark
    plot.line(numbers, scores, line_width=1.5, line_color="#888888")
    source = ColumnDataSource({"x": numbers, "y": scores})
    plot.scatter("x", "y", source=source, size=7 if len(scores) <= 60 else 4, fill_color="#888888", line_color=None)
    current = ColumnDataSource({"x": [], "y": []}, name="current")
    plot.scatter("x", "y", source=current, size=13, fill_color="#d55e00", line_color=None)
    plot.xaxis.axis_label, plot.yaxis.axis_label = "Number of clusters", "How well it fits"
    plot.xaxis.ticker.desired_num_ticks, plot.xaxis.ticker.num_minor_ticks = 10, 0
    plot.xaxis.ticker.min_interval = 1
    plot.yaxis.formatter = NumeralTickFormatter(format="0.[0]a")
    return plot


def draw_losses(history: list[dict[str, float]]) -> figure:
    """Draw each loss over the epochs. The networks of an ensemble are drawn over each other."""
    values = np.array([[record.get(key, np.nan) for key in TITLES] for record in history])
    epochs = np.array([float(record.get("epoch", place + 1)) for place, record in enumerate(history)])
    networks = np.flatnonzero(np.diff(epochs) <= 0) + 1  # the first epoch of each next network; no line may lead there
    values, epochs = np.insert(values, networks, np.nan, axis=0), np.insert(epochs, networks, np.nan)
    log = spans_decades(values)
    plot = _new_figure("losses", 270, tools=[], y_axis_type="log" if log else "linear")
    for (key, title), series in zip(TITLES.items(), values.T, strict=True):
        if not np.isfinite(series).any():
            continue
        line = plot.line(
            epochs, series, line_width=2, line_dash=LOSS_DASHES[key], legend_label=title, name=f"loss-{key}"
        )
        if np.nanmax(epochs) == 1:
            plot.scatter(epochs, series, size=6, fill_color=line.glyph.line_color, line_color=None)
    plot.add_layout(plot.legend[0], "above")
    plot.legend.orientation, plot.legend.border_line_color, plot.legend.background_fill_color = "horizontal", None, None
    plot.legend.padding, plot.legend.margin, plot.legend.spacing = 2, 2, 16
    if not log:
        plot.y_range.start = 0
    plot.xaxis.axis_label, plot.yaxis.axis_label = "Epoch", "Loss"
    plot.xaxis.ticker.min_interval, plot.xaxis.ticker.num_minor_ticks = 1, 0
    return plot


def _new_figure(name: str, height: int, *, tools: list[Any] | None = None, **options: Any) -> figure:
    """Build a figure with the width of the page, in which dragging selects and Ctrl with the wheel zooms."""
    selecting = BoxSelectTool(dimensions="both" if name == "embedding" else "width", continuous=False)
    zoom = WheelZoomTool(modifiers="ctrl", dimensions="both" if name == "embedding" else "width")
    if tools is None:
        tools = [selecting, PanTool(dimensions=zoom.dimensions), zoom, ResetTool()]
    place = "above" if tools else None
    plot = figure(name=name, height=height, sizing_mode="stretch_width", tools=tools, toolbar_location=place, **options)
    plot.toolbar.logo = None
    plot.toolbar.stylesheets = [".bk-divider { display: none; }"]
    if tools:
        plot.toolbar.active_drag, plot.toolbar.active_scroll = tools[0], zoom
    plot.min_border_left, plot.min_border_right = 55, 20
    plot.outline_line_color = None
    plot.background_fill_color = plot.border_fill_color = None
    for axis in plot.axis:
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size, axis.major_label_text_font_size = "12px", "11px"
        axis.minor_tick_line_color = None
    return plot


def describe_pictures(model: Any, view: View, data: dict[str, Any]) -> dict[str, Any]:
    """Return the plots for Bokeh. Each is a document of its own: one large document would block the page noticeably."""
    tree = model.structure_tree_
    ends = np.concatenate([tree.death, tree.birth[np.isfinite(tree.birth)], tree.merges.height[-1:]])
    reachability = model.dc_tree_.reachability[1:]
    log = spans_decades(ends) or bool(ends.max() > FAR_WALL * np.median(reachability) > 0)
    top = float(ends.max()) or 1.0
    low = float(ends[ends > 0].min()) / 1.3 if log else 0.0
    first_split = float(tree.birth[np.isfinite(tree.birth)].max(initial=0.0)) or top  # above it there is only the root
    mapper = LinearColorMapper(
        palette=data["palette"]["light"], low=0, high=len(data["palette"]["light"]), name="colours"
    )
    across = {"start": 0, "end": len(tree.order), "bounds": (0, len(tree.order))}  # the script keeps both ranges equal
    pictures = {
        "embedding": draw_embedding(view, model.labels_ >= 0),
        "reachability": draw_reachability(top, low, log, Range1d(**across), mapper),
        "tree": draw_structure_tree(tree, low, first_split * (1.3 if log else 1.15), log, Range1d(**across)),
        "scores": draw_scores(data["scores"]),
    }
    history = getattr(model, "history_", None)
    if history:
        pictures["losses"] = draw_losses(history)
    return {name: json_item(picture) for name, picture in pictures.items()}


def drawing_library() -> str:
    """Return the JavaScript of Bokeh."""
    return "\n".join(Resources(mode="inline", components=["bokeh"], log_level="error").js_raw)
