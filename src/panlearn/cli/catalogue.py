"""``panlearn list`` and ``panlearn info``: what there is, read from the docstrings."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from textwrap import indent
from typing import Any

import click

from panlearn.cli.app import as_code, as_json, console, write_json
from panlearn.cli.formulas import spoken
from panlearn.core.errors import DataError, did_you_mean


@click.command("list")
@click.argument("family", required=False)
@as_json
@as_code
def list_methods(family: str | None, as_json: bool, as_code: bool) -> None:
    """List every method, one line each; or those of one FAMILY."""
    if as_code:
        click.echo(
            "import panlearn\n\nfor name, cls in panlearn.all_estimators():\n    print(name)"
        )
        return
    import panlearn
    from panlearn.cli.methods import methods
    from panlearn.core.inventory import families_left_out

    if family is not None:
        if family not in panlearn.FAMILIES:
            known = list(panlearn.FAMILIES)
            raise DataError(f"no family {family!r}; {did_you_mean(family, known)}")
        import_module(f"panlearn.{family}")  # or say which extra it needs
    found = [
        {"name": name, "family": home, "kind": _kind(thing), "summary": sections(thing)[""]}
        for name, (home, thing) in methods().items()
        if family in (None, home)
    ]
    for method in found:
        method["summary"] = method["summary"].partition("\n\n")[0].replace("\n", " ")
    for note in [] if family else families_left_out():
        click.echo(f"· {note}", err=True)
    if as_json:
        write_json(found)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("method", "family", "kind", "what it is", box=None, header_style="bold")
    for method in found:
        table.add_row(Text(method["name"], style="cyan"), *map(Text, list(method.values())[1:]))
    console().print(table)


@click.command()
@click.argument("name")
@as_json
@as_code
def info(name: str, as_json: bool, as_code: bool) -> None:
    """Show the formula, the parameters and the reference of a method."""
    from panlearn.cli.methods import find_method

    name, family, thing = find_method(name)
    if as_code:
        click.echo(f"from panlearn.{family} import {name.partition('.')[0]}\n\nhelp({name})")
        return
    card = describe(name, family, thing)
    if as_json:
        write_json(card)
        return
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(Text(f"panlearn.{family}.{name}", style="bold cyan"), Text(card["kind"], style="dim"))
    out.print(Text(card["summary"]))
    if card["formula"]:
        out.print(Text("\n" + indent(card["formula"], "    ") + "\n", style="green"))
    if card["parameters"]:
        table = Table("parameter", "allowed", "default", "meaning", box=None, header_style="bold")
        for parameter in card["parameters"]:
            table.add_row(*map(Text, parameter.values()))
        out.print(table)
    if card["takes"]:
        out.print(Text("\nTakes", style="bold"))
        out.print(Text(card["takes"]))
    for title, text in [("See also", card["see_also"]), ("References", card["references"])]:
        if text:
            out.print(Text(f"\n{title}", style="bold"))
            out.print(Text(text))


def describe(name: str, family: str, thing: Any) -> dict[str, Any]:
    """Read a method's card from its signature and docstring."""
    parts = sections(thing)
    summary, _, rest = parts[""].partition("\n\n")
    entries = _entries(parts.get("Parameters", ""))
    allowed = allowed_values(thing)
    # a value, such as a distance with its scores, takes no parameters
    signature = inspect.signature(thing).parameters.values() if callable(thing) else ()
    return {
        "name": name,
        "family": family,
        "kind": _kind(thing),
        "summary": summary.replace("\n", " "),
        "formula": _formula(rest),
        "parameters": [
            {
                "name": p.name,
                "allowed": allowed.get(p.name) or entries.get(p.name, ("", ""))[0],
                "default": "" if p.default is p.empty else repr(p.default),
                "meaning": entries.get(p.name, ("", ""))[1],
            }
            for p in signature
        ],
        "takes": str(getattr(thing, "capabilities", "")),
        "see_also": parts.get("See Also", ""),
        "references": parts.get("References", ""),
    }


def sections(thing: Any) -> dict[str, str]:
    """Split a numpydoc docstring at its underlined titles, the head under '', without roles."""
    text = re.sub(r":math:`([^`]*)`", lambda m: spoken(m[1]), inspect.getdoc(thing) or "")
    text = re.sub(r":\w+:`([^`]*)`", r"\1", text)
    pieces = re.split(r"^(\w[\w ]*)\n-{3,}$", text, flags=re.MULTILINE)
    titles = ["", *(title.strip() for title in pieces[1::2])]
    return dict(zip(titles, (body.strip("\n") for body in pieces[0::2]), strict=True))


def _formula(text: str) -> str:
    """Take the first ``.. math::`` block, without its indentation."""
    match = re.search(r"\.\. math::[ ]*(.*(?:\n(?:[ ]+.*|[ ]*))*)", text)
    return inspect.cleandoc("\n" + match[1]).strip() if match else ""


def allowed_values(thing: Any) -> dict[str, str]:
    """What each parameter of an estimator may be, as its fields say."""
    from panlearn.core.estimator import Estimator
    from panlearn.core.parameters import _annotations
    from panlearn.core.parameters import describe as said

    if not (inspect.isclass(thing) and issubclass(thing, Estimator)):
        return {}
    return {name: said(kind).replace("typing.", "") for name, kind in _annotations(thing).items()}


def _entries(section: str) -> dict[str, tuple[str, str]]:
    """Read ``name : type`` lines and the indented text below each: type and text by name."""
    entries: dict[str, tuple[str, str]] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line[0].isspace():
            head, _, kind = line.partition(" : ")
            names = [n.strip(" *:") for n in head.split(",")]
            kind = re.sub(r",? default=.*", "", kind).strip()
            entries |= dict.fromkeys(names, (kind, ""))
        for name in names if line[:1].isspace() else []:
            kind, text = entries[name]
            entries[name] = kind, f"{text} {line.strip()}".strip()
    return entries


def _kind(thing: Any) -> str:
    """Say what a method is, in scikit-learn's words."""
    if not inspect.isclass(thing):
        return "function"
    from sklearn import base

    kinds = {
        "classifier": base.ClassifierMixin,
        "regressor": base.RegressorMixin,
        "cluster": base.ClusterMixin,
        "transformer": base.TransformerMixin,
    }
    return next((k for k, mixin in kinds.items() if issubclass(thing, mixin)), "class")
