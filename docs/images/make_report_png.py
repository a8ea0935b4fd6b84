"""Photograph the report that `make docs` writes: python docs/images/make_report_png.py (needs Chromium)."""

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent
REPORT = IMAGES.parent / "_build" / "written" / "report.html"

with sync_playwright() as running:
    browser = running.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
    )
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    page.goto(REPORT.as_uri())
    page.wait_for_timeout(3000)
    page.screenshot(path=IMAGES / "report.png")
    browser.close()
