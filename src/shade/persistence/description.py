"""Description of a model file without building the model, and so without loading torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from shade.persistence.model_checks import check_contents
from shade.persistence.model_file import ModelContents


def describe_model(contents: ModelContents) -> dict[str, Any]:
    """Describe the model in a file without building it."""
    check_contents(contents)
    description, labels = contents.description, contents.arrays["clustering.labels"]
    history = description["history"]
    last = history[-1] if history else {}
    return {
        "format": description["format"],
        "estimator": description["estimator"],
        "versions": description["versions"],
        "rows": len(labels),
        "sample_shape": description["sample_shape"],
        "feature_names": description["feature_names"],
        "embedding_columns": contents.arrays["embedding"].shape[1],
        "weights": contents.n_weights,
        "clusters": len(contents.arrays["clustering.limit"]),
        "noise": float(np.mean(labels < 0)),
        "clusters_found_in": "data" if description["of_data"] else "embedding" if history else "points",
        "settled": description["settled"],
        "cluster_sizes": np.bincount(labels[labels >= 0]).tolist(),
        "networks": len({record.get("network", 0) for record in history}),
        "epochs": max((record.get("epoch", 0) for record in history), default=0),
        "losses": {name: value for name, value in last.items() if name.endswith("loss")},
        "seed": description.get("seed"),
        "parameters": description["parameters"],
    }
