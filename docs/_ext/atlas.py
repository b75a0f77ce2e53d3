"""The map of the field: every method is a place, found by task, by chapter of a course, by peer."""

from __future__ import annotations

import itertools
import re
from html import escape
from math import cos, pi, sin, sqrt

from facts import Method, courses, methods, peers, tasks

import panlearn

# The families that belong together have one colour.
GROUPS = {
    "mathematics": ("theory", "optimize"),
    "supervised": ("preprocessing", "linear", "bayes", "neighbors", "kernel", "tree"),
    "probabilistic": ("latent", "sequence", "montecarlo", "graphical"),
    "text": ("text", "retrieval"),
    "deep": ("neural", "transformer", "statespace", "generative", "representation", "alignment"),
    "judgement": ("evaluate", "trust"),
}
CELL, ROW = 160, 158
STEP, DOT = 9.0, 5.0
GOLDEN = pi * (3 - sqrt(5))  # the angle by which a sunflower sets its seeds


def group_of(family: str) -> str:
    """Name the group of a family; one that is new stands with the deep ones until it is placed."""
    return next((name for name, members in GROUPS.items() if family in members), "deep")


def by_family() -> dict[str, list[Method]]:
    """Return the methods of each family."""
    found: dict[str, list[Method]] = {family: [] for family in panlearn.FAMILIES}
    for method in methods().values():
        found[method.family].append(method)
    return found


