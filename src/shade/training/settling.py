"""Settling: a trained network learns to embed each row at the mean of its nearest neighbours.

A network embeds each row without the other rows. Noise in a row therefore becomes noise in its point, and such points
fill the sparse regions between clusters. The mean over the neighbours of a row has less noise. A network that has
learned these means needs no neighbours to embed new rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Event

import numpy as np
import torch
from torch import nn

from shade._base.arrays import AnyArray, SingleArray
from shade.training.autoencoders import EncoderOnly
from shade.training.inference import encode_rows
from shade.training.trainer import Trainer, TrainSettings

NEIGHBOURS = 10  # per row, over which the mean is taken
ROUNDS = 2  # how often means are taken: the second round includes the neighbours of neighbours
SHARE_OF_EPOCHS = 5  # epochs of training per epoch of settling
ROWS_AT_A_TIME = 1 << 16


def settle(
    make: Callable[..., Trainer],
    network: nn.Module,
    samples: torch.Tensor,
    neighbours: AnyArray,
    settings: TrainSettings,
    random: np.random.Generator,
    interruption: Event,
) -> None:
    """Train the encoder of a network on the means of its own embedding over the neighbours of each row.

    Parameters
    ----------
    make : callable
        Builds the trainer, as for the training before.
    network : torch module
        The network to train; its encoder changes.
    samples : tensor
        The rows, on the device where training runs.
    neighbours : ndarray of int of shape (n_samples, n_neighbours)
        Each row and its neighbours.
    settings : TrainSettings
        The settings of the training before.
    random : Generator
        Shuffles the batches.
    interruption : Event
        See `Trainer`.
    """
    settled: SingleArray = encode_rows(network, samples, samples.device).numpy()
    for _ in range(ROUNDS):
        settled = mean_over_neighbours(settled, neighbours)
    trainer = make(
        network=EncoderOnly(network),
        settings=replace(
            settings,
            epochs=max(1, settings.epochs // SHARE_OF_EPOCHS),
            reconstruction_weight=1.0,
            density_weight=0.0,
            reconstruction="sum",
        ),
        random=random,
        interruption=interruption,
        outputs=torch.from_numpy(settled).to(samples.device),
    )
    trainer.fit()


def mean_over_neighbours(points: SingleArray, neighbours: AnyArray) -> SingleArray:
    """Return for each row the mean over the row and its neighbours."""
    means = np.empty_like(points)
    for start in range(0, len(points), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        means[part] = points[neighbours[part]].mean(axis=1, dtype=np.float64)
    return means
