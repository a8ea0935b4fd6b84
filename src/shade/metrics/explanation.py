"""Explain clusters: the features that separate the rows of a cluster from all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.stats import rankdata

from shade._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from shade._base.text import printable
from shade._base.validation import Whole, check_finite, check_numeric, check_parameter, to_numpy

# Columns are ranked in blocks of so many entries, so that memory never holds the ranks of all columns.
BLOCK = 1 << 20
MOST_WORDS = 20_000


@dataclass(frozen=True)
class Explanation:
    """For each group of rows, the features that separate it from the others, strongest first.

    Attributes
    ----------
    feature_names : tuple of str
    effects : ndarray of shape (n_groups, n_features)
        Cliff's delta of each feature. Of all pairs of a row inside and a row outside, it is the fraction in which the
        row inside is larger, minus the fraction in which it is smaller. It is 1 or −1 if the feature alone separates
        the group from the rest, and 0 if it does not separate them. It does not depend on units or on outliers.
    features : ndarray of shape (n_groups, top)
        Numbers of the features with the largest effects.
    inside, outside : ndarray of shape (n_groups, top)
        Medians of these features over the rows inside and outside of the group; means for features that are 0 or 1; NaN
        if there are no rows outside.
    """

    feature_names: tuple[str, ...]
    effects: FloatArray
    features: IntArray
    inside: FloatArray
    outside: FloatArray

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each cluster and each of its features."""
        import pandas as pd

        clusters, top = self.features.shape
        numbers = np.repeat(np.arange(clusters), top)
        features = self.features.ravel()
        return pd.DataFrame(
            {
                "cluster": numbers,
                "feature": [self.feature_names[feature] for feature in features],
                "effect": self.effects[numbers, features],
                "inside": self.inside.ravel(),
                "outside": self.outside.ravel(),
            }
        )

    def __str__(self) -> str:
        lines = (
            f"cluster {cluster}: " + ", ".join(self._describe(cluster, place) for place in range(len(features)))
            for cluster, features in enumerate(self.features)
        )
        return printable("\n".join(lines))

    def _repr_html_(self) -> str:
        """Return a table for a notebook: a row for each cluster, and its features."""
        rows = "".join(
            f"<tr><th>{cluster}</th>"
            + "".join(
                f"<td><bdi>{escape(printable(self._describe(cluster, place)))}</bdi></td>"
                for place in range(len(features))
            )
            + "</tr>"
            for cluster, features in enumerate(self.features)
        )
        heads = "".join(f"<th>{place + 1}</th>" for place in range(self.features.shape[1]))
        return f"<table><thead><tr><th>cluster</th>{heads}</tr></thead><tbody>{rows}</tbody></table>"

    def _describe(self, cluster: int, place: int) -> str:
        feature = self.features[cluster, place]
        if np.isnan(self.outside[cluster, place]):  # every row is in the cluster
            return f"{self.feature_names[feature]} {self.inside[cluster, place]:.4g}"
        return (
            f"{self.feature_names[feature]} {self.effects[cluster, feature]:+.2f} "
            f"({self.inside[cluster, place]:.4g}, others {self.outside[cluster, place]:.4g})"
        )


