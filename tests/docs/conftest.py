"""The machinery of the pages, and a browser to look at them with."""

import shutil
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture(scope="session")
def browser():
    """Chromium, where there is one."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium to load the pages with")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield made
        made.close()


@pytest.fixture(params=[("light", 1280), ("dark", 390)], ids=["desktop", "phone in the dark"])
def page(request, browser):
    """An empty page without a network; afterwards, that there was no error and no request."""
    scheme, width = request.param
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 900}, offline=True
    )
    made = context.new_page()
    problems, sent = [], []
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("request", lambda request: sent.append(request.url))
    yield made
    context.close()
    assert problems == []
    assert [url for url in sent if url.startswith("http")] == []
