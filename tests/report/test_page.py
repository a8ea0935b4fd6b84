"""The file: whole, small, asking nothing of a network, and true to the model."""

import base64
import json
import re
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from shade import SHADE, DCTreeClustering
from shade.report import write_report
from shade.report.pictures import draw_losses
from shade.report.thumbnails import make_sheet
from shade.report.views import View, views_of
from tests.estimators.grouped import with_groups
from tests.estimators.test_clusters_of_the_data import QUICK as OF_DATA
from tests.estimators.test_clusters_of_the_data import squares
from tests.report.conftest import HOSTILE, Samples


def data_of(page: str) -> dict:
    return json.loads(re.search(r'id="report-data">(.*?)</script>', page, flags=re.DOTALL).group(1))


def unpack(text: str, kind: type) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind)


def labels_and_strengths(data: dict, number: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """What the page's program makes of the ranges and labels it is given, in the order of the rows."""
    rows, leaving = unpack(data["points"]["row"], np.int32), unpack(data["points"]["leaving"], np.float32)
    shown = data["numbers"][number - 1] if number else data["fitted"]
    joined, final = shown.get("joined"), [data["clusters"][cluster] for cluster in shown["clusters"]]
    shown = shown if joined is None else data["found"]
    clusters = [data["clusters"][cluster] for cluster in shown["clusters"]]
    along, inside = np.full(len(rows), -1), np.zeros(len(rows), bool)
    for label, cluster in enumerate(clusters):
        along[cluster["start"] : cluster["stop"]] = label
        inside[cluster["start"] : cluster["stop"]] = True
    if shown["outside"]:
        given = unpack(shown["outside"], np.uint8 if shown["narrow"] else np.int32).astype(int)
        along[np.full(len(rows), True) if len(given) == len(rows) else ~inside] = np.where(given == 255, -1, given)
    core = np.array([cluster["core"] for cluster in final])[slice(None) if joined is None else joined]
    birth = np.array([cluster["birth"] for cluster in clusters])
    own = unpack(shown["leaving"], np.float32) if "leaving" in shown else leaving
    reach = np.where(inside, own, np.maximum(leaving, birth[along]))
    labels, strengths = np.empty(len(rows), np.int64), np.empty(len(rows))
    strengths[rows] = np.where(along < 0, 0.0, np.minimum(core[along] / reach, 1.0))
    labels[rows] = along if joined is None else np.append(joined, -1)[along]
    return labels, strengths


@pytest.fixture(scope="module")
def table_page(tmp_path_factory, table_model, table_samples) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_report(table_model, path, samples=table_samples).read_text(encoding="utf-8")


def test_the_clusters_of_the_page_are_those_of_the_model(table_page, table_model):
    data = data_of(table_page)
    labels, strengths = labels_and_strengths(data)
    np.testing.assert_array_equal(labels, table_model.labels_)
    np.testing.assert_allclose(strengths, table_model.probabilities_, rtol=1e-5)
    persistence = [data["clusters"][number]["persistence"] for number in data["fitted"]["clusters"]]
    np.testing.assert_allclose(persistence, table_model.cluster_persistence_)


def test_every_number_of_clusters_is_that_of_recluster(table_page, table_model):
    data = data_of(table_page)
    assert len(data["numbers"]) == int(table_model.structure_tree_.n_leaves[0]) >= 5
    for number in range(1, len(data["numbers"]) + 1):
        other = table_model.recluster(n_clusters=number)
        labels, strengths = labels_and_strengths(data, number)
        np.testing.assert_array_equal(labels, other.labels_, err_msg=f"{number} clusters")
        np.testing.assert_allclose(strengths, other.probabilities_, rtol=1e-5, err_msg=f"{number} clusters")


@pytest.mark.parametrize("selection", ["information", "branches", "structure"])
def test_outskirts_of_any_number_of_clusters_are_those_of_recluster(tmp_path, touching_model, selection):
    model = DCTreeClustering(selection=selection, background_noise=False).fit(touching_model.clustering_.points)
    data = data_of(write_report(model, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert touching_model.clustering_.flat.outskirts.mean() > 0.1
    for number in range(len(data["numbers"]) + 1):
        other = model.recluster(n_clusters=number) if number else model
        labels, strengths = labels_and_strengths(data, number)
        np.testing.assert_array_equal(labels, other.labels_, err_msg=f"{number} clusters")
        np.testing.assert_allclose(strengths, other.probabilities_, rtol=1e-5, err_msg=f"{number} clusters")
        assert (number == data["fittedNumber"]) == (number > 0 and np.array_equal(labels, model.labels_))


def test_background_is_noise_for_any_number_of_clusters(tmp_path, blobs):
    X = blobs[0]
    model = with_groups(DCTreeClustering().fit(X), np.where(np.arange(len(X)) % 10 == 0, -1, 0))
    data = data_of(write_report(model, tmp_path / "report.html").read_text(encoding="utf-8"))
    for number in range(1, len(data["numbers"]) + 1):
        labels, _ = labels_and_strengths(data, number)
        np.testing.assert_array_equal(labels, model.recluster(n_clusters=number).labels_, err_msg=f"{number} clusters")


@pytest.mark.parametrize("between_noise", [False, True])
def test_clusters_of_the_data_and_rows_between_them_are_those_of_the_model(tmp_path, between_noise):
    model = SHADE(**OF_DATA, between_noise=between_noise).fit(squares(0, deviation=0.6)[0])
    assert model.clustering_.shown.decides
    assert (model.labels_ < 0).any() == between_noise
    data = data_of(write_report(model, tmp_path / "report.html").read_text(encoding="utf-8"))
    for number in range(len(data["numbers"]) + 1):
        other = model.recluster(n_clusters=number) if number else model
        labels, strengths = labels_and_strengths(data, number)
        np.testing.assert_array_equal(labels, other.labels_, err_msg=f"{number} clusters")
        np.testing.assert_allclose(strengths, other.probabilities_, rtol=1e-5, err_msg=f"{number} clusters")


def test_a_model_that_was_altered_is_refused(tmp_path, table_model):
    flat = table_model.clustering_.flat
    other = table_model.recluster()
    vars(other.clustering_)["flat"] = replace(flat, labels=np.roll(flat.labels, 1))
    with pytest.raises(ValueError, match="are not branches of its tree"):
        write_report(other, tmp_path / "report.html")


def test_many_clusters_need_more_than_a_byte(tmp_path):
    X = np.repeat(np.arange(300.0), 4)[:, None] * 10 + np.tile([0.0, 0.1, 0.2, 4.0], 300)[:, None]
    X += np.random.default_rng(0).normal(size=X.shape) * 1e-3
    model = DCTreeClustering(min_samples=2, selection="branches", min_cluster_size=3, background_noise=False).fit(X)
    data = data_of(write_report(model, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert model.n_clusters_ == 300
    np.testing.assert_array_equal(labels_and_strengths(data)[0], model.labels_)


def test_a_cut_at_a_distance_can_be_shown_too(tmp_path, table_model):
    cut = table_model.recluster(cut_distance=1.0)
    page = write_report(cut, tmp_path / "report.html").read_text(encoding="utf-8")
    data = data_of(page)
    for number in range(len(data["numbers"]) + 1):
        other = cut.recluster(n_clusters=number) if number else cut
        labels, strengths = labels_and_strengths(data, number)
        np.testing.assert_array_equal(labels, other.labels_, err_msg=f"{number} clusters")
        np.testing.assert_allclose(strengths, other.probabilities_, rtol=1e-5, err_msg=f"{number} clusters")


def test_features_are_those_of_explain(table_page, table_model, table_samples):
    data = data_of(table_page)
    explained = table_model.explain(table_samples.rows, top=1)
    for label, number in enumerate(data["fitted"]["clusters"]):
        told = data["clusters"][number]["features"][0]
        feature = explained.features[label, 0]
        assert told["name"] == table_samples.feature_names[feature]
        assert told["effect"] == pytest.approx(explained.effects[label, feature], abs=1e-3)


def test_the_page_asks_for_nothing_from_outside(table_page):
    attributes = re.findall(r'<(?:script|link|img|iframe)[^>]*\s(?:src|href)="([^"]*)"', table_page)
    assert all(address.startswith("data:") for address in attributes)
    assert "default-src 'none'" in table_page


def test_text_from_the_data_is_never_markup(table_page, tmp_path, table_model):
    assert HOSTILE not in table_page
    assert "<img src=x" not in table_page
    page = write_report(table_model, tmp_path / "report.html", title=HOSTILE).read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert "&lt;img src=x" in page


def test_what_was_run_is_told(tmp_path, image_model):
    model, samples = image_model
    page = write_report(model, tmp_path / "report.html", samples=samples, title="Quarters").read_text(encoding="utf-8")
    for text in [
        "Quarters",
        "<dd>120</dd>",
        "<dd>64</dd>",
        "4 networks, 3 epochs in",
        "Losses over the epochs of each network.",
        "<dt>network</dt><dd>(32,)</dd>",
        "<dt>torch</dt>",
    ]:
        assert text in page, text


def test_where_rows_came_from_and_what_was_done_to_them_is_told(tmp_path, table_model, table_samples):
    known = SimpleNamespace(**vars(table_samples), source="folder-of-mine/flowers.csv", notes=("left out <b>",))
    page = write_report(table_model, tmp_path / "report.html", samples=known).read_text(encoding="utf-8")
    assert "Data: flowers.csv. Notes:" in page
    assert "folder-of-mine" not in page
    assert "<li>left out &lt;b&gt;</li>" in page


def test_no_line_leads_from_one_network_to_the_next():
    history = [{"epoch": epoch, "loss": loss} for epoch, loss in [(1, 9.0), (2, 5.0), (1, 8.0), (2, 4.0)]]
    (line,) = draw_losses(history).renderers
    assert np.array_equal(line.data_source.data["x"], [1, 2, np.nan, 1, 2], equal_nan=True)
    assert np.array_equal(line.data_source.data["y"], [9, 5, np.nan, 8, 4], equal_nan=True)


def test_images_get_thumbnails_of_every_row_and_of_the_exemplars(tmp_path, image_model):
    model, samples = image_model
    for rows in [samples.rows, samples.rows[:, None], np.repeat(samples.rows[..., None], 3, axis=3)]:
        page = write_report(model, tmp_path / "report.html", samples=Samples(rows, kind="images"))
        thumbnails = data_of(page.read_text(encoding="utf-8"))["thumbnails"]
        sheet = thumbnails["everything"]
        with Image.open(BytesIO(base64.b64decode(sheet["source"]))) as opened:
            picture = np.asarray(opened.convert("L"), np.float64)
        assert (sheet["width"], sheet["height"], sheet["step"]) == (8, 8, 1)
        for row in (0, 60, 119):
            top, left = 8 * (row // sheet["columns"]), 8 * (row % sheet["columns"])
            cell = picture[top : top + 8, left : left + 8]
            assert np.corrcoef(cell.ravel(), samples.rows[row].ravel())[0, 1] > 0.9
        assert set(thumbnails["exemplars"]["rows"]) >= {row for rows in model.exemplar_indices_ for row in rows[:1]}


def test_a_model_without_samples_or_clusters_is_shown(tmp_path):
    rng = np.random.default_rng(0)
    smallest = DCTreeClustering(min_samples=2).fit(rng.normal(size=(2, 1)))
    assert write_report(smallest, tmp_path / "two.html").stat().st_size > 1000
    duplicates = DCTreeClustering(selection="branches").fit(np.repeat([[0.0, 1.0], [5.0, 5.0]], 20, axis=0))
    assert write_report(duplicates, tmp_path / "duplicates.html").stat().st_size > 1000


def test_a_report_of_many_points_is_small(tmp_path):
    rng = np.random.default_rng(0)
    model = DCTreeClustering(selection="information").fit(
        rng.normal(size=(4_000, 2)) + rng.integers(0, 3, (4_000, 1)) * 9
    )
    images = rng.integers(0, 255, (4_000, 28, 28)).astype(np.uint8)  # noise is what compresses worst
    samples = Samples(images, ids=[f"picture-{row:06d}.png" for row in range(4_000)], kind="images")
    size = write_report(model, tmp_path / "report.html", samples=samples).stat().st_size
    fixed = 1_600_000 + 4 / 3 * (4_200_000 + 1_200_000)  # the library, and the two sheets at their largest
    assert size < fixed + 70 * 4_000, "more than 70 bytes a point, with which 70,000 would not stay below 15 MB"


def test_wrong_samples_are_told(tmp_path, table_model):
    with pytest.raises(ValueError, match=r"The samples have 3 rows, but the model was fitted to 420"):
        write_report(table_model, tmp_path / "report.html", samples=Samples(np.zeros((3, 4))))
    with pytest.raises(ValueError, match=r"The samples have 1 ids, but the model was fitted to 420 rows"):
        write_report(table_model, tmp_path / "report.html", samples=Samples(np.zeros((420, 4)), ids=["a"]))
    with pytest.raises(ValueError, match=r"Images must have shape"):
        write_report(table_model, tmp_path / "report.html", samples=Samples(np.zeros((420, 2, 2, 2, 2)), kind="images"))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_when_writing_fails(tmp_path: Path, table_model, monkeypatch):
    (tmp_path / "report.html").write_text("before")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_report(table_model, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "before"


def test_a_missing_bokeh_is_told_with_its_remedy(tmp_path, table_model, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "bokeh" or name == "shade.report.pictures"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(ImportError, match=r"^Reports need bokeh: pip install 'shade-clustering\[report\]'$"):
        write_report(table_model, tmp_path / "report.html")


def test_where_not_every_thumbnail_fits_every_so_many_is_shown_and_never_more_bytes_than_asked_for():
    images = np.random.default_rng(0).integers(0, 255, (300, 10, 20, 3)).astype(np.uint8)
    sheet = make_sheet(images, np.arange(300), longest_side=20, most_pixels=100 * 64, most_bytes=6_000)
    assert sheet["rows"] == list(range(0, 300, 3))
    assert len(base64.b64decode(sheet["source"])) <= 6_000
    assert sheet["width"] == pytest.approx(2 * sheet["height"], abs=1)


def test_noise_squeezes_the_clusters_of_the_first_view_never():
    random = np.random.default_rng(0)
    flat = np.vstack([random.uniform(-1, 1, (200, 2)), random.uniform(-50, 50, (800, 2))])
    members = np.arange(1000) < 200
    view = View("Map", "", ("x", "y"), flat, measured=False)
    assert np.abs(view.corners(members)).max() < 1.3
    assert np.abs(view.corners(np.ones(1000, bool))).max() > 40
    assert np.abs(view.corners(np.zeros(1000, bool))).max() > 40
    near = np.where(members[:, None], flat, flat / 30)  # noise among the clusters is seen with them
    corners = View("Map", "", ("x", "y"), near, measured=False).corners(members)
    np.testing.assert_array_equal(corners, [near.min(axis=0), near.max(axis=0)])


def test_the_map_is_shown_first_and_the_components_can_be_chosen(tmp_path, table_model):
    data = data_of(write_report(table_model, tmp_path / "report.html").read_text("utf-8"))
    assert [view["name"] for view in data["views"]] == ["Map", "Principal components"]
    order = table_model.structure_tree_.order
    for view, places in zip(data["views"], (table_model.map(), views_of(table_model)[1].places), strict=True):
        assert np.array_equal(unpack(view["x"], np.float32), places[order, 0].astype(np.float32))
        assert np.array_equal(unpack(view["y"], np.float32), places[order, 1].astype(np.float32))
    assert [view["measured"] for view in data["views"]] == [False, True]


def test_points_of_two_dimensions_are_shown_as_they_are(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = DCTreeClustering().fit(X)
    page = write_report(model, tmp_path / "report.html").read_text("utf-8")
    (view,) = data_of(page)["views"]
    assert np.array_equal(unpack(view["x"], np.float32), X[model.structure_tree_.order, 0].astype(np.float32))
    assert 'id="view"' not in page


def test_rows_may_be_a_frame_or_an_array(tmp_path, table_model, table_samples):
    frame = pd.DataFrame(table_samples.rows, columns=table_samples.feature_names, index=table_samples.ids)
    expected = data_of(write_report(table_model, tmp_path / "a.html", samples=table_samples).read_text("utf-8"))
    found = data_of(write_report(table_model, tmp_path / "b.html", samples=frame.assign(t="text")).read_text("utf-8"))
    assert found["ids"] == expected["ids"]
    assert found["clusters"] == expected["clusters"]
    plain = data_of(write_report(table_model, tmp_path / "c.html", samples=frame.to_numpy()).read_text("utf-8"))
    features = [[feature["name"] for feature in cluster["features"]] for cluster in plain["clusters"]]
    assert features[0]
    assert plain.get("ids") is None
    with pytest.raises(ValueError, match="The samples have 3 rows, but the model"):
        write_report(table_model, tmp_path / "d.html", samples=frame.head(3))


def test_a_frame_with_a_column_of_the_name_rows_is_a_frame(tmp_path, table_model, table_samples):
    frame = pd.DataFrame(table_samples.rows, columns=["rows", "ids", "labels", "kind"])
    data = data_of(write_report(table_model, tmp_path / "report.html", samples=frame).read_text(encoding="utf-8"))
    assert {feature["name"] for record in data["clusters"] for feature in record["features"]} <= set(frame)
    with pytest.raises(ValueError, match="must be the rows that were fitted, as a DataFrame or an array, or what"):
        write_report(table_model, tmp_path / "other.html", samples="customers.csv")


def test_one_cluster_has_a_title_of_one_and_the_next_splits(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = DCTreeClustering().fit(X)
    page = write_report(model, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>DCTreeClustering found 1 cluster</title>" in page
    for number in (2, 3):
        sizes = np.bincount(model.recluster(n_clusters=number).labels_).tolist()
        assert f"{number} clusters of {', '.join(map(str, sizes))} rows" in page
    assert "In a terminal, in the folder of model.shade: shade recluster . --n-clusters 2" in page
    two = write_report(model.recluster(n_clusters=2), tmp_path / "two.html").read_text(encoding="utf-8")
    assert "Only one cluster" not in two
