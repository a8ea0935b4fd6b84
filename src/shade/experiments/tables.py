"""The paper's tables, ours beside the published figures."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files

import numpy as np

from shade._base.errors import ShadeError
from shade.data import DATASETS
from shade.experiments.methods import Method
from shade.experiments.samples import DIMENSION_SWEEP, NOISE_SWEEP, is_at_hand
from shade.experiments.store import Run, RunStore

FORMATS = ("text", "markdown", "csv")


@dataclass(frozen=True)
class Column:
    """A column of a table: a method, and what is done with its noise for ARI and NMI.

    Noise is left out (""), or put into the nearest cluster ("_1nn") or over links ("_links").
    """

    title: str
    method: Method
    noise: str = "_1nn"


@dataclass(frozen=True)
class Table:
    """A table of the paper, or one of our own."""

    name: str
    caption: str
    datasets: tuple[str, ...]
    columns: tuple[Column, ...]
    metrics: tuple[str, ...] = ("ARI", "NMI", "k", "noise", "noise recall", "noise precision")


@dataclass(frozen=True)
class Entry:
    """One figure of a table, in percent but for the number of clusters; missing ones are NaN."""

    table: str
    dataset: str
    metric: str
    method: str
    mean: float
    std: float
    runs: int
    failures: int
    published_mean: float
    published_std: float

    @property
    def differs(self) -> str:
        """Whether ours is above ("↑") or below ("↓") the published mean by more than the published spread."""
        gap = self.mean - self.published_mean
        if np.isnan(gap) or abs(gap) <= self.published_std:
            return ""
        return "↑" if gap > 0 else "↓"


_COMPARED = (
    Column("SHADE", Method("SHADE"), noise=""),
    Column("SHADE_1nn", Method("SHADE")),
    *(Column(name, Method(name)) for name in ("DDC", "DipDECK", "DipEncoder", "DCN", "DEC", "IDEC")),
)
_ABLATED = ("synth_high", "tcga", "coil20")
_MAIN = tuple(name for name, info in DATASETS.items() if info.comparable and name not in
              ("optdigits", "usps", "mnist", "fmnist", "kmnist"))  # fmt: skip


def _vary(parameter: str, title: str, values: Iterable[int]) -> tuple[Column, ...]:
    return tuple(Column(f"{title}={v}", Method("SHADE", {parameter: v}), noise="") for v in values)


#: The tables by the names they have in `published.csv`, and the sweeps behind the figures.
TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table("experimentResults", "Clustering results on the datasets of the paper", _MAIN, _COMPARED),
        Table(
            "mnist_etc",
            "Clustering results on datasets with Gaussian clusters",
            ("optdigits", "usps", "mnist", "fmnist", "kmnist"),
            _COMPARED,
        ),
        Table("ablation_mu", "SHADE with different mu", _ABLATED, _vary("min_samples", "mu", range(3, 8))),
        Table(
            "ablation_batch_size",
            "SHADE with different batch sizes",
            _ABLATED,
            _vary("batch_size", "batch_size", range(100, 1000, 100)),
        ),
        Table(
            "ablation_loss",
            "SHADE with parts of its loss",
            _MAIN,
            (
                Column("L_d+L_rec", Method("SHADE")),
                Column("L_rec", Method("SHADE", {"density_weight": 0.0})),
                Column("L_d", Method("SHADE", {"reconstruction_weight": 0.0})),
            ),
            ("ARI", "NMI", "DCSI"),
        ),
        Table("noise_sweep", "DENSIRED data with 0 to 90 % noise", NOISE_SWEEP, _COMPARED),
        Table("dimension_sweep", "DENSIRED data with 10 to 50,000 features", DIMENSION_SWEEP, _COMPARED),
    )
}


def find_table(name: str) -> Table:
    """A table by name; any other name is a table of our own with no columns but the methods that were run."""
    complete = tuple(name for name, info in DATASETS.items() if info.comparable)
    return TABLES.get(name) or Table(name, name, complete, ())


def methods_of(table: str) -> list[Method]:
    """The methods whose runs a table shows."""
    if table not in TABLES:
        raise ShadeError(f"Name the methods to run: {table!r} is none of the paper's tables ({', '.join(TABLES)}).")
    return list(dict.fromkeys(column.method for column in TABLES[table].columns))


def datasets_of(table: str, folder: str | os.PathLike[str] | None = None) -> list[str]:
    """The datasets of a table, and the parts and variants of them, that are at hand."""
    wanted = find_table(table).datasets
    parts = [name for name, info in DATASETS.items() if info.part_of in wanted]
    return [name for name in (*wanted, *parts) if is_at_hand(name, folder)]


@cache
def _published() -> dict[tuple[str, str, str, str], tuple[float, float]]:
    text = files("shade.experiments").joinpath("published.csv").read_text()
    return {
        (row["table"], row["dataset"], row["metric"], row["method"]): (float(row["mean"]), float(row["std"]))
        for row in csv.DictReader(io.StringIO(text))
    }


def compare_with_published(store: RunStore, table: str, *, everything: bool = False) -> list[Entry]:
    """The figures of a table: mean and deviation over seeds.

    Parameters
    ----------
    store : RunStore
    table : str
    everything : bool, default=False
        Whether datasets without any run are told about too, with the published figures alone.

    Returns
    -------
    list of Entry
    """
    spec = find_table(table)
    runs: dict[tuple[str, str, str], list[Run]] = {}
    for run in store.runs(table):
        runs.setdefault((run.dataset, run.method, run.key), []).append(run)
    columns = [*spec.columns, *_columns_beyond(spec, runs)]
    known = [*spec.datasets, *(name for name, info in DATASETS.items() if info.part_of in spec.datasets)]
    with_runs = dict.fromkeys(dataset for dataset, _, _ in runs)
    datasets = [name for name in known if everything or name in with_runs]
    datasets += [name for name in with_runs if name not in known]
    entries = []
    for dataset in datasets:
        for column in columns:
            found = runs.get((dataset, column.method.name, column.method.key), [])
            for metric in spec.metrics:
                entry = _summarize(table, dataset, metric, column, found)
                if entry.runs or entry.failures or not np.isnan(entry.published_mean):
                    entries.append(entry)
    return entries


def _columns_beyond(spec: Table, runs: dict[tuple[str, str, str], list[Run]]) -> list[Column]:
    """Columns for methods that were run though the paper's table does not have them."""
    has = {(column.method.name, column.method.key) for column in spec.columns}
    beyond = []
    for name, key in dict.fromkeys((name, key) for _, name, key in runs if (name, key) not in has):
        stored = [run for (_, method, k), group in runs.items() if (method, k) == (name, key) for run in group]
        method = Method(name, json.loads(stored[0].parameters))
        ways = ["_1nn"] if all(run.ari_links is None for run in stored) else ["_links", "_1nn"]
        if any(run.noise_share for run in stored):
            beyond += [Column(f"{method.label}{noise}", method, noise) for noise in ("", *ways)]
        else:
            beyond.append(Column(method.label, method, ways[0]))
    return beyond


