"""One run: time and memory of the method, then the quality of its result."""

from __future__ import annotations

import contextlib
import platform
import re
import resource
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from shade import __version__
from shade._base.arrays import IntArray
from shade._base.extras import installed_versions
from shade._base.parallel import resolve_device
from shade.density.dc_tree import DCTree
from shade.experiments.baselines import MIN_POINTS
from shade.experiments.methods import Method, Outcome, code_of, run_method
from shade.experiments.samples import BenchmarkSamples, load_samples
from shade.experiments.store import Run, pack_labels
from shade.metrics import Agreement, dcsi_score, disco_score, measure_agreement

_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "numba", "clustpy", "umap-learn", "densired", "evoc",
             "fast-plscan", "leidenalg")  # fmt: skip
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Plan:
    """A planned run."""

    table: str
    dataset: str
    method: Method
    seed: int

    def report(self, **found: Any) -> Run:
        """Return the run with its results."""
        method = self.method
        what = (self.table, self.dataset, method.name, method.as_json, method.key, self.seed)
        return Run(*what, code=code_of(method.name), **found)


def measure_run(plan: Plan, device: str, folder: str | None, n_jobs: int | None) -> Run:
    """Run a method once. If it raises an error, this is the failure of the run."""
    versions = {"shade": __version__, "python": platform.python_version(), **installed_versions(_PACKAGES)}
    facts: dict[str, object] = {"versions": dumps(versions)}
    started = time.perf_counter()
    try:
        samples = load_samples(plan.dataset, folder)
        facts["device"] = _name_device(device)
        _forget_peaks()
        started = time.perf_counter()
        outcome = run_method(plan.method, samples, plan.seed, device, n_jobs)
        facts |= {"seconds": time.perf_counter() - started, "peak_megabytes": _high_water_mark()}
        facts["device_megabytes"] = None if (cuda := _cuda()) is None else cuda.max_memory_allocated() / 2**20
        # The index always uses the same min_samples, so that runs with different values can be compared.
        same = plan.method.parameters.get("min_samples", MIN_POINTS) == MIN_POINTS
        facts |= _measure(samples, outcome, outcome.tree if same else None)
    except Exception as error:  # a baseline may fail in any way; the failure is a result
        facts |= {"failure": f"{type(error).__name__}: {error}", "seconds": time.perf_counter() - started}
    return plan.report(**facts, finished=datetime.now(UTC).isoformat(timespec="seconds"))


def _measure(samples: BenchmarkSamples, outcome: Outcome, tree: DCTree | None) -> dict[str, object]:
    embedding = np.asarray(outcome.embedding, np.float64)
    agreement = _agree(samples, outcome.labels, outcome.assigned)
    over_links = {}
    if outcome.nearest is not None:
        over_links = {"ari_links": agreement.ari_1nn, "nmi_links": agreement.nmi_1nn}
        agreement = _agree(samples, outcome.labels, outcome.nearest())
    return {
        **asdict(agreement),
        **over_links,
        "dcsi": dcsi_score(embedding, samples.y, squared=True),
        "disco": disco_score(embedding, outcome.labels, min_samples=MIN_POINTS, tree=tree),
        "labels": pack_labels(outcome.labels),
        "assigned": pack_labels(outcome.assigned),
    }


def _agree(samples: BenchmarkSamples, labels: IntArray, assigned: IntArray) -> Agreement:
    """Return the agreement with the truth, or with the best of several true labelings."""
    found = [measure_agreement(truth, labels, assigned) for truth in (samples.y, *samples.alternatives)]
    return max(found, key=lambda agreement: agreement.ari_1nn)


def _cuda() -> Any:
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized() else None


def _forget_peaks() -> None:
    """Start a new measurement of peak memory, of this process and on CUDA."""
    # On Linux, the peak can be reset, so that earlier runs of a worker are not included.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    if (cuda := _cuda()) is not None:
        cuda.reset_peak_memory_stats()


def _high_water_mark() -> float:
    with contextlib.suppress(OSError):
        if found := re.search(r"VmHWM:\s*(\d+)", _STATUS.read_text()):
            return int(found[1]) / 1024.0
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _name_device(device: str) -> str:
    resolved = resolve_device(device)
    if resolved.type == "cuda":
        import torch

        return str(torch.cuda.get_device_name(resolved))
    return resolved.type
