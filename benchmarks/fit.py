"""A whole fit on Synth_low with the settings of the paper, against ClustPy's SHADE on the same device."""

import contextlib
import io
import warnings
from collections.abc import Callable

from benchmarks import data
from benchmarks.measure import interleave, show, store

# Training is the same work in every epoch; on a CPU fewer of them, for both, spare minutes of ClustPy's.
EPOCHS_ON_CPU = 20


def run(repeats: int) -> None:
    import torch

    import shade
    from shade.experiments.baselines import load_clustpy

    X = data.load("synth_low")
    if X is None:
        print("\nsynth_low is not there: set SHADE_DATA")
        return
    warnings.simplefilter("ignore")
    clustpy = load_clustpy()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    epochs = shade.PAPER["epochs"] if device == "cuda" else EPOCHS_ON_CPU
    standardized = (X - X.mean(axis=0)) / X.std(axis=0)
    tables = []
    for tree in ("batch", "complete"):
        settings = {**shade.PAPER, "tree": tree, "random_state": 0, "device": device, "epochs": epochs}
        runs: dict[str, Callable[[], object]] = {
            "shade": lambda settings=settings: shade.SHADE(**settings).fit(X),
            "shade, plain autoencoder": lambda settings=settings: shade.SHADE(**{**settings, "density_weight": 0}).fit(
                X
            ),
        }
        if clustpy is not None:

            def fit_peer(complete: bool = tree == "complete") -> None:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    clustpy.SHADE(
                        use_complete_dc_tree=complete,
                        clustering_epochs=epochs,
                        device=torch.device(device),
                        random_state=0,
                    ).fit(standardized)

            runs["ClustPy's SHADE"] = fit_peer
        title = f"fit, synth_low, {tree} tree, {epochs} epochs, {device}"
        warm_up = {"shade": lambda settings=settings: shade.SHADE(**{**settings, "epochs": 1}).fit(X)}
        tables.append(show(title, interleave(runs, max(1, repeats // 3), warm_up=warm_up), "shade"))
    store("fit", tables, [] if clustpy else ["ClustPy's SHADE"])
