"""Figures that pages quote are those of the stored runs."""

import importlib.util
import re
from itertools import dropwhile, takewhile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from shade.experiments.store import Run, RunStore

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "results" / "runs.sqlite"
NAMES = {
    "shade": "default",
    "HDBSCAN": "HDBSCAN",
    "UMAP + HDBSCAN": "UMAP HDBSCAN",
    "DDC": "DDC",
    "DEC, told the number of clusters": "DEC",
    "the settings of the paper": "SHADE",
}

pytestmark = pytest.mark.skipif(not RUNS.exists(), reason="the stored runs are part of a clone, not of the package")


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    store = RunStore(RUNS)
    return store.runs("experimentResults") + store.runs("mnist_etc")


def rows_below(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, its first row the names of the columns."""
    lines = (ROOT / page).read_text().split(f"## {heading}\n")[1].splitlines()
    below = dropwhile(lambda line: not line.startswith("|"), lines)
    names, _, *rows = takewhile(lambda line: line.startswith("|"), below)
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in (names, *rows)]


def scores(runs: list[Run], dataset: str, method: str) -> list[float]:
    found = [run.ari_1nn for run in runs if (run.dataset, run.method) == (dataset, method)]
    return [100.0 * score for score in found if score is not None]


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    """What the documentation makes tables of stored runs with."""
    spec = importlib.util.spec_from_file_location("stored_tables", ROOT / "docs" / "_extensions" / "stored_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_comparison_is_that_of_the_runs(runs: list[Run], tables: ModuleType) -> None:
    datasets, rows = tables.compare_methods(runs)
    assert len(datasets) == 8
    found = {cells[0]: [float(cell) for cell in cells[1:]] for cells in rows}
    for title, method in {"shade": "default", "HDBSCAN": "HDBSCAN", "DEC, told the number of clusters": "DEC"}.items():
        means = [float(np.mean(scores(runs, dataset, method))) for dataset in datasets]
        assert found[title] == pytest.approx([np.mean(means), *means], abs=0.051)
    assert [row[0] for row in found.values()] == sorted((row[0] for row in found.values()), reverse=True)


def test_the_last_row_of_a_table_is_read(tables: ModuleType) -> None:
    found = dict(tables.last_row((ROOT / "benchmarks" / "results" / "packaged.md").read_text(encoding="utf-8")))
    assert found.pop("dataset") == "mean of 40"
    assert found.keys() >= {"shade", "Leiden", "HDBSCAN"} and all(0 < float(value) < 100 for value in found.values())


def test_readme(runs: list[Run]) -> None:
    datasets, *methods = rows_below("README.md", "How it compares")
    assert {cells[0] for cells in methods} == NAMES.keys()
    for name, *cells in methods:
        means = [float(np.mean(scores(runs, dataset, NAMES[name]))) for dataset in datasets[1:-1]]
        assert [float(cell) for cell in cells] == pytest.approx([*means, float(np.mean(means))], abs=0.051), name


def test_experiments(runs: list[Run]) -> None:
    _, *datasets, means = rows_below("docs/experiments.md", "The defaults against the paper")
    assert len(datasets) == 12
    for column, method in ((1, "default"), (2, "SHADE")):
        found = [scores(runs, cells[0], method) for cells in datasets]
        assert all(len(of_seeds) >= 6 for of_seeds in found)
        for cells, of_seeds in zip(datasets, found, strict=True):
            mean, spread = (float(number) for number in re.split(" ± ", cells[column]))
            assert (mean, spread) == pytest.approx((np.mean(of_seeds), np.std(of_seeds)), abs=0.051), (cells[0], method)
        assert float(means[column]) == pytest.approx(np.mean([np.mean(of_seeds) for of_seeds in found]), abs=0.051)
