"""Mutual-reachability spanning trees on the CPU, against what people would use instead."""

import os
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks import data
from benchmarks.measure import interleave, show, store
from shade.density import DCTree, minimum_spanning_tree
from shade.stability import StructureTree, select_clusters


def contestants(X: np.ndarray, slow: bool) -> dict[str, Callable[[], object]]:
    """Ours and every peer that is installed; a core distance reaches five points, the point itself included."""
    runs: dict[str, Callable[[], object]] = {"shade": lambda: minimum_spanning_tree(X, 5)}
    try:
        import quitefastmst

        runs["quitefastmst"] = lambda: quitefastmst.mst_euclid(X, 4)
    except ImportError:
        pass
    if not slow:
        return runs
    try:
        import fast_hdbscan

        single = X.astype(np.float32)
        runs["fast_hdbscan (whole fit)"] = lambda: fast_hdbscan.HDBSCAN(min_cluster_size=10, min_samples=5).fit(single)
    except ImportError:
        pass
    try:
        import hdbscan

        other = hdbscan.HDBSCAN(min_cluster_size=10, min_samples=4, core_dist_n_jobs=-1)
        runs["hdbscan (whole fit)"] = lambda: other.fit(X)
    except ImportError:
        pass
    from sklearn.cluster import HDBSCAN

    runs["scikit-learn (whole fit)"] = lambda: HDBSCAN(min_cluster_size=10, min_samples=5, n_jobs=-1, copy=True).fit(X)
    return runs


def run() -> None:
    warnings.simplefilter("ignore")
    tables = []
    for n, repeats, slow in ((10_000, 5, True), (70_000, 5, False), (70_000, 1, True), (200_000, 3, False)):
        X = data.mixture(n)
        title = f"spanning tree, mixture, {n:,} x 10" + (", slow peers too" if slow else "")
        tables.append(show(title, interleave(contestants(X, slow), repeats), "shade"))
    real = data.embedding(70_000)
    if real is not None:
        X = real.astype(np.float64)
        seconds = interleave(contestants(X, slow=False), 5)
        tables.append(show("spanning tree, embedding of mnist, 70,000 x 10", seconds, "shade"))
    X = data.mixture(1_000_000)
    tree = minimum_spanning_tree(X, 5)

    def after() -> None:
        select_clusters(StructureTree.from_dc_tree(DCTree.from_spanning_tree(tree), "information"))

    runs = {"spanning tree": lambda: minimum_spanning_tree(X, 5), "tree, selection, labels": after}
    tables.append(show("1,000,000 x 10", interleave(runs, 1), "spanning tree"))
    store("spanning_tree", f"cpu{os.cpu_count()}", tables)
