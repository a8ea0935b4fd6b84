"""The columns of the data in a report: values to look at, to colour by, and to compare clusters by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade.report.packing import pack

MOST_CHARACTERS = 6_000_000  # of all columns; with the images and points of 70,000 rows, a report has less than 25 MB
LONGEST_TEXT = 300
MOST_PICKED = 4  # columns whose values are shown before a person chooses others
EMPTY_CODES = {"u1": 255, "u2": 65_535, "i4": -1}  # for empty cells
DAY = 86_400  # seconds
MOST_DAYS = 1e8  # from 1970 that JavaScript knows; NaT is farther
WHOLE = 1 << 24  # up to here, float32 holds every whole number
FEWEST_WORDS = 5  # of a text, on average


def pack_columns(
    columns: Mapping[str, AnyArray], order: IntArray, effects: Mapping[str, FloatArray], most: int = MOST_CHARACTERS
) -> tuple[list[dict[str, Any]], str]:
    """Return columns for the page, as many as fit, and a sentence on what is left out.

    First come columns without effects, such as text, and then the ones that separate any cluster best.
    """
    ranked = sorted(columns, key=lambda name: -effects[name].max(initial=0.0) if name in effects else -np.inf)
    packed: list[dict[str, Any]] = []
    for name in ranked:
        column = _pack(name, columns[name][order])
        size = len(column["values"]) + sum(map(len, map(str, column.get("levels", ()))))
        if size <= most:
            packed.append(column)
            most -= size
        elif name in effects:  # all that follow separate clusters less
            break
    if len(packed) == len(columns):
        return packed, ""
    return packed, (
        f"This file holds the values of {len(packed)} of {len(columns)} columns, those that separate the clusters best."
    )


def pick_columns(names: Sequence[str], effects: Mapping[str, FloatArray]) -> list[int]:
    """Return the columns to show first: two that are text or the like, and those that separate most clusters."""
    told = [place for place, name in enumerate(names) if name not in effects]
    mean = {place: effects[name].mean() for place, name in enumerate(names) if name in effects and effects[name].size}
    best = sorted(mean, key=lambda place: -mean[place])
    kept = told[: max(2, MOST_PICKED - len(best))]
    return sorted([*kept, *best][:MOST_PICKED])


def _pack(name: str, values: AnyArray) -> dict[str, Any]:
    """Return a column as codes of its distinct values, or as numbers if most values differ."""
    if values.dtype == object:
        texts = [None if value is None else _shorten(str(value)) for value in values.tolist()]
        levels: list[Any] = sorted({text for text in texts if text is not None})
        code_of = {text: code for code, text in enumerate(levels)}
        codes = np.array([code_of.get(text, -1) if text is not None else -1 for text in texts], np.int64)
        return {"name": name, "text": True, "levels": levels, **_pack_codes(codes, len(levels))}
    date = {"date": True} if values.dtype.kind == "M" else {}
    numbers = values.astype("M8[s]").astype(np.float64) / DAY if date else values.astype(np.float64)
    known = np.abs(numbers) < MOST_DAYS if date else np.isfinite(numbers)
    distinct, places = np.unique(numbers[known], return_inverse=True)
    if len(distinct) <= EMPTY_CODES["u1"] or 4 * len(distinct) < len(values):
        codes = np.full(len(values), -1)
        codes[known] = places
        return {
            "name": name,
            "levels": [_plain(value) for value in distinct.tolist()],
            **date,
            **_pack_codes(codes, len(distinct)),
        }
    largest = np.abs(distinct).max()
    single = not date and (largest < WHOLE or (largest < 1e38 and np.any(distinct % 1)))
    kind = "f4" if single else "f8"
    return {"name": name, "type": kind, **date, "values": pack(np.where(known, numbers, np.nan), kind)}


def _pack_codes(codes: IntArray, n_levels: int) -> dict[str, str]:
    kind = next(kind for kind, empty in EMPTY_CODES.items() if n_levels <= empty or empty < 0)
    return {"type": kind, "values": pack(np.where(codes < 0, EMPTY_CODES[kind], codes), kind)}


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def free_text(columns: Mapping[str, AnyArray]) -> str | None:
    """Return the first column of sentences rather than names or categories."""
    for name, values in columns.items():
        texts = [value for value in values.tolist() if value is not None] if values.dtype == object else []
        if texts and 2 * len(set(texts)) > len(values):
            words = sum(text.count(" ") for text in texts) / len(texts) + 1
            if words >= FEWEST_WORDS:
                return name
    return None


def describe_words(texts: Sequence[Any], groups: Sequence[IntArray], top: int) -> list[list[dict[str, Any]]]:
    """Return the words of each group, as the features of clusters are told."""
    from shade.metrics.explanation import explain_texts

    found = explain_texts(["" if text is None else text for text in texts], groups, top=top)
    return [
        [
            {
                "name": found.feature_names[word],
                "effect": round(float(found.effects[group, word]), 3),
                "inside": round(float(found.inside[group, rank]), 3),
                "outside": round(float(found.outside[group, rank]), 3),
            }
            for rank, word in enumerate(words)
            if found.effects[group, word] > 0.01
        ]
        for group, words in enumerate(found.features)
    ]