def explain_groups(
    X: object, groups: Sequence[IntArray], *, top: int = 5, feature_names: Sequence[str] | None = None
) -> Explanation:
    """Find the features that separate groups of rows from all other rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, ...), or sparse matrix
        Samples of several dimensions are flattened.
    groups : sequence of ndarray
        Rows of each group; groups may overlap.
    top : int, default=5
        Number of features per group.
    feature_names : sequence of str, optional
        If None, the names of a DataFrame's columns, or x0, x1, ….

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from shade.metrics.explanation import explain_groups
    >>> X = [[0.0, 5.0], [0.1, 1.0], [9.0, 5.0], [9.5, 1.0]]
    >>> print(explain_groups(X, [np.array([0, 1])], top=1, feature_names=["weight", "height"]))
    cluster 0: weight -1.00 (0.05, others 9.25)
    """
    check_parameter("top", top, Whole(1), "explain")
    rows = _as_table(X)
    names = _names(X, rows.shape[1], feature_names)
    sizes = np.array([len(group) for group in groups], np.int64)
    effects = np.zeros((len(groups), rows.shape[1]))
    shifts = np.zeros_like(effects)
    step = max(1, BLOCK // max(1, rows.shape[0]))
    for start in range(0, rows.shape[1], step):
        block = slice(start, start + step)
        columns = check_finite(_columns(rows, block).astype(np.float64, copy=False), names=names[block])
        effects[:, block] = _deltas(rankdata(columns, axis=0), groups, sizes)
        shifts[:, block] = _shifts(columns, groups, sizes)
    # Several features may separate a group completely. Then the one with the largest gap comes first.
    order = np.lexsort((-np.abs(shifts), -np.abs(effects).round(9)), axis=1)[:, :top]
    inside, outside = _middles(rows, groups, order)
    return Explanation(names, effects, order, inside, outside)


def explain_texts(texts: Sequence[str], groups: Sequence[IntArray], *, top: int = 5) -> Explanation:
    """Find the words that are in more texts of a group than in other texts.

    The effect of a word is the fraction of texts inside that contain it minus that of texts outside: Cliff's delta of a
    feature that is 1 where the word is. Common words are in both, so no list of them is needed. Words must be in at
    least two texts; of more than 20,000 words, the most frequent are compared.

    Parameters
    ----------
    texts : sequence of str
    groups : sequence of ndarray
        Rows of each group; groups may overlap.
    top : int, default=5
        Number of words per group; less if there are fewer words.

    Returns
    -------
    Explanation
        Its features are words.

    Examples
    --------
    >>> import numpy as np
    >>> from shade.metrics.explanation import explain_texts
    >>> texts = ["the red rose", "a rose in the sun", "the fast car", "a car in the rain"]
    >>> print(explain_texts(texts, [np.array([0, 1]), np.array([2, 3])], top=1))
    cluster 0: rose +1.00 (1, others 0)
    cluster 1: car +1.00 (1, others 0)
    """
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import CountVectorizer

    check_parameter("top", top, Whole(1), "explain")
    counter = CountVectorizer(binary=True, min_df=2, max_features=MOST_WORDS, dtype=np.float32)
    try:
        found = counter.fit_transform(texts)
    except ValueError:  # no word is in two texts
        empty = np.empty((len(groups), 0))
        return Explanation((), empty, empty.astype(np.int64), empty, empty)
    sizes = np.array([[len(group)] for group in groups], np.float64)
    starts = np.append(0, np.cumsum(sizes[:, 0], dtype=np.int64))
    rows = np.concatenate([*groups, np.empty(0, np.int64)]).astype(np.int64)
    member = csr_array((np.ones(len(rows), np.float32), rows, starts), shape=(len(groups), len(texts)))
    own = (member @ found).toarray().astype(np.float64)
    inside = own / np.maximum(sizes, 1)
    outside = (np.asarray(found.sum(axis=0), np.float64).reshape(1, -1) - own) / np.maximum(len(texts) - sizes, 1)
    effects = np.where(sizes < len(texts), inside - outside, 0.0)
    order = np.argsort(-effects.round(9), axis=1, kind="stable")[:, :top]
    return Explanation(
        tuple(counter.get_feature_names_out().tolist()), effects, order,
        np.take_along_axis(inside, order, axis=1), np.take_along_axis(outside, order, axis=1),
    )  # fmt: skip


def explain_labels(
    X: object, labels: IntArray, *, top: int = 5, feature_names: Sequence[str] | None = None
) -> Explanation:
    """Find the features, or the words of texts, that separate each cluster from all other rows, noise included."""
    rows: Any = X
    n_rows = rows.shape[0] if hasattr(X, "tocsc") else len(rows) if hasattr(X, "__len__") else 0
    if n_rows != len(labels):
        raise ValueError(f"X has {n_rows} rows, but {len(labels)} were clustered. Give these rows in the same order.")
    clusters = range(int(labels.max(initial=-1)) + 1)
    groups = [np.flatnonzero(labels == cluster) for cluster in clusters]
    if (texts := _as_texts(X)) is not None:
        return explain_texts(texts, groups, top=top)
    return explain_groups(X, groups, top=top, feature_names=feature_names)


def _as_texts(X: object) -> list[str] | None:
    """Return one text per row, or None if rows are something else. An empty cell is an empty text."""
    rows = X if isinstance(X, list | tuple) else np.asarray(to_numpy(X))
    if isinstance(rows, np.ndarray) and (rows.ndim != 1 or rows.dtype.kind not in "OUT"):
        return None
    if not any(isinstance(row, str) for row in rows):
        return None
    return [row if isinstance(row, str) else "" for row in rows]


def _as_table(X: object) -> Any:
    """Return rows of numbers, as an ndarray or as a sparse matrix of columns."""
    if hasattr(X, "tocsc"):
        return X.tocsc()
    rows = check_numeric(np.asarray(to_numpy(X)))
    if rows.ndim < 2:
        raise ValueError(f"Expected rows of features, got an array of shape {rows.shape} instead.")
    return rows.reshape(len(rows), -1)


def _columns(rows: Any, columns: Any) -> AnyArray:
    """Return some columns of a full or sparse matrix as a full one."""
    found = rows[:, columns]
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def _names(X: object, n_features: int, given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the given names, else those of the columns, else numbered names as in scikit-learn."""
    found = getattr(X, "columns", None) if given is None else given
    if found is not None and len(found) == n_features:
        return tuple(map(str, found))
    return tuple(f"x{feature}" for feature in range(n_features))


def _sums(values: FloatArray, groups: Sequence[IntArray]) -> FloatArray:
    """Return the sum of each column over each group: shape (n_groups, n_columns)."""
    return np.array([values[group].sum(axis=0) for group in groups]).reshape(len(groups), values.shape[1])


def _deltas(ranks: FloatArray, groups: Sequence[IntArray], sizes: IntArray) -> FloatArray:
    """Return Cliff's delta from sums of ranks (Mann and Whitney); 0 for a group of all rows or of none."""
    inside = sizes[:, None].astype(np.float64)
    pairs = inside * (len(ranks) - inside)
    larger = _sums(ranks, groups) - inside * (inside + 1) / 2
    deltas: FloatArray = np.divide(2 * larger, pairs, out=np.ones_like(larger), where=pairs > 0) - 1.0
    return deltas


def _shifts(columns: FloatArray, groups: Sequence[IntArray], sizes: IntArray) -> FloatArray:
    """Return the difference of means inside and outside in standard deviations; 0 for a constant column."""
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    inside = np.maximum(sizes, 1)[:, None]
    outside = np.maximum(len(columns) - sizes, 1)[:, None]
    sums = _sums(centred, groups)
    differences = sums / inside + sums / outside
    shifts: FloatArray = np.divide(differences, spread, out=np.zeros_like(sums), where=spread > 0)
    return shifts


def _middles(rows: Any, groups: Sequence[IntArray], features: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return medians of the chosen features inside and outside of each group; fractions for 0-1 features."""
    inside, outside = np.full(features.shape, np.nan), np.full(features.shape, np.nan)
    yes_or_no = {feature for feature in np.unique(features) if np.isin(_columns(rows, [feature]), (0, 1)).all()}
    for place, (group, chosen) in enumerate(zip(groups, features, strict=True)):
        shares = np.array([feature in yes_or_no for feature in chosen])
        values, rest = _columns(rows, chosen), np.ones(rows.shape[0], np.bool_)
        rest[group] = False
        if len(group):
            inside[place] = _middle(values[group], shares)
        if rest.any():
            outside[place] = _middle(values[rest], shares)
    return inside, outside


def _middle(values: AnyArray, shares: BoolArray) -> FloatArray:
    return np.where(shares, values.mean(axis=0), np.median(values, axis=0))
