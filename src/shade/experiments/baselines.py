"""Methods to compare with SHADE: ClustPy's deep clustering, HDBSCAN on several representations, and others.

ClustPy requires torchvision, of which the package index has no CPU build. It needs torchvision only for image networks
and dataset downloads. So install ClustPy without its dependencies, `pip install --no-deps clustpy`, in addition to the
`paper` extra, which has what it really imports. If torchvision is missing, this module provides a stand-in for it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shade._base.arrays import AnyArray, IntArray, SingleArray
from shade._base.extras import need
from shade._base.parallel import resolve_device
from shade.experiments.samples import BenchmarkSamples

if TYPE_CHECKING:
    import torch

# The setup of the paper, section "Experiment Details". It is the same for all methods.
BATCH_SIZE = 500
EMBEDDING_SIZE = 10
PRETRAIN_EPOCHS = 50
EPOCHS = 100
NETWORK = (512, 256, 128)
MIN_POINTS = 5

#: From samples, parameters, seed and device to labels and the points that were clustered.
Baseline = Callable[[BenchmarkSamples, Mapping[str, Any], int, str], tuple[IntArray, AnyArray]]

_GIVEN_K = ("DEC", "IDEC", "DCN", "DipEncoder")


class _StandIn(types.ModuleType):
    """A module that has every attribute."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def load_clustpy() -> Any:
    """Return ClustPy's deep clustering methods as a module, or None if ClustPy is not installed."""
    if importlib.util.find_spec("clustpy") is None:
        return None
    if "torchvision" not in sys.modules and importlib.util.find_spec("torchvision") is None:
        for name in ("", ".models", ".models._api", ".models.resnet", ".transforms", ".datasets"):
            sys.modules[f"torchvision{name}"] = _StandIn(f"torchvision{name}")
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        deep = importlib.import_module("clustpy.deep")
        module = importlib.import_module("clustpy.deep.dipdeck")
    module._DipDECK_Module.to_device = _move_dipdeck  # noqa: SLF001 (another package, which has no other door)
    return deep


def _move_dipdeck(module: Any, device: torch.device) -> Any:
    """Move DipDECK's tensors. ClustPy 0.0.3 does not store the moved ones, so DipDECK fails except on the CPU."""
    for name in ("labels", "cluster_centers", "dip_matrix"):
        setattr(module, name, getattr(module, name).to(device))
    return module


class _Batches:
    """Batches like those of ClustPy's loaders, [rows, samples], but indexed at once and not sample by sample."""

    def __init__(self, X: SingleArray, batch_size: int, device: torch.device, shuffle: bool) -> None:
        import torch

        self.dataset = torch.from_numpy(X).to(device)
        self.batch_size = batch_size
        self.shuffle = shuffle

    def __len__(self) -> int:
        return (len(self.dataset) + self.batch_size - 1) // self.batch_size

    def __iter__(self) -> Iterator[list[torch.Tensor]]:
        import torch

        # ClustPy seeds torch's global generator, which its own loaders use.
        count = len(self.dataset)
        order = torch.randperm(count) if self.shuffle else torch.arange(count)
        for start in range(0, count, self.batch_size):
            rows = order[start : start + self.batch_size]
            yield [rows, self.dataset[rows.to(self.dataset.device)]]


def run_clustpy(
    name: str, samples: BenchmarkSamples, parameters: Mapping[str, Any], seed: int, device: str
) -> tuple[IntArray, AnyArray]:
    """Run a method of ClustPy with the setup of the paper; return labels and embedding."""
    deep = load_clustpy()
    if deep is None:
        raise ImportError(f"{name} needs ClustPy: pip install --no-deps clustpy (see shade.experiments.baselines)")
    X = samples.standardized()
    settings = {**_settings_of(name, samples), **parameters}
    hidden = settings.pop("network", NETWORK)
    layers = [X.shape[1], *hidden, settings["embedding_size"]]
    # A class and its parameters: the method itself then builds and seeds the network.
    network = (deep.neural_networks.FeedforwardAutoencoder, {"layers": layers})
    place = resolve_device(device)
    loaders = (_Batches(X, settings["batch_size"], place, True), _Batches(X, settings["batch_size"], place, False))
    method = getattr(deep, name)(
        **settings, neural_network=network, custom_dataloaders=loaders, device=place, random_state=seed
    )
    with _quiet():
        method.fit(X)
        embedding = method.transform(X)
    return np.asarray(method.labels_, np.int64), np.asarray(embedding, np.float32)


