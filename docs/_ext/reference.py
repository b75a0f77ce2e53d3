"""The pages that are read off the package: the reference, the commands, the curriculum.

The reference follows each family's ``__all__``: a page a method, with what `facts` knows of it. The
curriculum lists chapters and methods in ``curriculum.csv``; file, paper and example of a method are
looked up, so they cannot go stale.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from types import ModuleType
from typing import Any
from urllib.parse import quote

import click
import proofs
from atlas import archipelago, map_page, use_panel
from charts import benchmark_page
from facts import API, DOCS, Method, methods
from first_calls import first_calls_page
from migration import write_migration
from numpydoc.docscrape import NumpyDocString
from writing import indented, list_table, raw, title, write, written

import panlearn
from panlearn.cli import main


def setup(app: Any) -> dict[str, bool]:
    """Write the pages once the gallery has its pictures, before Sphinx looks for its sources."""
    app.connect("builder-inited", write_pages, priority=900)
    app.connect("autodoc-process-docstring", prepare)
    return {"parallel_read_safe": True}


def write_pages(app: Any) -> None:
    """Write every page that a program can write."""
    API.mkdir(exist_ok=True)
    write_reference()
    write_commands()
    write("curriculum.inc", curriculum_table())
    write("errata.inc", proofs.errata_tables())
    write("claims.html", proofs.claims_page())
    write("map.html", map_page())
    write("archipelago.html", archipelago(6))
    write("benchmarks.html", benchmark_page())
    write("first_calls.html", first_calls_page())
    write_migration()
    for page in {*API.glob("*.rst")} - written:  # of a name that is gone
        page.unlink()


def write_reference() -> None:
    """Write the index, one page a module, one page a public name."""
    write_module("panlearn", "The library", panlearn, [*panlearn._HOMES])
    packages = [*panlearn.FAMILIES, "compare", "plot", "claims"]
    for package in packages:
        module = importlib.import_module(f"panlearn.{package}")
        write_module(f"panlearn.{package}", f"panlearn.{package}", module, module.__all__)
    core = importlib.import_module("panlearn.core")
    parts = [f"panlearn.core.{m.name}" for m in pkgutil.iter_modules(core.__path__)]
    for part in parts:
        module_page(part)
    write(
        "core.rst",
        title("Core: for those who write a method")
        + "What every family stands on, one role a file.\n\n"
        + indented(".. autosummary::", ["", *parts])
        + indented(".. toctree::", [":hidden:", "", *parts]),
    )
    pages = ["panlearn", *(f"panlearn.{package}" for package in packages), "core"]
    text = "Every public name, read off the package. Each page has the formula, when to use it,\n"
    text += "a picture, the parameters, how it is solved and at what cost, what was proved of it\n"
    text += "and measured, the paper, and an example that runs.\n\n"
    tree = [":maxdepth: 1", "", *pages]
    write("index.rst", title("Reference") + text + indented(".. toctree::", tree))


def write_module(path: str, heading: str, module: ModuleType, names: list[str]) -> None:
    """Write the page of a family: its docstring, and its names by kind."""
    text = title(heading) + f".. automodule:: {path}\n\n.. currentmodule:: {path}\n\n"
    kinds = {"Classes": inspect.isclass, "Functions": callable, "Modules": inspect.ismodule}
    left, hidden = list(names), []
    for kind, belongs in kinds.items():
        found = [n for n in left if belongs(getattr(module, n))]
        left = [n for n in left if n not in found]
        if found:
            text += title(kind, "-")
            text += indented(".. autosummary::", [":nosignatures:", "", *found])
            hidden += [f"{path}.{n}" for n in found]
    text += indented(".. toctree::", [":hidden:", "", *hidden])
    write(f"{path}.rst", text)
    for name in hidden:
        thing = getattr(module, name.rpartition(".")[2])
        if inspect.ismodule(thing):
            module_page(name)
        else:
            name_page(name, thing)


def module_page(path: str) -> None:
    """Write the page of a module whose parts are small: all of it on one page."""
    module = importlib.import_module(path)
    own = [n for n, t in vars(module).items() if getattr(t, "__module__", None) == path]
    public = [n for n in getattr(module, "__all__", own) if not n.startswith("_")]
    options = [f":members: {', '.join(public)}", ":member-order: bysource"] if public else []
    requests = [f"set_{verb}_request" for verb in ("fit", "partial_fit", "score", "predict")]
    options += [f":exclude-members: {', '.join(requests)}"]  # of scikit-learn, which documents them
    body = indented(f".. automodule:: {path}", options)
    write(f"{path}.rst", title(path.rpartition(".")[2]) + around(path, body))


def name_page(path: str, thing: Any) -> None:
    """Write the page of a class or a function, with the examples that use it."""
    if inspect.isclass(thing):
        members = [n for n in dir(thing) if not n.startswith("_") and _is_ours(thing, n)]
        options = [f":members: {', '.join(members)}"] if members else []
        body = indented(f".. autoclass:: {path}", options)
    else:
        body = f".. autofunction:: {path}\n\n"
    body = around(path, body)
    body += f".. minigallery:: {path}\n   :add-heading: Pictures\n   :heading-level: -\n"
    write(f"{path}.rst", title(path.rpartition(".")[2]) + body)


def around(path: str, body: str) -> str:
    """Put what is known of a method before and behind its documentation."""
    method = methods().get(path.removeprefix("panlearn."))
    if method is None:
        return body
    return raw(use_panel(method)) + picture(method) + body + proofs.sections(method)


def picture(method: Method) -> str:
    """Show the picture of the method's example, linked to the script that draws it."""
    path, script = method.picture, method.example
    if path is None or script is None:
        return ""
    said = script.read_text().split('"""')[1].strip().partition("\n")[0].replace('"', "")
    place, target = path.relative_to(DOCS), f"../gallery/{script.parent.name}/{script.stem}.html"
    options = [f":alt: {said}", f":target: {target}", ":class: method-picture", "", said]
    return indented(f".. figure:: /{place}", options)


