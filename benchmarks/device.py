"""What a CUDA device makes of it."""

import warnings

import numpy as np

from benchmarks import data
from benchmarks.measure import interleave, show, store


def run(repeats: int) -> None:
    import torch

    import shade
    from shade import SHADE, DCTreeClustering
    from shade.density import minimum_spanning_tree

    if not torch.cuda.is_available():
        print("\nno CUDA device here: nothing measured")
        return
    warnings.simplefilter("ignore")
    wait = torch.cuda.synchronize
    tables = []
    for n, turns in ((70_000, repeats), (1_000_000, 2)):
        X = data.mixture(n)
        runs = {
            "spanning tree": lambda X=X: minimum_spanning_tree(X, 5, device="cuda"),
            "spanning tree and labels": lambda X=X: DCTreeClustering(selection="information", device="cuda").fit(X),
        }
        tables.append(show(f"mixture, {n:,} x 10", interleave(runs, turns, wait), "spanning tree"))
    for name, standardize, turns in (("synth_low", "feature", repeats), ("mnist", "global", 2)):
        X = data.load(name)
        if X is None:
            continue
        paper = {**shade.PAPER, "standardize": standardize, "random_state": 0, "device": "cuda"}
        runs = {
            "fit, tree of a batch": lambda X=X, paper=paper: SHADE(**paper).fit(X),
            "fit, complete tree": lambda X=X, paper=paper: SHADE(**{**paper, "tree": "complete"}).fit(X),
            "fit, no density loss": lambda X=X, paper=paper: SHADE(**{**paper, "density_weight": 0.0}).fit(X),
        }
        seconds = interleave(runs, turns, wait)
        tables.append(show(f"{name}, {len(X):,} x {X.shape[1]}", seconds, "fit, no density loss"))
        tables.append(show(f"{name}, a training step as a graph", step_seconds(X, standardize), "without"))
        if name == "mnist":
            Z = (X.astype(np.float32) - X.mean()) / X.std()
            runs = {"complete tree of the input": lambda Z=Z: minimum_spanning_tree(Z, 5, device="cuda")}
            tables.append(show("mnist, 70,000 x 784", interleave(runs, 3, wait), "complete tree of the input"))
    store("device", tables)


def step_seconds(X: np.ndarray, standardize: str) -> dict[str, list[float]]:
    """Seconds of a replayed step, with and without the density loss, 100 at a time."""
    import torch

    import shade
    from shade import SHADE
    from shade.data.standardize import Standardizer
    from shade.training import TrainSettings, build_network
    from shade.training.fitting import make_trainer

    samples = Standardizer.fit(X, standardize).apply(X)
    steps = {}
    trainers = []  # a graph reads the memory of its network: both must live
    for name, weight in (("with density loss", 1.0), ("without", 0.0)):
        model = SHADE(**{**shade.PAPER, "density_weight": weight})
        model.sample_shape_ = samples.shape[1:]
        network = build_network(model.network, samples.shape[1:], 10, torch.Generator().manual_seed(0), fresh=False)
        trainer = make_trainer(model, samples, None, torch.device("cuda"))(
            network=network, settings=TrainSettings(density_weight=weight, epochs=1), random=np.random.default_rng(0)
        )
        trainers.append(trainer)
        group = trainer._make_group(100, 500)

        def run(group: object = group) -> None:
            group.position.zero_()
            for _ in range(100):
                group.replay()

        steps[name] = run
    seconds = interleave(steps, 10, torch.cuda.synchronize)
    return {name: [value / 100 for value in values] for name, values in seconds.items()}
