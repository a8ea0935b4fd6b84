"""What the density loss costs: an epoch with it against the same epoch without it, interleaved in one run."""

import os
from pathlib import Path

import numpy as np
import torch

from shade._parallel import training_threads
from shade.data.standardize import Standardizer
from shade.density.targets import targets_of_batches
from shade.network import Trainer, TrainSettings, build_network

REPEATS = 15


def synth_low() -> np.ndarray:
    """Synth_low where the benchmark datasets are there, else noise of its shape."""
    folder = Path(os.environ.get("SHADE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    path = folder / "synth_low.npz"
    if path.exists():
        with np.load(path) as file:
            return np.asarray(file["X"])
    return np.random.default_rng(0).normal(size=(5000, 100))


def epoch_seconds(X: np.ndarray) -> dict[str, list[float]]:
    samples = Standardizer.fit(X, "feature").apply(X)
    trainers = {}
    for name, weight in (("with density loss", 1.0), ("without", 0.0)):
        network = build_network((512, 256, 128), (samples.shape[1],), 10, torch.Generator().manual_seed(0), fresh=False)
        trainers[name] = Trainer(
            network,
            torch.from_numpy(samples),
            targets_of_batches(samples, 5, mean_edge=False),
            TrainSettings(epochs=REPEATS + 2, density_weight=weight),
            np.random.default_rng(0),
        )
    seconds: dict[str, list[float]] = {name: [] for name in trainers}
    with training_threads():
        for repeat in range(REPEATS + 1):
            for name, trainer in trainers.items():
                with trainer.prepare():  # a stream of its own an epoch: nothing is prepared while the other is timed
                    record = trainer.record_epoch()
                if repeat > 0:  # the first compiles
                    seconds[name].append(record["seconds"])
    return seconds


def run() -> None:
    rows = {"synth_low, 5,000 x 100": synth_low(), "5,000 x 784": np.random.default_rng(0).normal(size=(5000, 784))}
    print(f"{'data':<26}{'with (s)':>10}{'without (s)':>13}{'ratio':>8}{'quartiles':>16}")
    for name, X in rows.items():
        seconds = epoch_seconds(X)
        with_loss, without = (np.array(values) for values in seconds.values())
        low, middle, high = np.quantile(with_loss / without, [0.25, 0.5, 0.75])
        quartiles = f"{low:.2f} to {high:.2f}"
        print(f"{name:<26}{np.median(with_loss):>10.3f}{np.median(without):>13.3f}{middle:>8.2f}{quartiles:>16}")
