"""SHADE: an embedding that follows density-connectivity, and the clusters in it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Self

import torch
from sklearn.base import BaseEstimator, ClusterMixin
from torch import nn

from shade._base import validation
from shade._base.errors import unchanged_on_error
from shade._base.parallel import resolve_device, usual_torch
from shade._base.ranks import process_group
from shade._base.validation import Choice, Real, Rule, Whole, check_parameters
from shade.clustering.known import Known
from shade.data.encoding import TableEncoding
from shade.data.standardize import Standardizer, choose_standardization
from shade.estimators.clustered import CLUSTERING_RULES
from shade.estimators.result_warnings import warn_of_lonely_rows, warn_of_result
from shade.estimators.row_checks import check_ranks, check_samples, check_values
from shade.estimators.training_steps import TrainingMixin
from shade.training.autoencoders import check_network
from shade.training.callbacks import as_callback
from shade.training.fitting import (
    begin_training,
    count_networks,
    plan_training,
    with_number_format,
)

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


class SHADE(TrainingMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
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
            ndarray, DataFrame or torch tensor. Or data that is read when it is needed: a sparse matrix, a memmap, a
            zarr array or any object with `shape`, `dtype` and slicing, or the path of a npy or parquet file, a zarr
            store, or a folder of parquet files or images.
        y, must_link, cannot_link : array-like, optional
            Known labels of some rows, and pairs of rows that belong to one cluster or do not: see
            :meth:`DCTreeClustering.fit`.
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
            check_values(rows)
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
            self._train(rows, samples, plan, job, device, seed, checkpoints, known)
        warn_of_result(self.clustering_)
        return self

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # the embedding is always float32
        tags.input_tags.sparse = True
        return tags
