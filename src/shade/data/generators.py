"""Synthetic data from a seed."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np

from shade._base.arrays import FloatArray, IntArray
from shade._base.extras import need
from shade._base.seeds import draw_seed
from shade._base.validation import Real, Whole, check_parameter

RandomState = int | np.random.Generator | np.random.RandomState | None

# The S is as long as a ring, so that all three clusters have the same density.
S_RADIUS = 2.0 / 3.0
S_CENTRE = 2.0 + 1.5 + S_RADIUS

# The parameters of the paper's synthetic data (its appendix).
DENSIRED: dict[str, Any] = {
    "clunum": 10, "core_num": 200, "domain_size": 20, "step": 1.5,
    "dens_factors": [1, 1, 0.5, 0.3, 2, 1.2, 0.9, 0.6, 1.4, 1.1], "momentum": 0.8, "branch": 0.1, "star": 1,
    "square": True, "max_retry": 5, "random_start": False, "safety": False, "verbose": False,
}  # fmt: skip


def make_three_clusters(
    n_samples: int = 1500, *, noise: float = 0.05, random_state: RandomState = None
) -> tuple[FloatArray, IntArray]:
    """Two interlocked rings and an S in three dimensions.

    The rings have radius 1. Each passes through the centre of the other, and they are 1 apart everywhere. The S is 1.5
    beside them. No plane or centre separates the rings, but density does.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of points, a third per cluster. If it is no multiple of three, the first clusters get one more.
    noise : float, default=0.05
        Standard deviation of the Gaussian jitter around the curves.
    random_state : int, Generator, RandomState or None, default=None
        An int gives the same points each time.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points, in random order.
    y : ndarray of shape (n_samples,)
        0 and 1 for the rings, 2 for the S.

    Examples
    --------
    >>> from shade.data import make_three_clusters
    >>> X, y = make_three_clusters(300, random_state=0)
    >>> X.shape, [int((y == cluster).sum()) for cluster in range(3)]
    ((300, 3), [100, 100, 100])
    """
    check_parameter("n_samples", n_samples, Whole(3), "make_three_clusters")
    check_parameter("noise", noise, Real(0.0), "make_three_clusters")
    generator = _make_generator(random_state, "make_three_clusters")
    y = np.sort(np.arange(n_samples, dtype=np.int64) % 3)
    along = generator.uniform(size=n_samples)
    curves = (_horizontal_ring, _vertical_ring, _letter_s)
    X = np.concatenate([curve(along[y == cluster]) for cluster, curve in enumerate(curves)])
    X += noise * generator.standard_normal(X.shape)
    shuffled = generator.permutation(n_samples)
    return X[shuffled], y[shuffled]


def make_blobs(
    n_samples: int = 1500,
    *,
    n_clusters: int = 10,
    n_features: int = 10,
    noise: float = 1.0,
    noise_share: float = 0.0,
    random_state: RandomState = None,
) -> tuple[FloatArray, IntArray]:
    """Gaussian clusters with centres in a cube of side 20.

    Parameters
    ----------
    n_samples : int, default=1500
    n_clusters, n_features : int, default=10
    noise : float, default=1.0
        Standard deviation of each cluster.
    noise_share : float, default=0.0
        Fraction of points that are uniform noise over 1.2 times the extent of the clusters, with the label −1.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from shade.data import make_blobs
    >>> X, y = make_blobs(100, n_clusters=3, noise_share=0.1, random_state=0)
    >>> X.shape, int((y == -1).sum())
    ((100, 10), 10)
    """
    from sklearn.datasets import make_blobs as make

    check_parameter("n_clusters", n_clusters, Whole(1), "make_blobs")
    check_parameter("n_features", n_features, Whole(1), "make_blobs")
    settings = {"n_features": n_features, "centers": n_clusters, "cluster_std": noise}
    return _make_with_noise(make, "make_blobs", n_samples, noise, noise_share, random_state, **settings)


def make_moons(
    n_samples: int = 1500, *, noise: float = 0.05, noise_share: float = 0.0, random_state: RandomState = None
) -> tuple[FloatArray, IntArray]:
    """Two interleaving half circles in the plane.

    Parameters
    ----------
    n_samples, noise_share, random_state
        See :func:`make_blobs`.
    noise : float, default=0.05
        Standard deviation of the Gaussian jitter.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
    """
    from sklearn.datasets import make_moons as make

    return _make_with_noise(make, "make_moons", n_samples, noise, noise_share, random_state, noise=noise)


def make_rings(
    n_samples: int = 1500, *, noise: float = 0.05, noise_share: float = 0.0, random_state: RandomState = None
) -> tuple[FloatArray, IntArray]:
    """A ring of radius 1 around one of radius 0.5 in the plane.

    Parameters
    ----------
    n_samples, noise, noise_share, random_state
        See :func:`make_moons`.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 is the outer ring.
    """
    from sklearn.datasets import make_circles as make

    return _make_with_noise(make, "make_rings", n_samples, noise, noise_share, random_state, noise=noise, factor=0.5)


def make_densired(
    n_samples: int = 5000, *, n_features: int = 100, noise_share: float = 0.1, seed: int = 6
) -> tuple[FloatArray, IntArray]:
    """Ten density-connected clusters of different density in uniform noise, as in the paper's experiments.

    Made by DENSIRED (Jahn et al., 2024), the `densired` package, with the parameters of the paper's appendix.

    Parameters
    ----------
    n_samples : int, default=5000
    n_features : int, default=100
        The paper uses 10 to 50,000.
    noise_share : float, default=0.1
        The paper uses 0 to 0.9. Noise keeps a distance from the clusters.
    seed : int, default=6
        The paper's seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Clusters 0 to 9; −1 is noise.
    """
    check_parameter("n_samples", n_samples, Whole(10), "make_densired")
    check_parameter("n_features", n_features, Whole(2), "make_densired")
    _check_share(noise_share, "make_densired")
    check_parameter("seed", seed, Whole(0), "make_densired")
    datagen = need("densired.datagen", "paper", "make_densired")
    with contextlib.redirect_stdout(io.StringIO()):  # it prints its progress
        maker = datagen.densityDataGen(dim=n_features, ratio_noise=noise_share, seed=seed, **DENSIRED)
        table = maker.generate_data(n_samples)
    return table[:, :-1], table[:, -1].astype(np.int64)


def _make_with_noise(
    make: Any, owner: str, n_samples: int, jitter: float, noise_share: float, random_state: RandomState, **settings: Any
) -> tuple[FloatArray, IntArray]:
    """Call a generator of scikit-learn, and add uniform noise."""
    check_parameter("n_samples", n_samples, Whole(2), owner)
    check_parameter("noise", jitter, Real(0.0), owner)
    _check_share(noise_share, owner)
    generator = _make_generator(random_state, owner)
    n_noise = round(noise_share * n_samples)
    X, y = make(n_samples - n_noise, random_state=int(generator.integers(2**31)), **settings)
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.1 * (high - low)
    noise = generator.uniform(low - room, high + room, size=(n_noise, X.shape[1]))
    shuffled = generator.permutation(n_samples)
    labels = np.append(y.astype(np.int64), np.full(n_noise, -1))
    return np.concatenate([X, noise])[shuffled], labels[shuffled]


def _check_share(share: float, owner: str) -> None:
    if not Real(0.0).accepts(share) or share >= 1.0:
        raise ValueError(
            f"The 'noise_share' parameter of {owner} must be a float in the range [0.0, 1.0). Got {share!r} instead."
        )


def _horizontal_ring(along: FloatArray) -> FloatArray:
    angle = 2.0 * np.pi * along
    return np.column_stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)])


def _vertical_ring(along: FloatArray) -> FloatArray:
    angle = 2.0 * np.pi * along
    return np.column_stack([1.0 + np.cos(angle), np.zeros_like(angle), np.sin(angle)])


def _letter_s(along: FloatArray) -> FloatArray:
    """Two three-quarter circles, one above the other, that meet in the middle."""
    angle = 3.0 * np.pi * (along - 0.5)
    x = S_CENTRE + S_RADIUS * np.sin(angle)
    return np.column_stack([x, np.zeros_like(angle), S_RADIUS * np.sign(angle) * (np.cos(angle) - 1.0)])


def _make_generator(random_state: RandomState, owner: str) -> np.random.Generator:
    """Return one local generator for any kind of seed."""
    generators = (np.random.Generator, np.random.RandomState)
    if random_state is None or isinstance(random_state, generators) or Whole(0).accepts(random_state):
        return np.random.default_rng(draw_seed(random_state))
    raise ValueError(
        f"The 'random_state' parameter of {owner} must be an int in the range [0, inf), a Generator, a RandomState "
        f"or None. Got {random_state!r} instead."
    )
