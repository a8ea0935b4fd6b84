"""The methods of the tables by name."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from shade import PAPER
from shade._base.arrays import AnyArray, IntArray
from shade._base.errors import ShadeError, ShadeWarning
from shade.clustering.assignment import assign_nearest
from shade.density.dc_tree import DCTree
from shade.experiments.baselines import Baseline, run_clustpy, run_hdbscan, run_peer
from shade.experiments.samples import BenchmarkSamples
from shade.experiments.source_code import fingerprint_code


@dataclass(frozen=True)
class Method:
    """A method of `METHODS`, with changed parameters.

    Attributes
    ----------
    name : str
        A name in `METHODS`.
    parameters : mapping
        Parameters that replace settings of the method: those of `SHADE`, or of ClustPy's class.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in METHODS:
            raise ShadeError(f"There is no method {self.name!r}. Known are: {', '.join(METHODS)}.")

    def __hash__(self) -> int:
        return hash((self.name, self.key))

    @property
    def as_json(self) -> str:
        """The parameters as text, equal for equal parameters."""
        return json.dumps(dict(self.parameters), sort_keys=True, default=str)

    @property
    def key(self) -> str:
        """A short hash of the parameters, or "" without parameters."""
        return hashlib.sha256(self.as_json.encode()).hexdigest()[:12] if self.parameters else ""

    @property
    def label(self) -> str:
        """Name and parameters as readable text."""
        given = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.name}({given})" if given else self.name


@dataclass(frozen=True)
class Outcome:
    """Result of a method: labels, the same with noise assigned to clusters, and the points that were clustered.

    `tree` is their density tree if the method has built it. If `assigned` uses links, `nearest` makes labels with noise
    in the nearest cluster of the data. This is not part of the method, so its time is not measured.
    """

    labels: IntArray
    assigned: IntArray
    embedding: AnyArray
    tree: DCTree | None = None
    nearest: Callable[[], IntArray] | None = None


@dataclass(frozen=True)
class Recipe:
    """How to run a method, whether its result depends on the seed, and whether it is a method of shade."""

    run: Callable[[BenchmarkSamples, Mapping[str, Any], int, str, int | None], Outcome]
    random: bool = True
    own: bool = False


def run_method(
    method: Method, samples: BenchmarkSamples, seed: int, device: str = "auto", n_jobs: int | None = None
) -> Outcome:
    """Run a method once."""
    return METHODS[method.name].run(samples, method.parameters, seed, device, n_jobs)


def code_of(method: str) -> str | None:
    """Return the fingerprint of the current code for methods of shade, and None for others."""
    return fingerprint_code() if METHODS[method].own else None


def shorten(method: Method, epochs: int) -> Method:
    """Return the method with fewer epochs, for trials. Methods that do not train are not changed."""
    names = EPOCHS_OF.get(method.name, ())
    return Method(method.name, {**method.parameters, **dict.fromkeys(names, epochs)})


def _run_shade(
    settings: Mapping[str, Any], links: bool,
    samples: BenchmarkSamples, parameters: Mapping[str, Any], seed: int, device: str, n_jobs: int | None,
) -> Outcome:  # fmt: skip
    """Run SHADE. Noise is assigned to the nearest cluster of the data, or over links like `assign_noise` by default."""
    from shade.estimators.shade import SHADE

    chosen = {**settings, "standardize": samples.standardize, **parameters}
    model = SHADE(**chosen, random_state=seed, device=device, n_jobs=n_jobs)
    X = samples.channels_first if model.network == "conv" else samples.rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShadeWarning)  # much noise is an expected result here
        model.fit(X)
    nearest = partial(model.assign_noise, "nearest", X)
    assigned = model.assign_noise() if links else nearest()
    return Outcome(model.labels_, assigned, model.embedding_, model.dc_tree_, nearest if links else None)


def _cluster_tree(
    samples: BenchmarkSamples, parameters: Mapping[str, Any], seed: int, device: str
) -> tuple[IntArray, AnyArray]:
    """Run only the clustering step of SHADE, on the standardised data."""
    from shade.estimators.dc_tree_clustering import DCTreeClustering

    X = samples.standardized()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShadeWarning)
        return DCTreeClustering(**parameters, device=device).fit(X).labels_, X


def _baseline(baseline: Baseline, *, random: bool = True, own: bool = False, noise: str = "embedding") -> Recipe:
    """Return a method whose noise goes to the nearest cluster of its embedding, or of the standardised data."""

    def run(
        samples: BenchmarkSamples, parameters: Mapping[str, Any], seed: int, device: str, n_jobs: int | None
    ) -> Outcome:
        labels, embedding = baseline(samples, parameters, seed, device)
        points = samples.standardized() if noise == "data" else embedding
        return Outcome(labels, assign_nearest(labels, np.asarray(points, np.float64)), embedding)

    return Recipe(run, random, own)


#: All methods. "SHADE" has the settings of the paper, "default" the current defaults of SHADE(). For "SHADE", noise
#: goes to the nearest cluster in the data: the embedding does not reproduce the published NMI after that step.
#: For "default", there are results for that and for the links of its spanning trees.
METHODS: dict[str, Recipe] = {
    "SHADE": Recipe(partial(_run_shade, PAPER, False), own=True),
    "default": Recipe(partial(_run_shade, {}, True), own=True),
    "autoencoder": Recipe(partial(_run_shade, {**PAPER, "density_weight": 0.0}, False), own=True),
    **{name: _baseline(partial(run_clustpy, name)) for name in ("DDC", "DipDECK", "DipEncoder", "DCN", "DEC", "IDEC")},
    "ClustPy SHADE": _baseline(partial(run_clustpy, "SHADE")),
    "HDBSCAN": _baseline(partial(run_hdbscan, "data", False), random=False),
    "PCA HDBSCAN": _baseline(partial(run_hdbscan, "PCA", False), random=False),
    "UMAP HDBSCAN": _baseline(partial(run_hdbscan, "UMAP", False)),
    "DCTreeClustering": _baseline(_cluster_tree, random=False, own=True),
    "suite HDBSCAN": _baseline(partial(run_hdbscan, "data", True), random=False),
    "suite UMAP HDBSCAN": _baseline(partial(run_hdbscan, "UMAP", True), noise="data"),
    "PLSCAN": _baseline(partial(run_peer, "PLSCAN"), random=False),
    **{name: _baseline(partial(run_peer, name)) for name in ("EVoC", "Leiden", "k-means")},
}

#: The parameters for the duration of training of each method.
EPOCHS_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("SHADE", "default", "autoencoder"), ("epochs",)),
    **dict.fromkeys(("DipDECK", "DipEncoder", "DCN", "DEC", "IDEC"), ("pretrain_epochs", "clustering_epochs")),
    "DDC": ("pretrain_epochs",),
    "ClustPy SHADE": ("clustering_epochs",),
}
