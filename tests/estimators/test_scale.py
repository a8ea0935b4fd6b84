"""Scales and integers that double precision cannot hold: the same clusters, or one sentence; never another result."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from shade import SHADE, DCTreeClustering
from shade._base.errors import DataError
from shade.data import read_samples
from shade.data.standardize import Standardizer
from shade.density import DCTree, core_distances

X = make_blobs(150, n_features=3, centers=3, cluster_std=0.5, random_state=0)[0]
# Powers of two: what is computed from the scaled data must be the same to the last bit.
EXPONENTS = (-1000, -990, -660, -550, -530, -430, -100, -20, 20, 100, 430, 500, 530, 700, 1000, 1018)
QUICK = {"epochs": 2, "network": (8,), "embedding_size": 3, "n_networks": 1, "random_state": 0}


@pytest.mark.parametrize("standardize", ["feature", "global", False])
def test_standardised_rows_do_not_depend_on_the_scale(standardize: str | bool) -> None:
    expected = Standardizer.fit(X, standardize, unit_free=True).apply(X)
    for exponent in EXPONENTS:
        scaled = np.ldexp(X, exponent)
        found = Standardizer.fit(scaled, standardize, unit_free=True).apply(scaled)
        np.testing.assert_array_equal(found, expected, err_msg=f"2**{exponent}")


def test_each_column_may_have_a_scale_of_its_own() -> None:
    scaled = np.ldexp(X, [-900, 0, 900])
    found = Standardizer.fit(scaled, "feature").apply(scaled)
    np.testing.assert_array_equal(found, Standardizer.fit(X, "feature").apply(X))


def test_clusters_of_shade_do_not_depend_on_the_scale() -> None:
    expected = SHADE(**QUICK).fit(X)
    assert expected.n_clusters_ == 3
    for scale in (1e-320, 1e-165, 1e-30, 1e30, 1e200, 1e306):
        np.testing.assert_array_equal(SHADE(**QUICK).fit(X * scale).labels_ >= 0, expected.labels_ >= 0)
        assert SHADE(**QUICK).fit(X * scale).n_clusters_ == 3, scale


def test_what_cannot_be_rescaled_is_refused() -> None:
    for scale in (1e-320, 1e-165, 1e-152, 1e152, 1e307):
        for made in (DCTreeClustering().fit, DCTree.from_points, core_distances):
            with pytest.raises(ValueError, match="squares of such distances are too large"):
                made(X * scale)
    for scale in (1e-200, 1e-30, 1e-9):
        with pytest.raises(ValueError, match="so little that all rows look alike to a network"):
            SHADE(standardize=False, density_unit="data", **QUICK).fit(X * scale)


FAR = [2**53 + 1, -(2**53) - 1, 2**62 + 1, 2**63 + 1, 2**64 + 1, 10**20 + 7, 10**30 + 1]


@pytest.mark.parametrize("kind", ["only integers", "beside fractions", "with empty cells"])
@pytest.mark.parametrize("first", FAR)
def test_integers_beyond_double_precision_are_refused_in_tables(first: int, kind: str, tmp_path: Path) -> None:
    cells = [str(first + 3 * step) for step in range(40)]  # with steps of 1 they would be numbers of rows
    if kind == "beside fractions":
        cells[3] = "0.5"
    if kind == "with empty cells":
        cells[3] = ""
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "".join(f"{cell},{row}.5\n" for row, cell in enumerate(cells)))
    try:
        read = read_samples(path, missing="drop-rows")
    except DataError as error:
        assert re.search(r"holds the integer -?\d+\. Integers beyond 2\^53|not of numbers: 'x'", str(error))
    else:  # text that names each row
        assert read.feature_names == ("y",)
        assert "left out 1 column with neither numbers nor categories: 'x'" in " ".join(read.notes)
    found = read_samples(path, id="x")
    assert [str(value) for value in found.ids] == cells  # as a name each is itself
    assert read_samples(path, drop=["x"]).shape == (40, 1)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, object])
def test_integers_beyond_double_precision_are_refused_in_arrays(kind: type, tmp_path: Path) -> None:
    values = np.column_stack([np.arange(40), 2**53 + np.arange(40)]).astype(kind)
    doors = [values, values.tolist(), pd.DataFrame(values, columns=["a", "b"]).assign(c=0.5)]
    if kind is not object:
        np.save(tmp_path / "rows.npy", values)
        doors += [tmp_path / "rows.npy", np.load(tmp_path / "rows.npy", mmap_mode="r")]
    for door in doors:
        with pytest.raises(DataError, match=r"Integers beyond 2\^53 = 9007199254740992 cannot be told apart"):
            SHADE(**QUICK).fit(door)
    with pytest.raises(DataError, match="holds the integer 9007199254740993"):
        DCTreeClustering().fit(values)
    SHADE(**QUICK).fit(values - values.min(axis=0))


def test_large_numbers_that_are_exact_stay_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "".join(f"{row + 1}e300,{2**64 * row}\n" for row in range(1, 20)))
    np.testing.assert_array_equal(read_samples(path).rows[:, 1], 2.0**64 * np.arange(1, 20))
