"""A fitted model in place of what it found."""

from collections.abc import Callable
from io import BytesIO

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shade import SHADE, DCTreeClustering, plots


@pytest.fixture(scope="module", params=["SHADE", "DCTreeClustering"])
def model(request: pytest.FixtureRequest) -> SHADE | DCTreeClustering:
    random = np.random.default_rng(0)
    X = np.vstack([centre + random.normal(size=(60, 3)) for centre in (0.0, 20.0, 40.0)])
    quick = SHADE(epochs=2, network=(16,), embedding_size=2, n_networks=1, random_state=0)
    return (quick if request.param == "SHADE" else DCTreeClustering()).fit(X)


def drawn(plot: Callable[..., Axes], *given: object) -> bytes:
    figure = Figure(figsize=(4, 3), dpi=50)
    plot(*given, ax=figure.subplots())
    file = BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def test_a_model_is_shown_by_what_it_found(model: SHADE | DCTreeClustering) -> None:
    points = getattr(model, "embedding_", model.clustering_.points)
    other = np.arange(180) % 2
    for plot, parts in (
        (plots.plot_embedding, (points, model.labels_)),
        (plots.plot_reachability, (model.dc_tree_, model.labels_)),
        (plots.plot_structure_tree, (model.structure_tree_, model.clustering_.flat)),
        (plots.plot_stability, (model.structure_tree_,)),
    ):
        assert drawn(plot, model) == drawn(plot, *parts), plot
    for plot, parts in ((plots.plot_embedding, points), (plots.plot_reachability, model.dc_tree_)):
        assert drawn(plot, model, other) == drawn(plot, parts, other) != drawn(plot, model)
    one = model.recluster(n_clusters=1)
    assert drawn(plots.plot_structure_tree, one) == drawn(plots.plot_structure_tree, one.structure_tree_)
    if isinstance(model, SHADE):
        assert drawn(plots.plot_losses, model) == drawn(plots.plot_losses, model.history_)
