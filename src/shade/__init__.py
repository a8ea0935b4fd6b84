"""shade: deep density-based clustering.

Names are loaded when first used, so that `import shade` loads neither torch nor numba.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shade import data, density, metrics, network, plots, report, stability
    from shade.dc_tree_clustering import DCTreeClustering
    from shade.estimator import SHADE
    from shade.loading import load

__version__ = "0.1.0"

#: The settings of the publication, kept whatever the defaults become: `SHADE(**shade.PAPER)`.
PAPER: dict[str, Any] = {
    "min_points": 5,
    "selection": "structure",
    "min_cluster_size": None,
    "ensemble": 1,
    "embedding_size": 10,
    "network": (512, 256, 128),
    "tree": "batch",
    "distance": "sqeuclidean",
    "density_unit": "data",
    "reconstruction": "mean",
    "standardize": "feature",
    "noise": "embedding",
    "epochs": 100,
    "batch_size": 500,
    "learning_rate": 1e-3,
    "reconstruction_weight": 1.0,
    "density_weight": 1.0,
}

_HOMES = {
    "SHADE": "shade.estimator",
    "DCTreeClustering": "shade.dc_tree_clustering",
    "load": "shade.loading",
}
_ROOMS = ("data", "density", "metrics", "network", "plots", "report", "stability")

__all__ = [
    "PAPER",
    "SHADE",
    "DCTreeClustering",
    "__version__",
    "data",
    "density",
    "load",
    "metrics",
    "network",
    "plots",
    "report",
    "stability",
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
