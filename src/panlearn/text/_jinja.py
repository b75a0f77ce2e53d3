"""The part of Jinja that chat templates are written in, interpreted within a budget.

Jinja parses the text; what it parsed is walked here and never compiled, so that a template can
compare, join and loop over what it is given, and nothing else.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from panlearn.core.extras import require
from panlearn.text._jinja_names import (
    COMPARED,
    FILTERS,
    FUNCTIONS,
    MAPPING,
    TESTS,
    TEXT,
    Meter,
    Namespace,
    TemplateError,
    Undefined,
    entry,
    look_up,
    number,
    plain,
)

Scope = ChainMap[str, Any]


def parse(text: str) -> Any:
    """Read a template; nothing of it is run."""
    jinja2 = require("jinja2")
    try:
        return _environment().parse(text)
    except (jinja2.TemplateSyntaxError, ValueError, RecursionError) as error:
        raise TemplateError(f"the chat template cannot be read: {error}") from None


@cache
def _environment() -> Any:
    jinja2 = require("jinja2")
    extension: Any = require("jinja2.ext").Extension

    class Generation(extension):
        """Tag ``generation``, which marks what an assistant said, and writes what it holds."""

        tags = frozenset({"generation"})

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    return jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", Generation]
    )


def render(template: Any, variables: Mapping[str, Any]) -> str:
    """Write a parsed template with variables."""
    try:
        return "".join(_Interpreter().run(template.body, ChainMap(dict(variables))))
    except (TypeError, KeyError, IndexError, AttributeError, ZeroDivisionError) as error:
        raise TemplateError(f"the chat template fails on these messages: {error}") from None
    except RecursionError:
        raise TemplateError("the chat template is nested too deeply") from None


class _Break(Exception):
    """A loop is left."""


class _Continue(Exception):
    """A loop goes on with the next item."""


class _Interpreter:
    """Walk the parts of a template; what has no method is refused by its name."""

    def __init__(self) -> None:
        self.meter = Meter()

    def method(self, kind: str, node: Any) -> Callable[..., Any]:
        name = type(node).__name__
        self.meter.spend(100)
        if found := getattr(self, f"{kind}_{name.lower()}", None):
            return found
        raise TemplateError(f"the chat template holds {name}, which is not known here")

    def run(self, body: list[Any], scope: Scope) -> Iterator[str]:
        for node in body:
            yield from self.method("run", node)(node, scope)

    def run_output(self, node: Any, scope: Scope) -> Iterator[str]:
        for part in node.nodes:
            yield self.meter.text(self.value(part, scope))

    def run_if(self, node: Any, scope: Scope) -> Iterator[str]:
        for branch in (node, *node.elif_):
            if self.value(branch.test, scope):
                yield from self.run(branch.body, scope)
                return
        yield from self.run(node.else_, scope)

    def run_assign(self, node: Any, scope: Scope) -> Iterator[str]:
        self.assign(node.target, self.value(node.node, scope), scope)
        yield from ()

    def run_assignblock(self, node: Any, scope: Scope) -> Iterator[str]:
        if node.filter is not None:
            raise TemplateError("the chat template filters a block, which is not known here")
        self.assign(node.target, "".join(self.run(node.body, scope.new_child())), scope)
        yield from ()

    def run_for(self, node: Any, scope: Scope) -> Iterator[str]:
        if node.recursive:
            raise TemplateError("the chat template loops recursively, which is not known here")
        items = self.meter.items(self.value(node.iter, scope))
        if node.test is not None:
            items = [item for item in items if self.accepts(node, item, scope)]
        if not items:
            yield from self.run(node.else_, scope)
        for i, item in enumerate(items):
            self.meter.spend(100)
            inner = scope.new_child({"loop": _loop(items, i)})
            self.assign(node.target, item, inner)
            try:
                yield from self.run(node.body, inner)
            except _Continue:
                continue
            except _Break:
                return

    def run_break(self, node: Any, scope: Scope) -> Iterator[str]:
        raise _Break

    def run_continue(self, node: Any, scope: Scope) -> Iterator[str]:
        raise _Continue

    def run_macro(self, node: Any, scope: Scope) -> Iterator[str]:
        names = [argument.name for argument in node.args]
        defaults = dict(zip(names[::-1], node.defaults[::-1], strict=False))

        def macro(*given: Any, **named: Any) -> str:
            if len(given) > len(names) or not named.keys() <= set(names):
                raise TypeError(f"the macro {node.name!r} is given too much")
            inner = scope.new_child(dict(zip(names, given, strict=False)) | named)
            for name in names:
                if name not in inner.maps[0]:
                    default = defaults.get(name)
                    inner[name] = Undefined(name) if default is None else self.value(default, inner)
            return "".join(self.run(node.body, inner))

        scope[node.name] = macro
        yield from ()

    def accepts(self, node: Any, item: Any, scope: Scope) -> bool:
        inner = scope.new_child()
        self.assign(node.target, item, inner)
        return bool(self.value(node.test, inner))

    def assign(self, target: Any, value: Any, scope: Scope) -> None:
        kind = type(target).__name__
        if kind == "Name":
            scope[target.name] = value
        elif kind == "Tuple":
            for part, item in zip(target.items, value, strict=True):
                self.assign(part, item, scope)
        elif kind == "NSRef" and isinstance(space := scope.get(target.name), Namespace):
            space[target.attr] = value
        else:
            raise TemplateError(f"the chat template assigns to {kind}, which is not known here")

    def value(self, node: Any, scope: Scope) -> Any:
        return self.method("value", node)(node, scope)

    def value_templatedata(self, node: Any, scope: Scope) -> Any:
        return node.data

    def value_const(self, node: Any, scope: Scope) -> Any:
        return node.value

    def value_name(self, node: Any, scope: Scope) -> Any:
        return scope.get(node.name, Undefined(node.name))

    def value_list(self, node: Any, scope: Scope) -> Any:
        return [plain(self.value(item, scope)) for item in node.items]

    value_tuple = value_list

    def value_dict(self, node: Any, scope: Scope) -> Any:
        pairs = [(self.value(p.key, scope), self.value(p.value, scope)) for p in node.items]
        return {plain(key): plain(value) for key, value in pairs}

    def value_getattr(self, node: Any, scope: Scope) -> Any:
        return entry(self.value(node.node, scope), node.attr)

    def value_getitem(self, node: Any, scope: Scope) -> Any:
        held = self.value(node.node, scope)
        if type(node.arg).__name__ != "Slice":
            return entry(held, self.value(node.arg, scope))
        bounds = (node.arg.start, node.arg.stop, node.arg.step)
        cut = slice(*(None if part is None else self.value(part, scope) for part in bounds))
        if not isinstance(held, str | list | tuple):
            raise TypeError(f"a {type(held).__name__} has no slices")
        self.meter.hold(held)
        return held[cut]

    def value_compare(self, node: Any, scope: Scope) -> Any:
        left = self.value(node.expr, scope)
        for operand in node.ops:
            right = self.value(operand.expr, scope)
            self.meter.hold(right)
            if not COMPARED[operand.op](left, right):
                return False
            left = right
        return True

    def value_and(self, node: Any, scope: Scope) -> Any:
        return self.value(node.left, scope) and self.value(node.right, scope)

    def value_or(self, node: Any, scope: Scope) -> Any:
        return self.value(node.left, scope) or self.value(node.right, scope)

    def value_not(self, node: Any, scope: Scope) -> Any:
        return not self.value(node.node, scope)

    def value_condexpr(self, node: Any, scope: Scope) -> Any:
        if self.value(node.test, scope):
            return self.value(node.expr1, scope)
        return Undefined("else") if node.expr2 is None else self.value(node.expr2, scope)

    def value_add(self, node: Any, scope: Scope) -> Any:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        for side in (left, right):
            if isinstance(side, Undefined):
                raise TypeError(f"{side.name!r} is not given, so nothing can be added to it")
            self.meter.hold(side)
        return left + right

    def value_sub(self, node: Any, scope: Scope) -> Any:
        return number(self.value(node.left, scope)) - number(self.value(node.right, scope))

    def value_mod(self, node: Any, scope: Scope) -> Any:
        return number(self.value(node.left, scope)) % number(self.value(node.right, scope))

    def value_neg(self, node: Any, scope: Scope) -> Any:
        return -number(self.value(node.node, scope))

    def value_concat(self, node: Any, scope: Scope) -> Any:
        return "".join(self.meter.text(self.value(part, scope)) for part in node.nodes)

    def arguments(self, node: Any, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise TemplateError("the chat template unpacks arguments, which is not known here")
        named = {part.key: self.value(part.value, scope) for part in node.kwargs}
        return [self.value(part, scope) for part in node.args], named

    def value_test(self, node: Any, scope: Scope) -> Any:
        given, named = self.arguments(node, scope)
        return look_up(TESTS, node.name, "test")(self.value(node.node, scope), *given, **named)

    def value_filter(self, node: Any, scope: Scope) -> Any:
        given, named = self.arguments(node, scope)
        value = self.value(node.node, scope)
        return look_up(FILTERS, node.name, "filter")(self.meter, value, *given, **named)

    def value_call(self, node: Any, scope: Scope) -> Any:
        given, named = self.arguments(node, scope)
        kind = type(node.node).__name__
        if kind == "Name":
            name = node.node.name
            # what can be called in its scope are its own macros, or was given by the caller
            if callable(own := scope.get(name)):
                return own(*given, **named)
            return look_up(FUNCTIONS, name, "function")(self.meter, *given, **named)
        if kind != "Getattr":
            raise TemplateError(f"the chat template calls {kind}, which is not known here")
        held, name = self.value(node.node.node, scope), node.node.attr
        table = TEXT if isinstance(held, str) else MAPPING if isinstance(held, Mapping) else {}
        return look_up(table, name, "method")(self.meter, held, *given, **named)


def _loop(items: list[Any], i: int) -> dict[str, Any]:
    """What a template may ask of its loop."""
    before = items[i - 1] if i else Undefined("loop.previtem")
    after = items[i + 1] if i + 1 < len(items) else Undefined("loop.nextitem")
    return {
        "index0": i,
        "index": i + 1,
        "revindex0": len(items) - i - 1,
        "revindex": len(items) - i,
        "first": i == 0,
        "last": i + 1 == len(items),
        "length": len(items),
        "previtem": before,
        "nextitem": after,
    }
