"""Interleaved timing, peak memory and growth; results as a table, as JSON and as a picture."""

import json
import math
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    "shade-clustering",
    "numpy",
    "numba",
    "torch",
    "scikit-learn",
    "quitefastmst",
    "fast_hdbscan",
    "hdbscan",
    "clustpy",
    "umap-learn",
    "openTSNE",
)
Table = dict[str, Any]


def machine() -> str:
    """The machine in words that name no host."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{os.cpu_count()}-core {platform.machine()} CPU"


def interleave(
    contestants: Mapping[str, Callable[[], object]],
    repeats: int,
    synchronize: Callable[[], object] = lambda: None,
    warm_up: Mapping[str, Callable[[], object]] | None = None,
) -> dict[str, list[float]]:
    """Seconds of each contestant, in turns, so that a noisy machine is noisy for all.

    Whatever is done once only, such as compiling, is done before: in a turn that does not count, or by `warm_up`.
    """
    for run in (contestants if warm_up is None else warm_up).values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, run in contestants.items():
            synchronize()
            started = time.perf_counter()
            run()
            synchronize()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def show(title: str, seconds: Mapping[str, list[float]], base: str) -> Table:
    """Print medians, and the ratio to a base turn by turn with its spread; returns what was printed."""
    print(f"\n{title}")
    print(f"{'':<32}{'median (s)':>12}{'least':>10}{'most':>10}{'x ' + base:>26}{'from':>9}{'to':>9}")
    rows = {}
    for name, values in seconds.items():
        ratios = [value / other for value, other in zip(values, seconds[base], strict=True)]
        ratio, median = statistics.median(ratios), statistics.median(values)
        rows[name] = {"seconds": values, "median": median, "ratio": ratio, "ratio_range": [min(ratios), max(ratios)]}
        print(
            f"{name:<32}{median:>12.4f}{min(values):>10.4f}{max(values):>10.4f}"
            f"{ratio:>26.2f}{min(ratios):>9.2f}{max(ratios):>9.2f}"
        )
    return {"title": title, "base": base, "load_average": os.getloadavg()[0], "rows": rows}


def show_growth(title: str, least: Mapping[str, Mapping[int, float]]) -> Table:
    """Print seconds by number of points and the exponent p of the fitted law seconds ~ n^p."""
    print(f"\n{title}")
    rows = {}
    for name, by_size in least.items():
        exponent = fit_exponent(by_size)
        rows[name] = {"seconds_by_points": {str(n): value for n, value in by_size.items()}, "exponent": exponent}
        times = "  ".join(f"{n:,}: {value:.2f}" for n, value in by_size.items())
        print(f"{name:<32}{times}   exponent {exponent:.2f}")
    return {"title": title, "load_average": os.getloadavg()[0], "rows": rows}


def fit_exponent(by_size: Mapping[int, float]) -> float:
    """Slope of the line through the logarithms of time and size; not a number from fewer than two sizes."""
    if len(by_size) < 2:
        return math.nan
    return statistics.linear_regression(
        [math.log(n) for n in by_size], [math.log(seconds) for seconds in by_size.values()]
    ).slope


def show_peaks(title: str, peaks: Mapping[str, int]) -> Table:
    """Print the peak memory of processes."""
    print(f"\n{title}")
    for name, megabytes in peaks.items():
        print(f"{name:<32}{megabytes:>10,} MB")
    return {"title": title, "rows": {name: {"peak_megabytes": peak} for name, peak in peaks.items()}}


def peak_megabytes() -> int:
    """The most memory that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage tells on Linux counts the process that started this one
        return int(status.read_text().split("VmHWM:")[1].split()[0]) // 1024
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit


def run_python(code: str, **environment: str) -> dict[str, Any]:
    """Run code in a new process and read the JSON of the last line that it prints."""
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, **environment},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        raise RuntimeError(f"A benchmark process failed:\n{finished.stderr[-2000:]}")
    return dict(json.loads(finished.stdout.strip().splitlines()[-1]))


def store(name: str, tables: list[Table], absent: list[str] | None = None, note: str = "") -> Path:
    """Write results under the name of the machine."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{re.sub(r'[^A-Za-z0-9.-]+', '_', machine())}.json"
    content = {
        "machine": machine(),
        "load_average": os.getloadavg(),
        "quiet": os.getloadavg()[2] < 1.2 * (os.cpu_count() or 1),
        "versions": {package: version for package in PACKAGES if (version := version_of(package))},
        "absent_peers": absent or [],
        "note": note,
        "tables": tables,
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"\nstored in {path.relative_to(RESULTS.parents[1])}")
    return path


def version_of(package: str) -> str | None:
    """Version of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
