"""The paper's tables and figures: methods, a runner that can be stopped at any time, and the stored results."""

from shade.experiments.methods import METHODS, Method, Outcome
from shade.experiments.runner import plan_runs, run_experiments
from shade.experiments.samples import BenchmarkSamples, load_samples
from shade.experiments.store import Run, RunStore
from shade.experiments.tables import TABLES, compare_with_published, format_table

__all__ = [
    "METHODS", "TABLES", "BenchmarkSamples", "Method", "Outcome", "Run", "RunStore", "compare_with_published",
    "format_table", "load_samples", "plan_runs", "run_experiments",
]  # fmt: skip
