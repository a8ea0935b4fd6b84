"""Training within `fit`, and going on with it when rows are added."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from shade._base.arrays import AnyArray, SingleArray
from shade._base.errors import unchanged_on_error
from shade._base.parallel import resolve_device, tree_device, usual_torch
from shade._base.ranks import ALONE, Ranks
from shade._base.validation import Choice, check_parameter
from shade.clustering.clustering import read_data
from shade.clustering.growing import USUAL
from shade.clustering.known import Known
from shade.clustering.numbering import keep_numbers
from shade.data.standardize import have_one_length
from shade.density.data_tree import DataTree
from shade.density.neighbours import find_neighbours
from shade.density.spanning_tree import minimum_spanning_tree
from shade.estimators.embedding_methods import EmbeddingMixin
from shade.estimators.result_warnings import warn_of_misfit, warn_of_result
from shade.estimators.row_checks import check_samples, check_values
from shade.training.autoencoders import has_decoder
from shade.training.callbacks import as_callback, verbosity_callbacks
from shade.training.capacity import FitPlan
from shade.training.checkpoints import Checkpoints
from shade.training.fitting import TrainingJob, count_epochs, plan_training, train
from shade.training.precision import choose_precision
from shade.training.settling import NEIGHBOURS
from shade.training.trainer import TrainSettings

SAME_ROW = 1e-4  # of the largest coordinate: another device or version embeds a row with other rounding

logger = logging.getLogger("shade")


class TrainingMixin(EmbeddingMixin):
    """The steps of training in `fit` and `update`."""

    tree: str
    settle: bool
    density_unit: str
    reconstruction: str
    embedding_distance: str
    precision: str
    epochs: int | None
    batch_size: int
    embedding_size: int
    learning_rate: float
    reconstruction_weight: float
    density_weight: float
    callbacks: Sequence[object]
    verbose: int
    n_networks_: int
    seed_: int | None  # files of earlier versions have none
    settled_: bool
    training_tree_: str
    precision_: str
    history_: list[dict[str, Any]]
    n_iter_: int

    def update(self, X: object, *, train: bool = False) -> Self:
        """Add new rows to those that were clustered, by default without training.

        The networks embed the new rows, and all rows are clustered again, by the same rule. New clusters may appear.
        Clusters that go on keep their numbers, so 0 need not be the largest. If a cluster disappears, a new cluster or
        the last one gets its number. The background of the data is not searched again: a new row belongs to it if the
        row that it reaches first does. A warning says if the networks do not fit the new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or images or data to be read as in `fit`
            New rows only. They come after the rows that were clustered before, in all attributes. With `train`, all
            rows: first those that were clustered before, in the same order, since the model does not hold them.
        train : bool, default=False
            Whether the networks go on training, from the weights that they have, with all rows. Use it if the networks
            do not fit the new rows. It takes as long as a fit; clusters that go on keep their numbers here as well.

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
        check_parameter("train", train, Choice((True, False)), "update")
        if train:
            return self._train_again(X)
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

    def _train_again(self, X: object) -> Self:
        """Go on training with all rows, those that were clustered first; clusters that go on keep their numbers."""
        if not all(map(has_decoder, self.networks_)):
            raise ValueError("This SHADE was saved without its decoder, so it cannot be trained any further.")
        before, n_before = self.clustering_, len(self.labels_)
        with usual_torch(), unchanged_on_error(self):
            device, rows = resolve_device(self.device), check_samples(self, X, reset=False)
            check_values(rows)
            self._check_rows_of_before(rows)
            job = self._training_job(len(rows), device, ALONE)
            job = replace(job, start=tuple(network.state_dict() for network in self.networks_))
            plan, self.training_tree_ = plan_training(rows, None, device, tree=self.tree, job=job)
            self.precision_ = job.settings.precision
            known = None if before.known is None else before.known.with_unknown(len(rows) - n_before)
            history, seed = self.history_, 0 if self.seed_ is None else self.seed_
            samples = self.standardizer_.apply(rows) if plan.window_rows is None else None
            self._train(rows, samples, plan, job, device, seed, None, known)
            self.history_ = [*history, *self.history_]
            self.n_iter_ = len(self.history_)
            numbers = keep_numbers(before.flat, self.clustering_.flat.labels)
            self.set_clustering(replace(self.clustering_, numbers=numbers))
        warn_of_result(self.clustering_)
        return self

    def _check_rows_of_before(self, rows: Any) -> None:
        """Check that rows begin with those that were clustered, by their embedding."""
        n_before = len(self.embedding_)
        found = self._embedder().embed(rows[:n_before]) if len(rows) >= n_before else np.empty((0, 0))
        if len(found) == n_before:
            differs = np.abs(found - self.embedding_).max(axis=1) > SAME_ROW * np.abs(self.embedding_).max()
            if not differs.any():
                return
            wrong = f"row {int(np.argmax(differs))} is another one"
        else:
            wrong = f"X has {len(rows)} rows, and {n_before} were clustered"
        raise ValueError(
            f"With train=True, X must begin with the rows that were clustered, in the same order, but {wrong}. The "
            "model does not hold these rows, so give all of them."
        )

    def _train(
        self,
        rows: Any,
        samples: SingleArray | None,
        plan: FitPlan,
        job: TrainingJob,
        device: torch.device,
        seed: int,
        checkpoints: Checkpoints | None,
        known: Known | None,
    ) -> None:
        """Train on rows, embed and cluster them; `samples` are the standardised rows if all of them are in memory."""
        data = self._read_data(samples, job.ranks)
        tree = None if data is None else data.dc_tree
        neighbours = self._find_neighbours(data, rows)
        job = replace(job, standardize=self.standardizer_.apply)
        results = train(job, rows, samples, tree, neighbours, plan, device, seed, checkpoints)
        self.networks_ = [result.network.to("cpu") for result in results]
        self.history_ = [record for result in results for record in result.history]
        self.n_iter_ = len(self.history_)
        self.embedding_ = self._embedder().embed(rows, share=job.ranks.share_of(len(rows)))
        job.ranks.gather_shares(self.embedding_)
        self.reconstruction_limit_ = float(np.quantile(self._embedder().errors(rows), USUAL))
        self._cluster_points(self.embedding_.astype(np.float64), job.ranks, data, self.settled_, known)

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
