"""A browser for the tests that look at pages, one in a run: playwright's loop starts only once."""

import shutil

import pytest

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture(scope="session")
def browser():
    """Chromium, where there is one."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium to load the page with")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield made
        made.close()
