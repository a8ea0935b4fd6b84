"""The paper's tables: our results together with the published ones."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields, replace
from functools import cache
from importlib.resources import files

import numpy as np

from shade._base.errors import ShadeError
from shade.data import DATASETS
from shade.experiments.methods import METHODS, Method, code_of
from shade.experiments.samples import DIMENSION_SWEEP, NOISE_SWEEP, SHAPES, SUITE, is_at_hand, kind_of, suite_datasets
from shade.experiments.store import Run, RunStore, unpack_labels

FORMATS = ("text", "markdown", "csv")
LARGE = 20_000  # rows: from here on, means of the suite leave a dataset out, since not every method can run on it
TOLD_K = "k-means"  # is given the number of clusters, so it is not compared with methods that find it


@dataclass(frozen=True)
class Column:
    """A column of a table: a method, and how its noise is treated for ARI and NMI.

    Noise is left out (""), or assigned to the nearest cluster ("_1nn") or over links ("_links").
    """

    title: str
    method: Method
    noise: str = "_1nn"


@dataclass(frozen=True)
class Table:
    """A table of the paper, or one of our own. A wide table has a column per method, and means below."""

    name: str
    datasets: tuple[str, ...]
    columns: tuple[Column, ...]
    metrics: tuple[str, ...] = ("ARI", "NMI", "k", "noise", "noise recall", "noise precision")
    wide: bool = False


@dataclass(frozen=True)
class Entry:
    """One value of a table, in percent except for the number of clusters; missing values are NaN."""

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
    changed: int = 0  # runs that were made with other code than the current one
    rows: int = 0  # rows of the dataset, in wide tables

    @property
    def differs(self) -> str:
        """Whether our mean is above ("↑") or below ("↓") the published one by more than the published deviation."""
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


#: The tables by their names in `published.csv`, the sweeps of the figures, and the suite.
TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table("experimentResults", _MAIN, _COMPARED),
        Table("mnist_etc", ("optdigits", "usps", "mnist", "fmnist", "kmnist"), _COMPARED),
        Table("ablation_mu", _ABLATED, _vary("min_samples", "mu", range(3, 8))),
        Table("ablation_batch_size", _ABLATED, _vary("batch_size", "batch_size", range(100, 1000, 100))),
        Table(
            "ablation_loss",
            _MAIN,
            (
                Column("L_d+L_rec", Method("SHADE")),
                Column("L_rec", Method("SHADE", {"density_weight": 0.0})),
                Column("L_d", Method("SHADE", {"reconstruction_weight": 0.0})),
            ),
            ("ARI", "NMI", "DCSI"),
        ),
        Table("noise_sweep", NOISE_SWEEP, _COMPARED),
        Table("dimension_sweep", DIMENSION_SWEEP, _COMPARED),
        Table(
            "suite",
            tuple(name for names in SUITE.values() for name in names),
            (
                *(Column(name, Method(name)) for name in ("default", "SHADE", "DCTreeClustering")),
                Column("HDBSCAN", Method("suite HDBSCAN")),
                Column("UMAP+HDBSCAN", Method("suite UMAP HDBSCAN")),
                *(Column(name, Method(name)) for name in ("EVoC", "PLSCAN", "Leiden", TOLD_K)),
            ),
            ("ARI",),
            wide=True,
        ),
    )
}


def find_table(name: str) -> Table:
    """Return a table by name. Any other name is a table of our own, whose columns are the methods that were run."""
    complete = tuple(name for name, info in DATASETS.items() if info.comparable)
    return TABLES.get(name) or Table(name, complete, ())


def methods_of(table: str, chosen: Iterable[str | Method] = ()) -> list[Method]:
    """Return the methods of a table, or the chosen ones, by the names of columns or of methods."""
    columns = {column.title: column.method for column in find_table(table).columns}
    methods = [
        name if isinstance(name, Method) else columns.get(name) or Method(method_of(name))
        for name in list(chosen) or columns
    ]
    if not methods:
        raise ShadeError(f"Name the methods to run: {table!r} is none of the known tables ({', '.join(TABLES)}).")
    return list(dict.fromkeys(methods))


def datasets_of(table: str, folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the available datasets of a table, and their available parts and variants."""
    if table == "suite":
        return suite_datasets(folder)
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
    """Return the values of a table: mean and deviation over seeds.

    Parameters
    ----------
    store : RunStore
    table : str
    everything : bool, default=False
        Whether to include datasets without any run, with the published values only.

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
        labels = (run.labels for group in runs.values() for run in group if run.dataset == dataset and run.labels)
        rows = next((len(unpack_labels(packed)) for packed in labels), 0) if spec.wide else 0
        for column in columns:
            found = runs.get((dataset, column.method.name, column.method.key), [])
            for metric in spec.metrics:
                entry = replace(_summarize(table, dataset, metric, column, found), rows=rows)
                if entry.runs or entry.failures or not np.isnan(entry.published_mean):
                    entries.append(entry)
    return entries


def _columns_beyond(spec: Table, runs: dict[tuple[str, str, str], list[Run]]) -> list[Column]:
    """Return columns for methods that were run but are not in the paper's table."""
    has = {(column.method.name, column.method.key) for column in spec.columns}
    beyond = []
    for name, key in dict.fromkeys((name, key) for _, name, key in runs if (name, key) not in has):
        stored = [run for (_, method, k), group in runs.items() if (method, k) == (name, key) for run in group]
        method = Method(name, json.loads(stored[0].parameters))
        ways = ["_1nn"] if all(run.ari_links is None for run in stored) else ["_links", "_1nn"]
        if spec.wide:
            beyond.append(Column(method.label, method))
        elif any(run.noise_share for run in stored):
            beyond += [Column(f"{method.label}{noise}", method, noise) for noise in ("", *ways)]
        else:
            beyond.append(Column(method.label, method, ways[0]))
    return beyond


def method_of(title: str) -> str:
    """Return the method of a column, without the treatment of noise."""
    return title.removesuffix("_1nn").removesuffix("_links")


def _summarize(table: str, dataset: str, metric: str, column: Column, runs: list[Run]) -> Entry:
    values = [value for run in runs if not run.failure and (value := _read(run, metric, column.noise)) is not None]
    mean, std = (float(np.mean(values)), float(np.std(values))) if values else (np.nan, np.nan)
    published = _published().get((table, dataset, metric, column.title), (np.nan, np.nan))
    failures = sum(bool(run.failure) for run in runs)
    changed = sum(not run.failure and run.code != code_of(run.method) for run in runs) if values else 0
    return Entry(table, dataset, metric, column.title, mean, std, len(values), failures, *published, changed)


def _read(run: Run, metric: str, noise: str) -> float | None:
    """Return a metric of a run, in percent except for the number of clusters."""
    if metric.startswith("noise") and noise:
        return None  # reported once per method, with the values of points that are not noise
    if noise == "_1nn" and run.ari_1nn is None and run.ari_links is not None:
        return None  # stored before both values were computed
    names = {"ARI": f"ari{noise}", "NMI": f"nmi{noise}", "k": "n_clusters", "noise": "noise_share"}
    value = getattr(run, names.get(metric, metric.lower().replace(" ", "_")))
    return None if value is None else (1.0 if metric == "k" else 100.0) * float(value)


def format_table(entries: list[Entry], kind: str = "text") -> str:
    """Format values as text, as Markdown, or as CSV with a line per value."""
    if kind not in FORMATS:
        raise ShadeError(f"The format must be one of {', '.join(FORMATS)}. Got {kind!r} instead.")
    wide = any(find_table(entry.table).wide for entry in entries)
    entries = [*entries, *(summarize_suite(entries) if wide else ())]
    if kind == "csv":
        return _as_csv(entries)
    heading, lines = _lay_wide(entries) if wide else _lay_long(entries)
    layout = _as_markdown(heading, lines) if kind == "markdown" else lay_out(heading, lines)
    return f"{layout}\n{_legend(entries, wide)}\n"


def _lay_long(entries: list[Entry]) -> tuple[list[str], list[list[str]]]:
    """Return a line per dataset and method, with a column per metric."""
    metrics = list(dict.fromkeys(entry.metric for entry in entries if entry.runs or not np.isnan(entry.published_mean)))
    cells: dict[tuple[str, str], dict[str, Entry]] = {}
    for entry in entries:
        cells.setdefault((entry.dataset, entry.method), {})[entry.metric] = entry
    lines, before = [], ""
    for (dataset, method), row in cells.items():
        runs = max(entry.runs for entry in row.values())
        failures = max(entry.failures for entry in row.values())
        count = f"{runs} + {failures} failed" if failures else str(runs or "")
        part = "*" if dataset in DATASETS and not DATASETS[dataset].comparable else ""
        name = "" if dataset == before else dataset + part
        before = dataset
        lines.append([name, method, count, *(_format_entry(row.get(metric)) for metric in metrics)])
    return ["dataset", "method", "runs", *metrics], lines


def _lay_wide(entries: list[Entry]) -> tuple[list[str], list[list[str]]]:
    """Return a line per dataset, with a column per method."""
    methods = _methods_in(entries)
    cells: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        cells.setdefault(entry.dataset + "*" * (entry.rows >= LARGE), {})[entry.method] = entry
    lines = [[name, *(_format_entry(row.get(method)) for method in methods)] for name, row in cells.items()]
    return ["dataset", *methods], lines


def _methods_in(entries: list[Entry]) -> list[str]:
    """Return the methods with values, in the order of the table, then others."""
    found = dict.fromkeys(entry.method for entry in entries)
    titles = [column.title for column in find_table(entries[0].table).columns]
    return [*(title for title in titles if title in found), *(title for title in found if title not in titles)]


def summarize_suite(entries: list[Entry]) -> list[Entry]:
    """Return means by kind of data, and on how many datasets each method is the best or within one point of it.

    A method has a mean if it was run on all datasets of the kind in the table. The best method is one of those that are
    not given the number of clusters.
    """
    found: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        if entry.rows < LARGE and entry.runs:
            found.setdefault(entry.dataset, {})[entry.method] = entry
    kinds = {kind: [name for name in found if kind_of(name) == kind] for kind in (*SUITE, "other", SHAPES)}
    shapes = kinds.pop(SHAPES)
    groups = {**kinds, "all but shapes": [name for names in kinds.values() for name in names], SHAPES: shapes}
    best = {name: max((e.mean for e in row.values() if e.method != TOLD_K), default=0.0) for name, row in found.items()}
    compared = any(not METHODS[method].own for row in found.values() for method in row)
    means, counts = [], []
    for kind, names in groups.items():
        for method in _methods_in(entries):
            row = [found[name][method] for name in names if method in found[name]]
            if row and len(row) == len(names):
                mean = float(np.mean([entry.mean for entry in row]))
                means.append(_summary(f"{kind}, mean of {len(row)}", "ARI", method, mean, row))
            if row and kind not in kinds and compared:  # among methods of shade only, the best one has no meaning
                count = sum(entry.mean >= best[entry.dataset] - 1.0 for entry in row)
                counts.append(_summary(f"{kind}, near the best of {len(names)}", "count", method, count, row))
    return means + counts


def _summary(title: str, metric: str, method: str, value: float, of: list[Entry]) -> Entry:
    changed = sum(entry.changed for entry in of)
    return Entry("suite", title, metric, method, value, np.nan, len(of), 0, np.nan, np.nan, changed)


def _format_entry(entry: Entry | None) -> str:
    if entry is None:
        return ""
    spread = f" ± {entry.std:.1f}" if entry.runs > 1 and not np.isnan(entry.std) else ""
    value = f"{entry.mean:.0f}" if entry.metric == "count" else f"{entry.mean:.1f}"
    ours = f"{value}{spread}{'†' if entry.changed else ''}" if entry.runs else "failed" if entry.failures else ""
    paper = "" if np.isnan(entry.published_mean) else f"({entry.published_mean:.1f} ± {entry.published_std:.1f})"
    return " ".join(part for part in (ours, paper, entry.differs) if part)


_LEGEND = (
    "Ours (published): mean ± deviation over seeds; ↑ ↓ above or below the published mean by more than its spread."
)
_WIDE_LEGEND = f"""Adjusted Rand index (x 100), mean ± deviation over seeds.
Noise is put to the nearest clustered row of the standardised data.
default, SHADE, DCTreeClustering: shade with its defaults, with the settings of the paper, its clustering step alone.
mean of: left out where a method was not run on all of the datasets.
near the best of: number of datasets where the method is at most one point below the best method or is the best.
{TOLD_K} is given the number of clusters and is not considered as the best method."""


def _legend(entries: list[Entry], wide: bool) -> str:
    text = _WIDE_LEGEND if wide else _LEGEND
    if any(entry.rows >= LARGE for entry in entries):
        text += f"\n* {LARGE:,} rows or more: not in the means and counts."
    if any(not DATASETS[entry.dataset].comparable for entry in entries if entry.dataset in DATASETS):
        text += "\n* a part or a variant of a dataset: not comparable with published figures."
    if any(entry.method.endswith("_links") for entry in entries):
        text += "\n_1nn, _links: noise put into the nearest cluster, or over the links of the spanning trees."
    if any(entry.changed for entry in entries):
        text += "\n† run with other code than the present, or before the code of runs was recorded."
    return text


def lay_out(heading: list[str], lines: list[list[str]]) -> str:
    """Align lines under a heading, in columns."""
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
    writer.writerow([*(field.name for field in fields(Entry)), "differs"])
    for entry in entries:
        rounded = [round(value, 4) if isinstance(value, float) else value for value in astuple(entry)]
        writer.writerow(["" if str(value) == "nan" else value for value in (*rounded, entry.differs)])
    return text.getvalue()
