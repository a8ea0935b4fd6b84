"""Your own data, and data for experiments: generators, and the benchmark datasets of the paper."""

from typing import TYPE_CHECKING, Any

from shade.data.catalogue import DATASETS, DatasetInfo
from shade.data.datasets import Dataset, DatasetError, data_folder, load_dataset
from shade.data.generators import make_blobs, make_densired, make_moons, make_rings, make_three_clusters
from shade.data.readers import read_samples
from shade.data.samples import Samples

if TYPE_CHECKING:
    from shade.data.table_encoder import TableEncoder

__all__ = [
    "DATASETS", "Dataset", "DatasetError", "DatasetInfo", "Samples", "TableEncoder", "data_folder", "load_dataset",
    "make_blobs", "make_densired", "make_moons", "make_rings", "make_three_clusters", "read_samples",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what needs scikit-learn only when it is used."""
    if name != "TableEncoder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shade.data.table_encoder import TableEncoder

    return TableEncoder
