"""The three clusters of the paper's first figure, from data to plots."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from shade._base.arrays import FloatArray, IntArray
from shade.data import make_three_clusters
from shade.estimators.shade import SHADE

# Two linked rings cannot be separated in the plane without cutting one. The loss without units, with plain distances
# and the tree of all data, is strong enough for this.
SETTINGS: dict[str, Any] = {
    "embedding_size": 2,
    "n_networks": 1,
    "embedding_distance": "euclidean",
    "density_unit": "mean_edge",
}


RESULTS = ("clusters.csv", "labels.npy", "embedding.npy", "model.shade")
PICTURES = ("overview.png", "reachability.png", "structure_tree.png", "losses.png")
FILES = (*RESULTS, *PICTURES)


@dataclass(frozen=True)
class DemoResult:
    """The results of the demo, and its duration."""

    X: FloatArray
    truth: IntArray
    model: SHADE
    seconds: float

    @property
    def agreement(self) -> float:
        """Adjusted Rand index with the true clusters; noise is a cluster of its own."""
        return float(adjusted_rand_score(self.truth, self.model.labels_))

    @property
    def noise_share(self) -> float:
        """Fraction of points in no cluster."""
        return float(np.mean(self.model.labels_ < 0))


def run_demo(*, n_samples: int = 3000, epochs: int = 100, seed: int = 0, verbose: int = 0) -> DemoResult:
    """Generate the data, train with a two-dimensional embedding, and cluster."""
    X, truth = make_three_clusters(n_samples, random_state=seed)
    started = time.perf_counter()
    model = SHADE(**SETTINGS, epochs=epochs, random_state=seed, verbose=verbose).fit(X)
    return DemoResult(X, truth, model, time.perf_counter() - started)


def write_demo(result: DemoResult, folder: Path) -> list[Path]:
    """Write labels, embedding and, if matplotlib is installed, plots; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    model = result.model
    table = np.column_stack([model.labels_, model.probabilities_, model.embedding_, result.truth])
    header = "label,strength,embedding_1,embedding_2,true_cluster"
    np.savetxt(folder / "clusters.csv", table, "%d,%.6g,%.6g,%.6g,%d", header=header, comments="")
    np.save(folder / "labels.npy", model.labels_)
    np.save(folder / "embedding.npy", model.embedding_)
    model.save(folder / "model.shade")
    return [folder / name for name in RESULTS] + _draw(result, folder)


def _draw(result: DemoResult, folder: Path) -> list[Path]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    from shade import plots

    model = result.model
    draws = (
        lambda figure: _draw_overview(result, figure),
        lambda figure: plots.plot_reachability(model.dc_tree_, model.labels_, log=True, ax=figure.subplots()),
        lambda figure: plots.plot_structure_tree(model.structure_tree_, model.clustering_.flat, ax=figure.subplots()),
        lambda figure: plots.plot_losses(model.history_, ax=figure.subplots()),
    )
    for name, draw in zip(PICTURES, draws, strict=True):
        figure = Figure(figsize=(9.0, 3.6), layout="constrained")
        draw(figure)  # type: ignore[no-untyped-call]
        figure.savefig(folder / name, dpi=130)
    return [folder / name for name in PICTURES]


def _draw_overview(result: DemoResult, figure: Any) -> None:
    """Draw the data and its embedding side by side, both in the colours of the found clusters."""
    from shade import plots

    labels = result.model.labels_
    colours = np.vstack([plots.cluster_colours(result.model.n_clusters_), plots.NOISE_COLOUR])  # noise, −1, is last
    data = figure.add_subplot(1, 2, 1, projection="3d")
    data.scatter(*result.X.T, c=colours[labels], s=2)
    data.set_aspect("equal")
    data.set_axis_off()
    data.view_init(25, -65)
    data.set_title("data, coloured by the clusters found", fontsize="medium")
    embedding = figure.add_subplot(1, 2, 2)
    plots.plot_embedding(result.model.embedding_, labels, ax=embedding)
    embedding.set_title("embedding", fontsize="medium")