def archipelago(columns: int = 7) -> str:
    """Draw every family as an island and every method as a place on it."""
    families = by_family()
    height = ROW * -(-len(families) // columns)
    islands = [
        _island(family, own, i, (i % columns + 0.5) * CELL, (i // columns + 0.44) * ROW)
        for i, (family, own) in enumerate(families.items())
    ]
    return (
        f'<svg class="archipelago" viewBox="0 0 {columns * CELL} {height}" role="group" '
        f'aria-label="Map of {len(methods())} methods in {len(families)} families">'
        f"{''.join(islands)}</svg>"
    )


def _island(family: str, own: list[Method], index: int, x: float, y: float) -> str:
    """Draw one island: a shore, a place for each method in a spiral, a name."""
    radius = STEP * sqrt(len(own)) + 2.2 * DOT
    shore = []
    for k in range(36):
        angle = k * pi / 18
        wave = 1 + 0.06 * sin(3 * angle + index) + 0.04 * sin(5 * angle + 2 * index)
        shore.append(f"{x + radius * wave * cos(angle):.1f} {y + radius * wave * sin(angle):.1f}")
    places = []
    for k, method in enumerate(own):
        angle, away = k * GOLDEN, STEP * sqrt(k + 0.3)
        places.append(
            f'<a href="{method.page}" data-path="{method.path}" '
            f'aria-label="{method.path}"><circle cx="{x + away * cos(angle):.1f}" '
            f'cy="{y + away * sin(angle):.1f}" r="{DOT}"/>'
            f"<title>{method.path}: {escape(method.summary)}</title></a>"
        )
    return (
        f'<g class="island {group_of(family)}"><path d="M{"L".join(shore)}Z"/>{"".join(places)}'
        f'<text x="{x}" y="{y + radius + 18:.1f}" text-anchor="middle">{family}</text></g>'
    )


def map_page() -> str:
    """Write the page: what to ask by, the picture, and the places with what they are for."""
    texts = courses()
    chapters = chapter_keys()
    found_in: dict[str, list[str]] = {path: [] for path in methods()}
    for (text, chapter), key in chapters.items():
        for method in texts[text][chapter]:
            found_in[method.path].append(key)
    task_options = "".join(_option(key, question) for key, question in tasks().items())
    peer_options = "".join(_option(peer, peer) for peer in peers())
    chapter_options = "".join(
        f'<optgroup label="{escape(text)}">'
        + "".join(_option(chapters[text, c], c) for _, c in group)
        + "</optgroup>"
        for text, group in itertools.groupby(chapters, key=lambda pair: pair[0])
    )
    tiles = "".join(
        f'<section class="tile {group_of(family)}"><h2 id="{family}">'
        f'<a href="api/panlearn.{family}.html">{family}</a></h2><ul>'
        + "".join(_place(method, found_in[method.path]) for method in own)
        + "</ul></section>"
        for family, own in by_family().items()
    )
    return (
        '<div class="atlas" id="places"><form class="controls" id="ask">'
        f'<label>By task <select name="task"><option value="">anything</option>{task_options}'
        f'</select></label><label>By chapter <select name="chapter"><option value="">any course'
        f'</option>{chapter_options}</select></label><label>I know <select name="peer"><option '
        f'value="">no package yet</option>{peer_options}</select></label><label>By word '
        '<input type="search" name="word" placeholder="kalman" autocomplete="off"></label>'
        '<button type="reset">Show all</button></form>'
        f'<p id="found" aria-live="polite">{len(methods())} methods, each a place with a page.</p>'
        f"{archipelago()}"
        f'<div class="tiles">{tiles}</div></div>'
    )


def chapter_keys() -> dict[tuple[str, str], str]:
    """Number the chapters of the texts, for the address of the map."""
    return {
        (text, chapter): f"{i}.{j}"
        for i, (text, own) in enumerate(courses().items())
        for j, chapter in enumerate(own)
    }


def _option(value: str, words: str) -> str:
    return f'<option value="{escape(value)}">{escape(words)}</option>'


def _place(method: Method, chapters: list[str]) -> str:
    use = f'<span class="use">{escape(method.use)}</span>' if method.use else ""
    words = " ".join([method.path, method.summary, method.use, *method.peers]).lower()
    return (
        f'<li data-path="{method.path}" data-task="{" ".join(method.tasks)}" '
        f'data-chapter="{" ".join(chapters)}" data-peer="{" ".join(method.peers)}" '
        f'data-words="{escape(words)}"><a href="{method.page}">{method.name}</a>'
        f'<span class="what">{escape(method.summary)}</span>{use}</li>'
    )


def use_panel(method: Method) -> str:
    """Write the head of a method's page: where it lies, when to use it, what it takes."""
    asked = [f'<a href="../map.html#task={t}">{escape(tasks()[t])}</a>' for t in method.tasks]
    known = [f'<a href="../map.html#peer={peer}">{peer}</a>' for peer in method.peers]
    chapter = chapter_keys()[next(iter(courses())), method.chapter]
    lines = [("Chapter", f'<a href="../map.html#chapter={chapter}">{escape(method.chapter)}</a>')]
    if method.use:
        lines += [("Use it when", _named(method.use)), ("Rather not", _named(method.avoid))]
    if asked:
        lines.append(("Answers", "; ".join(asked)))
    if known:
        lines.append(("Specialists", ", ".join(known)))
    if method.capabilities is not None:
        lines.append(("Takes", _capabilities(method)))
    body = "".join(f"<dt>{term}</dt><dd>{said}</dd>" for term, said in lines)
    return f'<div class="atlas"><dl class="panel">{body}</dl></div>'


def _named(text: str) -> str:
    """Link the classes that a sentence names."""
    pages = {method.name: method.page for method in methods().values()}

    def link(found: re.Match[str]) -> str:
        page = pages.get(found[0])
        return f'<a href="../{page}">{found[0]}</a>' if page else found[0]

    return re.sub(r"\b[A-Z]\w*[A-Z0-9]\w*\b", link, escape(text))


def _capabilities(method: Method) -> str:
    can = method.capabilities
    assert can is not None
    said = {
        "weights": can.weights,
        "missing values": can.missing,
        "sparse": can.sparse,
        "stream": "stream" in can.sources,
        "Dask": "dask" in can.sources,
        "float32": can.float32,
        f"partial_fit ({can.partial_fit})" if can.partial_fit else "partial_fit": can.partial_fit,
        "any order of rows": can.any_order,
    }
    return " ".join(
        f'<span class="can {"yes" if holds else "no"}">{name}<span class="sr">: '
        f"{'yes' if holds else 'no'}</span></span>"
        for name, holds in said.items()
    )
