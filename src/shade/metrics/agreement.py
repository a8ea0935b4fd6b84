"""Agreement of a clustering with true classes, by the conventions of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from shade._base.arrays import AnyArray, IntArray


@dataclass(frozen=True)
class Agreement:
    """Agreement of labels with true classes. True noise is ignored, except in the two numbers about noise.

    Attributes
    ----------
    ari, nmi : float
        Adjusted Rand index and normalised mutual information of the points that are not labelled as noise: the columns
        "SHADE" of the paper. NaN if every point is labelled as noise.
    ari_1nn, nmi_1nn : float
        The same for all points, after noise points were assigned to clusters: the columns "SHADE_1nn" of the paper.
    n_clusters : int
        Number of clusters.
    noise_share : float
        Fraction of all points, true noise included, that are labelled as noise.
    noise_recall : float
        Fraction of true noise that is labelled as noise; NaN if there is no true noise.
    noise_precision : float
        Fraction of labelled noise that is true noise; NaN if nothing is labelled as noise, or if there is no true
        noise.
    """

    ari: float
    nmi: float
    ari_1nn: float
    nmi_1nn: float
    n_clusters: int
    noise_share: float
    noise_recall: float
    noise_precision: float


def measure_agreement(truth: object, labels: object, assigned: object = None) -> Agreement:
    """Compare labels with true classes.

    Parameters
    ----------
    truth : array-like of shape (n_samples,)
        True clusters, by numbers or names; a negative number is noise.
    labels : array-like of shape (n_samples,)
        Clusters that were found; a negative number is noise.
    assigned : array-like of shape (n_samples,), optional
        The labels after every noise point was assigned to a cluster, from `SHADE.assign_noise`. If None, `labels` are
        used, and noise is a cluster of its own.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> from shade.metrics import measure_agreement
    >>> found = measure_agreement([0, 0, 1, 1, -1], [3, 3, 5, -1, -1], [3, 3, 5, 5, 5])
    >>> found.ari, found.ari_1nn, found.noise_recall, found.noise_precision
    (1.0, 1.0, 1.0, 0.5)
    >>> measure_agreement(["cat", "cat", "dog"], [0, 0, 1]).ari
    1.0
    """
    true, found = _check_labels("truth", truth), _check_labels("labels", labels)
    complete = found if assigned is None else _check_labels("assigned", assigned)
    if not len(true) == len(found) == len(complete):
        raise ValueError(
            f"Truth, labels and assigned labels must be equally long. Got {len(true)}, {len(found)} and "
            f"{len(complete)} instead."
        )
    true_noise, noise = true < 0, found < 0
    ari, nmi = _compare(true[~true_noise & ~noise], found[~true_noise & ~noise])
    ari_1nn, nmi_1nn = _compare(true[~true_noise], complete[~true_noise])
    both = int(np.sum(true_noise & noise))
    has_noise = bool(true_noise.any())
    return Agreement(
        ari=ari,
        nmi=nmi,
        ari_1nn=ari_1nn,
        nmi_1nn=nmi_1nn,
        n_clusters=len(np.unique(found[~noise])),
        noise_share=float(noise.mean()),
        noise_recall=both / int(true_noise.sum()) if has_noise else float("nan"),
        noise_precision=both / int(noise.sum()) if has_noise and noise.any() else float("nan"),
    )


def _compare(truth: AnyArray, labels: AnyArray) -> tuple[float, float]:
    if len(truth) == 0:
        return float("nan"), float("nan")
    return float(adjusted_rand_score(truth, labels)), float(normalized_mutual_info_score(truth, labels))


def _check_labels(name: str, labels: object) -> IntArray:
    """Return labels as numbers, with noise as −1. Only whole numbers can be noise."""
    array = np.asarray(labels)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"The '{name}' parameter of measure_agreement must be one-dimensional with at least one entry. Got shape "
            f"{array.shape} instead."
        )
    if array.dtype.kind == "f" and not np.array_equal(array, np.round(array)):
        raise ValueError(
            f"The '{name}' parameter of measure_agreement must hold labels, not measurements. Got fractions or NaN "
            "instead."
        )
    if array.dtype.kind in "iuf" or all(isinstance(label, int | np.integer) for label in array):
        numbers = array.astype(np.int64)
        return np.where(numbers < 0, -1, numbers)
    try:
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    except TypeError:
        raise ValueError(
            f"The '{name}' parameter of measure_agreement must hold labels of one kind, such as all text. Got "
            f"{_kinds(array)} instead."
        ) from None


def _kinds(array: AnyArray) -> str:
    return " and ".join(sorted({type(value).__name__ for value in array.tolist()}))
