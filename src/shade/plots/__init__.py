"""Plots of embeddings, trees and training. Each function draws into `ax` and returns it; it never opens a window."""

from shade.plots.confusion import plot_confusion
from shade.plots.embedding import plot_embedding
from shade.plots.losses import plot_losses
from shade.plots.palette import NOISE_COLOUR, cluster_colours
from shade.plots.reachability import plot_reachability
from shade.plots.stability import plot_stability
from shade.plots.structure_tree import plot_structure_tree

__all__ = [
    "NOISE_COLOUR",
    "cluster_colours",
    "plot_confusion",
    "plot_embedding",
    "plot_losses",
    "plot_reachability",
    "plot_stability",
    "plot_structure_tree",
]