def method_of(title: str) -> str:
    """The method of a column, whatever is done with its noise."""
    return title.removesuffix("_1nn").removesuffix("_links")


def _summarize(table: str, dataset: str, metric: str, column: Column, runs: list[Run]) -> Entry:
    read = _reader_of(metric, column)
    values = [value for run in runs if not run.failure and (value := read(run)) is not None]
    mean, std = (float(np.mean(values)), float(np.std(values))) if values else (np.nan, np.nan)
    published = _published().get((table, dataset, metric, column.title), (np.nan, np.nan))
    return Entry(
        table, dataset, metric, column.title, mean, std, len(values), sum(bool(r.failure) for r in runs), *published
    )


def _reader_of(metric: str, column: Column) -> Callable[[Run], float | None]:
    """How a metric is read off a run, in percent but for the number of clusters."""
    names = {
        "ARI": f"ari{column.noise}",
        "NMI": f"nmi{column.noise}",
        "DCSI": "dcsi",
        "k": "n_clusters",
        "noise": "noise_share",
    }
    name = names.get(metric, metric.replace(" ", "_"))
    if metric.startswith("noise") and column.noise:
        return lambda run: None  # told once a method, beside the figures of the points that are not noise
    scale = 1.0 if metric == "k" else 100.0

    def read(run: Run) -> float | None:
        if column.noise == "_1nn" and run.ari_1nn is None and run.ari_links is not None:
            return None  # stored before figures of both were taken
        value = getattr(run, name)
        return None if value is None else scale * float(value)

    return read


