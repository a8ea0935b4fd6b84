"""Agreement of a clustering with a truth, by the conventions of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from shade._arrays import AnyArray, IntArray


@dataclass(frozen=True)
class Agreement:
    """How far labels agree with a truth. True noise is left out of all but the two figures about noise.

    Attributes
    ----------
    ari, nmi : float
        Adjusted Rand index and normalised mutual information of the points that are not labelled noise: the paper's
        "SHADE" columns. NaN if every point is labelled noise.
    ari_1nn, nmi_1nn : float
        The same of all points, noise put into clusters first: the paper's "SHADE_1nn" columns.
    n_clusters : int
        Number of clusters.
    noise_share : float
        Share of all points, true noise included, that are labelled noise.
    noise_recall : float
        Share of true noise that is labelled noise; NaN where the truth has none.
    noise_precision : float
        Share of labelled noise that is true noise; NaN where nothing is labelled noise, or the truth has none.
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
    """Compare labels with a truth.

    Parameters
    ----------
    truth : array-like of int of shape (n_samples,)
        True clusters; negative is noise.
    labels : array-like of int of shape (n_samples,)
        Clusters that were found; negative is noise.
    assigned : array-like of int of shape (n_samples,), optional
        The labels with every noise point put into a cluster, as `SHADE.assign_noise` returns them. If None, `labels`
        as they are, noise counting as a cluster of its own.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> from shade.metrics import measure_agreement
    >>> found = measure_agreement([0, 0, 1, 1, -1], [3, 3, 5, -1, -1], [3, 3, 5, 5, 5])
    >>> found.ari, found.ari_1nn, found.noise_recall, found.noise_precision
    (1.0, 1.0, 1.0, 0.5)
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
    array = np.asarray(labels)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        raise ValueError(
            f"The '{name}' parameter of measure_agreement must be a one-dimensional array of int with at least one "
            f"entry. Got shape {array.shape} and dtype {array.dtype} instead."
        )
    return array.astype(np.int64)
