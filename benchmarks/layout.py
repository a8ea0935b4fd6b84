"""Maps of embeddings in two dimensions: shade's, UMAP's, t-SNE's (openTSNE) and principal components.

All get the same points, the embedding of a fit of SHADE with its defaults, and are told nothing of its clusters. Each
method has a process of its own, which first draws some rows, so that compiling is not timed. UMAP has a seed, without
which its picture is another one every time; with a seed it uses one core. The others use all cores.
"""

import json
import statistics
from typing import Any

import numpy as np

from benchmarks.data import CACHE, load, mixture
from benchmarks.measure import run_python, store

# Digits, handwriting, proteins of mice, shapes of numerals, regions of pictures, blood cells, wine.
DATASETS = ("digits", "optdigits", "pendigits", "usps", "mfeat", "mice", "segment", "sc_pbmc4k", "wine")
MEASURES = ("trustworthiness", "continuity", "separation", "order", "seconds")
LARGE = "mixture"  # 70,000 rows, timed only
BASE = "UMAP"
SLOW = "t-SNE"

METHODS = {
    "shade": "from shade.layout import map_points\ndraw = lambda X: map_points(X).places",
    "UMAP": "import umap\ndraw = lambda X: umap.UMAP(random_state=0, n_jobs=1).fit_transform(X)",
    "t-SNE": "import openTSNE\ndraw = lambda X: np.asarray(openTSNE.TSNE(random_state=0, n_jobs=-1).fit(X))",
    "components": "from sklearn.decomposition import PCA\ndraw = lambda X: PCA(2, svd_solver='full').fit_transform(X)",
}
RUN = """
import json, time
import numpy as np
{method}
X = np.load({source!r})
first = draw(X[: {warm_up}])
started = time.perf_counter()
Y = draw(X)
seconds = time.perf_counter() - started
np.save({target!r}, Y)
same = bool(np.array_equal(first, Y)) if len(first) == len(Y) else None
print(json.dumps({{"seconds": seconds, "same": same}}))
"""
NEIGHBOURS = 10  # of a row, in the measures
MOST_ROWS = 2000  # for which the measures are computed, evenly over the data


