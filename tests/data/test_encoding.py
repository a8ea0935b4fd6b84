"""Categories, dates and missing values as numbers: the same for every table that a model reads."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from shade import SHADE, DCTreeClustering
from shade._base.errors import DataError, ShadeWarning
from shade.data import TableEncoder
from shade.data.encoding import TableEncoding
from shade.data.filler import Filler
from shade.data.standardize import Standardizer, find_one_hot


def table(n: int = 120) -> pd.DataFrame:
    chance = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "row": range(n),
            "age": chance.normal(40, 9, n),
            "city": pd.Categorical(chance.choice(["Oslo", "Rome", "Lima"], n)),
            "since": pd.date_range("2020-01-01", periods=n),
            "news": chance.choice(["yes", "no"], n),
            "plan": chance.choice(["a", "b", None], n),
        }
    )


NAMES = ["age", "city=Lima", "city=Oslo", "city=Rome", "since (days since 1970)", "news", "plan=a", "plan=b"]


def test_each_kind_of_column_becomes_numbers_with_names() -> None:
    rows = table()
    encoder = TableEncoder(missing="mean").fit(rows)
    assert encoder.get_feature_names_out().tolist() == NAMES
    assert encoder.notes_ == (
        "left out column 'row', as it numbers the rows: --keep row clusters by it all the same, --id row names the "
        "rows by it",
        "encoded 2 columns of categories: 'city' (3), 'plan' (2)",
        "read 1 column of dates as days: 'since'",
        "3 columns with few different values may become the clusters: 'city', 'news', 'plan'. --drop leaves a column "
        "out",
        "filled 43 values in 43 of 120 rows with the mean or most frequent category of similar rows: 'plan' (43)",
    )  # fmt: skip
    encoded = encoder.transform(rows)
    assert list(encoded.columns) == NAMES
    assert encoded["since (days since 1970)"][:2].tolist() == [18262, 18263]
    assert encoded["news"].tolist() == (rows.news == "yes").tolist()
    assert np.array_equal(encoded[["city=Lima", "city=Oslo", "city=Rome"]], pd.get_dummies(rows.city).to_numpy())
    known = rows.plan.notna()
    assert np.array_equal(encoded.loc[known, "plan=b"], rows.plan[known] == "b")
    assert set(encoded["plan=a"] + encoded["plan=b"]) == {1.0}  # what is filled in is one of the categories
    for other in (clone(encoder).fit(rows), pickle.loads(pickle.dumps(encoder))):
        pd.testing.assert_frame_equal(other.transform(rows), encoded)


def test_a_later_table_is_encoded_like_the_first_whatever_is_in_it() -> None:
    rows = table()
    encoder = TableEncoder(missing="indicator", drop=["since"]).fit(rows)
    one = rows.iloc[[7]].drop(columns=["since", "row"])
    assert encoder.get_feature_names_out()[-1] == "a value is missing"
    assert np.array_equal(encoder.transform(one), encoder.transform(rows)[7:8])
    with pytest.warns(ShadeWarning, match="'city' has values that the model was not trained on, such as 'Be"):
        stranger = encoder.transform(one.assign(city="Bergen"))
    assert stranger.filter(like="city=").to_numpy().tolist() == [[0, 0, 0]]
    with pytest.raises(DataError, match="lacks 1 of the 4 columns the model was trained on: 'age'"):
        encoder.transform(one.drop(columns="age"))
    with pytest.raises(DataError, match="has text where the model needs numbers: 'age'"):
        encoder.transform(one.assign(age="old"))
    with pytest.raises(DataError, match="has 'maybe' in column 'news', where the model knows 'no' and 'yes'"):
        encoder.transform(one.assign(news="maybe"))
    with pytest.raises(DataError, match=r"encodes the columns of a DataFrame\. Got ndarray instead"):
        encoder.transform(one.to_numpy())
    with pytest.raises(DataError, match="lacks 43 values in 43 of 120 rows: 'plan'"):
        TableEncoder().fit(rows)


def test_the_names_reach_the_explanation_of_the_clusters() -> None:
    rows = table().drop(columns=["since", "plan"])
    rows["age"] = rows.age / 100 + 10 * (rows.city == "Oslo")
    pipeline = make_pipeline(TableEncoder(), SHADE(epochs=2, n_networks=1, network=(16,), random_state=0)).fit(rows)
    model = pipeline[-1]
    assert model.feature_names_in_.tolist() == ["age", "city=Lima", "city=Oslo", "city=Rome", "news"]
    assert "city=Oslo" in str(model.explain(pipeline[:-1].transform(rows), top=5))


def test_the_columns_of_a_category_weigh_like_one_column() -> None:
    chance = np.random.default_rng(0)
    number, binary = chance.normal(5, 3, (500, 1)), (chance.random((500, 2)) < 0.3).astype(float)
    category, pair = np.eye(7)[chance.integers(0, 7, 500)], np.eye(2)[chance.integers(0, 2, 500)]
    rows = np.hstack([number, category, pair, binary, np.zeros((500, 1)), number])
    assert find_one_hot(rows) == [(1, 8), (8, 10)]
    scaled = Standardizer.fit(rows, "feature", one_hot=True).apply(rows).astype(np.float64)
    weights = scaled.var(axis=0)
    assert np.allclose([weights[0], weights[1:8].sum(), weights[8:10].sum(), *weights[10:12]], 1, atol=1e-5)
    # Two categories are as far apart as two rows of a column of two values.
    assert np.ptp(scaled[:, 8:10], axis=0) @ np.ptp(scaled[:, 8:10], axis=0) == pytest.approx(4, abs=0.1)
    each = Standardizer.fit(rows, "feature")
    assert np.allclose(each.apply(rows)[:, 1:10].var(axis=0), 1, atol=1e-5)
    broken = rows.copy()
    broken[499, 8:10] = 1.0
    assert find_one_hot(broken) == [(1, 8)]


def blobs_with_holes(seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Three groups in five columns, and which rows lack a value: in the first column, between the groups of it."""
    centers = [[-30, 30, 0, 0, 9], [30, -30, 9, 0, 0], [30, 30, -9, 9, 0]]
    X, groups = make_blobs(600, centers=centers, random_state=seed)
    rows = pd.DataFrame(X, columns=list("abcde"))
    holes = np.random.default_rng(seed).random(600) < 0.15
    rows.loc[holes, "a"] = np.nan
    return rows, groups, holes


