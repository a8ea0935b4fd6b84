"""The values of the data in a real browser: seen, searched, compared, coloured by, and never more than text."""

import numpy as np
import pandas as pd
import pytest

from shade.report import write_report
from tests.report.conftest import HOSTILE, settle, wait_until
from tests.report.test_browser import PHONE, download_rows, frame_of, lit_labels, n_selected, pixels_of

TURNED = "\u202eevil\u2028line"


@pytest.fixture(scope="module")
def frame(blobs) -> pd.DataFrame:
    X, truth = blobs
    table = pd.DataFrame(X, columns=["a", HOSTILE, TURNED, "d"])
    table["group"] = [f"g{label}" if label != 1 else HOSTILE for label in truth]
    table["gap"] = [None if row % 3 else "=1+1" for row in range(len(X))]
    return table


@pytest.fixture(scope="module")
def data_file(tmp_path_factory, table_model, frame):
    return write_report(table_model, tmp_path_factory.mktemp("data") / "report.html", samples=frame, title="Values")


def effects_of(page) -> dict[str, float]:
    page.wait_for_selector("#compare-key", state="visible")
    settle(page)
    told = page.eval_on_selector_all(
        ".chart",
        "charts => charts.map(chart => ['h3', '.small'].map(part => chart.querySelector(part).textContent))",
    )
    return {name: float(effect.removeprefix("effect ").replace("−", "-")) for name, effect in told}


def test_a_chosen_cluster_is_compared_with_the_rest(open_page, data_file, table_model, frame):
    page = open_page(data_file)
    page.click("tr[data-label='2'] button")
    told = effects_of(page)
    numbers = frame.select_dtypes("number")
    expected = table_model.explain(numbers, top=1)
    for place, name in enumerate(numbers):
        if name in told:
            assert told[name] == pytest.approx(expected.effects[2, place], abs=0.006)
    inside = table_model.labels_ == 2
    shares = [
        np.mean(frame["group"][inside] == name) - np.mean(frame["group"][~inside] == name)
        for name in set(frame["group"])
    ]
    assert abs(told["group"]) == pytest.approx(np.max(np.abs(shares)), abs=0.006)
    assert list(told.values()) == sorted(told.values(), key=abs, reverse=True)
    assert page.locator(".chart svg[role=img]").count() >= 1
    page.keyboard.press("Escape")
    settle(page)
    assert page.is_hidden("#compare-key")
    assert page.locator(".chart").count() >= 4


def test_searching_selects_rows(open_page, data_file, frame):
    page = open_page(data_file)
    for wanted, found in (
        ("G3", frame["group"] == "g3"),
        ("onerror", frame["group"] == HOSTILE),
        ("=1+1", frame["gap"] == "=1+1"),
    ):
        page.fill("#search", wanted)
        wait_until(page, f"document.getElementById('selected').textContent.startsWith('{found.sum()} of')")
    page.fill("#search", "17")
    wait_until(page, "document.getElementById('selected').textContent.startsWith('1 of')")
    assert page.inner_text("#chosen-body b").startswith("row 17")
    page.fill("#search", "nowhere to be found")
    wait_until(page, "document.getElementById('selected').textContent === 'Nothing found'")
    page.fill("#search", "g3")
    wait_until(page, "document.getElementById('selected').textContent.endsWith('selected')")
    page.click("#clear")
    assert page.input_value("#search") == "" and n_selected(page) == 0


def test_points_are_coloured_by_values(open_page, data_file, frame):
    page = open_page(data_file)
    by_cluster = pixels_of(page)
    options = page.eval_on_selector_all("#colour option", "all => all.map(option => option.value)")
    assert options[:3] == ["cluster", "probability", "outlier"] and len(options) == 3 + frame.shape[1]
    for option in options[1:]:
        page.select_option("#colour", option)
        assert not np.array_equal(pixels_of(page), by_cluster), option
        assert page.is_visible("#legend")
    group = page.evaluate(
        "[...document.querySelectorAll('#colour option')].find(option => option.textContent.includes('group')).value"
    )
    page.select_option("#colour", group)
    assert page.locator("#legend .entry").count() == frame["group"].nunique()
    page.click("#theme")
    settle(page)
    assert page.is_visible("#legend")
    page.click("#theme")
    page.select_option("#colour", "cluster")
    assert page.is_hidden("#legend")
    assert np.array_equal(pixels_of(page), by_cluster)


