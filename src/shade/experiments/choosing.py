"""Choosing one of several seeds without labels: indices, and the quality of the runs that they choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from sklearn.metrics import adjusted_rand_score

from shade._base.arrays import FloatArray, IntArray
from shade.experiments.store import Run, RunStore, unpack_labels
from shade.experiments.tables import lay_out

# There are 252 ways to choose 5 of 10 runs. If there are many more, this number of choices is drawn.
MOST_CHOICES = 1_000


@dataclass(frozen=True)
class Choice:
    """Mean ARI in percent of the runs that are chosen out of `of` seeds, over all ways to choose these seeds.

    `mean` is the mean over all runs. `best` is the mean of the best runs, which can only be found with labels.
    """

    method: str
    dataset: str
    runs: int
    of: int
    mean: float
    best: float
    chosen: dict[str, float]


def agreement_of(labelings: list[IntArray]) -> FloatArray:
    """Return the adjusted Rand index of all pairs of clusterings, as a matrix."""
    agreement = np.eye(len(labelings))
    for one, other in combinations(range(len(labelings)), 2):
        agreement[one, other] = agreement[other, one] = adjusted_rand_score(labelings[one], labelings[other])
    return agreement


def compare_choices(store: RunStore, table: str | None = None, of: int = 5) -> list[Choice]:
    """Measure how well each index chooses one of several runs with different seeds, for each method and dataset.

    If a dataset has fewer than `of` runs, but at least three, all of its runs are used.
    """
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in store.runs(table):
        if not run.failure and run.assigned is not None:
            groups.setdefault((run.method, run.key, run.dataset), []).append(run)
    return [_choose(runs, min(of, len(runs))) for _, runs in sorted(groups.items()) if len(runs) > 2]


def _choose(runs: list[Run], of: int) -> Choice:
    found = 100.0 * np.array([run.ari_assigned or 0.0 for run in runs])
    agreement = agreement_of([unpack_labels(run.assigned or b"") for run in runs])
    disco = np.array([np.nan if run.disco is None else run.disco for run in runs])
    noise = np.array([run.noise_share or 0.0 for run in runs])
    indices: dict[str, Callable[[list[int]], FloatArray]] = {
        "agreement": lambda rows: agreement[np.ix_(rows, rows)].sum(axis=1),
        "DISCO": lambda rows: np.nan_to_num(disco[rows], nan=-1.0),
        "least noise": lambda rows: -noise[rows],
    }
    choices = _subsets(len(runs), of)
    chosen = {
        name: float(np.mean([found[rows[int(np.argmax(index(rows)))]] for rows in choices]))
        for name, index in indices.items()
    }
    best = float(np.mean([found[rows].max() for rows in choices]))
    first = runs[0]
    label = f"{first.method} {first.parameters}" if first.key else first.method
    return Choice(label, first.dataset, len(runs), of, float(found.mean()), best, chosen)


def _subsets(count: int, size: int) -> list[list[int]]:
    if comb(count, size) <= MOST_CHOICES:
        return [list(rows) for rows in combinations(range(count), size)]
    rng = np.random.default_rng(0)
    return [list(rng.choice(count, size, replace=False)) for _ in range(MOST_CHOICES)]


def format_choices(choices: list[Choice]) -> str:
    """Format choices as text. The last lines are the means of each method over the datasets."""
    names = list(choices[0].chosen)
    lines = [_cells(choice.method, choice.dataset, f"{choice.of} of {choice.runs}", [choice]) for choice in choices]
    methods = dict.fromkeys(choice.method for choice in choices)
    lines += [_cells(method, "mean", "", [one for one in choices if one.method == method]) for method in methods]
    return lay_out(["method", "dataset", "runs", "any", *names, "best"], lines)


def _cells(method: str, dataset: str, runs: str, choices: list[Choice]) -> list[str]:
    values = np.mean([[choice.mean, *choice.chosen.values(), choice.best] for choice in choices], axis=0)
    return [method, dataset, runs, *(f"{value:.1f}" for value in values)]
