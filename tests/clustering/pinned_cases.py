"""Small fits whose results are kept in pins.json, so that moving code changes nothing and a changed rule shows itself.

`python -m tests.clustering.pinned_cases` writes the file anew; the commit that does so says which rule changed and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons

from shade import DCTreeClustering

PINS = Path(__file__).with_name("pins.json")
FEW = 7  # values kept of each array of floats


def make_points(name: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    if name == "blobs":
        return make_blobs(240, n_features=5, centers=4, random_state=1)[0]
    if name == "moons among noise":
        moons = make_moons(200, noise=0.05, random_state=0)[0]
        return np.vstack([moons, rng.uniform(-1.5, 2.5, (60, 2))])
    if name == "rings":
        return make_circles(220, noise=0.03, factor=0.4, random_state=0)[0]
    if name == "integers":
        return rng.integers(0, 7, (200, 2)).astype(float) + 20.0 * rng.integers(0, 2, (200, 1))
    if name == "nested":
        centres = np.repeat([[0.0, 0.0], [6.0, 0.0], [60.0, 0.0], [66.0, 0.0]], 50, axis=0)
        return centres + rng.standard_normal((200, 2))
    return rng.standard_normal((200, 3))  # one cloud


def fits() -> Iterator[tuple[str, Any]]:
    for data in ("blobs", "moons among noise", "rings", "integers", "nested", "one cloud"):
        points = make_points(data)
        for selection in ("structure", "branches", "information"):
            model = DCTreeClustering(selection=selection, **HDBSCAN_NOISE).fit(points)
            yield f"{data}, {selection}", model
            yield f"{data}, {selection}, cut", model.recluster(**{CUT: float(np.median(model.dc_tree_.height))})
        yield f"{data}, information, fewer noise", DCTreeClustering(**LESS_NOISE).fit(points)
        large = DCTreeClustering(selection="branches", min_cluster_size=20, **HDBSCAN_NOISE)
        yield f"{data}, branches of 20", large.fit(points)


def describe(model: Any) -> dict[str, Any]:
    """What is kept of a fit: all labels, and some of the figures beside them."""
    points = model.clustering_.points
    moved = points + 0.1 * points.std(axis=0)
    labels, probabilities = model.predict(moved, return_probabilities=True)
    arrays = {
        "probabilities": model.probabilities_,
        "outlier_scores": model.outlier_scores_,
        "persistence": model.cluster_persistence_,
        "predicted_probabilities": probabilities,
    }
    some = {name: [round(float(v), 9) for v in a[:: max(1, len(a) // FEW)]] for name, a in arrays.items()}
    return {"labels": _text(model.labels_), "predicted": _text(labels), **some}


def _text(labels: np.ndarray) -> str:
    return " ".join(map(str, labels))


HDBSCAN_NOISE: dict[str, Any] = {"background_noise": False, "between_noise": True}
LESS_NOISE: dict[str, Any] = {}
CUT = "cut_distance"

if __name__ == "__main__":
    PINS.write_text(json.dumps({name: describe(model) for name, model in fits()}, indent=0) + "\n")
