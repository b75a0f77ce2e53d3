"""The page that a report is: one HTML file that needs nothing else, no network, no server."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable
from datetime import datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

from panlearn.compare.drawing import Picture
from panlearn.core.errors import visible

# Even a hole in the escaping could load and send nothing.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
PACKAGES = ("panlearn", "scikit-learn", "numpy", "scipy", "numba", "pandas", "matplotlib")


def page(
    title: str, summary: str, facts: str, sections: list[tuple[str, str, str]], command: str
) -> str:
    """Write the whole page: a head with links, sections of id, name and content, and a foot."""
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name, _ in sections)
    body = "".join(
        f'<section aria-labelledby="{key}"><h2 id="{key}">{name}</h2>{content}</section>'
        for key, name, content in sections
    )
    here = files("panlearn.compare")
    text = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<title>{escape(title)} · panlearn</title>
<style>{here.joinpath("report.css").read_text("utf-8")}</style>
</head>
<body>
<header>
<p class="brand">panlearn</p>
<h1>{escape(title)}</h1>
<p class="summary">{escape(summary)}</p>
<nav aria-label="Sections">{links}</nav>
{facts}
</header>
<main>{body}</main>
<footer>{_about(command)}</footer>
<div id="live" role="status" style="position:absolute;left:-9999px"></div>
<script>{here.joinpath("report.js").read_text("utf-8")}</script>
</body>
</html>
"""
    return visible(text, lines=True)


def fact_list(facts: dict[str, str], css: str = "facts") -> str:
    """Facts in a row under the title, or answers to questions."""
    items = "".join(
        f'<div class="fact"><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>'
        for k, v in facts.items()
    )
    return f'<dl class="{css}">{items}</dl>'


def duration(seconds: float) -> str:
    """Write a time with a unit that suits it."""
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def breakable(name: str) -> str:
    """A name as HTML that a narrow screen breaks between its words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", escape(name))


def number(value: float) -> str:
    """Write a score to three decimals, or a large one to four digits."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.4g}"


def figure(picture: Picture) -> str:
    """A plot with its words, or why it was not drawn."""
    words = f"<h3>{escape(picture.title)}</h3><figcaption>{escape(picture.caption)}</figcaption>"
    if picture.error:
        image = f"<p>Not drawn: {escape(picture.error)}</p>"
    else:
        light, dark = (f"data:image/png;base64,{picture.images[t]}" for t in ("light", "dark"))
        image = (
            f'<picture><source media="screen and (prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" alt="{escape(picture.alt)}"></picture>'
        )
    return f'<figure class="card">{words}{image}</figure>'


def note_list(notes: Iterable[str]) -> str:
    """Sentences, one under the other."""
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<div class="card data"><ul>{items}</ul></div>'


def _about(command: str) -> str:
    versions = [f"python {sys.version.split()[0]}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    when = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    return (
        f"<p><code>{escape(command)}</code></p>"
        f"<p>{escape(when)} · {escape(' · '.join(versions))} · {escape(platform.platform())}</p>"
    )