def _settings_of(name: str, samples: BenchmarkSamples) -> dict[str, Any]:
    settings: dict[str, Any] = {"batch_size": BATCH_SIZE, "embedding_size": EMBEDDING_SIZE}
    if name in _GIVEN_K:
        settings["n_clusters"] = samples.n_clusters
    if name == "SHADE":
        # The defaults of ClustPy, except for the tree: the paper trains on the trees of the batches.
        return {**settings, "min_samples": MIN_POINTS, "clustering_epochs": EPOCHS, "use_complete_dc_tree": False}
    settings["pretrain_epochs"] = PRETRAIN_EPOCHS
    if name != "DDC":  # DDC clusters once, after the autoencoder is trained
        settings["clustering_epochs"] = EPOCHS
    return settings


def run_hdbscan(
    representation: str, suite: bool, samples: BenchmarkSamples, parameters: Mapping[str, Any], seed: int, device: str
) -> tuple[IntArray, AnyArray]:
    """Run scikit-learn's HDBSCAN on the standardised data, its principal components, or UMAP.

    In the suite, a cluster has at least 0.5 % of the rows, and UMAP has 15 neighbours and 10 dimensions.
    """
    from sklearn.cluster import HDBSCAN

    X = samples.standardized()
    size = EMBEDDING_SIZE if suite else min(EMBEDDING_SIZE, *X.shape)
    points = _represent(X, representation, size, seed, n_neighbors=15 if suite else 30)
    smallest = max(2 * MIN_POINTS, len(X) // 200 if suite else 0)
    settings = {"min_samples": MIN_POINTS, "min_cluster_size": smallest, "copy": True, **parameters}
    labels = HDBSCAN(**settings).fit_predict(points)
    return labels.astype(np.int64), points


def _represent(X: AnyArray, how: str, size: int, seed: int, n_neighbors: int = 0) -> AnyArray:
    if how == "PCA":
        from sklearn.decomposition import PCA

        return np.asarray(PCA(size, random_state=seed).fit_transform(X))
    if how == "UMAP":
        with _quiet():
            umap = need("umap", "suite", "HDBSCAN on UMAP")
            # The minimum distance that UMAP's authors recommend for clustering.
            reducer = umap.UMAP(n_neighbors=n_neighbors, min_dist=0.0, n_components=size, random_state=seed)
            return np.asarray(reducer.fit_transform(X))
    return X


def run_peer(
    name: str, samples: BenchmarkSamples, parameters: Mapping[str, Any], seed: int, device: str
) -> tuple[IntArray, AnyArray]:
    """Run a method on the standardised data: EVoC, PLSCAN, Leiden or k-means."""
    X = samples.standardized()
    with _quiet():
        return np.asarray(_PEERS[name](X, samples.n_clusters, seed, parameters), np.int64), X


def _find_by_evoc(X: SingleArray, n_clusters: int, seed: int, parameters: Mapping[str, Any]) -> Any:
    return need("evoc", "suite", "EVoC").EVoC(**{"random_state": seed, **parameters}).fit_predict(X)


def _find_by_plscan(X: SingleArray, n_clusters: int, seed: int, parameters: Mapping[str, Any]) -> Any:
    return need("fast_plscan", "suite", "PLSCAN").PLSCAN(**parameters).fit(X).labels_


def _find_by_kmeans(X: SingleArray, n_clusters: int, seed: int, parameters: Mapping[str, Any]) -> Any:
    from sklearn.cluster import KMeans

    settings = {"n_clusters": n_clusters, "n_init": 10, "random_state": seed, **parameters}
    return KMeans(**settings).fit_predict(X)


def _find_by_leiden(X: SingleArray, n_clusters: int, seed: int, parameters: Mapping[str, Any]) -> Any:
    """Return the communities of the graph that connects each row with its 15 nearest in 50 principal components."""
    from scipy.sparse import triu
    from sklearn.neighbors import kneighbors_graph

    # Both have the GPL as licence: no part of shade may depend on them, so they are in no extra.
    leiden, igraph = (need(name, "", "Leiden", install="leidenalg") for name in ("leidenalg", "igraph"))
    points = _represent(X, "PCA" if min(X.shape) > 50 else "data", 50, seed)
    neighbours = kneighbors_graph(points, min(15, len(points) - 1))
    edges = np.transpose(triu(neighbours + neighbours.T).nonzero())
    graph = igraph.Graph(n=len(points), edges=edges.tolist())
    settings = {"resolution_parameter": 1.0, "seed": seed, **parameters}
    return leiden.find_partition(graph, leiden.RBConfigurationVertexPartition, **settings).membership


_PEERS = {"EVoC": _find_by_evoc, "PLSCAN": _find_by_plscan, "Leiden": _find_by_leiden, "k-means": _find_by_kmeans}


@contextlib.contextmanager
def _quiet() -> Any:
    """Suppress output, warnings and progress bars of other packages; the runner reports progress itself."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield
