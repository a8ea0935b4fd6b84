"""Data to try things on."""

from shade.data.generators import make_three_clusters

__all__ = ["make_three_clusters"]
