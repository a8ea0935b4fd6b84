"""Small fitted models, and a real browser."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shade import SHADE, DCTreeClustering

HOSTILE = "<img src=x onerror=\"document.title='run'\"></script><script>document.title='run'</script>"


DESKTOP = {"width": 1280, "height": 800}
SHORTHAND = """
window.model = name => Bokeh.documents.map(document => document.get_model_by_name(name)).find(Boolean);
window.view = name => Bokeh.index.find_one(model(name));
null
"""


@dataclass(frozen=True)
class Samples:
    rows: Any
    feature_names: Any = None
    ids: Any = None
    labels: Any = None
    kind: str = "table"


@pytest.fixture(scope="session")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Five groups of 120, 100, 80, 60 and 40 points in four dimensions, and 20 points anywhere."""
    rng = np.random.default_rng(0)
    sizes = [120, 100, 80, 60, 40]
    centres = rng.uniform(-20, 20, (5, 4))
    groups = [rng.normal(centre, 0.6, (size, 4)) for centre, size in zip(centres, sizes, strict=True)]
    truth = np.append(np.repeat(np.arange(5), sizes), np.full(20, -1))
    mixed = rng.permutation(len(truth))
    return np.vstack([*groups, rng.uniform(-25, 25, (20, 4))])[mixed], truth[mixed]


@pytest.fixture(scope="session")
def table_model(blobs: tuple[np.ndarray, np.ndarray]) -> DCTreeClustering:
    return DCTreeClustering(selection="information").fit(blobs[0])


@pytest.fixture(scope="session")
def table_samples(blobs: tuple[np.ndarray, np.ndarray]) -> Samples:
    """Everything that a file may bring along is hostile."""
    X, truth = blobs
    return Samples(
        X,
        feature_names=["width", HOSTILE, "height", "depth"],
        ids=[f"{HOSTILE},{row}" for row in range(len(X))],
        labels=[f"{HOSTILE}{label}" for label in truth],
    )


@pytest.fixture(scope="session")
def touching_model() -> DCTreeClustering:
    """Three groups so near each other that many of their rows are outskirts, and a few rows far away."""
    rng = np.random.default_rng(0)
    centres = 4.0 * np.eye(5)[:3]
    X = np.vstack([*(rng.normal(centre, 1.0, (200, 5)) for centre in centres), rng.uniform(-30, 30, (12, 5))])
    model = DCTreeClustering(selection="information")
    return model.fit(X[rng.permutation(len(X))])


@pytest.fixture(scope="session")
def image_model() -> tuple[SHADE, Samples]:
    """Images with one of three bright quarters."""
    rng = np.random.default_rng(0)
    quarter = np.repeat([0, 1, 2], 40)
    images = rng.integers(0, 60, (120, 8, 8)).astype(np.uint8)
    for row, place in enumerate(quarter):
        images[row, 4 * (place // 2) :, 4 * (place % 2) :][:4, :4] += 180
    model = SHADE(network=(32,), embedding_size=3, epochs=3, batch_size=60, selection="branches", random_state=0)
    return model.fit(images), Samples(images, labels=quarter, kind="images")


@pytest.fixture(scope="session")
def browser() -> Any:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright (the dev extra)")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser) -> Iterator:
    """Open a file; at the end nothing may have gone wrong and nobody may have been asked."""
    seen = SimpleNamespace(errors=[], requests=[])
    contexts = []

    def open_file(path: Path, size=DESKTOP, **options):
        context = browser.new_context(viewport=size, accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: seen.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: seen.errors.append(str(error)))

        def watch(route):
            if route.request.url.startswith("file:"):
                route.continue_()
            else:
                seen.requests.append(route.request.url)
                route.abort()

        page.route("**/*", watch)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        wait_until(page, "document.getElementById('scatter').width > 100")
        page.evaluate(SHORTHAND)
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert seen.errors == []
    assert seen.requests == []


def wait_until(page, condition: str, most: int = 200) -> None:
    """Ask again and again; the page's own policy forbids it to evaluate text, as Playwright's waiting would."""
    for _ in range(most):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"{condition} did not come true")


def settle(page) -> None:
    wait_until(page, "document.getElementById('main').getAttribute('aria-busy') === 'false'")
