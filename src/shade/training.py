"""From rows to trained networks: the kind of training that memory, device and processes allow."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from os import PathLike
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from shade._arrays import SingleArray
from shade._distributed import bytes_from_first, rank_and_world
from shade._errors import MemoryBudgetError, TrainingError
from shade._parallel import count_threads, run_together, training_threads
from shade._seeds import draw_seed, spawn_seeds
from shade.capacity import FitPlan, plan_fit
from shade.data.fingerprint import fingerprint
from shade.density.data_tree import DataTree
from shade.density.dc_tree import DCTree
from shade.density.search import choose_algorithm
from shade.density.spanning_tree import minimum_spanning_tree
from shade.density.targets import targets_of_batches, targets_of_tree
from shade.network import Trainer, TrainResult, TrainSettings, build_network
from shade.network.batches import batch_starts
from shade.network.callbacks import as_callback, verbosity_callbacks
from shade.network.checkpoints import Checkpoints
from shade.network.group_trainer import GroupTrainer, StreamGroupTrainer
from shade.network.resume import open_checkpoints
from shade.network.stream_trainer import StreamedRows, StreamTrainer

if TYPE_CHECKING:
    from shade.estimator import SHADE

logger = logging.getLogger("shade")

# Work for a tree of all data, in columns times pairs of rows: a few seconds at once, and about as long as an epoch
# takes for each epoch of each network.
FEW_PAIRED_ENTRIES = 1e11
PAIRED_ENTRIES_AN_EPOCH = {"cpu": 2e10, "cuda": 5e12}
SMALL_ROWS, SMALL_ENTRIES = 2_000, 1_000_000  # of data on which four networks train within seconds
MOST_BATCH_ROWS_ON_CUDA = 4096  # a row of a batch's matrix is held by one program of a kernel


def count_networks(ensemble: int | None, shape: tuple[int, ...]) -> int:
    """How many networks are trained: as many as asked for, or more where data is small and seeds decide more."""
    if ensemble is not None:
        return ensemble
    return 4 if shape[0] <= SMALL_ROWS and math.prod(shape) <= SMALL_ENTRIES else 2


def plan_training(model: SHADE, rows: Any, memory: str | int | None, device: torch.device) -> tuple[FitPlan, str]:
    """How the rows come to training, and which tree it follows: "batch" or "complete"."""

    def plan(tree: str) -> tuple[FitPlan, str]:
        columns = model.n_networks_ * model.embedding_size
        complete = tree == "complete"
        found = plan_fit(rows, memory, embedding_columns=columns, batch_size=model.batch_size, complete_tree=complete)
        return found, tree

    check_world(len(rows), model.batch_size, model.min_points)
    if model.tree != "auto":
        return plan(model.tree)
    if tree_is_bearable(rows.shape, model.epochs * model.n_networks_, device):
        with suppress(MemoryBudgetError):
            return plan("complete")
    return plan("batch")


def begin_training(
    model: SHADE,
    rows: Any,
    plan: FitPlan,
    checkpoint: str | PathLike[str] | None,
    resume: str | PathLike[str] | bool | None,
    minutes: float | None,
    epochs: int | None,
) -> tuple[int, Checkpoints | None]:
    """The seed, and the checkpoints if any are wanted; where training goes on from one, the seed is its."""
    seed = int(bytes_from_first(str(draw_seed(model.random_state)).encode()))
    if checkpoint is None and not resume:
        return seed, None
    parameters = {**model.get_params(), **plan.identity(), "training_tree": model.training_tree_}
    identity = {"parameters": parameters, "data": fingerprint(rows), "seed": seed}
    checkpoints = open_checkpoints(checkpoint, resume, minutes, epochs, identity)
    return checkpoints.identity["seed"], checkpoints


def train(
    model: SHADE, rows: Any, plan: FitPlan, device: torch.device, seed: int, checkpoints: Checkpoints | None
) -> tuple[list[TrainResult], DataTree | None]:
    """Train the networks of a model whose standardisation is known; returns them, and the tree that they followed."""
    data = None
    # Streams and graphs are of the current device, which need not be the one that was asked for.
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        if plan.window_rows is None:
            samples = model._standardizer.apply(rows)
            if model.training_tree_ == "complete" and (model.density_weight != 0 or model.noise != "embedding"):
                data = _tree_of_data(model, samples, device)
            make = make_trainer(model, samples, None if data is None else data.dc_tree, device)
        else:
            make = make_stream_trainer(model, rows, plan, device)
        return train_networks(model, make, seed, checkpoints), data


def _tree_of_data(model: SHADE, samples: SingleArray, device: torch.device) -> DataTree:
    """The trees of all data."""
    where = str(device) if device.type == "cuda" else "cpu"
    logger.info("Building the density tree of the data.")
    spanning = minimum_spanning_tree(samples, model.min_points, n_jobs=model.n_jobs, device=where)
    return DataTree(spanning, DCTree.from_spanning_tree(spanning), samples)


def tree_is_bearable(shape: tuple[int, ...], epochs: int, device: torch.device) -> bool:
    """Whether the tree of all data takes about as long as so many epochs at most."""
    entries = float(shape[0]) ** 2 * shape[1]
    an_epoch = PAIRED_ENTRIES_AN_EPOCH["cuda" if device.type == "cuda" else "cpu"]
    return entries <= max(FEW_PAIRED_ENTRIES, epochs * an_epoch) or choose_algorithm(*shape) == "kd_tree"


def check_world(n_rows: int, batch_size: int, min_points: int) -> None:
    """Refuse more processes than there are batches, as each finds by itself: some would have nothing to train on."""
    world, batches = rank_and_world()[1], len(batch_starts(n_rows, batch_size, min_points))
    if world > batches:
        raise TrainingError(
            f"There are {world} processes for {n_rows:,} rows, which make {batches} "
            f"{'batch' if batches == 1 else 'batches'} of {batch_size}: start {batches} at most, or use a smaller "
            "'batch_size'."
        )


def make_trainer(
    model: SHADE, samples: SingleArray, tree: DCTree | None, device: torch.device
) -> Callable[..., Trainer]:
    """Training with all rows in memory, on targets from the tree, or from a tree of each batch if it is None."""
    mean_edge = model.density_unit == "mean_edge"
    several = rank_and_world()[1] > 1
    on_device = torch.from_numpy(samples).reshape(len(samples), *model._network_shape()).to(device)
    if device.type == "cuda" and model.batch_size <= MOST_BATCH_ROWS_ON_CUDA and not several:
        from shade.density.device_targets import device_targets_of_batches, device_targets_of_tree
        from shade.network.cuda_trainer import CudaTrainer

        device_targets = device_targets_of_batches(on_device, model.min_points, mean_edge=mean_edge)
        if tree is not None:
            device_targets = device_targets_of_tree(tree, device, mean_edge=mean_edge)
        return partial(CudaTrainer, samples=on_device, targets=None, device_targets=device_targets)
    if tree is None:
        targets = targets_of_batches(samples, model.min_points, mean_edge=mean_edge)
    else:
        targets = targets_of_tree(tree, mean_edge=mean_edge)
    return partial(GroupTrainer if several else Trainer, samples=on_device, targets=targets)


def make_stream_trainer(model: SHADE, rows: Any, plan: FitPlan, device: torch.device) -> Callable[..., Trainer]:
    """Training on windows of rows that are read as they are needed, on a tree of each batch."""
    streamed = StreamedRows(
        lambda start, stop: model._standardizer.apply(rows[start:stop]),
        plan.boundaries,  # type: ignore[arg-type] # a plan to stream has both
        plan.window_rows,  # type: ignore[arg-type]
        partial(targets_of_batches, min_points=model.min_points, mean_edge=model.density_unit == "mean_edge"),
    )
    nothing = torch.empty(0, *model._network_shape(), device=device)
    kind = StreamGroupTrainer if rank_and_world()[1] > 1 else StreamTrainer
    return partial(kind, samples=nothing, targets=None, rows=streamed)


def train_networks(
    model: SHADE, make: Callable[..., Trainer], seed: int, checkpoints: Checkpoints | None
) -> list[TrainResult]:
    """Train each network of the ensemble from its own seed, side by side where cores and callbacks allow it.

    A network trains on one thread in either case, so that its weights are the same.
    """
    settings = TrainSettings(
        epochs=model.epochs,
        batch_size=model.batch_size,
        smallest_batch=model.min_points,
        learning_rate=model.learning_rate,
        reconstruction_weight=model.reconstruction_weight,
        density_weight=model.density_weight,
        reconstruction=model.reconstruction,
        distance=model.distance,
    )
    callbacks = [as_callback(callback) for callback in model.callbacks] + verbosity_callbacks(model.verbose)
    if rank_and_world()[0] > 0:
        callbacks = []
    seeds = spawn_seeds(seed, model.n_networks_)
    watched = [[callback.of_network(member, len(seeds)) for callback in callbacks] for member in range(len(seeds))]

    def train(member: int, interruption: Event) -> TrainResult:
        own = seeds[member]
        generator = torch.Generator().manual_seed(int(own.generate_state(1, np.uint64)[0] >> 1))
        trainer = make(
            network=build_network(
                model.network, model._network_shape(), model.embedding_size, generator, fresh=member > 0
            ),
            settings=settings,
            random=np.random.default_rng(own),
            callbacks=[own or shared for own, shared in zip(watched[member], callbacks, strict=True)],
            checkpoints=None if checkpoints is None else checkpoints.of_member(member),
            interruption=interruption,
        )
        result = trainer.fit()
        if model.n_networks_ > 1:
            result.history[:] = [{"network": member, **record} for record in result.history]
        return result

    # A module of the user's may draw from torch's only generator, and samples elsewhere have a device of their own.
    together = (
        getattr(make, "func", None) is Trainer
        and make.keywords["samples"].device.type == "cpu"  # type: ignore[attr-defined]
        and not isinstance(model.network, nn.Module)
        and all(own is not None for owns in watched for own in owns)
    )
    with training_threads():
        return run_together(train, range(len(seeds)), threads=count_threads(model.n_jobs) if together else 1)
