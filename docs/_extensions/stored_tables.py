"""From stored runs and tables to the rows of a table."""

from __future__ import annotations

import numpy as np

from shade.experiments.store import Run

TITLES = {
    "default": "shade",
    "UMAP HDBSCAN": "UMAP + HDBSCAN",
    "PCA HDBSCAN": "PCA + HDBSCAN",
    "SHADE": "shade, settings of the paper",
    "ClustPy SHADE": "SHADE of ClustPy",
}
TOLD = ("DEC", "IDEC", "DCN")  # need the number of clusters


def compare_methods(runs: list[Run]) -> tuple[list[str], list[list[str]]]:
    """Return the datasets that all methods have, and a row per method: its means over the seeds, and their mean."""
    scores: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        if run.ari_1nn is not None:
            scores.setdefault(run.method, {}).setdefault(run.dataset, []).append(
                100 * run.ari_1nn
            )
    datasets = sorted(set.intersection(*map(set, scores.values())))
    rows = []
    for method, found in scores.items():
        means = [float(np.mean(found[dataset])) for dataset in datasets]
        title = TITLES.get(method, method)
        title += ", told the number of clusters" if method in TOLD else ""
        rows.append((title, means, float(np.mean(means))))
    rows.sort(key=lambda row: -row[2])
    return datasets, [
        [title, f"{whole:.1f}", *(f"{mean:.1f}" for mean in means)]
        for title, means, whole in rows
    ]


def last_row(text: str) -> list[tuple[str, str]]:
    """Return names and values of the last row of a markdown table, without empty cells."""
    lines = [
        [cell.strip(" *") for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    return [
        (name, value) for name, value in zip(lines[0], lines[-1], strict=True) if value
    ]
