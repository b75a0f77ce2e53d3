"""The pages in a real browser: the map leads to a method, the benchmark page filters.

What Sphinx makes is looked at where it has been built; the pieces that we write are always.
"""

import re
from html import unescape
from urllib.parse import unquote, urlsplit

import atlas
import charts
import facts
import pytest
from tests.docs.test_charts import measured

SITE = facts.DOCS / "_build" / "html"
STATIC = facts.DOCS / "_static"
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # playwright's loop, closed late
built = pytest.mark.skipif(not (SITE / "map.html").exists(), reason="`make docs` has not been run")


def alone(tmp_path, body):
    """A piece of ours as a page by itself."""
    style, script = ((STATIC / name).read_text() for name in ("atlas.css", "atlas.js"))
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html>{head}<style>{style}</style><script>{script}</script>{body}")
    return path.as_uri()


def fits(page):
    """Whether nothing has to be scrolled to from side to side."""
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


def names(page):
    return page.locator("#places li:visible a").all_text_contents()


def walk_the_map(page):
    every = len(facts.methods())
    assert len(names(page)) == every
    assert fits(page)
    page.locator("[name=task]").select_option(label="I have sequences with gaps")
    found = names(page)
    assert {"KalmanFilter", "GaussianHMM"} <= set(found)
    assert len(found) < 10
    assert "task=gaps" in page.url
    assert page.locator("#places svg a:not(.away)").count() == len(found)
    page.locator("[name=peer]").select_option("hmmlearn")
    assert set(names(page)) == {"CategoricalHMM", "GaussianHMM", "GMMHMM"}
    page.get_by_role("button", name="Show all").press("Enter")
    page.wait_for_function(
        f"document.querySelectorAll('#places li:not([hidden])').length == {every}"
    )
    page.locator("[name=chapter]").select_option(label="14 Flows")
    assert "RealNVP" in names(page)
    page.locator("[name=word]").fill("spline")
    assert names(page) == ["SplineTransform"]
    assert fits(page)
    page.goto(page.url.partition("#")[0] + "#peer=trl")
    page.reload()
    assert "DPO" in names(page)
    assert page.locator("[name=peer]").input_value() == "trl"


def test_the_map_leads_by_task_chapter_peer_and_word(page, tmp_path):
    page.goto(alone(tmp_path, atlas.map_page()))
    walk_the_map(page)


def test_workloads_are_filtered(page, tmp_path, monkeypatch):
    many = [measured(2.0, (1.8, 2.2)), measured(0.5, (0.4, 0.6), method="Lasso")]
    machine = {"cpu": "a machine", "date": "today", "numpy": "2"}
    files = {"linear": {"machine": machine, "rows": [], "growth": {"Ridge in n": 1.04}}}
    monkeypatch.setattr(charts, "workloads", lambda: [*many, measured(9.0, None)])
    monkeypatch.setattr(charts, "results", lambda: files)
    page.goto(alone(tmp_path, charts.benchmark_page()))
    rows = page.locator("details.workload:visible")
    assert rows.count() == 2
    page.get_by_role("searchbox", name="Filter").fill("slower")
    assert rows.count() == 1
    assert "1 of 2" in page.locator("#count").text_content()
    rows.locator("summary").press("Enter")
    assert rows.locator("td").first.is_visible()
    assert "linear.Lasso" in rows.text_content()
    page.get_by_role("searchbox", name="Filter").fill("nothing like it")
    assert rows.count() == 0
    assert page.get_by_text("1 workloads were last measured before").is_visible()
    assert fits(page)


@built
def test_a_reader_goes_from_the_front_page_to_a_method_and_its_picture(page):
    page.goto((SITE / "index.html").as_uri())
    assert page.get_by_text("behind one scikit-learn contract").is_visible()
    assert fits(page)
    page.get_by_role("link", name="Open the map").click()
    page.wait_for_url("**/map.html")  # loaded, that is
    walk_the_map(page)
    page.locator("[name=peer]").select_option("pykalman")
    page.locator("#places li:visible a", has_text="KalmanFilter").click()
    page.wait_for_url("**/panlearn.sequence.KalmanFilter.html")
    assert page.locator(".panel dt").first.is_visible()
    assert fits(page)
    picture = page.locator("figure.method-picture img, img.method-picture").first
    if picture.count():  # a build without the gallery has none
        page.wait_for_function(
            "(image) => image.complete && image.naturalWidth > 100", arg=picture.element_handle()
        )
        shown = "(image) => image.getBoundingClientRect().width / image.naturalWidth"
        assert picture.evaluate(shown) >= 0.5  # letters stay readable on a phone too
        assert fits(page)
        page.locator("a:has(img.method-picture)").first.click()
        page.wait_for_url("**/gallery/sequence/*.html")


@built
def test_search_needs_no_network(page):
    page.goto((SITE / "search.html").as_uri() + "?q=kalman")
    link = page.locator("#search-results a", has_text="KalmanFilter").first
    link.wait_for(timeout=20_000)


@built
def test_the_workloads_of_the_site_are_filtered(page):
    page.goto((SITE / "benchmarks.html").as_uri())
    rows = page.locator("details.workload:visible")
    every = rows.count()
    page.get_by_role("searchbox", name="Filter").fill("zuko")
    assert 0 < rows.count() < every
    rows.first.locator("summary").press("Enter")
    assert "zuko" in rows.first.locator("table").text_content()
    assert fits(page)


@built
@pytest.mark.parametrize("name", ["benchmarks", "errata", "claims", "curriculum"])
def test_long_pages_fit(page, name):
    page.goto((SITE / f"{name}.html").as_uri())
    assert page.locator("h1").is_visible()
    assert fits(page)


LINK = re.compile(r'<(?:a|link|img|script)\b[^>]*?\b(?:href|src)="([^"]*)"')
PLACE = re.compile(r'\bid="([^"]*)"')


@built
def test_every_internal_link_resolves():
    found = [path for path in SITE.rglob("*.html") if "_static" not in path.parts]
    pages = {path: path.read_text(encoding="utf-8") for path in found}
    places = {path: {unescape(id) for id in PLACE.findall(text)} for path, text in pages.items()}
    broken = set()
    for path, text in pages.items():
        for link in set(LINK.findall(text)):
            parts = urlsplit(unescape(link))
            if parts.scheme or parts.netloc or "=" in parts.fragment:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = places.get(target)
            lost = parts.fragment and known is not None and unquote(parts.fragment) not in known
            if lost or not target.exists():
                broken.add(f"{path.relative_to(SITE)}: {link}")
    assert sorted(broken) == []
