"""The figures of the paper, drawn from stored runs; figures 1 and 2 train."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shade._base.arrays import AnyArray, FloatArray
from shade._base.errors import ShadeError
from shade._base.extras import need
from shade.density.dc_tree import DCTree
from shade.experiments.baselines import load_clustpy
from shade.experiments.demo import SETTINGS
from shade.experiments.methods import Method, run_method
from shade.experiments.samples import SHAPES, THREE_CLUSTERS, kind_of, load_samples
from shade.experiments.store import RunStore, unpack_labels
from shade.experiments.tables import TABLES, TOLD_K, Entry, compare_with_published, method_of
from shade.metrics import dcsi_score, measure_agreement

if TYPE_CHECKING:
    from matplotlib.figure import Figure
HAR_NAMES = ("walking", "upstairs", "downstairs", "sitting", "standing", "laying")
_SETTINGS_OF = {"SHADE": "SHADE (paper)", "default": "SHADE (defaults)"}
_FLAT = {"embedding_size": 2}
_PANELS = {
    "SHADE (paper)": Method("SHADE", _FLAT),
    # With the paper's settings, two linked rings cannot be separated in the plane.
    "SHADE (demo)": Method("default", SETTINGS),
    "autoencoder": Method("autoencoder", _FLAT),
    **{name: Method(name, _FLAT) for name in ("DEC", "IDEC", "DCN", "DipEncoder", "DipDECK", "DDC")},
}


def draw_figure(name: str, *, database: str | os.PathLike[str] = "paper.sqlite", device: str = "auto") -> Figure:
    """Draw a figure of the paper by its name in `FIGURES`, from the runs of a database; 1 and 2 train on the device."""
    if name not in FIGURES:
        raise ShadeError(f"There is no figure {name!r}. Known are: {', '.join(FIGURES)}.")
    need("matplotlib", "plots", "Drawing figures")
    return FIGURES[name](RunStore(database), device)


def _draw_embeddings(store: RunStore, device: str) -> Figure:
    """Draw figure 1: the data and its embeddings in the plane, by true cluster, with the ARI of each method."""
    from shade import plots

    samples = load_samples(THREE_CLUSTERS)
    figure, cells = _grid(len(_panels()) + 1)
    data = figure.add_subplot(*cells, 1, projection="3d")
    data.scatter(*samples.X.T, c=plots.cluster_colours(3)[samples.y], s=1.0)
    data.set_box_aspect(np.ptp(samples.X, axis=0), zoom=1.5)
    data.set_axis_off()
    data.set_title("data", fontsize="medium")
    for place, (title, method) in enumerate(_panels().items(), start=2):
        outcome = run_method(method, samples, seed=0, device=device)
        ari = measure_agreement(samples.y, outcome.labels, outcome.assigned).ari_1nn
        ax = figure.add_subplot(*cells, place)
        plots.plot_embedding(outcome.embedding, samples.y, ax=ax)
        _tidy(ax, f"{title}, ARI {ari:.2f}")
    _caption(figure, "Embeddings in the plane, by true cluster; ARI with noise put into clusters. One seed.")
    return figure


def _draw_reachability(store: RunStore, device: str) -> Figure:
    """Draw figure 2: reachability plots of the data and its embeddings, by true cluster, with the DCSI of each."""
    from shade import plots

    samples = load_samples(THREE_CLUSTERS)
    figure, cells = _grid(len(_panels()) + 1)
    points = {"data": np.asarray(samples.X, np.float64)}
    for title, method in _panels().items():
        points[title] = np.asarray(run_method(method, samples, 0, device).embedding, np.float64)
    for place, (title, embedding) in enumerate(points.items(), start=1):
        ax = figure.add_subplot(*cells, place)
        plots.plot_reachability(DCTree.from_points(embedding), samples.y, ax=ax)
        _tidy(ax, f"{title}, DCSI {dcsi_score(embedding, samples.y, squared=True):.2f}")
    _caption(figure, "Reachability of each point in the order of the tree, by true cluster. One seed.")
    return figure


def _panels() -> dict[str, Method]:
    """Return the methods that can run here: without ClustPy, only those of shade."""
    own = ("SHADE", "default", "autoencoder")
    return {title: method for title, method in _PANELS.items() if method.name in own or load_clustpy() is not None}


def _grid(count: int) -> tuple[Figure, tuple[int, int]]:
    columns = min(5, count)
    rows = -(-count // columns)
    return _new_figure(3.0 * columns, 2.7 * rows), (rows, columns)


def _new_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _tidy(ax: Any, title: str) -> None:
    """Make a small panel: no legend and no axis labels."""
    if ax.get_legend():
        ax.get_legend().remove()
    ax.set(xlabel="", ylabel="")
    ax.tick_params(labelsize="x-small")
    ax.set_title(title, fontsize="medium")


def _draw_sweep(table: str, label: str, log: bool, store: RunStore, device: str) -> Figure:
    """Draw ARI with all points in clusters and, for methods with noise, noise recall and precision, along a sweep."""
    entries = [entry for entry in _entries(store, table) if entry.runs]
    titles = {entry.method for entry in entries}
    methods = list(dict.fromkeys(method_of(entry.method) for entry in entries))
    figure = _new_figure(12.5, 4.2)
    left, right = figure.subplots(1, 2)
    for metric, ax in (("ARI", left), ("noise recall", right), ("noise precision", right)):
        for place, method in enumerate(methods):
            endings = ("_links", "_1nn", "") if metric == "ARI" else ("",)
            title = next(f"{method}{ending}" for ending in endings if f"{method}{ending}" in titles)
            chosen = [entry for entry in entries if (entry.metric, entry.method) == (metric, title)]
            if not chosen:
                continue
            x = np.array([float(entry.dataset.rsplit("_", 1)[1]) for entry in chosen])
            name = _SETTINGS_OF.get(method, method)
            name += "" if metric == "ARI" else f", {metric.removeprefix('noise ')}"
            _line(ax, x, chosen, name, f"C{place % 10}", dashed=metric == "noise precision")
    left.set(xlabel=label, ylabel="ARI of the points that are not noise (%)", ylim=(-5, 105))
    right.set(xlabel=label, ylabel="true noise found (%)", ylim=(-5, 105))
    for ax in (left, right):
        if log:
            ax.set_xscale("log")
        if ax.lines:
            ax.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _tell_seeds(figure, entries)
    return figure


def _tell_seeds(figure: Figure, entries: list[Entry], what: str = "Mean and deviation") -> None:
    """Write the number of seeds below the figure."""
    counts = [entry.runs for entry in entries if entry.runs]
    few, many = min(counts, default=0), max(counts, default=0)
    seeds = f"{many} seeds" if few == many else f"{few} to {many} seeds"
    _caption(figure, "One seed." if many == 1 else f"{what} over {seeds}.")


def _caption(figure: Figure, text: str) -> None:
    figure.supxlabel(text, fontsize="small", color="dimgray")


def _draw_ablation(table: str, label: str, store: RunStore, device: str) -> Figure:
    """Draw our curves and the published ones, with one panel per metric."""
    columns = {column.title for column in TABLES[table].columns}
    entries = [entry for entry in _entries(store, table) if entry.method in columns]
    metrics = ("ARI", "NMI", "noise", "k")
    figure = _new_figure(12.0, 3.4)
    for metric, ax in zip(metrics, figure.subplots(1, len(metrics)), strict=True):
        for place, dataset in enumerate(dict.fromkeys(entry.dataset for entry in entries)):
            chosen = [entry for entry in entries if (entry.dataset, entry.metric) == (dataset, metric)]
            x = np.array([float(entry.method.split("=")[1]) for entry in chosen])
            _line(ax, x, chosen, dataset, f"C{place}", dashed=False)
            _line(ax, x, chosen, f"{dataset}, published", f"C{place}", dashed=True, published=True)
        ax.set(xlabel=label, title=metric if metric == "k" else f"{metric} (%)")
    ax.legend(fontsize="x-small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _tell_seeds(figure, entries)
    return figure


def _line(
    ax: Any, x: FloatArray, entries: list[Entry], label: str, colour: str, dashed: bool, published: bool = False
) -> None:
    mean = np.array([entry.published_mean if published else entry.mean for entry in entries])
    std = np.array([entry.published_std if published else entry.std for entry in entries])
    order = np.argsort(x)
    style = {"linestyle": "--" if dashed else "-", "marker": "o", "markersize": 3, "capsize": 2, "color": colour}
    if np.isfinite(mean).any():
        ax.errorbar(x[order], mean[order], std[order], label=label, linewidth=1.2, elinewidth=0.6, **style)


def _draw_losses(store: RunStore, device: str) -> Figure:
    """Draw the loss ablation as bars, with published means as marks."""
    entries = _entries(store, "ablation_loss")
    datasets = list(dict.fromkeys(entry.dataset for entry in entries))
    losses = list(dict.fromkeys(entry.method for entry in entries))
    figure = _new_figure(max(6.0, 1.1 * len(datasets) + 2.0), 7.0)
    for metric, ax in zip(("ARI", "NMI", "DCSI"), figure.subplots(3, 1, sharex=True), strict=True):
        for place, loss in enumerate(losses):
            found = {e.dataset: e for e in entries if (e.metric, e.method) == (metric, loss)}
            x = np.arange(len(datasets)) + 0.27 * (place - 1)
            means = [found[d].mean if d in found else np.nan for d in datasets]
            spreads = [found[d].std if d in found else np.nan for d in datasets]
            paper = [found[d].published_mean if d in found else np.nan for d in datasets]
            ax.bar(x, means, 0.25, yerr=spreads, label=loss, color=f"C{place}", error_kw={"linewidth": 0.8})
            ax.plot(x, paper, "_", color="black", markersize=12, label="published" if place == 0 else None)
        ax.set(ylabel=f"{metric} (%)", ylim=(0, 105), xticks=range(len(datasets)), xticklabels=datasets)
    figure.axes[0].legend(fontsize="small", frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    _tell_seeds(figure, entries)
    return figure


def _draw_har(store: RunStore, device: str) -> Figure:
    """Draw the confusion matrix of HAR: clusters of SHADE against activities, one panel per setting of SHADE."""
    from shade import plots

    for dataset in ("har", "har_recomputed"):
        stored = [run for run in store.runs(dataset=dataset) if not run.failure and not run.key]
        first = {method: next((run for run in stored if run.method == method), None) for method in _SETTINGS_OF}
        runs = [run for run in first.values() if run is not None]
        if runs:
            truth: AnyArray = load_samples(dataset).y
            figure = _new_figure(6.5 * len(runs), 4.8)
            for ax, run in zip(np.atleast_1d(figure.subplots(1, len(runs))), runs, strict=True):
                plots.plot_confusion(truth, unpack_labels(run.labels or b""), ax=ax, truth_names=HAR_NAMES)
                ari = f"ARI {100 * (run.ari_assigned or 0.0):.1f} with noise in clusters"
                ax.set_title(f"{dataset}, {_SETTINGS_OF[run.method]}, seed {run.seed}\n{ari}", fontsize="medium")
            return figure
    raise ShadeError(
        "There are no runs of SHADE on har. Make one with: shade paper run experimentResults --datasets har"
    )


# Markers of shade's methods are filled and others are open, so that nine methods are distinguishable on one line.
_DOTS: dict[str, dict[str, Any]] = {
    "default": {"marker": "o", "color": "crimson", "s": 45},
    "SHADE": {"marker": "s", "color": "darkorange", "s": 22},
    "DCTreeClustering": {"marker": "D", "color": "black", "s": 20},
    **{
        name: {"marker": marker, "edgecolors": colour, "facecolors": "none", "s": 28, "linewidths": 1.2}
        for name, marker, colour in (
            ("HDBSCAN", "o", "tab:blue"),
            ("UMAP+HDBSCAN", "s", "tab:purple"),
            ("EVoC", "^", "tab:green"),
            ("PLSCAN", "v", "tab:cyan"),
            ("Leiden", "D", "tab:brown"),
            (TOLD_K, "P", "gray"),
        )
    },
}


def _draw_suite(store: RunStore, device: str) -> Figure:
    """Draw a dot per dataset and method; the shapes have a panel of their own."""
    entries = [entry for entry in _entries(store, "suite") if entry.runs and entry.method in _DOTS]
    names = list(dict.fromkeys(entry.dataset for entry in entries))
    methods = [method for method in _DOTS if any(entry.method == method for entry in entries)]
    panels = [[name for name in names if (kind_of(name) == SHAPES) == shapes] for shapes in (False, True)]
    panels = [panel for panel in panels if panel]
    figure = _new_figure(6.8 * len(panels), 1.8 + 0.36 * max(map(len, panels)))
    for ax, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for place, method in enumerate(methods):
            found = [entry for entry in entries if entry.method == method and entry.dataset in panel]
            # Each method has its own height, so that equal values do not cover each other.
            heights = [panel.index(entry.dataset) + 0.7 * ((place + 0.5) / len(methods) - 0.5) for entry in found]
            ax.scatter([entry.mean for entry in found], heights, label=method, zorder=2, **_DOTS[method])
        ax.set(xlim=(-5, 103), ylim=(len(panel) - 0.5, -0.5), xlabel="adjusted Rand index (x 100)")
        ax.set_yticks(range(len(panel)), [name.removeprefix(f"{SHAPES}/") for name in panel])
        ax.grid(axis="x", color="gainsboro", linewidth=0.6)
        for place, name in enumerate(panel):
            new = place == 0 or kind_of(name) != kind_of(panel[place - 1])
            ax.axhline(place - 0.5, color="black" if new else "gainsboro", linewidth=0.8, zorder=1)
            if new:
                kind = kind_of(name).replace(" and ", " and\n")
                ax.annotate(kind, (1.01, place), xycoords=("axes fraction", "data"), va="center", color="dimgray")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), ncols=5, frameon=False, loc="outside upper center")
    _tell_seeds(figure, entries, "Mean")
    return figure


def _entries(store: RunStore, table: str) -> list[Entry]:
    entries = compare_with_published(store, table)
    if not entries:
        raise ShadeError(f"There are no runs of {table} in {store.path}. Make some with: shade paper run {table}")
    return entries


#: All figures by name.
FIGURES: dict[str, Callable[[RunStore, str], Figure]] = {
    "1": _draw_embeddings,
    "2": _draw_reachability,
    "noise": partial(_draw_sweep, "noise_sweep", "share of noise", False),
    "dimensions": partial(_draw_sweep, "dimension_sweep", "features", True),
    "mu": partial(_draw_ablation, "ablation_mu", "mu"),
    "batch_size": partial(_draw_ablation, "ablation_batch_size", "batch size"),
    "loss": _draw_losses,
    "har": _draw_har,
    "suite": _draw_suite,
}
