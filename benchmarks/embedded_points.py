"""Ten million embedded points on two cores: time and memory of the clustering step."""

import os
import resource
import time

from benchmarks import data
from benchmarks.measure import store
from shade import DCTreeClustering
from shade._memory import format_memory
from shade.capacity import clustering_bytes

ROWS, COLUMNS, LIMIT = 10_000_000, 10, 6 * 10**9


def run(rows: int = ROWS) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    DCTreeClustering(selection="information").fit(data.mixture(5000))  # compiles
    X = data.mixture(rows)
    started = time.perf_counter()
    model = DCTreeClustering(selection="information").fit(X)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{rows:,} x {COLUMNS}: {seconds:.0f} s, peak {format_memory(peak)} with everything, "
          f"{format_memory(clustering_bytes(rows, COLUMNS))} estimated, {model.n_clusters_} clusters")  # fmt: skip
    if rows == ROWS and peak > LIMIT:
        raise SystemExit(f"more than {format_memory(LIMIT)}")
    title = f"clustering {rows:,} x {COLUMNS} on two cores"
    store("embedded_points", f"cpu{os.cpu_count()}", [{"title": title, "seconds": seconds, "peak_bytes": peak}])
