"""The report in a real browser: it draws, links, recolours, downloads, and asks nothing of any network."""

import base64
import csv
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import adjusted_rand_score

from shade import DCTreeClustering
from shade.report import write_report
from tests.report.conftest import DESKTOP, Samples, settle, wait_until

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def table_file(tmp_path_factory, table_model, table_samples) -> Path:
    folder = tmp_path_factory.mktemp("a folder with spaces")
    return write_report(table_model, folder / "report.html", samples=table_samples, title="Five groups")


def pixels_of(page) -> np.ndarray:
    settle(page)
    page.wait_for_timeout(150)  # a frame or two, in which what was asked for is painted
    encoded = page.evaluate("document.getElementById('scatter').toDataURL('image/png').split(',')[1]")
    with Image.open(BytesIO(base64.b64decode(encoded))) as picture:
        return np.asarray(picture.convert("RGB")).reshape(-1, 3)


def count_colours(page, least: int = 12) -> int:
    """Colours that fill at least some pixels, white and grey aside."""
    pixels = pixels_of(page).astype(int)
    vivid = pixels[np.ptp(pixels, axis=1) > 60]
    _, counts = np.unique(vivid // 8, axis=0, return_counts=True)
    return int((counts >= least).sum())


def frame_of(page, name: str) -> dict[str, float]:
    """Where the axes of a picture are on the screen."""
    return page.evaluate(
        """name => { const { canvas_view, frame } = view(name), { x, y, width, height } = frame.bbox;
        canvas_view.el.scrollIntoView({ block: "center" });
        const box = canvas_view.el.getBoundingClientRect();
        return { x: box.x + x, y: box.y + y, width, height }; }""",
        name,
    )


def drag(page, frame, start: tuple[float, float], stop: tuple[float, float]) -> None:
    """Drag between two places given as shares of a picture's axes."""
    (x0, y0), (x1, y1) = ((frame["x"] + x * frame["width"], frame["y"] + y * frame["height"]) for x, y in (start, stop))
    page.mouse.move(x0, y0)
    page.mouse.down()
    page.mouse.move((x0 + x1) / 2, (y0 + y1) / 2, steps=3)
    page.mouse.move(x1, y1, steps=3)
    page.mouse.up()
    page.wait_for_timeout(150)
    settle(page)


def n_selected(page) -> int:
    text = page.inner_text("#selected")
    return 0 if text == "Nothing selected" else int(text.split(" of ")[0].replace(",", ""))


def lit_labels(page) -> list[str]:
    return page.eval_on_selector_all("tr.lit", "rows => rows.map(row => row.dataset.label)")


def download_rows(page, tmp_path: Path) -> list[dict[str, str]]:
    with page.expect_download() as waiting:
        page.click("#download")
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_table_has_every_cluster_and_hostile_text_stays_text(open_page, table_file, table_model, table_samples):
    page = open_page(table_file)
    rows = page.eval_on_selector_all(
        "#cluster-rows tr", "rows => rows.map(row => row.cells[1].innerText.split('\\n')[0])"
    )
    sizes = np.bincount(table_model.labels_[table_model.labels_ >= 0]).tolist()
    noise = int(np.sum(table_model.labels_ < 0))
    assert [int(text.replace(",", "")) for text in rows] == sizes + ([noise] if noise else [])
    assert page.title() == "Five groups"
    assert page.locator("img").count() == 0
    assert table_samples.feature_names[1] in page.inner_text("#cluster-rows")


def test_choosing_a_cluster_lights_it_up_everywhere(open_page, table_file, table_model, tmp_path):
    page = open_page(table_file)
    before = pixels_of(page)
    page.click("tr[data-label='1'] button")
    assert n_selected(page) == int(np.sum(table_model.labels_ == 1))
    assert lit_labels(page) == ["1"]
    assert not np.array_equal(before, pixels_of(page))
    alphas = page.evaluate("Array.from(model('bars').data.alpha)")
    assert sum(alpha > 0.9 for alpha in alphas) == n_selected(page)
    bars = page.evaluate("Array.from(model('chosen').data.alpha)")
    assert [bar > 0.5 for bar in bars] == [label == 1 for label in range(len(bars))]
    page.click("tr[data-label='0'] button", modifiers=["Shift"])
    assert lit_labels(page) == ["0", "1"]
    rows = download_rows(page, tmp_path)
    assert [int(row["row"]) for row in rows] == np.flatnonzero(np.isin(table_model.labels_, [0, 1])).tolist()
    page.keyboard.press("Escape")
    assert n_selected(page) == 0
    assert page.is_disabled("#clear")


def test_dragging_in_a_picture_selects_in_the_others(open_page, table_file, table_model):
    page = open_page(table_file)
    drag(page, frame_of(page, "embedding"), (0.01, 0.01), (0.99, 0.99))
    everything = n_selected(page)
    assert everything > 0.9 * len(table_model.labels_)
    drag(page, frame_of(page, "reachability"), (0.02, 0.3), (0.52, 0.7))
    assert n_selected(page) == pytest.approx(len(table_model.labels_) / 2, abs=5)
    order = table_model.structure_tree_.order
    positions = np.flatnonzero(page.evaluate("Array.from(model('bars').data.alpha)") > np.float64(0.9))
    assert sorted(map(int, lit_labels(page))) == sorted(set(table_model.labels_[order[positions]].tolist()))
    assert page.locator("#chosen-body tr").count() == 60


def test_clicking_the_tree_and_the_reachability_selects_a_cluster(open_page, table_file, table_model):
    page = open_page(table_file)
    order = table_model.structure_tree_.order
    for name in ("tree", "reachability"):
        positions = np.flatnonzero(table_model.labels_[order] == 0)
        frame = frame_of(page, name)
        y = 0.98
        if name == "tree":
            y = page.evaluate(
                """() => { const { top, bottom } = model("chosen").data, { y_scale, bbox } = view("tree").frame;
                return ((y_scale.compute(top[0]) + y_scale.compute(bottom[0])) / 2 - bbox.y) / bbox.height; }"""
            )
        page.mouse.click(
            frame["x"] + frame["width"] * (positions.mean() + 0.5) / len(order), frame["y"] + frame["height"] * y
        )
        page.wait_for_timeout(400)
        assert n_selected(page) == len(positions), name
        assert lit_labels(page) == ["0"], name
        page.keyboard.press("Escape")


def test_the_slider_recolours_everything(open_page, table_file, table_model, table_samples, blobs, tmp_path):
    page = open_page(table_file)
    fitted = count_colours(page)
    page.focus("#number")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    wait_until(page, "document.getElementById('number-value').textContent === '2'")
    settle(page)
    other = table_model.recluster(n_clusters=2)
    sizes = page.eval_on_selector_all(
        "#cluster-rows tr:not([data-label='-1'])", "rows => rows.map(row => parseInt(row.cells[1].innerText))"
    )
    assert sizes == np.bincount(other.labels_[other.labels_ >= 0]).tolist()
    assert count_colours(page) < fitted
    assert page.evaluate("model('chosen').data.left.length") == table_model.n_clusters_  # the parts, in two colours
    assert page.evaluate("new Set(model('chosen').data.colour).size") == 2
    assert set(page.evaluate("Array.from(model('bars').data.label)")) <= {-1, 0.5, 1.5}
    clustered = other.labels_ >= 0
    agreement = adjusted_rand_score(blobs[1][clustered], other.labels_[clustered])
    assert float(page.inner_text("#fact-agreement dd")) == pytest.approx(agreement, abs=6e-4)
    rows = download_rows(page, tmp_path)
    assert [int(row["label"]) for row in rows] == other.labels_.tolist()
    assert [row["id"] for row in rows] == table_samples.ids
    assert [row["given_label"] for row in rows] == table_samples.labels
    np.testing.assert_allclose([float(row["probability"]) for row in rows], other.probabilities_, atol=1e-5)
    page.click("#fitted")
    assert page.inner_text("#number-value") == str(table_model.n_clusters_)
    assert count_colours(page) == fitted


def test_outskirts_are_shown_as_members(open_page, tmp_path, touching_model):
    page = open_page(write_report(touching_model, tmp_path / "report.html"))
    for model in (touching_model, touching_model.recluster(n_clusters=2)):
        if model is not touching_model:
            page.focus("#number")
            page.keyboard.press("Home")
            page.keyboard.press("ArrowRight")
            wait_until(page, "document.getElementById('number-value').textContent === '2'")
        settle(page)
        assert model.clustering_.flat.outskirts.any()
        sizes = page.eval_on_selector_all(
            "#cluster-rows tr:not([data-label='-1'])", "rows => rows.map(row => parseInt(row.cells[1].innerText))"
        )
        assert sizes == np.bincount(model.labels_[model.labels_ >= 0]).tolist()
        rows = download_rows(page, tmp_path)
        assert [int(row["label"]) for row in rows] == model.labels_.tolist()
        np.testing.assert_allclose([float(row["probability"]) for row in rows], model.probabilities_, atol=1e-5)


def test_hovering_tells_of_the_point(open_page, tmp_path, image_model):
    model, samples = image_model
    page = open_page(write_report(model, tmp_path / "report.html", samples=samples))
    frame = frame_of(page, "embedding")
    place = page.evaluate(
        """([x, y]) => { const { x_scale, y_scale, bbox } = view("embedding").frame;
        return [x_scale.compute(x) - bbox.x, y_scale.compute(y) - bbox.y]; }""",
        model.map()[0].tolist(),
    )
    page.mouse.move(frame["x"] + place[0] - 3, frame["y"] + place[1])
    page.mouse.move(frame["x"] + place[0], frame["y"] + place[1], steps=4)
    page.wait_for_selector("#tooltip", state="visible")
    text = page.inner_text("#tooltip")
    row = int(text.split("\n")[0].removeprefix("row "))
    assert f"cluster {model.labels_[row]}, probability {model.probabilities_[row]:.2f}" in text
    assert f"given label {samples.labels[row]}" in text
    assert page.locator("#tooltip .thumb").count() == 1
    assert page.locator("#cluster-rows .thumb").count() >= model.n_clusters_


def test_the_layout_is_switched_and_everything_follows(open_page, table_file, table_model):
    page = open_page(table_file)
    assert page.input_value("#view") == "0"
    assert not page.evaluate("model('embedding').below[0].visible")
    before, note = pixels_of(page), page.inner_text("#view-note")
    span = "(({ start, end }) => [start, end])(model('embedding').x_range)"
    shown = page.evaluate(span)
    page.focus("#view")
    page.keyboard.press("ArrowDown")
    wait_until(page, "model('embedding').below[0].axis_label.startsWith('PCA 1')")
    settle(page)
    assert page.evaluate("model('embedding').below[0].visible")
    assert not np.array_equal(before, pixels_of(page))
    assert page.inner_text("#view-note") != note
    assert "PCA 1" in page.inner_text("#embedding-text")
    drag(page, frame_of(page, "embedding"), (0.01, 0.01), (0.99, 0.99))
    assert n_selected(page) > 0.9 * len(table_model.labels_)
    page.keyboard.press("Escape")
    page.select_option("#view", "0")
    wait_until(page, "!model('embedding').below[0].visible")
    settle(page)
    page.wait_for_timeout(300)
    assert page.evaluate(span) == pytest.approx(shown, abs=0.05 * np.ptp(shown))
    assert page.inner_text("#view-note") == note


def test_the_name_of_a_small_cluster_stands_above_it(open_page, tmp_path):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(400, 3)), rng.normal(30, 0.01, (12, 3))])
    model = DCTreeClustering(selection="branches", min_cluster_size=10, background_noise=False).fit(X)
    page = open_page(write_report(model, tmp_path / "report.html"))
    settle(page)
    names = page.evaluate("model('names').data")
    small = model.labels_ == 1
    assert small.sum() == 12
    # In the picture the name is higher than every point of the cluster, by half of its own height at least.
    unit = page.evaluate(
        "(() => { const f = model('embedding'); return (f.y_range.end - f.y_range.start) / f.inner_height; })()"
    )
    assert names["y"][names["text"].index("1")] > model.map()[small, 1].max() + 7 * unit
    assert names["y"][names["text"].index("0")] < model.map()[~small, 1].max()


