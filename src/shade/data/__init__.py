"""Data of your own, and data to try things on: generators, and the benchmark datasets of the paper."""

from shade.data.catalogue import DATASETS, DatasetInfo
from shade.data.datasets import Dataset, DatasetError, data_folder, load_dataset
from shade.data.generators import make_blobs, make_densired, make_moons, make_rings, make_three_clusters
from shade.data.readers import read_samples
from shade.data.samples import Samples

__all__ = [
    "DATASETS", "Dataset", "DatasetError", "DatasetInfo", "Samples", "data_folder", "load_dataset", "make_blobs",
    "make_densired", "make_moons", "make_rings", "make_three_clusters", "read_samples",
]  # fmt: skip
