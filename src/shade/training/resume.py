"""Start a training with checkpoints, or resume one from a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from shade._base.errors import CheckpointError, told_as
from shade._base.ranks import ALONE, Ranks
from shade._base.validation import Real, Whole, check_parameter
from shade.training.checkpoints import Checkpoint, Checkpoints, read_checkpoint

# These may differ when training resumes: how it runs, for how long, and what happens with the embedding afterwards.
FREE = frozenset(
    (
        "background_noise", "between_noise", "callbacks", "device", "epochs", "min_cluster_size", "n_clusters",
        "n_jobs", "n_networks", "number_format", "random_state", "selection", "verbose",
    )
)  # fmt: skip


def open_checkpoints(
    checkpoint: str | PathLike[str] | None,
    resume: str | PathLike[str] | bool | None,
    minutes: float | None,
    epochs: int | None,
    identity: Mapping[str, Any],
    ranks: Ranks = ALONE,
) -> Checkpoints:
    """Return the checkpoints that the arguments of `fit` describe; `checkpoint` or `resume` must be given.

    `identity` describes the training: its "parameters", "data" and "seed". With `resume`, the seed comes from the
    checkpoint.
    """
    wanted = json.loads(json.dumps(identity, default=_plain))
    if resume is True and checkpoint is None:
        raise ValueError("resume=True goes on from the file that the 'checkpoint' argument names: give one.")
    source = None if not resume else Path(fspath(checkpoint if resume is True else resume))  # type: ignore[arg-type]
    target = source if checkpoint is None else Path(fspath(checkpoint))
    check_intervals(minutes, epochs)
    if ranks.first and not target.parent.is_dir():  # type: ignore[union-attr] # one of them is given
        raise CheckpointError(f"The checkpoint {target} cannot be written: there is no such folder.")
    found = None
    if source is not None and (resume is not True or ranks.from_first(source.exists)):
        found = read_checkpoint(source, ranks)
        with told_as(CheckpointError, f"{source} is no checkpoint of shade, or a damaged one", Exception):
            _check_same(source, found, wanted)
        wanted["seed"] = found.identity["seed"]
        wanted["parameters"]["number_format"] = found.identity["parameters"].get("number_format", "float32")
    return Checkpoints(target, minutes, epochs, wanted, found, ranks.first)  # type: ignore[arg-type]


def check_intervals(minutes: object, epochs: object) -> None:
    """Check the interval between checkpoints."""
    if minutes is not None:
        check_parameter("checkpoint_minutes", minutes, Real(0.0), "fit")
    check_parameter("checkpoint_epochs", epochs, Whole(1, optional=True), "fit")


def _check_same(path: Path, found: Checkpoint, wanted: Mapping[str, Any]) -> None:
    """Raise an error if the data or parameters differ: the result would belong to neither training."""
    remedy = "Give the same, or start anew without 'resume'."
    before, now = found.identity["data"], wanted["data"]
    if before["shape"] != now["shape"]:
        raise CheckpointError(
            f"The checkpoint {path} is of data of shape {tuple(before['shape'])}, not {tuple(now['shape'])}. {remedy}"
        )
    if before != now:
        raise CheckpointError(
            f"The checkpoint {path} is of other data: the shape {tuple(now['shape'])} is the same, the values or their "
            f"type ({before['dtype']}, now {now['dtype']}) are not. {remedy}"
        )
    old, new = found.identity["parameters"], wanted["parameters"]
    changes = [
        f"{name}={old.get(name)!r}, not {new.get(name)!r}"
        for name in sorted({*old, *new} - FREE)
        if old.get(name) != new.get(name)
    ]
    state = new["random_state"]
    if isinstance(state, int) and state != found.identity["seed"]:
        changes.append(f"random_state={found.identity['seed']!r}, not {state!r}")
    if changes:
        raise CheckpointError(f"The checkpoint {path} is of a fit with {'; '.join(changes)}. {remedy}")
    most = max((len(state.progress.history) for state in found.states), default=0)
    if most > new["epochs"]:
        raise CheckpointError(
            f"The checkpoint {path} has trained for {most} epochs already, more than epochs={new['epochs']}. {remedy}"
        )


def _plain(value: Any) -> Any:
    """Convert a parameter for JSON. A module is identified by its architecture."""
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, nn.Module) else None
