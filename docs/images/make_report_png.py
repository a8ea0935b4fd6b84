"""Photograph the report that `make docs` writes, and one of the customers: python docs/images/make_report_png.py.

It needs Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent
DIGITS = IMAGES.parent / "_build" / "written" / "report.html"


def report_of_customers(folder: Path) -> Path:
    """Fit the table of the first steps."""
    table, out = str(folder / "customers.csv"), str(folder / "out")
    commands = (
        ["demo", "--table", table],
        ["fit", table, "--missing", "mean", "--id", "customer", "-o", out],
    )
    for command in commands:
        subprocess.run([sys.executable, "-m", "shade", *command], check=True)
    return folder / "out" / "report.html"


def photograph(
    page: Page, report: Path, part: str, name: str, clip: tuple[int, int] | None = None
) -> None:
    """Take a picture of one part of a report, or of its upper left corner."""
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    if part == ".compare":
        page.click("tr[data-label='1'] button")
    page.wait_for_timeout(2000)
    if part == "page":
        page.screenshot(path=IMAGES / name)
        return
    box = page.locator(part).bounding_box()
    assert box is not None
    width, height = clip or (box["width"], box["height"])
    area = {"x": box["x"], "y": box["y"], "width": width, "height": height}
    page.screenshot(path=IMAGES / name, clip=area)


with (
    sync_playwright() as running,
    tempfile.TemporaryDirectory() as folder,
):
    customers = report_of_customers(Path(folder))
    browser = running.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
    )
    tab = browser.new_page(viewport={"width": 1280, "height": 860})
    photograph(tab, DIGITS, "page", "report.png")
    tab.set_viewport_size({"width": 1280, "height": 1400})
    photograph(tab, customers, ".compare", "door_table.png", (520, 330))
    photograph(tab, DIGITS, ".clusters", "door_images.png", (520, 330))
    photograph(tab, DIGITS, "#scatter", "door_map.png", (600, 380))
    browser.close()
