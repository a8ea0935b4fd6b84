"""What all pictures have in common, and what importing them costs."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

import shade.plots
from shade import plots

HISTORY = [{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.0}]


@pytest.fixture(params=[name for name in plots.__all__ if name.startswith("plot_")])
def draw(request, dc_tree, structure_tree, clustering, blobs):
    """Each function with its data, waiting for an ax."""
    data = {
        "plot_embedding": (blobs, clustering.labels),
        "plot_reachability": (dc_tree, clustering.labels),
        "plot_structure_tree": (structure_tree, clustering),
        "plot_losses": (HISTORY,),
        "plot_stability": (structure_tree,),
        "plot_confusion": (np.arange(len(blobs)) % 3, clustering.labels),
    }
    return lambda ax=None: getattr(plots, request.param)(*data[request.param], ax=ax)


def test_the_given_axes_are_drawn_into_and_returned_and_pyplot_learns_of_nothing(draw, ax):
    assert draw(ax) is ax
    assert ax.has_data()
    assert plt.get_fignums() == []


def test_the_current_figure_of_pyplot_is_left_alone(draw, ax):
    mine = plt.figure()
    draw(ax)
    assert plt.get_fignums() == [mine.number] and plt.gcf() is mine
    assert mine.axes == []


def test_without_axes_one_new_figure_is_made_and_not_shown(draw, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a plot must not show itself"))
    before = plt.figure()
    ax = draw()
    assert plt.get_fignums() == [before.number, ax.figure.number]
    assert before.axes == []


def test_nothing_written_leaves_the_figure(draw):
    figure = draw().figure
    figure.canvas.draw()
    box = figure.get_tightbbox().padded(-0.02)
    assert box.x0 >= 0 and box.y0 >= 0
    assert box.x1 <= figure.get_figwidth() and box.y1 <= figure.get_figheight()


def test_a_missing_matplotlib_is_told_with_its_remedy(draw, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"^Plots need matplotlib: pip install 'shade-clustering\[plots\]'$"):
        draw()


def test_importing_plots_loads_neither_matplotlib_nor_the_heavy_rooms():
    code = "import sys, shade.plots; print([m for m in ('matplotlib', 'torch', 'numba') if m in sys.modules])"
    path = shade.plots.__path__[0].removesuffix("/shade/plots")
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True, env={"PYTHONPATH": path})
    assert loaded.stdout.strip() == "[]"


def test_everything_public_is_listed():
    public = {name for name in dir(plots) if name.startswith(("plot_", "cluster_", "NOISE"))}
    assert set(plots.__all__) == public
    assert plots.__all__ == sorted(plots.__all__)
    assert all(getattr(plots, name).__doc__ for name in plots.__all__ if name != "NOISE_COLOUR")
