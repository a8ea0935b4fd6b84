"""Time to labels, and how good they are: shade and what people would use instead, on data of 500 to 20,000 rows.

Each method has a process of its own, which runs it twice: the first run loads and compiles, the second is warm. The
methods take turns, so that a noisy machine is noisy for all.
"""

import statistics
from typing import Any

from benchmarks.measure import RESULTS, machine, run_python, store

DATASETS = (
    "umist", "mfeat", "segment", "satellite", "waveform", "optdigits", "usps", "cite_cbmc", "pendigits", "letter",
)  # fmt: skip
METHODS = {
    "SHADE()": "default",
    "UMAP + HDBSCAN": "suite UMAP HDBSCAN",
    "EVoC": "EVoC",
    "PLSCAN": "PLSCAN",
    "ClustPy's SHADE": "ClustPy SHADE",
}
BASE = "UMAP + HDBSCAN"
MOST_ROWS = {"ClustPy's SHADE": 2_500}  # beyond, a run takes many minutes

RUN = """
import json, time
from sklearn.metrics import adjusted_rand_score
from shade.experiments.methods import Method, run_method
from shade.experiments.samples import load_samples
samples, seconds = load_samples({dataset!r}), []
for _ in range(2):
    started = time.perf_counter()
    found = run_method(Method({method!r}), samples, 0)
    seconds.append(time.perf_counter() - started)
print(json.dumps({{"first": seconds[0], "warm": seconds[1], "ari": adjusted_rand_score(samples.y, found.assigned)}}))
"""


def run() -> None:
    """Measure each method on each dataset, print and store the table and a picture."""
    from shade.experiments.samples import load_samples

    rows, absent = [], set()
    for dataset in DATASETS:
        n = len(load_samples(dataset).X)
        for name, method in METHODS.items():
            if name in absent or n > MOST_ROWS.get(name, n):
                continue
            try:
                found = run_python(RUN.format(dataset=dataset, method=method))
            except RuntimeError as error:
                if "ImportError" not in str(error):
                    raise
                absent.add(name)
                continue
            rows.append({"dataset": dataset, "rows": n, "method": name, **found})
            print(f"{dataset:<12}{n:>8,}  {name:<18}" + "".join(f"{found[key]:>10.2f}" for key in found), flush=True)
    base = {row["dataset"]: row for row in rows if row["method"] == BASE}
    summary = {}
    for name in METHODS:
        own = [row for row in rows if row["method"] == name and row["dataset"] in base]
        ratios = [row["warm"] / base[row["dataset"]]["warm"] for row in own]
        if ratios:
            summary[name] = {"datasets": len(own), "median_ratio": statistics.median(ratios), "most": max(ratios)}
            summary[name]["mean_ari"] = statistics.mean(row["ari"] for row in own)
            print(f"{name:<18}", {key: round(value, 2) for key, value in summary[name].items()})
    draw(rows)
    store("answer", [{"title": f"warm seconds as a multiple of {BASE}", "rows": summary, "runs": rows}], sorted(absent))


def draw(rows: list[dict[str, Any]]) -> None:
    """Time against quality, one dot a dataset and method."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for name, marker in zip(METHODS, "osD^v", strict=True):
        own = [row for row in rows if row["method"] == name]
        if not own:
            continue
        axes.scatter([row["warm"] for row in own], [100 * row["ari"] for row in own], label=name, marker=marker)
    axes.set_xscale("log")
    axes.set_xlabel("seconds to labels, warm")
    axes.set_ylabel("adjusted Rand index (x 100)")
    axes.legend(frameon=False)
    figure.savefig(RESULTS / f"answer-{machine().replace(' ', '_')}.png", dpi=120)
