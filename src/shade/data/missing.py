"""Missing values: an error, dropped with their row or column, or filled from similar rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from shlex import quote

import numpy as np

from shade._base.arrays import BoolArray, IntArray, row_slices
from shade._base.errors import DataError
from shade._base.memory import check_room
from shade.data.encoding import FEW_VALUES, TableEncoding
from shade.data.filler import Filler
from shade.data.row_sources import open_memmap
from shade.data.samples import FILLS, MISSING, ReadOptions, Samples, counted, enumerate_names, shorten


def resolve_missing(samples: Samples, options: ReadOptions) -> Samples:
    """Refuse, fill or drop NaN and infinity, as the option or the model requires.

    Rows that are read later are checked later, unless values must be filled or dropped, which needs all rows.
    """
    known = None if options.table is None else options.table.filler
    missing = _choose_remedy(samples, options)
    if missing == "refuse" and (samples.rows.dtype.kind != "f" or not samples.in_memory):
        return samples
    if not samples.in_memory:
        what = f"Changing {samples.source} with --missing {missing}"
        check_room(2 * samples.rows.nbytes, options.memory, what, "Give more, or correct the file before.")
    bad_rows, bad_columns = _count_missing(samples)
    by_default = known is None and options.missing is None
    fill = missing in FILLS and len(samples.shape) == 2 and (bad_rows.any() or not by_default)
    if not bad_rows.any() and not fill:
        return samples
    samples = samples.load()
    if fill:
        return _fill(samples, missing, known, by_default=by_default)
    if missing == "refuse":
        raise DataError(f"{samples.source} {describe_missing(samples, options)}.")
    if missing == "drop-rows":
        if bad_rows.all():
            raise DataError(f"Every row of {samples.source} lacks a value: drop-rows leaves none. Try drop-columns.")
        return samples.keep_rows(~bad_rows).with_note(
            f"left out {counted(int(bad_rows.sum()), 'row')} with missing values"
        )
    if samples.rows.ndim > 2:
        of_all, _ = _places(samples, bad_rows, bad_columns)
        raise DataError(f"{samples.source} lacks {of_all}. For images, --missing takes drop-rows only.")
    return _drop_columns(samples, bad_columns > 0)


def _choose_remedy(samples: Samples, options: ReadOptions) -> str:
    """Return the option; without one, as the model fills, or the median in a table that is read whole."""
    if options.missing is not None:
        return options.missing
    if options.table is not None and options.table.filler is not None:
        return options.table.filler.kind
    of_model = options.table is not None or options.columns is not None
    return "median" if samples.in_memory and samples.rows.ndim == 2 and not of_model else "refuse"


def describe_missing(samples: Samples, options: ReadOptions) -> str:
    """Return what is missing and what can be done about it; "" if nothing is missing."""
    bad_rows, bad_columns = _count_missing(samples)
    if not bad_rows.any():
        return ""
    of_model = options.columns is not None or options.table is not None
    remedies = ["drop-rows"] if samples.rows.ndim > 2 or of_model else [kind for kind in MISSING if kind != "refuse"]
    others = f" (or {', '.join(remedies[1:])})" if len(remedies) > 1 else ""
    of_all, columns = _places(samples, bad_rows, bad_columns)
    return f"lacks {of_all}{columns}. Choose what to do with them: --missing {remedies[0]}{others}"


def _first_features(samples: Samples) -> IntArray:
    """Return the first feature of each column. An empty cell makes all features of its column NaN."""
    if samples.encoding is None:
        return np.arange(samples.rows.reshape(len(samples), -1).shape[1])
    return np.array([start for start, _ in samples.encoding.places], np.int64)


def _names(samples: Samples) -> list[str] | None:
    """Return the names of the columns as they were read."""
    if samples.encoding is not None:
        return [column.name for column in samples.encoding.columns]
    return None if samples.feature_names is None else list(samples.feature_names)


def _places(samples: Samples, bad_rows: BoolArray, bad_columns: IntArray) -> tuple[str, str]:
    """Return how many values are missing in how many rows, and the columns with their numbers."""
    counts, names = bad_columns[_first_features(samples)], _names(samples)
    infinite = int(np.isinf(samples.rows).sum()) if samples.rows.dtype.kind == "f" else 0
    which = f"{counted(int(counts.sum()), 'value')}{f' ({infinite} of them infinite)' if infinite else ''}"
    worst = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    of_all = f"{which} in {np.count_nonzero(bad_rows)} of {len(bad_rows)} rows"
    if names is None:
        return f"{of_all} and {len(worst)} of {counted(len(counts), 'column')}", ""
    return of_all, f": {shorten([f'{names[place]!r} ({counts[place]})' for place in worst])}"


def _count_missing(samples: Samples) -> tuple[BoolArray, IntArray]:
    """Return which rows lack a value, and how many values each column lacks; in slices, since rows may be on disk."""
    rows = samples.rows
    flat = open_memmap(rows) if isinstance(rows, np.memmap) else rows
    flat = flat.reshape(len(samples), -1) if isinstance(flat, np.ndarray) else flat
    bad_rows, bad_columns = np.zeros(len(flat), np.bool_), np.zeros(flat.shape[1], np.int64)
    for rows in row_slices(flat):
        bad = ~np.isfinite(flat[rows])
        bad_rows[rows] = bad.any(axis=1)
        bad_columns += bad.sum(axis=0)
    return bad_rows, bad_columns


def _drop_columns(samples: Samples, dropped: BoolArray) -> Samples:
    if dropped.all():
        raise DataError(f"Every column of {samples.source} lacks a value: drop-columns leaves none. Try mean.")
    names, encoding, found = _names(samples), samples.encoding, dropped[_first_features(samples)]
    note = f"left out {counted(int(found.sum()), 'column')} with missing values"
    if names is not None:
        note += f": {enumerate_names(list(compress(names, found)))}"
    if encoding is not None:
        encoding = replace(encoding, columns=tuple(compress(encoding.columns, ~found)))
    features = None if samples.feature_names is None else tuple(compress(samples.feature_names, ~dropped))
    kept = samples.rows[:, ~dropped]
    return replace(samples, rows=kept, feature_names=features, encoding=encoding).with_note(note)


def _fill(samples: Samples, kind: str, known: Filler | None, *, by_default: bool) -> Samples:
    """Fill missing values, with the filler of a model or with one fitted to these rows."""
    if known is None:
        samples = _without_empty_rows(samples)
    bad_rows, bad_columns = _count_missing(samples)
    hopeless = bad_columns == len(samples)
    if known is None and hopeless.any():  # of an array, or infinite: empty columns of a table are not chosen
        names = samples.feature_names or tuple(map(str, range(len(hopeless))))
        drops = shorten([f"--drop {quote(name)}" for name in compress(names, hopeless)], separator=" ")
        raise DataError(
            f"{samples.source} has {counted(int(hopeless.sum()), 'column')} without any value. Add {drops}."
        )
    # Standardised, a column with hardly any ones would set their rows so far apart that they are noise.
    flagged = np.flatnonzero(bad_columns).tolist() if kind == "indicator" and bad_rows.sum() > FEW_VALUES else []
    filler = known or Filler.fit(samples.rows, kind, flagged)
    encoding, features = samples.encoding or TableEncoding(), samples.feature_names
    if features is not None and filler.flagged:
        features += ("a value is missing",)
    rows = filler.fill(samples.rows, encoding.exclusive)
    filled = replace(samples, rows=rows, feature_names=features, encoding=replace(encoding, filler=filler))
    if not bad_rows.any():
        return filled
    filled = replace(filled, filled=bad_rows)
    of_all, columns = _places(samples, bad_rows, bad_columns)
    what = "mean" if filler.kind == "mean" else "median"
    if any(bad_columns[start] for start, _ in encoding.exclusive):
        what += " or most frequent category"
    note = f"filled {of_all} with the {what} of {'similar rows' if len(filler.values) > 1 else 'the column'}{columns}"
    if kind == "indicator" and known is None:
        note += (
            ". Added a column of 0 and 1: whether a row lacks a value"
            if flagged
            else f". Added no column of 0 and 1: that needs more than {FEW_VALUES} rows that lack a value"
        )
    if by_default:
        note += ". --missing drop-rows leaves these rows out, --missing drop-columns these columns"
    return filled.with_note(note)


def _without_empty_rows(samples: Samples) -> Samples:
    """Leave out rows without any value: all of them would be filled alike, and become a cluster."""
    some = np.isfinite(samples.rows).any(axis=1)
    if some.all() or not some.any():
        return samples
    return samples.keep_rows(some).with_note(f"left out {counted(int((~some).sum()), 'row')} without any value")
