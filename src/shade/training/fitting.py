"""From rows to trained networks: choose the kind of training that memory, device and processes allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from threading import Event
from typing import Any

import numpy as np
import torch
from torch import nn

from shade._base.arrays import AnyArray, SingleArray
from shade._base.errors import CheckpointError, MemoryBudgetError, TrainingError
from shade._base.parallel import count_threads, run_together, training_threads
from shade._base.ranks import ALONE, Ranks
from shade._base.seeds import draw_seed, spawn_seeds
from shade.data.row_sources import fingerprint
from shade.density.dc_tree import DCTree
from shade.density.search import choose_algorithm
from shade.density.targets import targets_of_batches, targets_of_tree
from shade.training import Trainer, TrainResult, TrainSettings, build_network
from shade.training.batches import batch_starts
from shade.training.callbacks import Callback
from shade.training.capacity import FitPlan, plan_fit, training_bytes
from shade.training.checkpoints import Checkpoints, MemberCheckpoints
from shade.training.group_trainer import GroupTrainer
from shade.training.resume import open_checkpoints
from shade.training.settling import settle
from shade.training.stream_trainer import StreamedRows, StreamTrainer

STEPS = 4_000  # of all networks together; more steps do not help once the embedding settles (docs/experiments.md)
MOST_EPOCHS = 50
# A tree of all data is built up to this number of columns times pairs of rows: a few minutes.
MOST_PAIRED_ENTRIES = {"cpu": 4e12, "cuda": 1e15}
MANY_ROWS = 10_000  # beyond, the tree of an embedding of four networks would take longer than training
MOST_BATCH_ROWS_ON_CUDA = 4096  # one program of a kernel holds a row of a batch's distance matrix


def count_networks(wanted: int | None, n_rows: int) -> int:
    """Return the number of networks to train: the given number or, by default, four, and two if there are many rows."""
    return wanted or (4 if n_rows <= MANY_ROWS else 2)


def count_epochs(wanted: int | None, n_rows: int, batch_size: int, n_networks: int) -> int:
    """Return the number of epochs per network: the given number or, by default, that of a fixed number of steps."""
    return wanted or min(MOST_EPOCHS, max(1, round(STEPS / n_networks * batch_size / n_rows)))


@dataclass(frozen=True)
class TrainingJob:
    """What is trained, and how. `standardize` turns rows into standardised samples once its values are known."""

    network: Sequence[int] | str | nn.Module
    sample_shape: tuple[int, ...]  # as the network takes it
    embedding_size: int
    n_networks: int
    settings: TrainSettings
    density_unit: str
    standardize: Callable[[Any], SingleArray] = np.asarray
    callbacks: tuple[Callback, ...] = ()
    n_jobs: int | None = None
    ranks: Ranks = ALONE  # the processes that train together
    start: tuple[Mapping[str, torch.Tensor], ...] = ()  # the weights of each network to go on from; drawn if empty

    @property
    def mean_edge(self) -> bool:
        """Whether dc-distances are divided by the mean edge length of their tree."""
        return self.density_unit == "mean_edge"


def plan_training(
    rows: Any, memory: str | int | None, device: torch.device, *, tree: str, job: TrainingJob
) -> tuple[FitPlan, str]:
    """Return how rows are passed to training, and which tree gives the targets: "batch" or "complete"."""
    batch_size = job.settings.batch_size
    check_count(job.ranks, len(rows), batch_size, job.settings.smallest_batch)
    batch_size = min(batch_size, len(rows))
    networks = training_bytes(job, batch_size, job.n_jobs if device.type == "cpu" else 1)
    networks = 0 if device.type == "cuda" else networks  # they are in the memory of the GPU
    columns = job.n_networks * job.embedding_size
    plan = partial(plan_fit, rows, memory, embedding_columns=columns, batch_size=batch_size, networks=networks)
    if tree == "complete":
        return plan(complete_tree=True), tree
    if tree == "auto" and tree_is_bearable(rows.shape, device):
        with suppress(MemoryBudgetError):
            return plan(complete_tree=True), "complete"
    return plan(complete_tree=False), "batch"


def begin_training(
    random_state: object,
    rows: Any,
    parameters: Mapping[str, Any],
    checkpoint: str | PathLike[str] | None,
    resume: str | PathLike[str] | bool | None,
    minutes: float | None,
    epochs: int | None,
    ranks: Ranks = ALONE,
) -> tuple[int, Checkpoints | None]:
    """Return the seed, and the checkpoints if any are wanted. A resumed training uses the seed of its checkpoint."""
    drawn = draw_seed(random_state)  # every rank draws, so that their generators stay in the same state
    seed = ranks.from_first(lambda: drawn)
    if checkpoint is None and not resume:
        return seed, None
    identity = {"parameters": dict(parameters), "data": fingerprint(rows), "seed": seed}
    checkpoints = open_checkpoints(checkpoint, resume, minutes, epochs, identity, ranks)
    return checkpoints.identity["seed"], checkpoints


def with_number_format(job: TrainingJob, checkpoints: Checkpoints | None, device: torch.device) -> TrainingJob:
    """Return the job with the number format of the checkpoint that training resumes from, if there is one."""
    if checkpoints is None:
        return job
    number_format = checkpoints.identity["parameters"]["number_format"]
    if number_format == "bfloat16" and device.type != "cpu":
        raise CheckpointError(
            f"The checkpoint {checkpoints.path} was trained in bfloat16 on a CPU, and a GPU trains in float32. "
            "Resume with device=\"cpu\", or start anew without 'resume'."
        )
    return replace(job, settings=replace(job.settings, precision=number_format))


def train(
    job: TrainingJob,
    rows: Any,
    samples: SingleArray | None,
    tree: DCTree | None,
    neighbours: AnyArray | None,
    plan: FitPlan,
    device: torch.device,
    seed: int,
    checkpoints: Checkpoints | None,
) -> list[TrainResult]:
    """Train the networks on samples in memory or, if `samples` is None, on rows that are streamed.

    The targets come from the tree or, if `tree` is None, from a tree per batch. If the neighbours of each row are
    given, settling is the last part of training.
    """
    # CUDA streams and graphs belong to the current device, which may differ from the given one.
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        if samples is None:
            make = make_stream_trainer(job, rows, plan, device)
        else:
            make = make_trainer(job, samples, tree, device)
        return train_networks(job, make, neighbours, seed, checkpoints)


def tree_is_bearable(shape: tuple[int, ...], device: torch.device) -> bool:
    """Return whether building the tree of all data takes at most a few minutes."""
    most = MOST_PAIRED_ENTRIES["cuda" if device.type == "cuda" else "cpu"]
    return float(shape[0]) ** 2 * shape[1] <= most or choose_algorithm(*shape) == "kd_tree"


def check_count(ranks: Ranks, n_rows: int, batch_size: int, min_samples: int) -> None:
    """Raise an error if there are more processes than batches, since some would have none. Each process checks this."""
    batches = len(batch_starts(n_rows, batch_size, min_samples))
    if ranks.count > batches:
        raise TrainingError(
            f"There are {ranks.count} processes for {n_rows:,} rows, which make {batches} "
            f"{'batch' if batches == 1 else 'batches'} of {batch_size}: start {batches} at most, or use a smaller "
            "'batch_size'."
        )


def make_trainer(
    job: TrainingJob, samples: SingleArray, tree: DCTree | None, device: torch.device
) -> Callable[..., Trainer]:
    """Return a maker of trainers with all rows in memory. Targets come from the tree or, if None, a tree per batch."""
    mean_edge, settings = job.mean_edge, job.settings
    on_device = torch.from_numpy(samples).reshape(len(samples), *job.sample_shape).to(device)
    if device.type == "cuda" and settings.batch_size <= MOST_BATCH_ROWS_ON_CUDA and job.ranks.count == 1:
        from shade.density.device_targets import device_targets_of_batches, device_targets_of_tree
        from shade.training.cuda_trainer import CudaTrainer

        device_targets = device_targets_of_batches(on_device, settings.smallest_batch, mean_edge=mean_edge)
        if tree is not None:
            device_targets = device_targets_of_tree(tree, device, mean_edge=mean_edge)
        return partial(CudaTrainer, samples=on_device, targets=None, device_targets=device_targets)
    if tree is None:
        targets = targets_of_batches(samples, settings.smallest_batch, mean_edge=mean_edge)
    else:
        targets = targets_of_tree(tree, mean_edge=mean_edge)
    kind = partial(GroupTrainer, ranks=job.ranks) if job.ranks.count > 1 else Trainer
    return partial(kind, samples=on_device, targets=targets, ahead=tree is None)


def make_stream_trainer(job: TrainingJob, rows: Any, plan: FitPlan, device: torch.device) -> Callable[..., Trainer]:
    """Return a maker of trainers that read rows in windows when they need them. Targets come from a tree per batch."""
    streamed = StreamedRows(
        lambda start, stop: job.standardize(rows[start:stop]),
        plan.boundaries,  # type: ignore[arg-type] # a plan to stream has both
        plan.window_rows,  # type: ignore[arg-type]
        partial(targets_of_batches, min_samples=job.settings.smallest_batch, mean_edge=job.mean_edge),
    )
    nothing = torch.empty(0, *job.sample_shape, dtype=torch.float32, device=device)
    return partial(StreamTrainer, samples=nothing, targets=None, rows=streamed, ranks=job.ranks)


def train_networks(
    job: TrainingJob,
    make: Callable[..., Trainer],
    neighbours: AnyArray | None,
    seed: int,
    checkpoints: Checkpoints | None,
) -> list[TrainResult]:
    """Train each network of the ensemble from its own seed, side by side if cores and callbacks allow it.

    A network always trains on one thread, so its weights do not depend on that.
    """
    callbacks = list(job.callbacks) if job.ranks.first else []
    seeds = spawn_seeds(seed, job.n_networks)
    watched = [[callback.of_network(member, len(seeds)) for callback in callbacks] for member in range(len(seeds))]

    def train(member: int, interruption: Event) -> TrainResult:
        own = seeds[member]
        generator = torch.Generator().manual_seed(int(own.generate_state(1, np.uint64)[0] >> 1))
        network = build_network(job.network, job.sample_shape, job.embedding_size, generator, fresh=member > 0)
        if job.start:
            network.load_state_dict(job.start[member])
        trainer = make(
            network=network,
            settings=job.settings,
            random=np.random.default_rng(own),
            callbacks=[own or shared for own, shared in zip(watched[member], callbacks, strict=True)],
            checkpoints=None if checkpoints is None else MemberCheckpoints(checkpoints, member),
            interruption=interruption,
        )
        with training_threads():
            result = trainer.fit()
            if neighbours is not None:
                random = np.random.default_rng(own.spawn(1)[0])
                settle(make, result.network, trainer.samples, neighbours, job.settings, random, interruption)
                result.network.eval()
        if job.n_networks > 1:
            result.history[:] = [{"network": member, **record} for record in result.history]
        return result

    # A user's module may draw from torch's global generator, of which there is one. On another device than the CPU, the
    # networks would share the device.
    together = (
        getattr(make, "func", None) is Trainer
        and make.keywords["samples"].device.type == "cpu"  # type: ignore[attr-defined]
        and not isinstance(job.network, nn.Module)
        and all(own is not None for owns in watched for own in owns)
    )
    return run_together(train, range(len(seeds)), threads=count_threads(job.n_jobs) if together else 1)
