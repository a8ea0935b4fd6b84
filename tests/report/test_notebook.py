"""The report in a notebook: in a frame that cannot reach the notebook, and a notebook that is executed."""

import html
import re
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shade import DCTreeClustering
from shade.report import explore, write_report
from tests.report.conftest import DESKTOP

CELLS = [
    "import numpy as np\nfrom shade import SHADE",
    "X = np.vstack([np.random.default_rng(0).normal(centre, 1, (60, 5)) for centre in (0, 9)])",
    "SHADE(epochs=3)",
    "model = SHADE(network=(16,), epochs=3, n_networks=2, embedding_size=2, random_state=0, verbose=1).fit(X)",
    "model",
    "model.explain(X, top=2)",
    "model.explore(X, height=700)",
]


def frame_in(browser, tmp_path: Path, outer: str):
    (tmp_path / "outer.html").write_text(f"<!doctype html><title>outer</title><body>{outer}", encoding="utf-8")
    page = browser.new_context(viewport=DESKTOP).new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto((tmp_path / "outer.html").as_uri())
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("html[data-ready=yes]", timeout=60_000)
    return page, frame, errors


def test_the_page_is_that_of_the_report(tmp_path, table_model, table_samples):
    shown = table_model.explore(table_samples)
    written = write_report(table_model, tmp_path / "report.html", samples=table_samples).read_text(encoding="utf-8")

    def undated(page: str) -> str:
        return re.sub(r' on \d{4}-.*? UTC|"p\d+"', "", page)  # the drawing library numbers all its plots

    assert undated(shown.page) == undated(written)
    assert shown.page not in repr(shown)
    (inner,) = re.findall(r'srcdoc="([^"]*)"', shown._repr_html_())
    assert html.unescape(inner) == shown.page


def test_it_is_explored_in_a_frame_that_does_not_reach_the_notebook(browser, tmp_path, table_model, table_samples):
    page, frame, errors = frame_in(browser, tmp_path, explore(table_model, table_samples, height=640)._repr_html_())
    assert page.locator("iframe").bounding_box()["height"] == 640
    frame.click("tr[data-label='1'] button")
    assert frame.inner_text("#selected").startswith(f"{np.sum(table_model.labels_ == 1)} of")
    with page.expect_download() as waiting:
        frame.click("#download")
    assert waiting.value.suggested_filename == "selection.csv"
    assert page.title() == "outer" and errors == []
    reached = frame.evaluate("(() => { try { return parent.document.title; } catch { return null; } })()")
    assert reached is None
    page.context.close()


def test_wrong_wishes_are_told(table_model):
    with pytest.raises(ValueError, match="The 'height' parameter of explore must be"):
        table_model.explore(height=0)
    with pytest.raises(Exception, match="not fitted"):
        DCTreeClustering().explore()


def test_a_notebook_runs_and_shows_bar_model_explanation_and_report(browser, tmp_path):
    pytest.importorskip("ipykernel", reason="needs ipykernel (the dev extra)")
    nbclient = pytest.importorskip("nbclient", reason="needs nbconvert (the dev extra)")
    nbconvert = pytest.importorskip("nbconvert", reason="needs nbconvert (the dev extra)")
    from nbformat.v4 import new_code_cell, new_notebook

    notebook = new_notebook(cells=[new_code_cell(cell) for cell in CELLS])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert not any(output.get("name") == "stderr" for cell in outputs for output in cell), outputs
    (bars,) = (output.data["text/html"] for output in outputs[3] if output.output_type == "display_data")
    assert bars.count('<progress value="3" max="3"') == 2
    assert "sk-container" in outputs[2][0].data["text/html"]
    assert "noise in 120 rows" in outputs[4][0].data["text/html"]
    assert "<table>" in outputs[5][0].data["text/html"]
    page, _ = nbconvert.HTMLExporter(embed_images=True, mathjax_url="", require_js_url="").from_notebook_node(notebook)
    (tmp_path / "notebook.html").write_text(page, encoding="utf-8")
    tab = browser.new_context(viewport=DESKTOP, offline=True).new_page()
    tab.goto((tmp_path / "notebook.html").as_uri(), wait_until="domcontentloaded")
    frame = tab.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("html[data-ready=yes]", timeout=60_000)
    assert frame.locator("#cluster-rows tr").count() >= 2
    assert tab.locator("progress").count() == 2
    with Image.open(BytesIO(tab.screenshot(full_page=True))) as screen:
        assert screen.height > 1000
    tab.context.close()


def test_a_notebook_is_not_needed_for_a_model(table_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert "clusters" in table_model._repr_html_()
