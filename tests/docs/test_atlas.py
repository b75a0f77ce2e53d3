"""The tables of the atlas cover the library, and what is written from them says what they say."""

import csv
import re
import warnings
from html.parser import HTMLParser

import atlas
import comparisons
import facts
import gallery
import numpy as np
import phone
import proofs
import pytest

import panlearn
from panlearn.claims import absent_claims, all_claims

METHODS = facts.methods()


def test_every_method_says_when_to_use_it_and_when_not():
    said = {row["method"] for row in facts.rows("methods.csv")}
    assert said == set(METHODS), "docs/methods.csv and docs/curriculum.csv list the same methods"
    for method in METHODS.values():
        assert method.use.endswith("."), method.path
        assert method.avoid.endswith("."), method.path
        assert 20 < len(method.use) < 240, method.path


def test_every_method_is_reached_by_a_task_that_is_asked():
    for method in METHODS.values():
        assert method.tasks, method.path
        assert set(method.tasks) <= set(facts.tasks()), method.path
    reached = {task for method in METHODS.values() for task in method.tasks}
    assert reached == set(facts.tasks())


def test_tasks_that_a_class_declares_follow_it():
    """Nobody writes down what can be read off the class."""
    for row in facts.rows("methods.csv"):
        assert not {"missing", "stream"} & set(row["tasks"].split(";")), row["method"]
    assert "stream" in METHODS["linear.Ridge"].tasks
    assert "missing" in METHODS["latent.GaussianMixture"].tasks
    assert "missing" not in METHODS["linear.Ridge"].tasks


def test_courses_name_chapters_of_the_curriculum():
    known = {method.chapter for method in METHODS.values()}
    for row in facts.rows("courses.csv"):
        assert set(row["curriculum"].split(";")) <= known, row["chapter"]


def test_errata_have_what_is_printed_what_is_right_and_claims_that_exist():
    rows = facts.rows("errata.csv")
    known = {claim.id for claim in all_claims()} | set(absent_claims())
    assert len(rows) >= 270
    for row in rows:
        assert all(row[key] for key in ("printed", "right", "place")), row
        assert row["kind"] in ("error", "condition")
        assert set(row["claims"].split()) <= known, row
        for cell in (row["printed"], row["right"]):
            assert cell.count("$") % 2 == 0, cell
    assert len({tuple(row.values()) for row in rows}) == len(rows)
    assert sum(not row["claims"] for row in rows) <= 11  # slips of the pen, and what is missing


