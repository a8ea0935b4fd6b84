"""Mutual-reachability spanning trees on the CPU, against what people would use instead."""

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import data, peers
from benchmarks.measure import Table, interleave, machine, run_python, show, show_growth, show_peaks, store
from shade.clustering import cluster_tree
from shade.density import minimum_spanning_tree

TITLE = "spanning tree"
GROWTH = "seconds by number of points, mixture in 10 columns"
KINDS = ("mixture", "embedding")
SLOW = tuple(name for name in peers.MAKERS if name not in (*peers.FAST, peers.MATRIX))
SIZES = {  # numbers of points for the growth, within what each can do in seconds
    "shade": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "quitefastmst": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "fast_hdbscan (whole fit)": (10_000, 20_000, 40_000),
    "hdbscan (whole fit)": (10_000, 20_000, 40_000),
    "scikit-learn (whole fit)": (5_000, 10_000, 20_000),
    peers.MATRIX: (500, 1_000, 2_000),
}
PEAK = """
import json
from benchmarks import data, peers
from benchmarks.measure import peak_megabytes
peers.MAKERS[{name!r}](data.mixture({n}))()
print(json.dumps({{"peak": peak_megabytes()}}))
"""


def run(repeats: int) -> None:
    warnings.simplefilter("ignore")
    missing = peers.absent()
    print(f"absent: {', '.join(missing) or 'none'}")
    tables: list[Table] = []
    for table in measure(repeats, missing):  # stored as it grows: the slow peers come last, and take minutes
        tables.append(table)
        path = store("spanning_tree", tables, missing)
    draw(tables, path.with_suffix(".png"))


def measure(repeats: int, missing: list[str]) -> Iterator[Table]:
    """All tables, the quick ones first."""
    points = {kind: X for kind in KINDS if (X := data.points(kind, 70_000)) is not None}
    for kind in KINDS:
        if kind not in points:
            print(f"\nthere is no {kind} here: set SHADE_DATA")
    for kind, X in points.items():
        yield show(f"{TITLE}, {kind}, 70,000 x 10", time_in_turns(X, peers.FAST, repeats), "shade")
    growth: dict[str, dict[int, float]] = {name: {} for name in SIZES if name not in missing}
    for n in sorted({n for sizes in SIZES.values() for n in sizes}):
        names = tuple(name for name, sizes in SIZES.items() if n in sizes)
        for name, seconds in time_in_turns(data.mixture(n), names, 1 if n > 200_000 else 2).items():
            growth[name][n] = min(seconds)
    yield show_growth(GROWTH, growth)
    yield after_the_tree()
    for n, names in ((20_000, (*peers.FAST, *SLOW)), (1_000_000, peers.FAST)):
        peaks = {name: run_python(PEAK.format(name=name, n=n))["peak"] for name in names if name not in missing}
        yield show_peaks(f"peak memory of a process, mixture, {n:,} x 10", peaks)
    for kind, X in points.items():
        seconds = time_in_turns(X, ("shade", *SLOW), max(1, repeats // 3))
        yield show(f"{TITLE}, {kind}, 70,000 x 10, slow peers", seconds, "shade")


def time_in_turns(X: np.ndarray, names: tuple[str, ...], turns: int) -> dict[str, list[float]]:
    """Seconds of those of the named that are installed, warmed up on a few of the points."""
    return interleave(peers.contestants(X, names), turns, warm_up=peers.contestants(X[:2000], names))


def after_the_tree() -> Table:
    """What comes after the tree, at a million points."""
    X = data.mixture(1_000_000)
    started = time.perf_counter()
    tree = minimum_spanning_tree(X, 5)
    seconds = {"spanning tree": [time.perf_counter() - started]}

    def after() -> None:
        cluster_tree(tree.edges, tree.weights, dimension=10.0)

    seconds |= interleave({"tree, selection, labels": after}, 1)
    return show("1,000,000 x 10", seconds, "spanning tree")


def draw(tables: list[Table], path: Path) -> None:
    """Growth on the left, times at 70,000 points on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    colours = {name: f"C{place}" for place, name in enumerate(SIZES)}
    growth = next(table for table in tables if table["title"] == GROWTH)
    for name, row in growth["rows"].items():
        by_size = {int(n): seconds for n, seconds in row["seconds_by_points"].items()}
        label = f"{name}: n^{row['exponent']:.2f}"
        left.loglog(list(by_size), list(by_size.values()), "o-", color=colours[name], label=label)
    left.set(xlabel="points (mixture, 10 columns)", ylabel="seconds", title="Time by number of points")
    left.legend(fontsize=8, frameon=False)
    bars = [
        (f"{name}, {kind}", row["ratio"], colours[name])
        for kind in KINDS
        for table in tables
        if table["title"].startswith(f"{TITLE}, {kind}")
        for name, row in table["rows"].items()
        if name != "shade"
    ]
    right.barh([bar[0] for bar in bars], [bar[1] for bar in bars], color=[bar[2] for bar in bars])
    for place, bar in enumerate(bars):
        right.annotate(f" {bar[1]:.1f}", (bar[1], place), va="center", fontsize=8)
    right.axvline(1.0, color="0.3", linewidth=1)
    right.invert_yaxis()
    right.set_xscale("log")
    right.xaxis.set_major_formatter("{x:g}")
    right.xaxis.set_minor_formatter("")
    right.margins(x=0.15)
    right.set(xlabel="time as a multiple of shade's", title="70,000 x 10")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    right.tick_params(axis="y", labelsize=8)
    figure.suptitle(f"Spanning trees of mutual reachability, {machine()}")
    figure.savefig(path, dpi=130)
    print(f"drawn in {path.relative_to(path.parents[2])}")
