"""A column of texts as numbers: one feature per word, weighed by TF-IDF."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError
from shade._base.memory import check_room

MOST_WORDS = 5000  # the most frequent ones: the first layer of a network has 512 weights for each
FEWEST_TEXTS = 2  # a word of one text says nothing about other texts
MOST_TEXTS = 0.5  # a word of more texts, such as "the", hardly distinguishes them


def find_words(name: str, texts: Sequence[str], source: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the words of some texts in alphabetical order, and for each how rare it is (its IDF)."""
    found = _vectorizer(min_df=FEWEST_TEXTS, max_df=MOST_TEXTS, max_features=MOST_WORDS)
    try:
        found.fit(texts)
    except ValueError:  # no word is left
        raise DataError(
            f"No word of column {name!r} of {source} is in at least {FEWEST_TEXTS} and in at most {MOST_TEXTS:.0%} of "
            "the texts, so they cannot be compared. Give more texts, or another column."
        ) from None
    return tuple(found.get_feature_names_out().tolist()), tuple(found.idf_.tolist())


def weigh_words(texts: Sequence[str], words: Sequence[str], weights: Sequence[float]) -> AnyArray:
    """Return the TF-IDF of words in texts: rows of length 1, of zeros for a text without any of the words."""
    vectorizer = _vectorizer(vocabulary=list(words), dtype=np.float32)
    vectorizer.idf_ = np.array(weights, np.float32)
    room = 8.0 * len(texts) * len(words)
    check_room(room, None, f"{len(words)} words of {len(texts)} texts", "Give fewer texts, and predict the others.")
    weighed: AnyArray = vectorizer.transform(texts).toarray()
    return weighed


def check_words(words: Sequence[str], weights: Sequence[float]) -> bool:
    """Return whether words and their weights, from a model file, fit together."""
    return 0 < len(words) == len(weights) and all(math.isfinite(weight) and weight > 0 for weight in weights)


def _vectorizer(**settings: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, **settings)
