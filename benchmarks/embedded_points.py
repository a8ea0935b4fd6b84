"""Ten million embedded points on two cores in 6 GB: time and memory of the clustering step."""

import os
import resource
import time

import numpy as np

from benchmarks import data
from benchmarks.measure import peak_megabytes, store
from shade import DCTreeClustering
from shade._base.memory import format_memory
from shade.training.capacity import clustering_bytes

ROWS, COLUMNS, LIMIT = 10_000_000, 10, 6 * 10**9


def run(rows: int = ROWS) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))  # what is more fails; the interpreter counts as well
    DCTreeClustering().fit(data.mixture(5000))  # compiles
    tables = []
    for kind, make in (("near a plane", data.plane), ("in all directions", data.mixture)):
        title = f"clustering {rows:,} x {COLUMNS} {kind} on two cores within {format_memory(LIMIT)} of address space"
        tables.append({"title": title, "rows": {"shade": measure(make(rows))}})
        print(title, *(f"{name:<24}{value:>10,.6g}" for name, value in tables[-1]["rows"]["shade"].items()), sep="\n")
        store("embedded_points", tables)  # the second kind takes ten times as long


def measure(X: np.ndarray) -> dict[str, float]:
    started, processor = time.perf_counter(), time.process_time()
    model = DCTreeClustering().fit(X)
    return {
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - processor,
        "peak_megabytes": peak_megabytes(),
        "estimated_megabytes": clustering_bytes(*X.shape) // 10**6,
        "limit_megabytes": LIMIT // 10**6,
        "clusters": model.n_clusters_,
        "noise": float(np.mean(model.labels_ < 0)),
    }
