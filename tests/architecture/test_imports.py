"""Imports point one way, and importing costs little."""

import json
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import panlearn

ROOT = Path(__file__).parents[2]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
DEEP = {
    "neural",
    "transformer",
    "statespace",
    "generative",
    "representation",
    "alignment",
}  # what is built on torch
LAZY = {"trust"}  # what uses torch where it is given a deep model, and loads without it
MODULES = [m.name for m in pkgutil.walk_packages(panlearn.__path__, "panlearn.")]


def run(code, *options):
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)


def test_contracts_hold(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True) == 0


@pytest.mark.parametrize("contract", CONFIGURATION["contracts"], ids=lambda c: c["name"])
def test_contracts_have_no_exceptions_and_leave_out_no_family(contract):
    assert not {"ignore_imports", "unmatched_ignore_imports_alerting"} & set(contract)
    if contract["type"] == "forbidden" and contract["source_modules"] != ["panlearn"]:
        named, families = set(contract["source_modules"]), set(panlearn.FAMILIES)
        if contract["forbidden_modules"] == ["torch"]:
            assert named == {"panlearn.core", *(f"panlearn.{f}" for f in families - DEEP - LAZY)}
        else:
            assert {
                "panlearn.core",
                "panlearn.claims",
                *(f"panlearn.{f}" for f in families),
            } <= named


def test_import_loads_no_family_and_nothing_heavy():
    loaded = run("import sys, panlearn; print(*sys.modules)").stdout.split()
    heavy = {"torch", "dask", "distributed", "matplotlib", "pandas", "pyarrow", "numba", "sklearn"}
    assert not heavy & set(loaded)
    assert [name for name in loaded if name.startswith("panlearn")] == ["panlearn"]


def test_families_load_no_extra():
    families = ", ".join(f"panlearn.{f}" for f in panlearn.FAMILIES if f not in DEEP)
    loaded = run(f"import sys, {families}; print(*sys.modules)").stdout.split()
    # pandas and pyarrow, where they are installed, come with scikit-learn
    assert not {"torch", "dask", "distributed", "matplotlib", "numba"} & set(loaded)


# Seconds of the processor that each module takes for itself, which a busy machine does not change.
MEASURED = """
import sys, time
from importlib.machinery import SourceFileLoader
load, own, inner = SourceFileLoader.exec_module, {}, [0.0]
def measured(loader, module):
    start = time.process_time()
    inner.append(0.0)
    try:
        load(loader, module)
    finally:  # some packages try to import what is not there
        took = time.process_time() - start
        own[module.__name__] = took - inner.pop()
        inner[-1] += took
SourceFileLoader.exec_module = measured
"""
LOOK = """
compiled = [
    name
    for name, module in list(sys.modules.items())
    if name.startswith("panlearn")
    for thing in vars(module).values()
    if hasattr(thing, "py_func") and thing.signatures
]
import json
print(json.dumps([own, compiled]))
"""


def test_modules_import_quickly_and_compile_nothing():
    imports = "\n".join(f"import {name}" for name in MODULES)
    own, compiled = json.loads(run(MEASURED + imports + LOOK).stdout)
    assert not compiled
    assert set(MODULES) <= set(own)
    # a module defines and does no work: milliseconds
    assert not {name: own[name] for name in MODULES if own[name] > 0.5}
