"""SHADE: an embedding that follows density-connectivity, and the clusters in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
from shade._distributed import bytes_from_first, gather_shares, process_group, rank_and_world, share_of
from shade._files import new_array_file
from shade._parallel import resolve_device, training_threads
from shade._seeds import draw_seed, spawn_seeds
from shade._validation import Choice, Real, Rule, Whole, check_parameters
from shade.capacity import FitPlan, plan_fit
from shade.data.fingerprint import fingerprint
from shade.data.row_sources import RowSource, as_source
from shade.data.standardize import Standardizer
from shade.density.dc_tree import DCTree
from shade.density.targets import targets_of_batches, targets_of_tree
from shade.embedder import Embedder
from shade.model_file import read_model_file, write_model_file
from shade.network import Trainer, TrainResult, TrainSettings, build_network, decode_rows
from shade.network.autoencoders import check_network
from shade.network.callbacks import as_callback, verbosity_callbacks
from shade.network.checkpoints import Checkpoints
from shade.network.group_trainer import GroupTrainer, StreamGroupTrainer
from shade.network.resume import open_checkpoints
from shade.network.stream_trainer import StreamedRows, StreamTrainer
from shade.saved_state import contents_of, parameters_of, restore
from shade.tree_clustering import CLUSTERING_RULES, TreeClusteringMixin, check_rows, check_source, unchanged_on_error

MOST_BATCH_ROWS_ON_CUDA = 4096  # a row of a batch's matrix is held by one program of a kernel

RULES: dict[str, Rule] = {
    **CLUSTERING_RULES,
    "ensemble": Whole(1),
    "embedding_size": Whole(1),
    "tree": Choice(("batch", "complete")),
    "distance": Choice(("sqeuclidean", "euclidean")),
    "density_unit": Choice(("data", "mean_edge")),
    "reconstruction": Choice(("mean", "sum")),
    "standardize": Choice(("feature", "global", False)),
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
    selection : {"structure", "branches", "information"}, default="structure"
        How clusters are chosen from the tree: the paper's structure tree, HDBSCAN's excess of mass, or information.
    min_cluster_size : int, optional
        Fewest points of a branch of the tree. If None, `min_points` for "structure", twice that for "branches", and
        the larger of twice that and half a percent of the points for "information".
    ensemble : int, default=1
        Number of networks, trained from different seeds, whose embeddings are joined side by side.
    embedding_size : int, default=10
        Columns of the embedding of one network. A module of your own decides for itself.
    network : tuple of int, "conv", or torch module, default=(512, 256, 128)
        Hidden sizes of the encoder, mirrored in the decoder; a convolutional network for N × C × H × W images; or a
        module with `encode` and `decode`, which is copied.
    tree : {"batch", "complete"}, default="batch"
        Whether dc-distances come from the tree of each batch or of all data.
    distance : {"sqeuclidean", "euclidean"}, default="sqeuclidean"
        The distance in the embedding that follows the dc-distance.
    density_unit : {"data", "mean_edge"}, default="data"
        Whether dc-distances are taken as they are or in multiples of the mean edge of their spanning tree.
    reconstruction : {"mean", "sum"}, default="mean"
        Whether the squared error of a row is averaged or summed over its features.
    standardize : {"feature", "global", False}, default="feature"
        z-normalisation of each column, of all entries alike (images), or none.
    epochs : int, default=100
    batch_size : int, default=500
    learning_rate : float, default=1e-3
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
        Number of threads for the trees; all cores if None. The result does not depend on it.
    verbose : int, default=0
        0 silent, 1 a progress bar, 2 a line an epoch.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 being the largest cluster; −1 is noise.
    embedding_ : ndarray of shape (n_samples, ensemble * embedding_size)
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
    >>> model = SHADE(embedding_size=2, epochs=5, random_state=0).fit(X)
    >>> model.embedding_.shape
    (600, 2)
    """

    _sample_shape: tuple[int, ...]
    _standardizer: Standardizer
    _networks: list[nn.Module]

    def __init__(
        self,
        *,
        min_points: int = 5,
        selection: str = "structure",
        min_cluster_size: int | None = None,
        ensemble: int = 1,
        embedding_size: int = 10,
        network: Sequence[int] | str | nn.Module = (512, 256, 128),
        tree: str = "batch",
        distance: str = "sqeuclidean",
        density_unit: str = "data",
        reconstruction: str = "mean",
        standardize: str | bool = "feature",
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
            Minutes after which it is written anew.
        checkpoint_epochs : int, optional
            Epochs after which it is written anew.
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
            rows = self._check_samples(X, reset=True)
            plan = plan_fit(
                rows,
                memory,
                embedding_columns=self.ensemble * self.embedding_size,
                batch_size=self.batch_size,
                complete_tree=self.tree == "complete" and self.density_weight > 0,
            )
            if isinstance(rows, RowSource):
                _validation.check_finite(rows, rows.place)
            checkpoints = None
            seed = int(bytes_from_first(str(draw_seed(self.random_state)).encode()))
            if checkpoint is not None or resume:
                parameters = {**self.get_params(), **plan.identity()}
                identity = {"parameters": parameters, "data": fingerprint(rows), "seed": seed}
                checkpoints = open_checkpoints(checkpoint, resume, checkpoint_minutes, checkpoint_epochs, identity)
                seed = checkpoints.identity["seed"]
            self._standardizer = Standardizer.fit(rows, self.standardize)
            make_trainer = self._make_trainer(rows, plan, device)
            results = self._train(make_trainer, seed, checkpoints)
            del make_trainer  # and with it the samples
            self._networks = [result.network.to("cpu") for result in results]
            self.history_ = [record for result in results for record in result.history]
            self.n_iter_ = len(self.history_)
            self.embedding_ = self._embedder().embed(rows, share=share_of(len(rows)))
            gather_shares(self.embedding_)
            self._cluster(self.embedding_.astype(np.float64))
        self._warn_of_noise()
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
        ndarray of shape (n_samples, ensemble * embedding_size)
        """
        check_is_fitted(self)
        rows = self._check_samples(X, reset=False)
        if out is None:
            return self._embedder().embed(rows)
        with new_array_file(Path(out), (len(rows), self.embedding_.shape[1])) as embedding:
            self._embedder().embed(rows, embedding)
        return cast(SingleArray, np.load(out, mmap_mode="r"))

    def inverse_transform(self, Z: object) -> FloatArray:
        """Decode embedded rows into the unit and shape of the data; networks of an ensemble are averaged.

        Parameters
        ----------
        Z : array-like of shape (n_samples, ensemble * embedding_size)

        Returns
        -------
        ndarray of shape (n_samples, n_features), or images as in `fit`
        """
        check_is_fitted(self)
        points = _validation.check_points(Z).astype(np.float32)
        if points.shape[1] != self.embedding_.shape[1]:
            columns = self.embedding_.shape[1]
            raise ValueError(f"Z has {points.shape[1]} columns, but the embedding of this SHADE has {columns}.")
        device = resolve_device(self.device)
        parts = np.split(points, len(self._networks), axis=1)
        decoded = [
            decode_rows(network, torch.from_numpy(np.ascontiguousarray(part)), device).flatten(1).numpy()
            for network, part in zip(self._networks, parts, strict=True)
        ]
        mean = np.mean(np.asarray(decoded, np.float64), axis=0)
        return self._standardizer.undo(mean).reshape(len(points), *self._sample_shape)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file that `shade.load` reads; the training data is left out.

        Parameters
        ----------
        path : str or path
            By custom it ends in ".shade".
        """
        check_is_fitted(self)
        write_model_file(path, contents_of(self))

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

    def _check_samples(self, X: Any, *, reset: bool) -> Any:
        """Check rows and flatten images; the shape of one sample is kept for the network."""
        source = as_source(X)
        X = _validation.to_numpy(X)
        shape = tuple(getattr(X, "shape", ()))[1:] if source is None else source.sample_shape
        if len(shape) > 1 and not reset and shape != self._sample_shape:
            raise ValueError(f"X has samples of shape {shape}, but SHADE is expecting {self._sample_shape}.")
        rows: Any
        if source is not None:
            rows = check_source(self, source, reset=reset)
        else:
            rows = check_rows(self, np.asarray(X).reshape(len(X), -1) if len(shape) > 1 else X, reset=reset)
        if reset:
            _validation.check_min_points(self.min_points, len(rows), 2, "SHADE")
            self._sample_shape = shape if len(shape) > 1 else rows.shape[1:]
            if isinstance(self.network, str) and len(self._sample_shape) not in (2, 3):
                raise ValueError(
                    'network="conv" needs images of shape (n_samples, channels, height, width) or (n_samples, height, '
                    f"width). Got samples of shape {self._sample_shape} instead."
                )
        return rows

    def _make_trainer(self, rows: Any, plan: FitPlan, device: torch.device) -> Callable[..., Trainer]:
        """The kind of training that the memory and the device allow, told where targets come from."""
        mean_edge = self.density_unit == "mean_edge"
        several = rank_and_world()[1] > 1
        if plan.window_rows is not None and plan.boundaries is not None:
            streamed = StreamedRows(
                lambda start, stop: self._standardizer.apply(rows[start:stop]),
                plan.boundaries,
                plan.window_rows,
                partial(targets_of_batches, min_points=self.min_points, mean_edge=mean_edge),
            )
            nothing = torch.empty(0, *self._network_shape(), device=device)
            kind = StreamGroupTrainer if several else StreamTrainer
            return partial(kind, samples=nothing, targets=None, rows=streamed)
        samples = self._standardizer.apply(rows)
        on_device = torch.from_numpy(samples).reshape(len(samples), *self._network_shape()).to(device)
        tree = None
        if self.tree == "complete" and self.density_weight > 0:
            where = str(device) if device.type == "cuda" else "cpu"
            tree = DCTree.from_points(samples, self.min_points, n_jobs=self.n_jobs, device=where)
        if device.type == "cuda" and self.batch_size <= MOST_BATCH_ROWS_ON_CUDA and not several:
            from shade.density.device_targets import device_targets_of_batches, device_targets_of_tree
            from shade.network.cuda_trainer import CudaTrainer

            device_targets = device_targets_of_batches(on_device, self.min_points, mean_edge=mean_edge)
            if tree is not None:
                device_targets = device_targets_of_tree(tree, device, mean_edge=mean_edge)
            return partial(CudaTrainer, samples=on_device, targets=None, device_targets=device_targets)
        if tree is None:
            targets = targets_of_batches(samples, self.min_points, mean_edge=mean_edge)
        else:
            targets = targets_of_tree(tree, mean_edge=mean_edge)
        return partial(GroupTrainer if several else Trainer, samples=on_device, targets=targets)

    def _train(
        self, make_trainer: Callable[..., Trainer], seed: int, checkpoints: Checkpoints | None
    ) -> list[TrainResult]:
        """Train each network of the ensemble from its own seed."""
        settings = TrainSettings(
            epochs=self.epochs,
            batch_size=self.batch_size,
            smallest_batch=self.min_points,
            learning_rate=self.learning_rate,
            reconstruction_weight=self.reconstruction_weight,
            density_weight=self.density_weight,
            reconstruction=self.reconstruction,
            distance=self.distance,
        )
        callbacks = [as_callback(callback) for callback in self.callbacks] + verbosity_callbacks(self.verbose)
        if rank_and_world()[0] > 0:
            callbacks = []
        results = []
        with training_threads():
            for member, own in enumerate(spawn_seeds(seed, self.ensemble)):
                generator = torch.Generator().manual_seed(int(own.generate_state(1, np.uint64)[0] >> 1))
                network = build_network(
                    self.network, self._network_shape(), self.embedding_size, generator, fresh=member > 0
                )
                trainer = make_trainer(
                    network=network,
                    settings=settings,
                    random=np.random.default_rng(own),
                    callbacks=callbacks,
                    checkpoints=None if checkpoints is None else checkpoints.of_member(member),
                )
                result = trainer.fit()
                if self.ensemble > 1:
                    result.history[:] = [{"network": member, **record} for record in result.history]
                results.append(result)
        return results

    def _embedder(self) -> Embedder:
        return Embedder(self._standardizer, self._networks, self._network_shape(), resolve_device(self.device))

    def _network_shape(self) -> tuple[int, ...]:
        """The shape of one sample as the network sees it: flat for linear layers; grey images get a channel."""
        if isinstance(self.network, str):
            return (1, *self._sample_shape) if len(self._sample_shape) == 2 else self._sample_shape
        if isinstance(self.network, nn.Module):
            return self._sample_shape
        return (math.prod(self._sample_shape),)

    def _points_of(self, X: object) -> Iterator[FloatArray]:
        return self._embedder().points(self._check_samples(X, reset=False))

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # the embedding is float32 whatever comes in
        return tags


def load(path: str | PathLike[str], *, network: nn.Module | None = None, device: str = "auto") -> SHADE:
    """Load a model that was written by `SHADE.save`. Nothing in the file is executed.

    Parameters
    ----------
    path : str or path
    network : torch module, optional
        Needed where the model was trained with a module of your own: one of the same kind, whose weights are replaced.
    device : str, default="auto"
        Where the loaded model runs.

    Returns
    -------
    SHADE
    """
    contents = read_model_file(path)
    model = SHADE(**parameters_of(contents, network), device=device)
    restore(model, contents)
    return model
