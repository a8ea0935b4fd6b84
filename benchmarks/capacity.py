"""Memory and time of the stages of a fit at several sizes, each in its own process, against the model of memory."""

import time
from pathlib import Path

import numpy as np

from benchmarks import data
from benchmarks.measure import fit_exponent, peak_megabytes, run_python, store
from shade import SHADE, DCTreeClustering
from shade.training.capacity import clustering_bytes

COLUMNS, EMBEDDING = 100, 10
CLUSTERED = (100_000, 300_000, 1_000_000)
TRAINED = (20_000, 60_000, 180_000)


def resident_megabytes() -> int:
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) // 1024


def cluster(n: int) -> dict[str, float]:
    """The clustering step, from an embedding in single precision."""
    DCTreeClustering().fit(data.mixture(5000, EMBEDDING))  # compiles
    embedding = data.mixture(n, EMBEDDING).astype(np.float32)
    before = resident_megabytes() - embedding.nbytes / 2**20
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    started, processor = time.perf_counter(), time.process_time()
    DCTreeClustering().fit(embedding.astype(np.float64))
    return {
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - processor,
        "bytes_a_row": (peak_megabytes() - before) * 2**20 / n,
        "model_bytes_a_row": clustering_bytes(n, EMBEDDING) / n,
    }


def train(n: int) -> dict[str, float]:
    """An epoch, and the embedding of all rows."""
    X = data.mixture(n, COLUMNS).astype(np.float32)
    ends: list[float] = []
    model = SHADE(
        epochs=2, n_networks=1, embedding_size=EMBEDDING, tree="batch", random_state=0,
        callbacks=[lambda _: ends.append(time.process_time())],
    ).fit(X)  # fmt: skip
    started, processor = time.perf_counter(), time.process_time()
    model.transform(X)
    return {
        "seconds": model.history_[-1]["seconds"],
        "processor_seconds": ends[1] - ends[0],
        "embedding_seconds": time.perf_counter() - started,
        "embedding_processor_seconds": time.process_time() - processor,
    }


def run() -> None:
    tables = []
    for stage, sizes in (("cluster", CLUSTERED), ("train", TRAINED)):
        rows = {}
        for n in sizes:
            code = f"import json; from benchmarks import capacity; print(json.dumps(capacity.{stage}({n})))"
            rows[f"{n:,}"] = figures = run_python(code)
            print(f"{stage:<10}{n:>12,}", *(f"{name} {value:,.4g}" for name, value in figures.items()), sep="  ")
        by_size = {n: figures["processor_seconds"] for n, figures in zip(sizes, rows.values(), strict=True)}
        exponent = fit_exponent(by_size)
        print(f"processor seconds grow with n^{exponent:.2f}")
        tables.append({"title": stage, "rows": rows, "exponent": exponent})
    store("capacity", tables)
