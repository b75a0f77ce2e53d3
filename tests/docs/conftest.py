"""The machinery of the pages, and an empty one to look at them with."""

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))


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
