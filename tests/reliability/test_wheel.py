"""Wheel and archive pass the checks of their tools, the wheel installs in an empty environment, and
importing it loads next to nothing.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOOK = """
import json, sys
import panlearn
loaded = sorted(sys.modules)
from panlearn.linear import Ridge
fitted = Ridge().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0]).predict([[2.0]]).tolist()
estimators = [name for name, _ in panlearn.all_estimators()]
print(json.dumps([panlearn.__file__, panlearn.__version__, loaded, fitted, estimators]))
"""


def _run(*command, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "PIP_"))}
    done = subprocess.run(
        [*map(str, command)], env=clean, capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Python of an environment with the wheel, which sees the dependencies of this one."""
    here = tmp_path_factory.mktemp("wheel")
    source = here / "source"  # so that nothing is written into the tree
    source.mkdir()
    shutil.copytree(ROOT / "src" / "panlearn", source / "src" / "panlearn")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    _run(sys.executable, "-m", "build", "--no-isolation", "-o", here, source)
    (wheel,) = here.glob("*.whl")
    (archive,) = here.glob("*.tar.gz")
    _run(sys.executable, "-m", "twine", "check", "--strict", wheel, archive)
    _run(sys.executable, "-m", "check_wheel_contents", wheel)
    venv.create(here / "env", with_pip=False, symlinks=True)
    python = here / "env" / "bin" / "python"
    _run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet"),
        *("--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", wheel),
    )
    packages = Path(
        _run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")[:-1]
    )
    # a path in a .pth file is searched after the environment itself, without its own .pth files
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python, packages


def test_import_loads_no_family_and_no_heavy_library(installed, tmp_path):
    python, packages = installed
    file, version, loaded, fitted, estimators = json.loads(
        _run(python, "-W", "error", "-c", LOOK, cwd=tmp_path)
    )
    assert Path(file).is_relative_to(packages)
    assert version in (ROOT / "pyproject.toml").read_text()
    families = {f"panlearn.{p.name}" for p in (ROOT / "src" / "panlearn").iterdir() if p.is_dir()}
    heavy = {"torch", "dask", "distributed", "matplotlib", "pandas", "pyarrow", "numba", "sklearn"}
    assert not (families | heavy) & set(loaded)
    assert len(fitted) == 1
    assert "Ridge" in estimators


def test_the_wheel_is_typed_and_complete(installed):
    _, packages = installed
    assert (packages / "panlearn" / "py.typed").exists()
    shipped = {p.relative_to(packages) for p in (packages / "panlearn").rglob("*.py")}
    source = ROOT / "src"
    assert shipped == {p.relative_to(source) for p in (source / "panlearn").rglob("*.py")}
