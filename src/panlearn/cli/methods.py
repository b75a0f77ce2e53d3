"""Find methods by name."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from panlearn.core.inventory import families, unknown


def methods() -> dict[str, tuple[str, Any]]:
    """Every public method of every family: its family and the object; a module gives its own."""
    found: dict[str, tuple[str, Any]] = {}
    for family, module in families().items():
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, ModuleType):
                found |= {f"{name}.{n}": (family, getattr(thing, n)) for n in thing.__all__}
            else:
                found[name] = (family, thing)
    return found


def find_method(name: str) -> tuple[str, str, Any]:
    """Look a method up by name, in any case, with or without its module."""
    known = methods()
    names = {key.rpartition(".")[2].lower(): key for key in known}
    names |= {key.lower(): key for key in known}
    exact = names.get(name.lower()) or names.get(name.rpartition(".")[2].lower())
    if exact is None:
        raise unknown(name, f"method {name!r}", list(known))
    return exact, *known[exact]
