"""SHADE: an embedding that follows density-connectivity, and the clusters in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from shade import _validation
from shade._arrays import FloatArray, SingleArray
from shade._distributed import gather_shares, process_group, share_of
from shade._errors import unchanged_on_error
from shade._files import new_array_file
from shade._parallel import resolve_device
from shade._validation import Choice, Real, Rule, Whole, check_parameters
from shade.data.row_sources import RowSource
from shade.data.standardize import Standardizer, choose_standardization
from shade.data_groups import groups_of_data
from shade.embedder import Embedder
from shade.network.autoencoders import check_network, shape_for_network
from shade.network.callbacks import as_callback
from shade.result_warnings import warn_of_lonely_rows, warn_of_noise
from shade.row_checks import check_samples
from shade.training import begin_training, count_networks, plan_training, train
from shade.tree_clustering import CLUSTERING_RULES, TreeClusteringMixin

RULES: dict[str, Rule] = {
    **CLUSTERING_RULES,
    "ensemble": Whole(1, optional=True),
    "embedding_size": Whole(1),
    "tree": Choice(("auto", "batch", "complete")),
    "distance": Choice(("sqeuclidean", "euclidean")),
    "density_unit": Choice(("data", "deviation", "mean_edge")),
    "reconstruction": Choice(("mean", "sum")),
    "standardize": Choice(("auto", "feature", "global", False)),
    "noise": Choice(("embedding", "data", "outliers")),
    "epochs": Whole(1),
    "batch_size": Whole(2),
    "learning_rate": Real(0.0, inclusive=False),
    "reconstruction_weight": Real(0.0),
    "density_weight": Real(0.0),
    "verbose": Whole(0),
}


class SHADE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, TreeClusteringMixin, BaseEstimator):  # type: ignore[misc]
    """Deep density-based clustering.

    Trains an autoencoder so that distances in its embedding follow density-connectivity in the data, then reads
    clusters of any shape, and the noise between them, off the density tree of the embedding.

    Parameters
    ----------
    min_points : int, default=5
        How many points, itself included, a point's core distance reaches.
    selection : {"structure", "branches", "information"}, default="information"
        How clusters are chosen from the tree: the paper's structure tree, HDBSCAN's excess of mass, or information.
    min_cluster_size : int, optional
        Fewest points of a branch of the tree. If None, `min_points` for "structure", twice that for "branches", and
        the larger of twice that and half a percent of the points for "information".
    ensemble : int, optional
        Number of networks, trained from different seeds, whose embeddings are joined side by side. If None, two, and
        four for data of at most 2,000 rows and a million numbers, where a seed decides more and training is short.
    embedding_size : int, default=10
        Columns of the embedding of one network. A module of your own decides for itself.
    network : tuple of int, "conv", or torch module, default=(512, 256, 128)
        Hidden sizes of the encoder, mirrored in the decoder; a convolutional network for N × C × H × W images; or a
        module with `encode` and `decode`, which is copied.
    tree : {"auto", "batch", "complete"}, default="auto"
        Whether dc-distances come from the tree of each batch or of all data. "auto" takes all data unless that would
        take far longer than training or more memory than `fit` may: `training_tree_` says which it was.
    distance : {"sqeuclidean", "euclidean"}, default="sqeuclidean"
        The distance in the embedding that follows the dc-distance.
    density_unit : {"data", "deviation", "mean_edge"}, default="deviation"
        Whether dc-distances are taken as they are, in multiples of the deviation of the data (which is 1 once it is
        standardised), or of the mean edge of their spanning tree. The last two make the result free of the unit of the
        data, with `standardize=False` too.
    reconstruction : {"mean", "sum"}, default="sum"
        Whether the squared error of a row is averaged or summed over its features.
    standardize : {"auto", "feature", "global", False}, default="auto"
        z-normalisation of each column, of all entries alike, or none. "auto" takes all entries alike for images, which
        are samples with a height and a width, or at least 64 columns of bytes (uint8), or of values that pile up at
        both ends of one range, as pixels do; each column otherwise.
    noise : {"embedding", "data", "outliers"}, default="outliers"
        Which rows are noise. "embedding": all in no branch of the embedding's tree that was chosen, as in HDBSCAN and
        the paper. "data": those, and rows in a sparse background that the density tree of the data itself shows: an
        octave sparser than the rest, without clusters among them. "outliers": that background, but of the rows between
        branches only those that lie farther out than others around a cluster; the rest are its outskirts, at a lower
        probability. With both, the rule "information" also keeps apart and together what the tree of the data shows
        as groups beyond doubt. Where training follows the trees of batches, there is no tree of the data to ask.
    epochs : int, default=100
        Passes over the data.
    batch_size : int, default=500
        Rows that are trained on together.
    learning_rate : float, default=1e-3
        Step size of the optimizer, Adam.
    reconstruction_weight, density_weight : float, default=1.0
        Weights of the two losses.
    callbacks : sequence, default=()
        Called during training: `shade.network.Callback` objects such as `EarlyStopping`, or functions of an epoch's
        record.
    device : str, default="auto"
        "auto", "cpu", "cuda", "cuda:N" or "mps".
    random_state : int, RandomState, Generator or None, default=None
        One seed, one result on a class of device, whatever the number of threads.
    n_jobs : int, optional
        Number of threads for the trees, and of networks that train side by side on a CPU; all cores if None. The result
        does not depend on it.
    verbose : int, default=0
        0 silent, 1 a progress bar on a terminal and about ten lines elsewhere, 2 a line an epoch.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 being the largest cluster; −1 is noise.
    embedding_ : ndarray of shape (n_samples, networks * embedding_size)
        The rows in the embedding.
    probabilities_ : ndarray of shape (n_samples,)
        Membership strength: 1 in the core of a cluster, lower towards its border, 0 for noise.
    outlier_scores_ : ndarray of shape (n_samples,)
        0 in the densest part of a branch of the tree, towards 1 far outside.
    cluster_persistence_ : ndarray of shape (n_clusters_,)
        Share of its distance range over which each cluster exists.
    exemplar_indices_ : list of ndarray
        For each cluster, rows from its densest parts.
    dc_tree_ : DCTree
        Density-connectivity tree of the embedding.
    structure_tree_ : StructureTree
        Candidate clusters with their stability.
    n_networks_ : int
        Number of networks that were trained.
    training_tree_ : {"batch", "complete"}
        Where the dc-distances of training came from.
    history_ : list of dict
        Losses and seconds of each epoch; with an ensemble also the number of the network.
    n_clusters_ : int
    n_iter_ : int
        Epochs that were run, over all networks.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from shade import SHADE
    >>> from shade.data import make_three_clusters
    >>> X, _ = make_three_clusters(600, random_state=0)
    >>> model = SHADE(embedding_size=2, ensemble=1, epochs=5, random_state=0).fit(X)
    >>> model.embedding_.shape
    (600, 2)
    """

    _noise_rule = RULES["noise"]
    _sample_shape: tuple[int, ...]
    _standardizer: Standardizer
    _networks: list[nn.Module]

    def __init__(
        self,
        *,
        min_points: int = 5,
        selection: str = "information",
        min_cluster_size: int | None = None,
        ensemble: int | None = None,
        embedding_size: int = 10,
        network: Sequence[int] | str | nn.Module = (512, 256, 128),
        tree: str = "auto",
        distance: str = "sqeuclidean",
        density_unit: str = "deviation",
        reconstruction: str = "sum",
        standardize: str | bool = "auto",
        noise: str = "outliers",
        epochs: int = 100,
        batch_size: int = 500,
        learning_rate: float = 1e-3,
        reconstruction_weight: float = 1.0,
        density_weight: float = 1.0,
        callbacks: Sequence[object] = (),
        device: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.min_points = min_points
        self.selection = selection
        self.min_cluster_size = min_cluster_size
        self.ensemble = ensemble
        self.embedding_size = embedding_size
        self.network = network
        self.tree = tree
        self.distance = distance
        self.density_unit = density_unit
        self.reconstruction = reconstruction
        self.standardize = standardize
        self.noise = noise
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.reconstruction_weight = reconstruction_weight
        self.density_weight = density_weight
        self.callbacks = callbacks
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: object,
        y: object = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_minutes: float | None = 10.0,
        checkpoint_epochs: int | None = None,
        resume: str | PathLike[str] | bool | None = None,
        memory: str | int | None = None,
    ) -> Self:
        """Train on the data and cluster it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or images of shape (n_samples, channels, height, width)
            ndarray, DataFrame, torch tensor; or what is read as it is needed: a memmap, a zarr array or anything else
            with `shape`, `dtype` and slicing, or the path of a npy or parquet file, a zarr store, or a folder of
            parquet files or images.
        y : ignored
        checkpoint : str or path, optional
            File that holds where training stands, always whole. Ctrl-C leaves one as well.
        checkpoint_minutes : float, optional, default=10.0
            Minutes after which the checkpoint is written anew.
        checkpoint_epochs : int, optional
            Epochs after which the checkpoint is written anew.
        resume : str, path or True, optional
            Go on from this checkpoint, with the labels that an undisturbed fit would have had; checkpoints go to the
            same file if `checkpoint` names no other. True means from `checkpoint` if it is there, else from the start.
        memory : str or int, optional
            Most memory to take, beyond what is taken already: "4GB" or a number of bytes. Data that does not fit is
            read in windows, each of blocks from all over the data, which changes the order of the batches.

        Returns
        -------
        SHADE
            Itself.
        """
        with unchanged_on_error(self), process_group():
            device = self._check_parameters()
            rows = check_samples(self, X, reset=True)
            self.n_networks_ = count_networks(self.ensemble, rows.shape)
            plan, self.training_tree_ = plan_training(self, rows, memory, device)
            if isinstance(rows, RowSource):
                _validation.check_finite(rows, rows.place)
            seed, checkpoints = begin_training(
                self, rows, plan, checkpoint, resume, checkpoint_minutes, checkpoint_epochs
            )
            standardize = choose_standardization(self.standardize, rows, self._sample_shape)
            self._standardizer = Standardizer.fit(rows, standardize, unit_free=self.density_unit != "data")
            warn_of_lonely_rows(self)
            results, data = train(self, rows, plan, device, seed, checkpoints)
            self._networks = [result.network.to("cpu") for result in results]
            self.history_ = [record for result in results for record in result.history]
            self.n_iter_ = len(self.history_)
            self.embedding_ = self._embedder().embed(rows, share=share_of(len(rows)))
            gather_shares(self.embedding_)
            points = self.embedding_.astype(np.float64)
            self._cluster(points, groups_of_data(self, data, points), data)
        warn_of_noise(self)
        return self

    def transform(self, X: object, *, out: str | PathLike[str] | None = None) -> SingleArray:
        """Embed rows; each row is embedded on its own, whatever comes with it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or images or data to be read as in `fit`
        out : str or path, optional
            A npy file that the embedding is written to as it comes; what is returned is a memmap of it.

        Returns
        -------
        ndarray of shape (n_samples, networks * embedding_size)
        """
        check_is_fitted(self)
        rows = check_samples(self, X, reset=False)
        if out is None:
            return self._embedder().embed(rows)
        with new_array_file(Path(out), (len(rows), self.embedding_.shape[1])) as embedding:
            self._embedder().embed(rows, embedding)
        return cast(SingleArray, np.load(out, mmap_mode="r"))

    def inverse_transform(self, Z: object) -> FloatArray:
        """Decode embedded rows into the unit and shape of the data; networks of an ensemble are averaged.

        Parameters
        ----------
        Z : array-like of shape (n_samples, networks * embedding_size)

        Returns
        -------
        ndarray of shape (n_samples, n_features), or images as in `fit`
        """
        check_is_fitted(self)
        points = _validation.check_points(Z).astype(np.float32)
        if points.shape[1] != self.embedding_.shape[1]:
            columns = self.embedding_.shape[1]
            raise ValueError(f"Z has {points.shape[1]} columns, but the embedding of this SHADE has {columns}.")
        return self._embedder().decode(points).reshape(len(points), *self._sample_shape)

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the encoder, standardisation included, as an ONNX file: `transform` without shade or torch.

        Parameters
        ----------
        path : str or path
            By custom it ends in ".onnx". The input is "X", any number of samples of float32; the output "embedding".
        """
        check_is_fitted(self)
        from shade.onnx_export import write_onnx

        write_onnx(path, self._standardizer, self._networks, self._sample_shape, self._network_shape())

    def _check_parameters(self) -> torch.device:
        check_parameters(vars(self), RULES, "SHADE")
        _validation.check_n_jobs(self.n_jobs, "SHADE")
        check_network(self.network)
        if self.batch_size < self.min_points:
            raise ValueError(
                f"The 'batch_size' parameter of SHADE must be an int in the range [min_points, inf), here "
                f"[{self.min_points}, inf). Got {self.batch_size} instead."
            )
        for callback in self.callbacks:
            as_callback(callback)
        return resolve_device(self.device)

    def _embedder(self) -> Embedder:
        return Embedder(self._standardizer, self._networks, self._network_shape(), resolve_device(self.device))

    def _network_shape(self) -> tuple[int, ...]:
        return shape_for_network(self.network, self._sample_shape)

    def _space_of(self, X: object) -> FloatArray:
        return self._standardizer.apply(check_samples(self, X, reset=False)).astype(np.float64)

    def _points_of(self, X: object) -> Iterator[FloatArray]:
        return self._embedder().points(check_samples(self, X, reset=False))

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # the embedding is float32 whatever comes in
        return tags