def run() -> None:
    """Measure each method on each dataset, print and store the table and a picture.

    What was measured is kept in the cache folder, so that a run that was interrupted goes on from there.
    """
    kept = CACHE / "layout.json"
    rows: list[dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else []
    absent: set[str] = set()
    # Methods take turns on each dataset, so that a busy machine is busy for all; t-SNE takes longest and comes last.
    turns = [(dataset, name) for dataset in (*DATASETS, LARGE) for name in METHODS if name != SLOW]
    for dataset, name in [*turns, *((dataset, SLOW) for dataset in DATASETS)]:
        if name in absent or any((row["dataset"], row["method"]) == (dataset, name) for row in rows):
            continue
        points, labels = embedding_of(dataset)
        source, target = CACHE / f"{dataset}_points.npy", CACHE / f"{dataset}_{name}.npy"
        np.save(source, points)
        # Our own map is drawn twice, whole, to see whether the second picture is the first. UMAP compiles another
        # search of neighbours for more than 4,096 rows.
        warm_up = len(points) if name == "shade" and dataset != LARGE else 4200
        code = RUN.format(method=METHODS[name], source=str(source), target=str(target), warm_up=warm_up)
        try:
            found = run_python(code)
        except RuntimeError as error:
            if "ModuleNotFoundError" not in str(error):
                raise
            absent.add(name)
            continue
        if dataset != LARGE:
            found |= measure(points, np.load(target), labels)
        rows.append({"dataset": dataset, "rows": len(points), "method": name, **found})
        kept.write_text(json.dumps(rows))
        values = "".join(f"{found.get(key, float('nan')):>17.4f}" for key in MEASURES)
        print(f"{dataset:<12}{len(points):>8,}  {name:<12}{values}  {found['same']}", flush=True)
    summary = summarise(rows)
    draw(rows)
    title = f"maps: means, and on how many of {len(DATASETS)} datasets as good as {BASE} or better"
    store("layout", [{"title": title, "rows": summary, "runs": rows}], sorted(absent), f"{LARGE} is timed only")


def embedding_of(dataset: str) -> tuple[np.ndarray, np.ndarray]:
    """The embedding of a dataset and the clusters found in it; made once and kept."""
    if dataset == LARGE:
        return mixture(70_000), np.zeros(70_000, np.int64)
    path = CACHE / f"{dataset}_embedding.npz"
    if not path.exists():
        from shade import SHADE

        model = SHADE(random_state=0).fit(_rows_of(dataset))
        CACHE.mkdir(exist_ok=True)
        np.savez(path, points=model.embedding_, labels=model.labels_)
    with np.load(path) as file:
        return file["points"].astype(np.float64), file["labels"]


def _rows_of(dataset: str) -> np.ndarray:
    if dataset in ("digits", "wine"):
        from sklearn import datasets

        return np.asarray(getattr(datasets, f"load_{dataset}")().data)
    found = load(dataset)
    if found is None:
        from shade.experiments.samples import load_samples

        return load_samples(dataset).X
    return found


def measure(points: np.ndarray, places: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """How faithful a map is.

    Trustworthiness and continuity are those of Venna and Kaski: how few of the ten nearest in the map are far in the
    embedding, and the other way round. Separation is the share of the ten nearest in the map that have the same label,
    over rows in clusters. Order is Spearman's rank correlation, over pairs of clusters, of the dc-distance at which two
    clusters merge with the mean distance of their rows in the map.
    """
    from scipy.spatial.distance import cdist

    n, k = len(points), NEIGHBOURS
    sample = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(int))
    intruders = missing = same = clustered = 0.0
    for part in np.array_split(sample, -(-len(sample) * n // 4_000_000)):
        near, rank = _ranks(cdist(points[part], points), part)
        near_in_map, rank_in_map = _ranks(cdist(places[part], places), part)
        intruders += np.maximum(np.take_along_axis(rank, near_in_map[:, 1 : k + 1], 1) - k, 0).sum()
        missing += np.maximum(np.take_along_axis(rank_in_map, near[:, 1 : k + 1], 1) - k, 0).sum()
        inside = labels[part] >= 0
        same += (labels[near_in_map[:, 1 : k + 1]] == labels[part][:, None])[inside].sum()
        clustered += k * inside.sum()
    worst = len(sample) * k * (2 * n - 3 * k - 1) / 2
    return {
        "trustworthiness": 1 - intruders / worst,
        "continuity": 1 - missing / worst,
        "separation": same / max(clustered, 1.0),
        "order": merge_order(points, places, labels),
    }


def _ranks(distances: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest first, and the rank of each; a row is its own nearest."""
    distances[np.arange(len(own)), own] = -1.0
    near = np.argsort(distances, axis=1, kind="stable")
    rank = np.empty_like(near)
    np.put_along_axis(rank, near, np.broadcast_to(np.arange(near.shape[1]), near.shape), 1)
    return near, rank


def merge_order(points: np.ndarray, places: np.ndarray, labels: np.ndarray, most: int = 50) -> float:
    """Whether clusters that merge late are far apart in the map; not a number for fewer than three clusters."""
    from scipy.spatial.distance import cdist
    from scipy.stats import spearmanr

    from shade.density import DCTree

    tree = DCTree.from_points(points)
    clusters = [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]
    some = [rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int))] for rows in clusters]
    pairs = [(i, j) for j in range(len(some)) for i in range(j)]
    if len(pairs) < 3:
        return float("nan")
    merged = [float(np.median(tree.dc_distances(some[i], some[j]))) for i, j in pairs]
    apart = [float(cdist(places[some[i]], places[some[j]]).mean()) for i, j in pairs]
    return float(spearmanr(merged, apart).statistic)


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means of each method, and on how many datasets it is at least as good as the base."""
    by_place = {(row["dataset"], row["method"]): row for row in rows}
    summary = {}
    for name in METHODS:
        own = [row for row in rows if row["method"] == name]
        if not own:
            continue
        entry: dict[str, Any] = {}
        for key in MEASURES:
            values = [row[key] for row in own if row["dataset"] != LARGE and np.isfinite(row.get(key, np.nan))]
            entry[f"mean_{key}"] = statistics.mean(values)
            base = [by_place.get((row["dataset"], BASE)) for row in own]
            pairs = [(row[key], other[key]) for row, other in zip(own, base, strict=True) if other and key in row]
            entry[f"at_least_{BASE}_{key}"] = sum(bool(a <= b if key == "seconds" else a >= b) for a, b in pairs)
        entry["same_twice"] = sum(row["same"] is True for row in own)
        summary[name] = entry
        print(f"{name:<12}", {key: round(value, 4) for key, value in entry.items()})
    return summary


def draw(rows: list[dict[str, Any]]) -> None:
    """All maps beside each other, by cluster."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from benchmarks.measure import RESULTS, machine
    from shade.plots import plot_embedding

    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = pyplot.subplots(
        len(DATASETS), len(methods), figsize=(3 * len(methods), 3 * len(DATASETS)), layout="constrained", squeeze=False
    )
    for line, dataset in zip(axes, DATASETS, strict=True):
        _, labels = embedding_of(dataset)
        for ax, method in zip(line, methods, strict=True):
            plot_embedding(np.load(CACHE / f"{dataset}_{method}.npy"), labels, ax=ax)
            if ax.get_legend() is not None:
                ax.get_legend().remove()
            ax.set(xticks=[], yticks=[], xlabel="", ylabel="", title=f"{dataset}, {method}")
    figure.savefig(RESULTS / f"layout-{machine().replace(' ', '_')}.png", dpi=60)
