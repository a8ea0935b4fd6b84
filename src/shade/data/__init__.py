"""Data to try things on, and data of your own."""

from shade.data.generators import make_three_clusters
from shade.data.readers import read_samples
from shade.data.samples import Samples

__all__ = ["Samples", "make_three_clusters", "read_samples"]
