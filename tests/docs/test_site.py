"""The pages in a real browser: the map leads to a method, the benchmark page filters.

What Sphinx makes is looked at where it has been built; the pieces that we write are always.
"""

from urllib.parse import unquote, urlsplit

import atlas
import charts
import facts
import pytest
from tests.docs.test_atlas import Links, measured

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
    page.get_by_label("Filter").fill("slower")
    assert rows.count() == 1
    assert "1 of 2" in page.locator("#count").text_content()
    rows.locator("summary").press("Enter")
    assert rows.locator("td").first.is_visible()
    assert "linear.Lasso" in rows.text_content()
    page.get_by_label("Filter").fill("nothing like it")
    assert rows.count() == 0
    assert page.get_by_text("1 workloads were last measured before").is_visible()
    assert fits(page)


@built
def test_a_reader_goes_from_the_front_page_to_a_method_and_its_picture(page):
    page.goto((SITE / "index.html").as_uri())
    assert page.get_by_text("behind one scikit-learn contract").is_visible()
    assert fits(page)
    page.get_by_role("link", name="Open the map").click()
    walk_the_map(page)
    page.locator("[name=peer]").select_option("pykalman")
    page.locator("#places li:visible a", has_text="KalmanFilter").click()
    assert page.url.endswith("panlearn.sequence.KalmanFilter.html")
    assert page.get_by_text("Use it when").is_visible()
    assert fits(page)
    picture = page.locator("figure.method-picture img, img.method-picture").first
    if picture.count():  # a build without the gallery has none
        assert picture.evaluate("image => image.complete && image.naturalWidth > 100")
        page.locator("a:has(img.method-picture)").first.click()
        assert "/gallery/" in page.url


@built
def test_search_needs_no_network(page):
    page.goto((SITE / "search.html").as_uri() + "?q=kalman")
    link = page.locator("#search-results a", has_text="KalmanFilter").first
    link.wait_for(timeout=20_000)


@built
@pytest.mark.parametrize("name", ["benchmarks", "errata", "claims", "curriculum"])
def test_long_pages_fit(page, name):
    page.goto((SITE / f"{name}.html").as_uri())
    assert page.locator("h1").is_visible()
    assert fits(page)


@built
def test_every_internal_link_resolves():
    pages = {
        path: Anchors.read(path) for path in SITE.rglob("*.html") if "_static" not in str(path)
    }
    broken = set()
    for path, parser in pages.items():
        for link in parser.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or "=" in parts.fragment:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment, known = unquote(parts.fragment), pages.get(target)
            lost = fragment and known is not None and fragment not in known.ids
            if lost or not target.exists():
                broken.add(f"{path.relative_to(SITE)}: {link}")
    assert sorted(broken) == []


class Anchors(Links):
    """The links of a page and the places in it that can be linked to."""

    def __init__(self):
        super().__init__()
        self.links, self.ids = [], set()

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.ids |= {known.get("id"), known.get("name") if tag == "a" else None}
        if tag in ("a", "link", "img", "script"):
            self.links += [known[key] for key in ("href", "src") if known.get(key)]

    def handle_endtag(self, tag):
        pass

    @classmethod
    def read(cls, path):
        parser = cls()
        parser.feed(path.read_text(encoding="utf-8"))
        return parser
