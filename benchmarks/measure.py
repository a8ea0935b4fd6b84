"""Interleaved timing, and results as a table and as JSON."""

import json
import platform
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def interleave(
    contestants: Mapping[str, Callable[[], object]], repeats: int, synchronize: Callable[[], object] = lambda: None
) -> dict[str, list[float]]:
    """Seconds of each contestant, in turns, so that a noisy machine is noisy for all; the first turn warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for repeat in range(repeats + 1):
        for name, run in contestants.items():
            synchronize()
            started = time.perf_counter()
            run()
            synchronize()
            if repeat > 0:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def show(title: str, seconds: Mapping[str, list[float]], base: str) -> dict[str, Any]:
    """Print medians, spread and the ratio to a base; returns what was printed."""
    print(f"\n{title}")
    print(f"{'':<34}{'median (s)':>12}{'least':>10}{'most':>10}{'x ' + base:>28}")
    rows = {}
    middle = statistics.median(seconds[base])
    for name, values in seconds.items():
        median = statistics.median(values)
        rows[name] = {"seconds": values, "median": median, "ratio": median / middle}
        print(f"{name:<34}{median:>12.4f}{min(values):>10.4f}{max(values):>10.4f}{median / middle:>28.2f}")
    return {"title": title, "base": base, "rows": rows}


def store(name: str, machine: str, tables: list[dict[str, Any]]) -> None:
    """Write results under the name of the machine."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{machine}.json"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    content = {"machine": platform.processor() or platform.machine(), "peak_megabytes": peak, "tables": tables}
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"\nstored in {path}")
