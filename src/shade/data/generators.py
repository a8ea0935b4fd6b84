"""Data sets made from a seed."""

from __future__ import annotations

import numpy as np

from shade._arrays import FloatArray, IntArray
from shade._validation import Real, Whole, check_parameter

RandomState = int | np.random.Generator | np.random.RandomState | None

# The S has the length of a ring, so that all three clusters are equally dense.
S_RADIUS = 2.0 / 3.0
S_CENTRE = 2.0 + 1.5 + S_RADIUS


def make_three_clusters(
    n_samples: int = 1500, *, noise: float = 0.05, random_state: RandomState = None
) -> tuple[FloatArray, IntArray]:
    """Two interlocked rings and an S in three dimensions.

    The rings have radius 1, each passes through the centre of the other, and they are 1 apart everywhere; the S stands
    1.5 beside them. No plane or centre separates the rings, but density does.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of points, a third in each cluster; where it cannot be divided by three, the first clusters get one more.
    noise : float, default=0.05
        Standard deviation of the Gaussian jitter around the curves.
    random_state : int, Generator, RandomState or None, default=None
        An int makes the same points each time.

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
    generator = _make_generator(random_state)
    y = np.sort(np.arange(n_samples, dtype=np.int64) % 3)
    along = generator.uniform(size=n_samples)
    curves = (_horizontal_ring, _vertical_ring, _letter_s)
    X = np.concatenate([curve(along[y == cluster]) for cluster, curve in enumerate(curves)])
    X += noise * generator.standard_normal(X.shape)
    shuffled = generator.permutation(n_samples)
    return X[shuffled], y[shuffled]


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


def _make_generator(random_state: object) -> np.random.Generator:
    """One local generator, whatever the seed came as."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, dtype=np.int64))
    if random_state is None:
        return np.random.default_rng()
    if Whole(0).accepts(random_state):
        return np.random.default_rng(int(random_state))  # type: ignore[call-overload]
    raise ValueError(
        "The 'random_state' parameter of make_three_clusters must be an int in the range [0, inf), a Generator, a "
        f"RandomState or None. Got {random_state!r} instead."
    )
