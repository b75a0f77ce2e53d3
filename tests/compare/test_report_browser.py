"""The report in a real browser, from disk: it sorts, draws, copies, and asks no network."""

import pytest

# playwright's own event loop, closed late by the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(params=[("light", 1280), ("dark", 390)], ids=["light", "dark-narrow"])
def page(request, browser, path):
    """The loaded page; afterwards, that there was no error and no request but for the file."""
    scheme, width = request.param
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 900}, offline=True
    )
    page = context.new_page()
    problems, requests = [], []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda sent: requests.append(sent.url))
    page.goto(path.as_uri())
    yield page
    assert problems == []
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    context.close()


def board(page):
    return page.locator("section[aria-labelledby=leaderboard]")


def names(page):
    return board(page).locator("tbody th").evaluate_all("cells => cells.map(c => c.dataset.value)")


def values(page, column):
    cells = board(page).locator(f"tbody tr:not(.failed) > :nth-child({column})")
    return cells.evaluate_all("cells => cells.map(c => c.dataset.value)")


def test_every_plot_is_drawn(page):
    widths = page.locator("img").evaluate_all("images => images.map(i => i.naturalWidth)")
    assert len(widths) == page.locator("figure").count() >= 9
    assert min(widths) > 0


def test_a_click_on_a_header_sorts_and_says_so(page):
    ranked = names(page)
    header = board(page).locator("thead th").first
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    # Failed rows stay at the end, whatever the order.
    assert names(page) == [*sorted(ranked[:-1], key=str.lower), ranked[-1]]
    assert names(page) != ranked
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert names(page)[:-1] == sorted(ranked[:-1], key=str.lower, reverse=True)
    assert "descending" in page.locator("#live").text_content()


def test_numbers_sort_as_numbers_by_keyboard(page):
    header = page.locator("thead th", has_text="fit")
    board(page).locator("tbody tr:not(.failed) > :nth-child(7)").evaluate_all(
        "cells => cells.forEach((cell, k) => { cell.dataset.value = [10, 9, 2e-7, 100][k]; })"
    )
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert [float(v) for v in values(page, 7)] == [2e-7, 9, 10, 100]
    page.keyboard.press("Space")
    assert [float(v) for v in values(page, 7)] == [100, 10, 9, 2e-7]


def test_a_missing_number_sorts_last_both_ways(page):
    button = page.locator("thead th", has_text="log loss").locator("button")
    for _ in range(2):
        button.click()
        assert values(page, 2)[-1] == ""


def test_a_model_links_to_its_code_and_the_button_copies_it(page):
    assert page.locator("details[open] summary").all_text_contents() == [names(page)[0]]  # the best
    board(page).locator("tbody tr:not(.best):not(.baseline) a").first.click()
    block = page.locator("details:target[open]")
    block.wait_for()  # the link is followed first, and then its code is opened
    assert page.locator("details[open]").count() == 2
    assert "cross_validate" in block.locator("code").text_content()
    block.locator(".copy").click()
    block.locator(".copy", has_text="Copied").wait_for()  # the page lets nobody evaluate words


def test_models_that_were_not_compared_are_listed_under_the_leaderboard(page):
    assert board(page).locator("li").all_text_contents() == ["Eye and Ear: each is for <images>"]


def test_the_page_itself_does_not_scroll_sideways(page):
    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0


def test_names_break_between_words_on_a_phone(page):
    """Every piece of a name that stands on a line of its own is a word, or several."""
    lines = (
        board(page)
        .locator("tbody th a")
        .evaluate_all(
            """links => links.map(link => {
            const range = document.createRange(), found = [];
            for (const node of link.childNodes) {
                if (node.nodeType !== Node.TEXT_NODE) continue;
                range.selectNodeContents(node);
                const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
                found.push([node.textContent, tops.size]);
            }
            return found;
        })"""
        )
    )
    assert any(len(pieces) > 1 for pieces in lines)
    assert all(size <= len(words.split()) for pieces in lines for words, size in pieces)


def test_the_answer_comes_first_and_the_rows_it_gets_wrong_are_there(page):
    sections = page.locator("main h2").all_text_contents()
    assert sections == [
        "Answer",
        "Leaderboard",
        "Plots",
        "Rows that it gets most wrong",
        "Data",
        "Code",
    ]
    asked = page.locator(".answers dt").all_text_contents()
    assert asked[:3] == ["Which model?", "How sure?", "Why?"]
    assert page.locator(".answers dd").first.text_content().startswith(names(page)[0])
    wrong = page.locator("section[aria-labelledby=wrong] tbody tr")
    assert 1 <= wrong.count() <= 10


def test_the_keyboard_reaches_every_section_and_sorts(page):
    """Tab from the top: the links of the sections, then the table, then each of its headers."""
    reached = []
    for _ in range(9):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim()"))
    links = page.locator("nav a").all_text_contents()
    assert reached[: len(links)] == links
    assert "GaussianNB" in reached[len(links)]  # the region, which arrows scroll
    assert reached[len(links) + 1 : len(links) + 3] == ["model", "log loss"]
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"
    page.keyboard.press("Enter")
    assert board(page).locator("thead th").nth(1).get_attribute("aria-sort") == "descending"
