"""SHADE: an embedding that follows density-connectivity, and the clusters in it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from shade._base import validation
from shade._base.arrays import AnyArray, FloatArray, SingleArray
from shade._base.errors import unchanged_on_error
from shade._base.files import new_array_file
from shade._base.parallel import resolve_device, tree_device, usual_torch
from shade._base.ranks import Ranks, process_group
from shade._base.validation import Choice, Real, Rule, Whole, check_parameters
from shade.clustering.clustering import read_data
from shade.clustering.growing import USUAL
from shade.clustering.known import Known
from shade.data.encoding import TableEncoding
from shade.data.row_sources import RowSource
from shade.data.standardize import Standardizer, choose_standardization, have_one_length
from shade.density.data_tree import DataTree
from shade.density.neighbours import find_neighbours
from shade.density.spanning_tree import minimum_spanning_tree
from shade.estimators.result_warnings import warn_of_lonely_rows, warn_of_misfit, warn_of_result
from shade.estimators.row_checks import check_ranks, check_samples
from shade.estimators.tree_estimator import CLUSTERING_RULES, TreeClusteringMixin
from shade.training.autoencoders import check_network, has_decoder, shape_for_network
from shade.training.callbacks import as_callback, verbosity_callbacks
from shade.training.embedder import Embedder
from shade.training.fitting import (
    TrainingJob,
    begin_training,
    count_epochs,
    count_networks,
    plan_training,
    train,
    with_number_format,
)
from shade.training.precision import choose_precision
from shade.training.settling import NEIGHBOURS
from shade.training.trainer import TrainSettings

logger = logging.getLogger("shade")

RULES: dict[str, Rule] = {
    **CLUSTERING_RULES,
    "n_networks": Whole(1, optional=True),
    "embedding_size": Whole(1),
    "tree": Choice(("auto", "batch", "complete")),
    "embedding_distance": Choice(("sqeuclidean", "euclidean")),
    "density_unit": Choice(("data", "deviation", "mean_edge")),
    "reconstruction": Choice(("mean", "sum")),
    "standardize": Choice(("auto", "feature", "global", False)),
    "settle": Choice((True, False)),
    "epochs": Whole(1, optional=True),
    "batch_size": Whole(2),
    "learning_rate": Real(0.0, inclusive=False),
    "precision": Choice(("auto", "float32")),
    "reconstruction_weight": Real(0.0),
    "density_weight": Real(0.0),
    "verbose": Whole(0),
}


class SHADE(TreeClusteringMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Deep density-based clustering.

    Trains an autoencoder so that distances in its embedding follow density-connectivity in the data, then reads
    clusters of any shape, and the noise between them, off the density tree of the embedding.

    Parameters
    ----------
    min_samples : int, default=5
        Number of neighbours (counting the point itself) used to estimate the density at a point. Larger values smooth
        the density.
    min_cluster_size : int, optional
        Minimum number of rows of a branch of the tree. If None, twice `min_samples`, and `min_samples` itself for
        "structure".
    n_clusters : int, optional
        Number of clusters. If None, it is found automatically. `recluster` changes it without training again.
    n_networks : int, optional
        Number of networks, trained from different seeds, whose embeddings are joined side by side. If None, four, and
        two for data of more than 10,000 rows.
    network : tuple of int, "conv", or torch module, default=(512, 256, 128)
        Hidden sizes of the encoder, mirrored in the decoder; a convolutional network for N × C × H × W images; or a
        module with `encode` and `decode`, which is copied.
    standardize : {"auto", "feature", "global", False}, default="auto"
        "feature": scale each column to mean 0 and deviation 1. "global": one mean and one deviation for all values.
        False: leave the data as it is. "auto": "global" for images, for rows that look like pixels (at least 64
        columns of uint8, or of values that pile up at both ends of one range), and for TF-IDF (at least 64
        columns, mostly zero, in which all rows have the same length); otherwise "feature", with one deviation for all
        columns that encode one category (0 in every row but for one 1): together they weigh like one column.
    settle : bool, default=True
        Whether the networks finally learn to embed each row at the mean of its ten nearest neighbours. This removes
        noise and makes the gaps between clusters clearer. It is left out if the data has at most three columns or
        clear clusters, and if training does not use the tree of all data; `settled_` says whether it was done.
    background_noise : bool, default=True
        Whether rows in a sparse background are noise. The data has one if some of its rows are at least twice as far
        apart as the others and do not form clusters of their own.
    between_noise : bool, default=False
        Whether rows between clusters are noise, as in HDBSCAN. Otherwise they belong to the nearest cluster, with a
        lower probability, and only rows far outside of any cluster are noise.
    epochs : int, optional
        Passes of each network over the data. If None, as many as make 4,000 training steps of all networks together, at
        least 1 and at most 50.
    batch_size : int, default=250
        Number of rows per training step.
    learning_rate : float, default=1e-3
        Step size of the optimizer, Adam.
    callbacks : sequence, default=()
        Called during training: `shade.training.Callback` objects such as `EarlyStopping`, or functions of an epoch's
        record.
    device : str, default="auto"
        "auto", "cpu", "cuda", "cuda:N" or "mps".
    random_state : int, RandomState, Generator or None, default=None
        Seed. The same seed gives the same result on the same kind of device, with any number of threads.
    n_jobs : int, optional
        Number of threads for the trees, and of networks that train side by side on a CPU; all cores if None. The result
        does not depend on it.
    verbose : int, default=0
        0 silent, 1 a progress bar on a terminal or in a notebook and about ten lines elsewhere, 2 a line an epoch.

    Other Parameters
    ----------------
    selection : {"information", "branches", "structure"}, default="information"
        How clusters are chosen from the density tree. "information": branches that are denser than their
        surroundings by more than chance, with the highest information together. "branches": HDBSCAN's excess of mass.
        "structure": the rule of the paper.
    embedding_size : int, default=10
        Columns of the embedding of one network. Ignored for a module of your own.
    tree : {"auto", "batch", "complete"}, default="auto"
        Whether dc-distances come from the tree of each batch or of all data. "auto" takes all data unless that would
        take more than a few minutes, or more memory than `fit` may use: `training_tree_` says which it was.
    embedding_distance : {"sqeuclidean", "euclidean"}, default="sqeuclidean"
        The distance in the embedding that follows the dc-distance.
    density_unit : {"data", "deviation", "mean_edge"}, default="deviation"
        Whether dc-distances are taken as they are, in multiples of the deviation of the data (which is 1 once it is
        standardised), or of the mean edge of their spanning tree. The last two make the result free of the unit of the
        data, with `standardize=False` too.
    reconstruction : {"mean", "sum"}, default="sum"
        Whether the squared error of a row is averaged or summed over its features.
    reconstruction_weight, density_weight : float, default=1.0
        Weights of the reconstruction loss and of the density loss.
    precision : {"auto", "float32"}, default="auto"
        Number format of the matrix products of training. "auto": bfloat16 on processors that compute with it, which
        takes about half of the time and gives results of the same quality; otherwise float32, and always float32 on
        a GPU, for convolutions and for a module of your own. Rows are embedded in double precision in any case.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 being the largest cluster until `update` adds rows; −1 is noise.
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
    known_labels_ : ndarray of shape (n_clusters_,)
        For each cluster, the known label of its rows; −1 if none is known.
    dc_tree_ : DCTree
        Density-connectivity tree of the embedding.
    structure_tree_ : StructureTree
        Candidate clusters with their stability.
    n_networks_ : int
        Number of networks that were trained.
    networks_ : list of torch module
        The trained networks.
    standardizer_ : Standardizer
        Makes standardised samples of rows, as the networks take them.
    sample_shape_ : tuple of int
        Shape of one row as it was given: of an image, or (n_features,).
    settled_ : bool
        Whether the embedding has settled on means over neighbours.
    training_tree_ : {"batch", "complete"}
        Where the dc-distances of training came from.
    precision_ : {"bfloat16", "float32"}
        Number format of the matrix products of training.
    seed_ : int
        The seed that was used; with `random_state=seed_` the same fit can be repeated.
    history_ : list of dict
        Losses and seconds of each epoch; with an ensemble also the number of the network.
    reconstruction_limit_ : float
        Squared error of the reconstruction that 95 % of the rows stay below, per standardised feature.
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
    >>> model = SHADE(embedding_size=2, n_networks=1, epochs=5, random_state=0).fit(X)
    >>> model.embedding_.shape
    (600, 2)
    """

    sample_shape_: tuple[int, ...]
    standardizer_: Standardizer
    networks_: list[nn.Module]
    reconstruction_limit_: float | None  # files of earlier versions have none
    table_encoding_: TableEncoding  # only if the command line read the data from a table

    def __init__(
        self,
        *,
        min_samples: int = 5,
        selection: str = "information",
        min_cluster_size: int | None = None,
        n_clusters: int | None = None,
        n_networks: int | None = None,
        embedding_size: int = 10,
        network: Sequence[int] | str | nn.Module = (512, 256, 128),
        tree: str = "auto",
        embedding_distance: str = "sqeuclidean",
        density_unit: str = "deviation",
        reconstruction: str = "sum",
        standardize: str | bool = "auto",
        settle: bool = True,
        background_noise: bool = True,
        between_noise: bool = False,
        epochs: int | None = None,
        batch_size: int = 250,
        learning_rate: float = 1e-3,
        reconstruction_weight: float = 1.0,
        density_weight: float = 1.0,
        precision: str = "auto",
        callbacks: Sequence[object] = (),
        device: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.min_samples = min_samples
        self.selection = selection
        self.min_cluster_size = min_cluster_size
        self.n_clusters = n_clusters
        self.n_networks = n_networks
        self.embedding_size = embedding_size
        self.network = network
        self.tree = tree
        self.embedding_distance = embedding_distance
        self.density_unit = density_unit
        self.reconstruction = reconstruction
        self.standardize = standardize
        self.settle = settle
        self.background_noise = background_noise
        self.between_noise = between_noise
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.reconstruction_weight = reconstruction_weight
        self.density_weight = density_weight
        self.precision = precision
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
        must_link: object = None,
        cannot_link: object = None,
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
            ndarray, DataFrame or torch tensor. Or data that is read when it is needed: a memmap, a zarr array or any
            object with `shape`, `dtype` and slicing, or the path of a npy or parquet file, a zarr store, or a folder of
            parquet files or images.
        y : array-like of shape (n_samples,), optional
            Known labels of some rows as whole numbers, −1 for rows whose label is unknown. Rows with the same label are
            in one cluster, rows with different labels in different ones. A `y` without −1 (or NaN) is ignored, because
            pipelines pass one to each step and nothing would be left to find.
        must_link, cannot_link : array-like of int of shape (n_pairs, 2), optional
            Pairs of row numbers that belong to one cluster, and pairs that do not.
        checkpoint : str or path, optional
            File for the state of training. It is always complete. Ctrl-C also writes it.
        checkpoint_minutes : float, optional, default=10.0
            Minutes after which the checkpoint is written anew.
        checkpoint_epochs : int, optional
            Epochs after which the checkpoint is written anew.
        resume : str, path or True, optional
            Go on from this checkpoint, with the labels that an undisturbed fit would have had; checkpoints go to the
            same file if `checkpoint` names no other. True means from `checkpoint` if it is there, else from the start.
        memory : str or int, optional
            Upper limit for additional memory: "4GB" or a number of bytes. Data that does not fit is
            read in windows, each of blocks from all over the data, which changes the order of the batches.

        Returns
        -------
        SHADE
            Itself.
        """
        with usual_torch(), unchanged_on_error(self), process_group() as ranks:
            device = self.check_parameters()
            rows = check_samples(self, X, reset=True)
            known = Known.from_user(y, must_link, cannot_link, len(rows))
            self.n_networks_ = count_networks(self.n_networks, len(rows))
            job = self._training_job(len(rows), device, ranks)
            plan, self.training_tree_ = plan_training(rows, memory, device, tree=self.tree, job=job)
            if isinstance(rows, RowSource):
                validation.check_finite(rows, rows.place, rows.names)
                validation.check_whole_numbers(rows)
            chosen = {"training_tree": self.training_tree_, "number_format": job.settings.precision}
            identity = {**self.get_params(), **plan.identity(), **chosen}
            files = {"checkpoint": checkpoint is not None, "resume": resume is True or (bool(resume) and "a file")}
            check_ranks(ranks, {**identity, **files, "known": known}, rows)
            seed, checkpoints = begin_training(
                self.random_state, rows, identity, checkpoint, resume, checkpoint_minutes, checkpoint_epochs, ranks
            )
            self.seed_, job = seed, with_number_format(job, checkpoints, device)
            self.precision_ = job.settings.precision
            standardize = choose_standardization(self.standardize, rows, self.sample_shape_)
            self.standardizer_ = Standardizer.fit(
                rows, standardize, unit_free=self.density_unit != "data", one_hot=self.standardize == "auto"
            )
            names = getattr(self, "feature_names_in_", [f"x{column}" for column in range(self.n_features_in_)])
            samples = self.standardizer_.apply(rows) if plan.window_rows is None else None
            warn_of_lonely_rows(self.standardizer_.lonely, names, samples)
            data = self._read_data(samples, ranks)
            tree = None if data is None else data.dc_tree
            neighbours = self._find_neighbours(data, rows)
            job = replace(job, standardize=self.standardizer_.apply)
            results = train(job, rows, samples, tree, neighbours, plan, device, seed, checkpoints)
            self.networks_ = [result.network.to("cpu") for result in results]
            self.history_ = [record for result in results for record in result.history]
            self.n_iter_ = len(self.history_)
            self.embedding_ = self._embedder().embed(rows, share=ranks.share_of(len(rows)))
            ranks.gather_shares(self.embedding_)
            self.reconstruction_limit_ = float(np.quantile(self._embedder().errors(rows), USUAL))
            self._cluster_points(self.embedding_.astype(np.float64), ranks, data, self.settled_, known)
        warn_of_result(self.clustering_)
        return self

    def update(self, X: object) -> Self:
        """Add new rows to those that were clustered, without training.

        The networks embed the new rows, and all rows are clustered again, by the same rule. New clusters may appear.
        Clusters that go on keep their numbers, so 0 need not be the largest. If a cluster disappears, a new cluster or
        the last one gets its number. The background of the data is not searched again: a new row belongs to it if the
        row that it reaches first does. A warning says if the networks do not fit the new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or images or data to be read as in `fit`
            New rows only. They come after the rows that were clustered before, in all attributes.

        Returns
        -------
        SHADE
            Itself, changed.

        Examples
        --------
        >>> from shade import SHADE
        >>> from shade.data import make_three_clusters
        >>> X, _ = make_three_clusters(600, random_state=0)
        >>> model = SHADE(embedding_size=2, n_networks=1, epochs=5, random_state=0).fit(X[:500])
        >>> model.update(X[500:]).labels_.shape
        (600,)
        """
        check_is_fitted(self)
        with unchanged_on_error(self):
            rows, embedder = check_samples(self, X, reset=False), self._embedder()
            added = embedder.embed(rows)
            far_away = self._grow(added.astype(np.float64))
            self.embedding_ = np.concatenate([self.embedding_, added])
            badly = 0.0
            if self.reconstruction_limit_ is not None and all(map(has_decoder, self.networks_)):
                badly = float(np.mean(embedder.errors(rows) > self.reconstruction_limit_))
        warn_of_misfit(far_away, badly)
        return self

    def transform(self, X: object, *, out: str | PathLike[str] | None = None) -> SingleArray:
        """Embed rows. The embedding of a row does not depend on the other rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or images or data to be read as in `fit`
        out : str or path, optional
            A npy file to which the embedding is written block by block; the result is then a memmap of it.

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
        """Decode embedded rows to the unit and shape of the data. The results of several networks are averaged.

        Parameters
        ----------
        Z : array-like of shape (n_samples, networks * embedding_size)

        Returns
        -------
        ndarray of shape (n_samples, n_features), or images as in `fit`
        """
        check_is_fitted(self)
        if not all(map(has_decoder, self.networks_)):
            raise ValueError(
                "This SHADE was saved without its decoder, so it cannot turn the embedding back into rows."
            )
        points = validation.check_points(Z).astype(np.float32)
        if points.shape[1] != self.embedding_.shape[1]:
            columns = self.embedding_.shape[1]
            raise ValueError(f"Z has {points.shape[1]} columns, but the embedding of this SHADE has {columns}.")
        return self._embedder().decode(points).reshape(len(points), *self.sample_shape_)

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the encoder with its standardisation as an ONNX file, which does `transform` without shade or torch.

        Parameters
        ----------
        path : str or path
            Usually ends in ".onnx". The input is "X", any number of samples in float32; the output is "embedding".
        """
        check_is_fitted(self)
        from shade.persistence.onnx_export import write_onnx

        write_onnx(path, self.standardizer_, self.networks_, self.sample_shape_, self._network_shape())

    def _read_data(self, samples: SingleArray | None, ranks: Ranks) -> DataTree | None:
        """Return the density tree of the data, or None if training uses trees of batches."""
        if samples is None or self.training_tree_ != "complete" or not (self.density_weight or self.background_noise):
            return None
        logger.info("Building the density tree of the data.")
        where = tree_device(self.device)
        spanning = minimum_spanning_tree(samples, self.min_samples, n_jobs=self.n_jobs, device=where, ranks=ranks)
        tree = DataTree.from_spanning_tree(samples, spanning)
        background, clusters = ranks.from_first(lambda: read_data(tree, self.rule(), self.n_jobs))
        return replace(tree, background=background, clusters=clusters)

    def _find_neighbours(self, data: DataTree | None, rows: Any) -> AnyArray | None:
        """The neighbours of each row on which the embedding settles; none where it does not."""
        self.settled_ = bool(self.settle) and data is not None and data.clusters is None
        if data is None or not self.settled_:
            return None
        logger.info("Searching the neighbours of each row.")
        by_angle, device = have_one_length(rows), tree_device(self.device)
        return find_neighbours(data.samples, NEIGHBOURS, by_angle=by_angle, n_jobs=self.n_jobs, device=device)

    def _training_job(self, n_rows: int, device: torch.device, ranks: Ranks) -> TrainingJob:
        return TrainingJob(
            network=self.network,
            sample_shape=self._network_shape(),
            embedding_size=self.embedding_size,
            n_networks=self.n_networks_,
            settings=TrainSettings(
                epochs=count_epochs(self.epochs, n_rows, self.batch_size, self.n_networks_),
                batch_size=self.batch_size,
                smallest_batch=self.min_samples,
                learning_rate=self.learning_rate,
                reconstruction_weight=self.reconstruction_weight,
                density_weight=self.density_weight,
                reconstruction=self.reconstruction,
                distance=self.embedding_distance,
                precision=ranks.from_first(lambda: choose_precision(self.precision, device, self.network)),
            ),
            density_unit=self.density_unit,
            callbacks=(*map(as_callback, self.callbacks), *verbosity_callbacks(self.verbose)),
            n_jobs=self.n_jobs,
            ranks=ranks,
        )

    def check_parameters(self, *, to_fit: bool = True) -> torch.device:
        """Check the parameters without fitting; raise ValueError for the first one that is wrong.

        After `recluster`, `min_samples` may be larger than the batch size, since the model is not trained again.
        """
        check_parameters(vars(self), RULES, "SHADE")
        validation.check_n_jobs(self.n_jobs, "SHADE")
        check_network(self.network)
        if to_fit and self.batch_size < self.min_samples:
            raise ValueError(
                f"The 'batch_size' parameter of SHADE must be an int in the range [min_samples, inf), here "
                f"[{self.min_samples}, inf). Got {self.batch_size} instead."
            )
        if not isinstance(self.callbacks, Iterable):
            raise ValueError(f"The 'callbacks' parameter of SHADE must be a sequence. Got {self.callbacks!r} instead.")
        for callback in self.callbacks:
            as_callback(callback)
        return resolve_device(self.device)

    def _embedder(self) -> Embedder:
        return Embedder(self.standardizer_, self.networks_, self._network_shape(), resolve_device(self.device))

    def _network_shape(self) -> tuple[int, ...]:
        return shape_for_network(self.network, self.sample_shape_)

    def _space_of(self, X: object) -> FloatArray:
        return self.standardizer_.apply(check_samples(self, X, reset=False)).astype(np.float64)

    def _points_of(self, X: object) -> Iterator[FloatArray]:
        return self._embedder().points(check_samples(self, X, reset=False))

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # the embedding is always float32
        return tags
