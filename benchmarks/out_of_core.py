"""A file four times as large as the memory that the process may take beyond the interpreter and torch."""

import argparse
import logging
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from shade import SHADE

COLUMNS = 2000
CLUSTERS = 5
SETTINGS = {
    "network": (32,), "embedding_size": 2, "ensemble": 1, "tree": "batch", "batch_size": 100, "random_state": 0
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


def measure(folder: Path, megabytes: int, epochs: int) -> None:
    path = folder / "rows.npy"
    write_file(path, megabytes)
    # Kernels are compiled and threads made before the limit is set: they belong to the interpreter and torch.
    warm = np.load(path, mmap_mode="r")[:3000].astype(np.float64)
    SHADE(**SETTINGS, epochs=epochs).fit(warm).predict(warm)
    budget = megabytes * 10**6 // 4
    limit = taken() + budget
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print(
        f"file {path.stat().st_size / 1e6:.0f} MB, budget {budget / 1e6:.0f} MB beyond {(limit - budget) / 1e6:.0f} MB"
    )
    started = time.perf_counter()
    model = SHADE(**SETTINGS, epochs=epochs).fit(path, memory=budget)
    fitted = time.perf_counter()
    labels = model.predict(path)
    predicted = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"fit {fitted - started:.1f} s, predict {predicted - fitted:.1f} s, peak {peak:.0f} MB with everything")
    print(f"{len(labels)} rows, {model.n_clusters_} clusters of {CLUSTERS}, noise {np.mean(labels < 0):.1%}")
    if not np.array_equal(labels, model.labels_):
        raise SystemExit("predict differs from the labels of the fit")
    print("labels of the file equal predict")


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), 4000, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.out_of_core", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the file is written")
    parser.add_argument("--megabytes", type=int, default=4000)
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    measure(arguments.folder, arguments.megabytes, arguments.epochs)