class Links(HTMLParser):
    """The targets of a piece of HTML, and that its tags are closed."""

    VOID = ("line", "polyline", "circle", "rect", "path", "input", "br")

    def __init__(self):
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attributes):
        self.found += [value for key, value in attributes if key == "href"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    @classmethod
    def of(cls, text):
        parser = cls()
        parser.feed(text)
        parser.close()
        assert parser.open == []
        return parser.found


def test_every_method_is_a_place_on_the_map():
    links = Links.of(atlas.map_page())
    for method in METHODS.values():
        assert links.count(method.page) == 2, method.path  # a dot, and a name
    families = [f"api/panlearn.{family}.html" for family in panlearn.FAMILIES]
    assert set(links) == {method.page for method in METHODS.values()} | set(families)


def test_no_two_places_lie_on_each_other():
    dots = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', atlas.archipelago())
    points = [(float(x), float(y)) for x, y in dots]
    assert len(points) == len(METHODS)
    for i, (x, y) in enumerate(points):
        for a, b in points[:i]:
            assert (x - a) ** 2 + (y - b) ** 2 > (2 * atlas.DOT) ** 2


def test_a_panel_tells_what_the_class_declares():
    text = atlas.use_panel(METHODS["linear.Ridge"])
    assert 'yes">weights' in text
    assert 'yes">Dask' in text
    assert 'no">missing values' in text
    assert "../map.html#task=regress" in text
    assert Links.of(text)


def test_a_method_without_an_example_has_that_of_its_sibling():
    stems = {
        path: METHODS[path].example.stem
        for path in ("linear.Ridge", "tree.RandomForestRegressor", "evaluate.rates")
    }
    assert stems["linear.Ridge"] == "plot_ridge"
    assert (
        stems["tree.RandomForestRegressor"] == METHODS["tree.RandomForestClassifier"].example.stem
    )
    assert stems["evaluate.rates"] == "plot_rates_and_costs"
    assert METHODS["alignment.GRPO"].example.stem == "plot_reasoning"  # named, if not imported
    assert METHODS["theory.fourier"].example is None


def test_the_cost_that_a_docstring_states_is_found():
    said = METHODS["linear.Ridge"].cost
    assert said
    assert all(sentence.endswith(".") and ":math:`O(" in sentence for sentence in said)
    assert said[0] in proofs.sections(METHODS["linear.Ridge"])
    assert said[0].startswith("With more rows than columns")  # and not with the section's name


def test_an_order_of_error_is_no_cost():
    law = facts.cost_law(
        "Solve it, in :math:`O(1)` lines.\n\nNotes\n-----\n"
        "A step of Heun's rule is off by :math:`O(h^3)`, the path by more. It converges at\n"
        "a rate of :math:`O(1 / k)`; the error after k steps is :math:`O(1 / k)` too.\n"
        "A step costs :math:`O(d)`.\n\n"
        "The bias aside, a pass is :math:`O(n d)`. :math:`h` is small.\n\n"
        "References\n----------\nOn :math:`O(n)`."
    )
    assert law == ["A step costs :math:`O(d)`.", "The bias aside, a pass is :math:`O(n d)`."]
    assert facts.cost_law("A batch costs :math:`O(n)`.") == ["A batch costs :math:`O(n)`."]


SETTINGS = ("Config", "Writer", "Hook", "Player", "Scaling", "Tower", "Template", "Pipeline")
RESULTS = ("Answer", "Completion", "Solution", "pipeline")


def test_every_method_states_its_cost():
    """All but settings, what watches a run, results, and what costs the sum of its steps."""
    silent = [path for path, method in METHODS.items() if not method.cost]
    assert [path for path in silent if not path.endswith(SETTINGS + RESULTS)] == []


def test_claims_and_errata_are_written_with_their_anchors():
    page = proofs.claims_page()
    for claim in all_claims():
        assert f'<li id="{claim.id}">' in page
    text = proofs.errata_tables()
    assert text.count("* -") == len(facts.rows("errata.csv")) + 5  # a head for each text
    assert "$" not in text


def test_the_proofs_that_are_kept_are_of_methods_and_claims_that_exist():
    kept = facts.proof()
    known = {claim.id for claim in all_claims()} | set(absent_claims())
    assert set(kept["claims"]) <= known
    assert set(kept["parity"]) <= set(METHODS)
    assert all(claim["holds"] for claim in kept["claims"].values())


def test_tables_are_plain_csv():
    for path in facts.DOCS.glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        assert all(len(row) == len(head) for row in rows), path.name


def test_a_picture_of_one_colour_is_empty(tmp_path, monkeypatch):
    image = pytest.importorskip("matplotlib.image", reason="needs panlearn[plot]")
    monkeypatch.setattr(gallery, "DOCS", tmp_path)
    folder = tmp_path / "gallery" / "linear" / "images"
    folder.mkdir(parents=True)
    script = facts.EXAMPLES / "linear" / "plot_ridge.py"
    assert gallery.empty(script)
    drawn = np.ones((4, 4, 3))
    image.imsave(folder / "sphx_glr_plot_ridge_001.png", drawn)
    assert gallery.empty(script)
    drawn[0, 0] = 0
    image.imsave(folder / "sphx_glr_plot_ridge_001.png", drawn)
    assert not gallery.empty(script)


def test_warnings_of_an_example_are_errors_while_it_runs():
    outside = list(warnings.filters)
    gallery.strict({}, None, "before")
    try:
        with pytest.raises(UserWarning, match="mine"):
            exec("import warnings; warnings.warn('mine')", {"__name__": "__main__"})
    finally:
        gallery.strict({}, None, "after")
    assert warnings.filters == outside


def test_a_panel_with_nothing_in_it_is_blank():
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs panlearn[plot]")
    figure, panels = plt.subplots(1, 4)
    panels[1].plot([1, 2])
    panels[2].text(0.5, 0.5, "words")
    panels[3].axis("off")
    assert [gallery.blank(panel) for panel in panels] == [True, False, False, False]
    plt.close(figure)


@pytest.fixture
def plt():
    """Pyplot, and afterwards no figure left open."""
    found = pytest.importorskip("matplotlib.pyplot", reason="needs panlearn[plot]")
    yield found
    found.close("all")


def places(figure):
    figure.canvas.draw()  # where constrained layout puts them
    return [ax.get_position() for ax in figure.axes]


def test_panels_of_a_wide_picture_are_stacked_for_narrow_screens(plt):
    figure, panels = plt.subplots(1, 3, figsize=(13, 4), sharey=True)
    panels[0].set_ylabel("height")
    assert phone.stack(figure)
    width, height = figure.get_size_inches()
    assert width <= phone.NARROW
    assert height == pytest.approx(12)
    first, second, third = places(figure)
    assert first.y0 > second.y1
    assert second.y0 > third.y1
    assert [ax.get_ylabel() for ax in panels] == ["height"] * 3  # no longer side by side
    assert not phone.stack(figure)


def test_panels_below_a_title_stay_below_it(plt):
    figure, panels = plt.subplots(2, 2, figsize=(14, 6))
    for ax in panels[0]:
        ax.set_title("a method")
    phone.stack(figure)
    heights = [place.y0 for place in places(figure)]
    assert heights[0] > heights[2] > heights[1] > heights[3]
    figure, panels = plt.subplots(2, 4, figsize=(13, 6))
    for ax in panels[0]:
        ax.set_title("a method")
    phone.stack(figure)  # two beside each other
    heights = [round(place.y0, 6) for place in places(figure)]
    assert heights[1] > heights[4] == heights[5] > heights[2] == heights[3] > heights[7]


def test_a_narrow_picture_and_small_panels_side_by_side_stay(plt):
    assert not phone.stack(plt.subplots(1, 2, figsize=(6, 3))[0])
    assert not phone.stack(plt.subplots(figsize=(9, 3))[0])
    figure, _ = plt.subplots(1, 10, figsize=(12, 1.2))
    assert phone.stack(figure)
    tops = {round(place.y0, 2) for place in places(figure)}
    assert len(tops) == 2  # five of ten fit


def test_panels_that_span_columns_have_rows_of_their_own(plt):
    figure, panels = plt.subplot_mosaic([[*"LLRR"], [*"abcd"]], figsize=(13, 6))
    assert phone.stack(figure)
    places(figure)
    left, right, *small = (panels[name].get_position() for name in "LRabcd")
    assert left.y0 > right.y1
    assert left.width == pytest.approx(right.width, rel=0.1)
    assert left.width > 1.5 * small[0].width
    assert small[0].y0 == pytest.approx(small[1].y0)  # two of four fit
    assert small[1].y0 > small[2].y1


def test_pages_offer_the_narrow_picture_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.setattr(phone, "DOCS", tmp_path)
    images = tmp_path / "gallery" / "linear" / "images"
    images.mkdir(parents=True)
    phone.phone_path(images / "sphx_a_001.png").touch()
    body = '<img src="../_images/sphx_a_001.png" alt=""/><img src="../_images/sphx_b_001.png"/>'
    context = {"body": body}
    phone.offer(None, "page", "page.html", context, None)
    assert 'srcset="../_images/sphx_a_001_phone.png"' in context["body"]
    assert context["body"].count("<picture>") == 1


def test_numbers_of_the_prose_are_set_or_printed():
    source = '''"""
Title 17
========

With 2,000 rows the error is 0.31, that is 31 percent; :math:`9^5` is no result.
"""

rows = 2_000
# %%
# Afterwards it is 0.25, at 40 letters.
print(f"{rows / 6403:.4f}, {17}")
'''
    page = "sphx-glr-script-out\n\n .. code-block:: none\n\n    0.3124, 17\n\n"
    assert gallery.unfounded(source, page) == ["0.25", "40"]
    assert "0.31" in gallery.unfounded(source, "")


FILE = """
import numpy as np
import pytest
import sklearn.linear_model as peer
from sklearn.datasets import load_iris

celer = pytest.importorskip("celer")

def fitted(X):
    return peer.Lasso().fit(X)

def test_lasso():
    assert fitted(load_iris()) == celer.Lasso()

def test_alone():
    pytest.importorskip("skglm")
    assert np.ones(2).any()

def test_data():
    assert load_iris()
"""


def test_the_peers_of_a_test_are_those_that_its_code_reaches(tmp_path, monkeypatch):
    (tmp_path / "test_it.py").write_text(FILE)
    monkeypatch.setattr(comparisons, "TESTS", tmp_path)
    assert comparisons.peers_of("test_it::test_lasso") == ["celer", "scikit-learn"]
    assert comparisons.peers_of("test_it::test_alone") == ["skglm"]
    assert comparisons.peers_of("test_it::test_data") == []
    assert comparisons.peers_of("test_gone::test_it") == []


def test_a_page_says_with_whom_a_method_was_compared():
    text = proofs.sections(METHODS["linear.Lasso"])
    assert "Compared with celer, scikit-learn by" in text
    text = proofs.sections(METHODS["alignment.DPO"])
    assert "../migration/trl.html" in text
