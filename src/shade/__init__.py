"""shade: deep density-based clustering.

Names are imported at their first use, so `import shade` loads neither torch nor numba.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shade._base.version import __version__

if TYPE_CHECKING:
    from shade import clustering, data, density, layout, metrics, plots, report, training
    from shade.estimators.dc_tree_clustering import DCTreeClustering
    from shade.estimators.loading import load
    from shade.estimators.shade import SHADE

#: The settings of the publication. They do not change with the defaults: `SHADE(**shade.PAPER)`.
PAPER: dict[str, Any] = {
    "min_samples": 5,
    "selection": "structure",
    "min_cluster_size": None,
    "n_networks": 1,
    "embedding_size": 10,
    "network": (512, 256, 128),
    "tree": "batch",
    "embedding_distance": "sqeuclidean",
    "density_unit": "data",
    "reconstruction": "mean",
    "standardize": "feature",
    "settle": False,
    "background_noise": False,
    "between_noise": True,
    "epochs": 100,
    "batch_size": 500,
    "learning_rate": 1e-3,
    "reconstruction_weight": 1.0,
    "density_weight": 1.0,
    "precision": "float32",
}

_HOMES = {
    "SHADE": "shade.estimators.shade",
    "DCTreeClustering": "shade.estimators.dc_tree_clustering",
    "load": "shade.estimators.loading",
}
_ROOMS = ("clustering", "data", "density", "layout", "metrics", "plots", "report", "training")

__all__ = [
    "PAPER",
    "SHADE",
    "DCTreeClustering",
    "__version__",
    "clustering",
    "data",
    "density",
    "layout",
    "load",
    "metrics",
    "plots",
    "report",
    "training",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        room: ModuleType = import_module(f"shade.{name}")
        return room
    raise AttributeError(f"module 'shade' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