def test_everything_is_reached_by_keyboard_and_told_in_words(open_page, table_file, table_model):
    page = open_page(table_file)
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.getAttribute('aria-label')"))
    assert [name for name in reached if name in ("theme", "number", "download")] == ["theme", "number", "download"]
    page.focus("tr[data-label='2'] button")
    page.keyboard.press("Enter")
    assert lit_labels(page) == ["2"]
    assert page.get_attribute("tr[data-label='2'] button", "aria-pressed") == "true"
    for figure in page.query_selector_all("figure"):
        told = page.inner_text(f"#{figure.get_attribute('aria-describedby')}")
        assert len(told) > 40, told
        assert len(page.inner_text(f"#{figure.get_attribute('aria-labelledby')}")) > 3
    assert f"{table_model.n_clusters_} clusters" in page.inner_text("#embedding-text")


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_it_fits_the_screen_in_light_and_dark(open_page, tmp_path, image_model, size, scheme):
    model, samples = image_model
    page = open_page(write_report(model, tmp_path / "report.html", samples=samples), size, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(int(level) for level in background.removeprefix("rgb(").removesuffix(")").split(",")) > 380
    assert bright == (scheme == "light")
    picture = pixels_of(page)
    assert (np.median(picture) > 128) == (scheme == "light")
    page.click("#theme")
    assert (np.median(pixels_of(page)) > 128) != (scheme == "light")
    with Image.open(BytesIO(page.screenshot(full_page=True))) as screen:
        assert screen.width == size["width"]


def test_the_smallest_models_are_drawn_too(open_page, tmp_path):
    models = [
        DCTreeClustering(min_samples=2).fit([[0.0], [1.0]]),
        DCTreeClustering(selection="branches").fit(np.repeat([[0.0, 1.0], [5.0, 5.0]], 20, axis=0)),
        DCTreeClustering().fit(np.ones((30, 3))),
    ]
    for number, model in enumerate(models):
        page = open_page(write_report(model, tmp_path / f"{number}.html"))
        assert page.inner_text("#number-value") == str(model.n_clusters_)
        assert count_colours(page, least=1) >= 1


def test_the_wheel_scrolls_the_page_and_zooms_with_control(open_page, table_file):
    page = open_page(table_file)
    frame = frame_of(page, "embedding")
    width = "(() => { const { start, end } = model('embedding').x_range; return end - start; })()"
    before, pixels = page.evaluate(width), pixels_of(page)
    page.mouse.move(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2)
    page.mouse.wheel(0, 120)
    wait_until(page, "window.scrollY > 60")
    assert page.evaluate(width) == before
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    wait_until(page, f"{width} < {before}")
    assert not np.array_equal(pixels, pixels_of(page))


def test_a_finger_scrolls_the_page_over_pictures(open_page, table_file):
    page = open_page(table_file, PHONE, has_touch=True, is_mobile=True)
    active = page.evaluate("model('embedding').toolbar.tools.filter(tool => tool.active).length")
    assert active == 0
    assert page.is_visible(".finger")
    page.tap("tr[data-label='0'] button")
    assert lit_labels(page) == ["0"]


def test_names_are_isolated_and_downloads_hold_no_formulas(open_page, tmp_path, table_model, blobs):
    names = ["\u05d0\u05d1", "\u202eevil", "=1+1", "-2.5"]
    samples = Samples(blobs[0], feature_names=names, ids=[f"=cmd{row}" for row in range(len(blobs[0]))])
    page = open_page(write_report(table_model, tmp_path / "report.html", samples=samples))
    chips = page.eval_on_selector_all(
        ".chip",
        "all => all.map(chip => [chip.innerText, getComputedStyle(chip.querySelector('b')).unicodeBidi, chip.title])",
    )
    assert chips
    for text, direction, title in chips:
        assert direction in ("isolate", "plaintext")
        assert text[-5] in "+−"
        assert title.startswith("\u2068") and "\u2069: effect" in title and "\u202e" not in title
    assert [row["id"] for row in download_rows(page, tmp_path)] == [f"'=cmd{row}" for row in range(len(blobs[0]))]