def _is_ours(cls: type, name: str) -> bool:
    """Whether a member was written here; what scikit-learn brings, scikit-learn documents."""
    member = inspect.getattr_static(cls, name)
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    return getattr(function, "__module__", "").startswith("panlearn")


def curriculum_table() -> str:
    """Write one table a chapter: method, file, paper, example."""
    chapters: dict[str, list[Method]] = {}  # a chapter may stand in several places of the list
    for method in methods().values():
        chapters.setdefault(method.chapter, []).append(method)
    text = ""
    for chapter, own in chapters.items():
        table = [["Method", "File", "Paper", "Example"], *map(_cells, own)]
        text += title(chapter, "-") + list_table(table, widths="24 26 38 12", width="100%")
    return text


def _cells(method: Method) -> list[str]:
    role = "mod" if inspect.ismodule(method.thing) else "obj"
    link = f":{role}:`{method.name} <panlearn.{method.path}>`"
    example = method.example
    shown = ""
    if example is not None:
        shown = f":ref:`picture <sphx_glr_gallery_{example.parent.name}_{example.name}>`"
    return [link, f"``{_file(method.thing)}``", _paper(method.thing), shown]


def _file(thing: Any) -> str:
    path = inspect.getsourcefile(inspect.unwrap(thing)) or ""
    return path.rpartition("panlearn/")[2]


def _paper(thing: Any) -> str:
    """Take the first reference of a docstring, its DOI made a link."""
    lines = NumpyDocString(inspect.getdoc(thing) or "")["References"]
    first = " ".join("\n".join(lines).strip().partition("\n\n")[0].split())
    return _linked(first)


def _linked(text: str) -> str:
    """Make links of the DOIs and arXiv numbers; an author's initial starts no numbered list."""
    text = re.sub(r"^(\s*[A-Z])\. ", r"\1\\. ", text)
    text = re.sub(r"\bdoi:(\S+?)(?=[.,;)]*(\s|$))", _doi, text)
    return re.sub(r"\barXiv:([\d.]+\d)", r"`arXiv:\1 <https://arxiv.org/abs/\1>`__", text)


def _doi(found: re.Match[str]) -> str:
    """Link a DOI; old ones have angle brackets, which an address may not."""
    shown = found[1].replace("<", r"\<").replace(">", r"\>")
    return f"`doi:{shown} <https://doi.org/{quote(found[1])}>`__"


def prepare(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Link the papers of a docstring; keep ``n_iter_`` in a shape from being read as a link."""
    for i, line in enumerate(lines):
        if "of shape" in line:
            line = re.sub(r"(?<=\w)_(?=[,) ])", r"\\_", line)
        lines[i] = _linked(line)


def write_commands() -> None:
    """Write a page for each command, read off its parser, and their index."""
    pages = []
    for path, command in commands(main, "panlearn"):
        name = path.replace(" ", "-")
        pages.append(name)
        write(f"command-{name}.rst", command_page(path, command))
    text = "What ``panlearn`` can do; ``--help`` says the same in a terminal. Exit codes: 0\n"
    text += "fine, 1 a model or a claim failed or nothing was found, 2 bad usage or input, 130\n"
    text += "interrupted.\n\n"
    tree = [":maxdepth: 1", "", *(f"command-{name}" for name in pages)]
    write("commands.rst", title("Commands") + text + indented(".. toctree::", tree))


def commands(group: click.Group, path: str) -> list[tuple[str, click.Command]]:
    """Every command below a group, with the words that call it."""
    found: list[tuple[str, click.Command]] = []
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += commands(command, f"{path} {name}")
        else:
            found.append((f"{path} {name}", command))
    return found


def command_page(path: str, command: click.Command) -> str:
    """Write usage, words and a table of the options of a command."""
    context = click.Context(command, info_name=path)
    words = inspect.cleandoc(command.help or "")
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    text = title(path) + words.replace("`", "``") + "\n\n" + indented("::", ["", usage])
    rows = [_option(p, context) for p in command.params if isinstance(p, click.Option)]
    table = [["Option", "Value", "Default", "What it does"], *rows]
    return text + list_table(table, widths="22 22 12 44", width="100%")


def _option(option: click.Option, context: click.Context) -> list[str]:
    """The names of an option, the values it takes, its default, and its help."""
    choices = getattr(option.type, "choices", None)
    value = (
        "" if option.is_flag else ", ".join(choices) if choices else option.make_metavar(context)
    )
    default = option.to_info_dict()["default"]
    shown = "" if option.is_flag or not isinstance(default, int | float | str) else str(default)
    names = ", ".join(f"``{name}``" for name in option.opts)
    return [names, f"``{value}``" if value else "", shown and f"``{shown}``", option.help or ""]
