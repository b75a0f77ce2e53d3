"""A small table with everything that a real one has, and a way to run the command."""

import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from panlearn.cli import main


@pytest.fixture(scope="session")
def mixed_once():
    rng = np.random.default_rng(20261115)
    n = 80
    frame = pd.DataFrame(
        {
            "id": [f"u{i:04d}" for i in range(n)],
            "age": rng.integers(18, 80, n).astype(float),
            "größe €": rng.normal(size=n),
            "<script>alert(1)</script>": rng.normal(size=n),
            "sex": rng.choice(["m", "w", None], n),
            "member": rng.random(n) < 0.5,
            "since": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "void": np.full(n, np.nan),
        }
    )
    price = 3 * frame["größe €"] + 2 * frame["member"] + frame["age"] / 20 + rng.normal(size=n)
    frame["bought"] = np.where(price > price.median(), "yes & no", "<b>no</b>")
    frame["price"] = price
    frame.loc[::7, "age"] = np.nan
    frame.loc[5, "price"] = np.nan
    frame.loc[9, "<script>alert(1)</script>"] = np.nan  # so that a note names the column
    return frame


@pytest.fixture
def mixed(mixed_once):
    return mixed_once.copy()


@pytest.fixture
def mixed_csv(mixed, tmp_path):
    path = tmp_path / "mixed.csv"
    mixed.to_csv(path, index=False)
    return path


@pytest.fixture
def run():
    """Run the command in this process; the result has exit_code, stdout and stderr."""

    def invoke(*arguments):
        return CliRunner().invoke(main, [str(a) for a in arguments])

    return invoke


class _NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")


@pytest.fixture
def no_torch(monkeypatch):
    """An installation without the extra: what stands on torch has to be imported again."""
    for name in list(sys.modules):
        if name == "torch" or name.startswith(("panlearn.neural", "panlearn.transformer")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_NoTorch(), *sys.meta_path])
