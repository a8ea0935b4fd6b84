"""A whole fit on Synth_low with the settings of the paper, against ClustPy's SHADE on the same device."""

import contextlib
import io
import os
import warnings
from collections.abc import Callable

from benchmarks import data
from benchmarks.measure import interleave, show, store


def run() -> None:
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
    standardized = (X - X.mean(axis=0)) / X.std(axis=0)
    tables = []
    for tree in ("batch", "complete"):
        settings = {**shade.PAPER, "tree": tree, "random_state": 0, "device": device}
        runs: dict[str, Callable[[], object]] = {"shade": lambda settings=settings: shade.SHADE(**settings).fit(X)}
        if clustpy is not None:

            def fit_peer(complete: bool = tree == "complete") -> None:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    clustpy.SHADE(use_complete_dc_tree=complete, device=torch.device(device), random_state=0).fit(
                        standardized
                    )

            runs["ClustPy"] = fit_peer
        tables.append(show(f"fit, synth_low, {tree} tree, {device}", interleave(runs, 1), "shade"))
    machine = torch.cuda.get_device_name().replace(" ", "_") if device == "cuda" else f"cpu{os.cpu_count()}"
    store("fit", machine, tables)
