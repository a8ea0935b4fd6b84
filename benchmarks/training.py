"""What the density loss costs: an epoch with it against the same epoch without it, interleaved in one run."""

import numpy as np
import torch

from benchmarks import data
from benchmarks.measure import show, store
from shade._base.parallel import training_threads
from shade.data.standardize import Standardizer
from shade.density.targets import targets_of_batches
from shade.training import Trainer, TrainSettings, build_network

EPOCHS = 4  # in a turn: targets are prepared across the ends of epochs, as in a fit


def epoch_seconds(X: np.ndarray, repeats: int) -> dict[str, list[float]]:
    samples = Standardizer.fit(X, "feature").apply(X)
    trainers = {}
    for name, weight in (("with density loss", 1.0), ("without", 0.0)):
        network = build_network((512, 256, 128), (samples.shape[1],), 10, torch.Generator().manual_seed(0), fresh=False)
        trainers[name] = Trainer(
            network,
            torch.from_numpy(samples),
            targets_of_batches(samples, 5, mean_edge=False),
            TrainSettings(epochs=2 * EPOCHS, density_weight=weight),
            np.random.default_rng(0),
        )
    seconds: dict[str, list[float]] = {name: [] for name in trainers}
    with training_threads():
        for repeat in range(repeats + 1):
            for name, trainer in trainers.items():
                with trainer.prepare():  # a stream of its own a turn: nothing is prepared while the other is timed
                    epochs = [trainer.record_epoch()["seconds"] for _ in range(EPOCHS)]
                if repeat > 0:  # the first compiles
                    seconds[name].append(sum(epochs) / EPOCHS)
    return seconds


def run(repeats: int) -> None:
    synth_low = data.load("synth_low")
    rows = {
        "5,000 x 100": synth_low if synth_low is not None else np.random.default_rng(0).normal(size=(5000, 100)),
        "5,000 x 784": np.random.default_rng(0).normal(size=(5000, 784)),
    }
    tables = [show(f"an epoch, {name}", epoch_seconds(X, 2 * repeats), "without") for name, X in rows.items()]
    store("training", tables)
