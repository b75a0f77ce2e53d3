"""The shapes of what a model learned: declared on its class, held against what a file says.

A declaration is what the documentation says: ``"(n_components, n_features)"``. Words are sizes, and
a word is the same size wherever it stands; ``n_features`` is ``n_features_in_``, and a whole number
``n_things_`` that a model has is the size ``n_things``. A size may also be a number, a sum
``n_things + 1``, or ``*`` for any. Further:

- ``"() or (n_targets,)"``: one or the other;
- ``"n_features of (n_classes, n_categories_i)"``: a list of so many arrays, where what ends in
  ``_i`` differs from one to the next;
- ``"(n_samples,) < n_classes"``: whole numbers from 0 to below a size, which are used as indices;
- a tuple or a dictionary of these: what the members of a tuple or a dictionary are;
- `By`: it depends on a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

_FORM = re.compile(r"(?:(?P<count>\w+) of )?\((?P<sizes>[^)]*)\)(?: < (?P<bound>\w+))?")
_SIZE = re.compile(r"(?P<word>\*|\w+)(?: \+ (?P<more>\w+))?")
Sizes = dict[str, int]


class By:
    """Shapes for the values of a parameter."""

    def __init__(self, parameter: str, **shapes: str) -> None:
        self.parameter, self.shapes = parameter, shapes


COVARIANCES = By(
    "covariance_type",
    full="(n_components, n_features, n_features)",
    tied="(n_features, n_features)",
    diag="(n_components, n_features)",
    spherical="(n_components,)",
)
Shape = str | tuple[str, ...] | Mapping[str, str] | By


def shapes(**declared: Shape) -> Mapping[str, Shape]:
    """Declare the shapes of learned attributes, in words that later ones may use."""
    return MappingProxyType(declared)


def declared(cls: type) -> dict[str, Shape]:
    """What a class and its bases declare."""
    found: dict[str, Shape] = {}
    for base in reversed(cls.__mro__):
        found |= vars(base).get("learned", {})
    return found


def check_learned(model: Any) -> None:
    """Refuse with a ValueError learned arrays whose shapes are not those of the declaration.

    Compiled code follows these shapes without looking, so that a file must not make them up. What
    has to go together beyond shapes, a class checks in a method ``_check_learned``.
    """
    state = vars(model)
    for name in state:
        if isinstance(getattr(type(model), name, None), property):
            raise ValueError(
                f"it keeps {name} of {type(model).__name__}, which this version of panlearn works "
                "out from what it keeps instead: load it with the version that saved it, or fit "
                "the model again and save that"
            )
    if not isinstance(state.get("n_features_in_", 0), int | np.integer):
        raise ValueError("n_features_in_ is no whole number")
    sizes: Sizes = {}
    for name, value in state.items():
        if re.fullmatch(r"n_\w*_", name) and isinstance(value, int | np.integer):
            sizes["n_features" if name == "n_features_in_" else name[:-1]] = int(value)
    for name, shape in declared(type(model)).items():
        if isinstance(shape, By):
            shape = shape.shapes.get(str(state.get(shape.parameter)), "no shape")
        if state.get(name) is not None and not _fits(shape, state[name], sizes):
            known = ", ".join(f"{k} = {n}" for k, n in sizes.items() if k in str(shape))
            raise ValueError(f"{name} of {type(model).__name__} must be {shape} ({known})")
    if hasattr(type(model), "_check_learned") and model.__sklearn_is_fitted__():
        model._check_learned()


def _fits(shape: Any, value: Any, sizes: Sizes) -> bool:
    """Whether a value has a shape; if so, the words that are new in it get their sizes."""
    if isinstance(shape, str):
        return any(_has_form(form, value, sizes) for form in shape.split(" or "))
    if isinstance(shape, tuple):
        pairs = zip(shape, value, strict=False) if isinstance(value, tuple | list) else ()
        return len(shape) == len(value) and all(_fits(s, v, sizes) for s, v in pairs)
    return isinstance(value, dict) and all(_fits(s, value.get(k), sizes) for k, s in shape.items())


def _has_form(form: str, value: Any, sizes: Sizes) -> bool:
    parts = _FORM.fullmatch(form)
    if parts is None:
        return False
    words = re.findall(r"[^,\s][^,]*", parts["sizes"])
    new, arrays = dict(sizes), [value]
    if parts["count"]:
        if not isinstance(value, list | tuple) or not _equal(parts["count"], len(value), new, 0):
            return False
        arrays = list(value)
    for i, array in enumerate(arrays):
        found = getattr(array, "shape", () if isinstance(array, int | float) else None)
        if found is None or len(found) != len(words):
            return False
        if not all(_equal(word, size, new, i) for word, size in zip(words, found, strict=True)):
            return False
        if parts["bound"] and not _below(array, new[parts["bound"]]):
            return False
    sizes.update(new)
    return True


def _equal(text: str, size: int, sizes: Sizes, i: int) -> bool:
    """Whether a size is what its word says; a new word takes it."""
    parts = _SIZE.fullmatch(text)
    if parts is None or parts["word"] == "*":
        return parts is not None
    if parts["more"]:
        size -= int(parts["more"]) if parts["more"].isdigit() else sizes[parts["more"]]
    if parts["word"].isdigit():
        return size == int(parts["word"])
    word = f"{parts['word']}[{i}]" if parts["word"].endswith("_i") else parts["word"]
    return size >= 0 and sizes.setdefault(word, size) == size


def _below(array: Any, bound: int) -> bool:
    found = np.asarray(array)
    return found.dtype.kind in "iu" and bool(((found >= 0) & (found < bound)).all())
