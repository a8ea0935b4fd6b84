"""The values of the data that a report holds: as they were read, as many as fit, and true to the clusters."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shade import DCTreeClustering
from shade.data import read_samples
from shade.report import write_report
from shade.report.columns import EMPTY_CODES, pack_columns, pick_columns
from tests.report.conftest import HOSTILE
from tests.report.test_page import data_of, labels_and_strengths, unpack

SEPARATORS = "a\u2028b\u2029c\u202ed</script>"


def values_of(column: dict) -> list:
    """What the page's program makes of a column, in the order of the tree; None for an empty cell."""
    found = unpack(column["values"], np.dtype({"u": "<u", "i": "<i", "f": "<f"}[column["type"][0]] + column["type"][1]))
    if "levels" not in column:
        return [None if np.isnan(value) else float(value) for value in found]
    return [None if code == EMPTY_CODES[column["type"]] else column["levels"][code] for code in found.tolist()]


def by_row(data: dict, name: str) -> list:
    column = next(column for column in data["columns"] if column["name"] == name)
    told = np.empty(len(unpack(data["points"]["row"], np.int32)), object)
    told[unpack(data["points"]["row"], np.int32)] = values_of(column)
    return told.tolist()


@pytest.fixture(scope="module")
def frame(blobs) -> pd.DataFrame:
    X, truth = blobs
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    words = {-1: "nothing here to be read", 0: "a red rose in the garden", 1: "a fast car on the road"}
    table.insert(0, "text", [f"{words.get(group, 'bread from the old oven')} {row}" for row, group in enumerate(truth)])
    table["whole"] = np.arange(len(X)) % 7
    table["gap"] = np.where(np.arange(len(X)) % 5, np.nan, 2.5)
    table["when"] = pd.Timestamp("2024-02-29") + pd.to_timedelta(np.arange(len(X)), unit="D")
    table["odd"] = [HOSTILE, SEPARATORS, None, '"quoted", =1+1'] * (len(X) // 4)
    table["huge"] = 1e100 * np.arange(1, len(X) + 1)
    return table


@pytest.fixture(scope="module")
def page(tmp_path_factory, table_model, frame) -> str:
    path = tmp_path_factory.mktemp("columns") / "report.html"
    return write_report(table_model, path, samples=frame).read_text(encoding="utf-8")


def test_values_come_back_as_they_were(page, frame):
    data = data_of(page)
    assert by_row(data, "whole") == frame["whole"].tolist()
    assert by_row(data, "text") == frame["text"].tolist()
    assert by_row(data, "odd") == [None if pd.isna(text) else text for text in frame["odd"]]
    assert by_row(data, "gap") == [None if np.isnan(value) else value for value in frame["gap"]]
    np.testing.assert_allclose(by_row(data, "a"), frame["a"], rtol=1e-6)
    np.testing.assert_allclose(by_row(data, "huge"), frame["huge"], rtol=1e-12)
    days = (frame["when"] - pd.Timestamp("1970-01-01")).dt.days.tolist()
    assert by_row(data, "when") == days
    assert {column["name"] for column in data["columns"]} == set(frame)
    assert data["leftOut"] == ""


def test_text_of_a_file_cannot_end_its_element_or_be_markup(page):
    assert HOSTILE not in page
    assert "</script>" in json.loads(json.dumps(SEPARATORS)) and SEPARATORS not in page


def test_words_separate_the_clusters_of_texts(page, table_model, blobs):
    data = data_of(page)
    for label, number in enumerate(data["fitted"]["clusters"]):
        group = np.bincount(blobs[1][table_model.labels_ == label] + 1).argmax() - 1
        expected = {0: {"red", "rose", "garden", "in", "the"}, 1: {"fast", "car", "road", "on", "the"}}
        words = data["clusters"][number]["words"]
        assert {word["name"] for word in words} <= expected.get(group, {"bread", "from", "old", "oven", "the"})
        assert all(word["effect"] == pytest.approx(word["inside"] - word["outside"], abs=2e-3) for word in words)


def test_without_samples_there_are_no_values(tmp_path, table_model):
    data = data_of(write_report(table_model, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert data["columns"] == []


def test_only_as_many_columns_as_fit_are_held_and_it_is_told():
    order = np.arange(2_000)
    random = np.random.default_rng(0)
    columns = {f"c{place}": random.normal(size=2_000) for place in range(30)} | {
        "name": random.choice(["u", "v"], 2_000)
    }
    columns["name"] = columns["name"].astype(object)
    effects = {f"c{place}": np.array([0.0, place / 30]) for place in range(30)}
    held, told = pack_columns(columns, order, effects, most=60_000)
    names = [column["name"] for column in held]
    assert names == ["name", "c29", "c28", "c27", "c26", "c25"]
    assert sum(len(column["values"]) for column in held) < 60_000
    assert told.startswith("This file holds the values of 6 of 31 columns")
    assert pick_columns(names, effects) == [0, 1, 2, 3]
    everything, told = pack_columns(columns, order, effects)
    assert len(everything) == 31 and told == ""


def test_a_text_too_long_for_the_file_does_not_keep_other_columns_out():
    texts = np.array([f"{row} {'x' * 500}" for row in range(300)], object)
    held, told = pack_columns({"long": texts, "n": np.arange(300.0)}, np.arange(300), {"n": np.ones(1)}, most=50_000)
    assert [column["name"] for column in held] == ["n"] and told
    (cut,), _ = pack_columns({"long": texts}, np.arange(300), {})
    assert max(map(len, cut["levels"])) == 301 and cut["levels"][0].endswith("…")


@pytest.mark.parametrize("n_values", [1, 200, 254, 255, 256, 300, 20_000, 70_000])
def test_codes_are_as_wide_as_they_need_to_be(n_values):
    rows = np.arange(max(100_000, n_values)) % n_values
    for values in (rows.astype(np.float64), np.array([f"{row:06d}" for row in rows.tolist()], object)):
        values[7] = None
        (column,), _ = pack_columns({"x": values}, np.arange(len(rows)), {}, most=10**9)
        expected = values.tolist()
        if values.dtype != object:
            expected = [None if np.isnan(value) else value for value in expected]
        assert values_of(column) == expected


def test_columns_of_a_file_are_those_of_the_file(tmp_path: Path):
    rows = [
        f"n{row},{'x' if row % 2 else 'y'},{'' if row == 3 else row * 1.5},{row % 4},2024-01-{row + 1:02d},t"
        for row in range(30)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["name,group,size,kind,day,left", *rows]), encoding="utf-8")
    samples = read_samples(tmp_path / "rows.csv", id="name", label="kind", drop=["left"], missing="mean")
    assert set(samples.cells) == {"group", "size", "day", "left"}
    assert samples.cells["group"].tolist() == ["y", "x"] * 15
    assert np.isnan(samples.cells["size"][3]) and samples.cells["size"][4] == 6.0
    model = DCTreeClustering().fit(samples.rows)
    data = data_of(write_report(model, tmp_path / "report.html", samples=samples).read_text(encoding="utf-8"))
    assert {column["name"] for column in data["columns"]} == {"group", "size", "day", "left"}
    assert by_row(data, "size")[3] is None
    assert by_row(data, "day")[:2] == [19723, 19724]
    assert next(column for column in data["columns"] if column["name"] == "day")["date"] is True
    kept = read_samples(tmp_path / "rows.csv", id="name", label="kind", drop=["left"], missing="drop-rows")
    assert len(kept.cells["left"]) == len(kept) == 29


@pytest.mark.parametrize("wish", [{}, {"n_clusters": 3}, {"n_clusters": 5}, {"cut_distance": 30.0}])
def test_layers_of_the_page_are_those_of_the_model(tmp_path, wish):
    X = [[place + near + i / 10] for place in (0, 500, 1500) for near in (0, 20, 45, 75) for i in range(20)]
    model = DCTreeClustering(min_cluster_size=12).fit(X)
    model = model.recluster(**wish) if wish else model
    data = data_of(write_report(model, tmp_path / "report.html").read_text(encoding="utf-8"))
    layers = model.layers()
    assert len(data["layers"]) == len(layers.labels) > 1
    for place, (flat, told) in enumerate(zip(layers.clusterings, data["layers"], strict=True)):
        assert (told is None) == (place == layers.chosen)
        if told is not None:
            labels, strengths = labels_and_strengths({**data, "fitted": told})
            np.testing.assert_array_equal(labels, flat.labels)
            np.testing.assert_allclose(strengths, flat.strengths, rtol=1e-5)


def test_layers_with_known_labels_are_shown_too(tmp_path):
    X = [[place + near + i / 10] for place in (0, 500, 1500) for near in (0, 20, 45, 75) for i in range(20)]
    known = np.full(240, -1)
    known[[0, 30, 100]] = 0, 1, 0
    model = DCTreeClustering(min_cluster_size=12).fit(X, known)
    data = data_of(write_report(model, tmp_path / "report.html").read_text(encoding="utf-8"))
    for flat, told in zip(model.layers().clusterings, data["layers"], strict=True):
        if told is not None:
            np.testing.assert_array_equal(labels_and_strengths({**data, "fitted": told})[0], flat.labels)
