"""A file four times as large as the memory that the process may take beyond the interpreter and torch."""

import argparse
import logging
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import Table, peak_megabytes, store
from shade import SHADE
from shade.report import write_report

COLUMNS = 2000
CLUSTERS = 5
SETTINGS = {
    "network": (32,), "embedding_size": 2, "n_networks": 1, "tree": "batch", "batch_size": 100, "random_state": 0
}  # fmt: skip


def write_file(path: Path, megabytes: int) -> None:
    """Gaussian clusters, written block by block."""
    rows, random = megabytes * 10**6 // (4 * COLUMNS), np.random.default_rng(0)
    centres = 4 * random.normal(size=(CLUSTERS, COLUMNS)).astype(np.float32)
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (rows, COLUMNS)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, rows, 1000):
            count = min(1000, rows - start)
            noise = random.standard_normal((count, COLUMNS), np.float32)
            (centres[random.integers(CLUSTERS, size=count)] + noise).tofile(file)


def taken() -> int:
    """Address space of the process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def measure(folder: Path, megabytes: int, epochs: int, *, compare: bool) -> Table:
    """Fit, predict and report under the limit; then, without it, fit the same rows in memory."""
    path = folder / "rows.npy"
    if not path.exists():
        write_file(path, megabytes)
    # Kernels are compiled, threads made and packages loaded before the limit: they belong to the interpreter and torch.
    warm = np.load(path, mmap_mode="r")[:3000].astype(np.float64)
    model = SHADE(**SETTINGS, epochs=epochs).fit(warm)
    model.predict(warm)
    write_report(model, folder / "report.html")
    budget = megabytes * 10**6 // 4
    before, (_, most) = taken(), resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (before + budget, most))
    times = [time.perf_counter()]
    model = SHADE(**SETTINGS, epochs=epochs).fit(path, memory=budget)
    times.append(time.perf_counter())
    labels = model.predict(path)
    times.append(time.perf_counter())
    report = write_report(model, folder / "report.html").stat().st_size
    times.append(time.perf_counter())
    figures = {
        "file_megabytes": path.stat().st_size // 10**6,
        "budget_megabytes": budget // 10**6,
        "taken_before_megabytes": before // 10**6,
        "peak_megabytes": peak_megabytes(),
        **dict(zip(("fit_seconds", "predict_seconds", "report_seconds"), np.diff(times).tolist(), strict=True)),
        "report_megabytes": report / 1e6,
        "clusters": model.n_clusters_,
        "noise": float(np.mean(labels < 0)),
    }
    print(*(f"{name:<28}{value:>10,.5g}" for name, value in figures.items()), sep="\n")
    if not np.array_equal(labels, model.labels_):
        raise SystemExit("predict differs from the labels of the fit")
    print("labels of the file equal predict")
    if compare:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        in_memory = SHADE(**SETTINGS, epochs=epochs).fit(np.load(path), memory=budget)
        if not np.array_equal(in_memory.embedding_, model.embedding_):
            raise SystemExit("the fit of the same rows in memory differs")
        print("labels of the file equal those of the same rows in memory, in the same windows")
        del in_memory
        whole = SHADE(**SETTINGS, epochs=epochs).fit(np.load(path))
        figures["agreement_without_windows"] = float(adjusted_rand_score(whole.labels_, labels))
        print(f"agreement with a fit without windows: ARI {figures['agreement_without_windows']:.4f}")
    title = f"a file of {len(labels):,} x {COLUMNS:,}, epochs: {epochs}, memory: a quarter of its size"
    return {"title": title, "rows": {"shade": figures}}


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store("out_of_core", [measure(Path(folder), 4000, 1, compare=False)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.out_of_core", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the file rows.npy is, or is written")
    parser.add_argument("--megabytes", type=int, default=4000)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--compare", action="store_true", help="fit the rows in memory as well")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    measure(arguments.folder, arguments.megabytes, arguments.epochs, compare=arguments.compare)