def test_values_of_chosen_columns_are_told(open_page, data_file, table_model, frame):
    page = open_page(data_file)
    shown = page.eval_on_selector_all("#chosen-head th", "all => all.map(cell => cell.textContent)")[1:]
    assert set(shown) <= set(frame) and "group" in shown
    row = int(page.inner_text("#chosen-body b").removeprefix("row "))
    cells = page.eval_on_selector_all("#chosen-body tr:first-child td", "all => all.map(cell => cell.textContent)")
    for name, cell in zip(shown, cells, strict=True):
        value = frame[name][row]
        if pd.isna(value) or isinstance(value, str):
            assert cell == ("—" if pd.isna(value) else value)
        else:
            assert float(cell) == pytest.approx(value, rel=1e-5)
    place = table_model.map()[row]
    at = page.evaluate(
        """([x, y]) => { const { x_scale, y_scale, bbox } = view('embedding').frame;
        return [x_scale.compute(x) - bbox.x, y_scale.compute(y) - bbox.y]; }""",
        place.tolist(),
    )
    box = frame_of(page, "embedding")
    page.mouse.move(box["x"] + at[0] - 3, box["y"] + at[1])
    page.mouse.move(box["x"] + at[0], box["y"] + at[1], steps=4)
    page.wait_for_selector("#tooltip", state="visible")
    for cell in cells:
        assert cell in page.text_content("#tooltip")
    page.mouse.move(1, 1)
    page.click(".picker summary")
    for box in page.query_selector_all(".picks input:checked"):
        box.uncheck()
    assert page.is_hidden("#chosen-table") and page.locator("#chosen-rows li").count() == 12
    page.query_selector_all(".picks input")[0].check()
    assert page.locator("#chosen-head th").count() == 2


def test_a_name_stays_with_its_cluster_and_goes_into_the_file(open_page, data_file, table_model, tmp_path):
    page = open_page(data_file)
    name = f"Roses, =1{HOSTILE[:60]}"
    page.click("tr[data-label='1'] button")
    page.fill("#cluster-name", name)
    page.keyboard.press("Enter")
    settle(page)
    assert name[:10] in page.inner_text("tr[data-label='1']")
    assert any(text.startswith("Roses") for text in page.evaluate("model('names').data.text"))
    page.keyboard.press("Escape")
    rows = download_rows(page, tmp_path)
    assert {row["cluster_name"] for row in rows if row["label"] == "1"} == {name}
    assert {row["cluster_name"] for row in rows if row["label"] != "1"} == {""}
    page.focus("#number")
    seen = set()
    for _ in range(table_model.n_clusters_ + 2):  # every larger and smaller number, and back
        page.keyboard.press("ArrowLeft")
        settle(page)
        named = page.eval_on_selector_all(
            "#cluster-rows tr", "rows => rows.filter(row => row.innerText.includes('Roses')).length"
        )
        seen.add(named)
    assert seen == {0, 1}
    page.click("#fitted")
    settle(page)
    assert "Roses" in page.inner_text("tr[data-label='1']")
    page.click("tr[data-label='1'] button")
    assert page.input_value("#cluster-name") == name
    page.fill("#cluster-name", "")
    page.keyboard.press("Enter")
    settle(page)
    assert "Roses" not in page.inner_text("#cluster-rows")
    page.keyboard.press("Escape")
    assert "cluster_name" not in download_rows(page, tmp_path)[0]


def test_layers_are_chosen_by_buttons_and_inner_clusters_keep_the_name(open_page, tmp_path):
    from shade import DCTreeClustering

    X = [[place + near + i / 10] for place in (0, 500, 1500) for near in (0, 20, 45, 75) for i in range(20)]
    model = DCTreeClustering(min_cluster_size=12).fit(X).recluster(n_clusters=3)
    page = open_page(write_report(model, tmp_path / "report.html"))
    told = page.eval_on_selector_all(
        "#layers button", "all => all.map(button => [button.textContent, button.ariaPressed])"
    )
    assert told == [["3", "true"], ["12", "false"]]
    page.click("tr[data-label='0'] button")
    page.fill("#cluster-name", "North")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.click("#layers button:last-child")
    settle(page)
    assert page.inner_text("#number-value") == "12"
    named = page.eval_on_selector_all("#cluster-rows tr .given", "all => all.map(name => name.textContent)")
    assert len(named) == 4 and all(name.startswith("North, ") for name in named)
    rows = download_rows(page, tmp_path)
    assert [int(row["label"]) for row in rows] == model.layers().labels[1].tolist()
    assert {
        row["cluster_name"].startswith("North") for row in rows if int(row["row"]) in np.flatnonzero(model.labels_ == 0)
    } == {True}


def test_text_of_the_file_is_only_text(open_page, data_file):
    page = open_page(data_file)
    page.click("tr[data-label='0'] button")
    settle(page)
    assert page.title() == "Values"
    assert page.locator("img").count() == 0
    assert page.locator("#compare-charts script, #chosen-table script, #colour script").count() == 0
    names = page.eval_on_selector_all("#colour optgroup option", "all => all.map(option => option.textContent)")
    assert all(name.startswith("\u2068") and name.endswith("\u2069") and "\u202e" not in name for name in names)
    for selector in ("#chosen-head th:not(:first-child)", ".chart h3", ".value-name"):
        directions = page.eval_on_selector_all(selector, "all => all.map(one => getComputedStyle(one).unicodeBidi)")
        assert directions and set(directions) <= {"isolate", "plaintext"}, selector


def test_values_fit_a_phone(open_page, data_file):
    page = open_page(data_file, PHONE, has_touch=True, is_mobile=True)
    page.tap("tr[data-label='0'] button")
    assert lit_labels(page) == ["0"]
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_page_without_values_has_no_charts_of_them(open_page, tmp_path, table_model):
    page = open_page(write_report(table_model, tmp_path / "report.html"))
    page.click("tr[data-label='0'] button")
    settle(page)
    assert page.locator("#compare-charts").count() == 0
    assert page.locator("#chosen-rows li").count() > 10
    assert page.is_visible("#cluster-name")
