"""What a few known labels are worth: the agreement of the other rows, on the datasets of the suite."""

from dataclasses import replace

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks import data
from benchmarks.measure import RESULTS
from shade import SHADE
from shade.clustering.known import Known
from shade.experiments.samples import SHAPES, kind_of, suite_datasets

SHARE, DRAWS = 0.01, 3


def run() -> None:
    """Fit each dataset once without labels; then let the clusters agree with some. Labels do not change training."""
    lines = ["| dataset | rows | classes | clusters | ARI | with 1 % of the labels |", "|---|---|---|---|---|---|"]
    figures = []
    for name in suite_datasets(data.FOLDER):
        if kind_of(name) == SHAPES:
            continue
        with np.load(data.FOLDER / "suite" / f"{name}.npz") as arrays:
            X, y = arrays["X"], arrays["y"].astype(np.int64)
        free = SHADE(random_state=0).fit(X).clustering_
        pairs = []
        for draw in range(DRAWS):
            given = draw_labels(y, draw)
            others = given < 0
            told = replace(free, known=Known.from_user(given, None, None, len(y)))
            pairs.append([100 * adjusted_rand_score(y[others], found.flat.labels[others]) for found in (free, told)])
        figures.append(np.mean(pairs, axis=0))
        before, after = figures[-1]
        classes = len(np.unique(y))
        lines.append(f"| {name} | {len(X):,} | {classes} | {free.flat.n_clusters} | {before:.1f} | {after:.1f} |")
        print(lines[-1], flush=True)
    before, after = np.mean(figures, axis=0)
    lines.append(f"| mean of {len(figures)} | | | | **{before:.1f}** | **{after:.1f}** |")
    print(lines[-1])
    text = "# Known labels of 1 % of the rows: ARI of the other rows, mean of three draws\n\n"
    (RESULTS / "known_labels.md").write_text(text + "\n".join(lines) + "\n", encoding="utf-8")


def draw_labels(y: np.ndarray, seed: int) -> np.ndarray:
    """The labels of a share of the rows, −1 for the others."""
    rows = np.random.default_rng(seed).choice(len(y), max(1, round(SHARE * len(y))), replace=False)
    given = np.full(len(y), -1)
    given[rows] = y[rows]
    return given
