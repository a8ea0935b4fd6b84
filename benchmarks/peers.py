"""Spanning trees of mutual reachability by shade and by what people would use instead.

A core distance reaches five points, the point itself included: four for programs that do not count it. The peers that
offer no tree of their own are timed for a whole fit, of which the tree is nearly all.
"""

import functools
from collections.abc import Callable

import numpy as np

Run = Callable[[], object]


def _shade(X: np.ndarray) -> Run:
    from shade.density import minimum_spanning_tree

    return lambda: minimum_spanning_tree(X, 5)


def _quitefastmst(X: np.ndarray) -> Run:
    import quitefastmst

    return lambda: quitefastmst.mst_euclid(X, 4)


def _fast_hdbscan(X: np.ndarray) -> Run:
    import fast_hdbscan

    single = X.astype(np.float32)
    return lambda: fast_hdbscan.HDBSCAN(min_cluster_size=10, min_samples=4).fit(single)


def _hdbscan(X: np.ndarray) -> Run:
    import hdbscan

    return lambda: hdbscan.HDBSCAN(min_cluster_size=10, min_samples=4, core_dist_n_jobs=-1).fit(X)


def _scikit_learn(X: np.ndarray) -> Run:
    from sklearn.cluster import HDBSCAN

    return lambda: HDBSCAN(min_cluster_size=10, min_samples=5, n_jobs=-1, copy=True).fit(X)


def _clustpy(X: np.ndarray) -> Run:
    from shade.experiments.baselines import load_clustpy

    if load_clustpy() is None:
        raise ImportError("clustpy")
    from clustpy.utils.dctree import DCTree

    return lambda: DCTree(X, min_samples=5)


MAKERS: dict[str, Callable[[np.ndarray], Run]] = {
    "shade": _shade,
    "quitefastmst": _quitefastmst,
    "fast_hdbscan (whole fit)": _fast_hdbscan,
    "hdbscan (whole fit)": _hdbscan,
    "scikit-learn (whole fit)": _scikit_learn,
    "ClustPy's DCTree": _clustpy,
}
FAST = ("shade", "quitefastmst")
MATRIX = "ClustPy's DCTree"  # holds n × n numbers: for small data only


def contestants(X: np.ndarray, names: tuple[str, ...]) -> dict[str, Run]:
    """Those of the named that are installed."""
    return {name: MAKERS[name](X) for name in names if name not in absent()}


@functools.cache
def absent() -> list[str]:
    """Peers that are not installed here."""
    missing = []
    for name, make in MAKERS.items():
        try:
            make(np.zeros((8, 2)))
        except ImportError:
            missing.append(name)
    return missing