def format_table(entries: list[Entry], kind: str = "text") -> str:
    """Lay figures out: as text, as Markdown, or as CSV with a line a figure."""
    if kind not in FORMATS:
        raise ShadeError(f"The format must be one of {', '.join(FORMATS)}. Got {kind!r} instead.")
    if kind == "csv":
        return _as_csv(entries)
    metrics = list(dict.fromkeys(entry.metric for entry in entries if entry.runs or not np.isnan(entry.published_mean)))
    cells: dict[tuple[str, str], dict[str, Entry]] = {}
    for entry in entries:
        cells.setdefault((entry.dataset, entry.method), {})[entry.metric] = entry
    heading = ["dataset", "method", "runs", *(f"{metric}" for metric in metrics)]
    lines, before = [], ""
    for (dataset, method), row in cells.items():
        runs = max(entry.runs for entry in row.values())
        failures = max(entry.failures for entry in row.values())
        count = f"{runs} + {failures} failed" if failures else str(runs or "")
        part = "*" if dataset in DATASETS and not DATASETS[dataset].comparable else ""
        name = "" if dataset == before else dataset + part
        before = dataset
        lines.append([name, method, count, *(_format_entry(row.get(metric)) for metric in metrics)])
    layout = _as_markdown(heading, lines) if kind == "markdown" else lay_out(heading, lines)
    return f"{layout}\n{_legend(entries)}\n"


def _format_entry(entry: Entry | None) -> str:
    if entry is None:
        return ""
    spread = f" ± {entry.std:.1f}" if entry.runs > 1 else ""
    ours = f"{entry.mean:.1f}{spread}" if entry.runs else ""
    paper = "" if np.isnan(entry.published_mean) else f"({entry.published_mean:.1f} ± {entry.published_std:.1f})"
    return " ".join(part for part in (ours, paper, entry.differs) if part)


def _legend(entries: list[Entry]) -> str:
    text = (
        "Ours (published): mean ± deviation over seeds; ↑ ↓ above or below the published mean by more than its spread."
    )
    if any(not DATASETS[entry.dataset].comparable for entry in entries if entry.dataset in DATASETS):
        text += "\n* a part or a variant of a dataset: not comparable with published figures."
    if any(entry.method.endswith("_links") for entry in entries):
        text += "\n_1nn, _links: noise put into the nearest cluster, or over the links of the spanning trees."
    return text


def lay_out(heading: list[str], lines: list[list[str]]) -> str:
    """Lines under a heading, in columns."""
    widths = [max(len(row[place]) for row in (heading, *lines)) for place in range(len(heading))]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (heading, *lines)]
    rows.insert(1, "  ".join("─" * width for width in widths))
    return "\n".join(row.rstrip() for row in rows) + "\n"


def _as_markdown(heading: list[str], lines: list[list[str]]) -> str:
    rows = [heading, ["---"] * len(heading), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"


def _as_csv(entries: list[Entry]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(Entry)]
    writer.writerow([*names, "differs"])
    for entry in entries:
        values = [getattr(entry, name) for name in names]
        rounded = [
            "" if isinstance(v, float) and np.isnan(v) else round(v, 4) if isinstance(v, float) else v for v in values
        ]
        writer.writerow([*rounded, entry.differs])
    return text.getvalue()