@pytest.mark.parametrize("missing", ["mean", "median"])
def test_filled_rows_are_no_cluster_of_their_own(missing: str) -> None:
    of_one_value = 0
    for seed in range(3):
        rows, groups, holes = blobs_with_holes(seed)
        filled = TableEncoder(missing=missing, standardize=True).fit_transform(rows)
        assert adjusted_rand_score(groups, DCTreeClustering().fit(filled).labels_) > 0.99
        assert not filled[holes].isna().any().any()
        one_value = rows.fillna(rows.a.agg(missing))
        labels = DCTreeClustering().fit((one_value - one_value.mean()) / one_value.std()).labels_
        of_one_value += adjusted_rand_score(groups, labels) < 0.99
    assert of_one_value == 3  # as they are if all of them get the same value


def test_what_is_filled_in_comes_from_similar_rows() -> None:
    rows, groups, holes = blobs_with_holes(1)
    filler = Filler.fit(rows.to_numpy(), "mean")
    filled = filler.fill(rows.to_numpy())[:, 0]
    for group in range(3):
        inside = groups == group
        assert np.abs(filled[inside & holes] - rows.a[inside].mean()).max() < 3
    again = Filler.from_json(json.loads(json.dumps(filler.to_json())))
    assert again == filler
    assert np.array_equal(again.fill(rows.to_numpy())[:, 0], filled)
    # No group is so small that the file would hold single rows.
    lonely = np.vstack([np.random.default_rng(0).normal(size=(200, 3)), [[500.0, 0, 0]], [[np.nan, 0, 0]]])
    assert np.abs(Filler.fit(lonely, "mean").values).max() < 300


def test_similar_rows_are_found_where_hardly_any_is_complete() -> None:
    chance = np.random.default_rng(0)
    groups = chance.integers(0, 3, 400)
    rows = 10.0 * np.eye(3).repeat(12, axis=1)[groups] + chance.normal(size=(400, 36))
    holes = chance.random(rows.shape) < 0.2
    assert (~holes.any(axis=1)).sum() < 5
    with_holes = np.where(holes, np.nan, rows)
    for kind in ("mean", "median"):
        filled = Filler.fit(with_holes, kind).fill(with_holes)
        assert np.sqrt(np.mean((filled - rows)[holes] ** 2)) < 1.2  # about 4.7 with one value for each column


def test_an_encoding_survives_its_file_and_a_damaged_one_is_refused() -> None:
    encoding = TableEncoder(missing="indicator").fit(table()).encoding_
    described = json.loads(json.dumps(encoding.to_json()))
    assert TableEncoding.from_json(described) == encoding
    bad_filler = {**described["filler"], "values": [[1.0]]}
    twice = [described["columns"][0]] * 2
    strange = [{**described["columns"][0], "kind": "code"}]
    for wrong in (
        None, [], {}, {**described, "columns": 3}, {**described, "columns": twice}, {**described, "columns": strange},
        {**described, "filler": bad_filler}, {**described, "filler": {**described["filler"], "flagged": [99]}},
        {**described, "filler": {**described["filler"], "scale": "wide"}},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="table"):
            TableEncoding.from_json(wrong)
