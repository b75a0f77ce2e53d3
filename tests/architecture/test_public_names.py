"""What every public name says about itself: the docstring agrees with the code."""

import csv
import dataclasses
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString

import panlearn
from panlearn.core.estimator import Estimator

ROOT = Path(__file__).parents[2]
ESTIMATORS = dict(panlearn.all_estimators())


def exports():
    """Path, object and the docstrings that speak of it, for each public name of each family."""
    for family in panlearn.FAMILIES:
        module = importlib.import_module(f"panlearn.{family}")
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.ismodule(thing):
                yield f"{family}.{name}", thing, [thing]
                continue
            for part in thing.__all__:  # a module of small functions speaks for all of them
                yield f"{family}.{name}.{part}", getattr(thing, part), [getattr(thing, part), thing]


EXPORTS = {path: (thing, docs) for path, thing, docs in exports()}
TOP = {name: (getattr(panlearn, name), []) for name in panlearn._HOMES}


def sections(thing):
    return NumpyDocString(inspect.getdoc(thing) or "")


def documented(thing):
    """Names of the Parameters section, in order, and the types beside them."""
    names, types = [], {}
    for parameter in sections(thing)["Parameters"]:
        for name in parameter.name.split(", "):
            names.append(name.lstrip("*"))
            types[names[-1]] = parameter.type
    return names, types


def value(text, thing):
    """What a docstring states as default, in the words of the modules that it comes from."""
    words = {}
    for source in reversed(getattr(thing, "__mro__", [thing])):
        words |= vars(sys.modules[source.__module__])
    return eval(text, words)


def signature(function):
    return [p for p in inspect.signature(function).parameters.values() if p.name != "self"]


def test_the_curriculum_lists_what_the_families_export():
    with (ROOT / "docs" / "curriculum.csv").open() as file:
        listed = [row["method"] for row in csv.DictReader(file)]
    exported = [f"{f}.{name}" for f in panlearn.FAMILIES for name in getattr(panlearn, f).__all__]
    assert sorted(listed) == sorted(exported)


def test_docstrings_have_formula_references_and_examples(library):
    library.each(EXPORTS, lambda path: _has_formula_references_and_examples(*EXPORTS[path]))


def _has_formula_references_and_examples(thing, docs):
    text = "\n".join(inspect.getdoc(doc) or "" for doc in docs)
    assert inspect.getdoc(thing), "says nothing"
    assert ".. math::" in text or ":math:" in text, "no formula"
    assert any(sections(doc)["References"] for doc in docs), "no References"
    assert any(">>>" in "\n".join(sections(doc)["Examples"]) for doc in docs), "no Examples"


def test_documented_parameters_are_those_of_the_signature(library):
    everything = EXPORTS | TOP
    library.each(everything, lambda path: _has_parameters_of_the_signature(*everything[path]))


def _has_parameters_of_the_signature(thing, docs):
    names, types = documented(thing)
    if not names and len(docs) > 1:
        return  # one line in a module of small functions names its arguments in the formula
    parameters = signature(thing)
    assert sorted(names) == sorted(p.name for p in parameters)
    for parameter in parameters:
        stated = re.search(r"default=(.+)$", types[parameter.name])
        if stated:
            assert parameter.default == value(stated[1], thing)


def test_documented_parameters_are_the_fields_with_their_defaults(library):
    library.each(ESTIMATORS, lambda name: _has_the_fields_with_their_defaults(ESTIMATORS[name]))


def _has_the_fields_with_their_defaults(cls):
    names, types = documented(cls)
    fields = dataclasses.fields(cls)
    assert sorted(names) == sorted(field.name for field in fields)
    for field in fields:
        default = field.default
        if default is dataclasses.MISSING:
            continue
        stated = re.search(r"default=(.+)$", types[field.name])
        assert stated, f"{field.name} states no default"
        assert value(stated[1], cls) == default


def test_documented_parameters_of_methods_are_those_of_their_signatures(library):
    library.each(
        ESTIMATORS,
        lambda name: _has_methods_with_the_parameters_of_their_signatures(ESTIMATORS[name]),
    )


def _has_methods_with_the_parameters_of_their_signatures(cls):
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if name.startswith("_") or not method.__module__.startswith("panlearn"):
            continue
        assert inspect.getdoc(method), f"{name} says nothing"
        names, _ = documented(method)
        assert names == [p.name for p in signature(method)], name


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learned_attributes_are_documented(every_class, library):
    found = vars(library.fitted(every_class))
    learned = {name for name in found if name.endswith("_") and not name.startswith("_")}
    stated = {n for a in sections(every_class)["Attributes"] for n in a.name.split(", ")}
    assert learned <= stated


def test_public_classes_are_final(library):
    library.each(ESTIMATORS, lambda name: _is_final(ESTIMATORS[name]))


def _is_final(cls):
    assert dataclasses.is_dataclass(cls)
    assert issubclass(cls, Estimator)
    assert not [c for c in cls.__subclasses__() if c.__module__.startswith("panlearn")]
    assert not inspect.isabstract(cls)
