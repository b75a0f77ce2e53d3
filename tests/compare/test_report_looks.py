"""What the report looks like by day, in the dark and on paper."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from panlearn.compare.drawing import GREY, THEMES

# playwright's own event loop, closed late by the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

PAPER = 718  # pixels between the margins of A4

# Every text that is seen, with its contrast against what is behind it, by the formula of WCAG 2.
CONTRASTS = """() => {
    const context = Object.assign(document.createElement("canvas"), {width: 1, height: 1})
        .getContext("2d", {willReadFrequently: true});
    const channels = (colour) => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], below) =>
        [r, g, b].map((value, k) => a * value + (1 - a) * below[k]);
    const behind = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) {
            layers.push(channels(getComputedStyle(at).backgroundColor));
        }
        const dark = matchMedia("screen and (prefers-color-scheme: dark)").matches;
        const canvas = dark ? 18 : 255;
        return layers.reverse().reduce((below, layer) => over(layer, below), Array(3).fill(canvas));
    };
    const luminance = (colour) => {
        const [r, g, b] = colour.map((value) => {
            const c = value / 255;
            return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (front, back) => {
        const [one, other] = [luminance(over(front, back)), luminance(back)];
        return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const text = walker.currentNode.textContent.trim();
        if (!text || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
        if (!element.checkVisibility()) continue;
        const front = channels(getComputedStyle(element).color);
        found.push([text.slice(0, 40), contrast(front, behind(element))]);
    }
    for (const button of document.querySelectorAll("thead button")) {
        const arrow = getComputedStyle(button, "::after");
        const [r, g, b, a] = channels(arrow.color);
        const front = [r, g, b, a * Number(arrow.opacity)];
        found.push(["arrow of " + button.textContent, contrast(front, behind(button)) * 1.5]);
    }
    return found;
}"""


@pytest.fixture
def open_page(browser):
    """Open a file in a window of some width, with a colour scheme."""
    contexts = []

    def open_(path, scheme="light", width=1280):
        viewport = {"width": width, "height": 900}
        context = browser.new_context(color_scheme=scheme, viewport=viewport, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["path", "path_of_two"])
def test_every_text_stands_out_from_what_is_behind_it(open_page, request, scheme, which):
    """4.5 for text, and 3 for the arrows that say that a column can be sorted."""
    page = open_page(request.getfixturevalue(which), scheme)
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 100
    assert [(text, round(value, 2)) for text, value in found if value < 4.5] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_and_words_of_pictures_stand_out_from_their_card(open_page, path, theme):
    """4.5 for words and 3 for what is drawn, as the guidelines of accessibility ask."""
    style = "getComputedStyle(document.body).getPropertyValue('--card')"
    card = open_page(path, theme).evaluate(style)
    colours = THEMES[theme]
    assert contrast(colours["ink"], card) >= 4.5
    for line in (*colours["lines"], GREY):
        assert contrast(line, card) >= 3.0, line


def contrast(one, other):
    light = []
    for colour in (one, other):
        c = np.array(to_rgb(colour))
        linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        light.append(linear @ [0.2126, 0.7152, 0.0722] + 0.05)
    return max(light) / min(light)


@pytest.mark.parametrize("which", ["path", "path_of_two"])
def test_paper_shows_everything_in_the_colours_of_the_day(open_page, request, which):
    """Whoever prints from a dark screen gets dark text on white, and every picture for it."""
    page = open_page(request.getfixturevalue(which), "dark", PAPER)
    page.emulate_media(media="print")
    assert [value for _, value in page.evaluate(CONTRASTS) if value < 4.5] == []
    shown = page.locator("picture").evaluate_all(
        "all => all.map(p => [p.querySelector('img').currentSrc, p.querySelector('img').src])"
    )
    assert len(shown) > 8
    assert all(now == light for now, light in shown)
    hidden = page.locator("section, h2, table, figure, img").evaluate_all(
        "all => all.filter(e => !e.checkVisibility() || !e.getBoundingClientRect().height).length"
    )
    assert hidden == 0


@pytest.mark.parametrize("which", ["path", "path_of_two"])
def test_on_paper_every_code_is_open_and_no_table_is_cut(open_page, request, which):
    page = open_page(request.getfixturevalue(which), width=PAPER)
    count = "document.querySelectorAll('details:not([open])').length"
    before = page.evaluate(count)
    assert before > 0
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.leftClosed = {count}; }})")
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.evaluate("window.leftClosed") == 0
    assert page.evaluate(count) == before  # the screen is as it was

    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    beyond = page.locator("body *").evaluate_all(
        """(all, paper) => all
            .filter(e => e.checkVisibility() && e.closest('#live') === null)
            .filter(e => getComputedStyle(e).display !== 'inline')
            .filter(e => e.getBoundingClientRect().right > paper + 1
                || e.scrollWidth > e.clientWidth + 1)
            .map(e => [e.tagName, e.textContent.slice(0, 40)])""",
        PAPER,
    )
    assert beyond == []
