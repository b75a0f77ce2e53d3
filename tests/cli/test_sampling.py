"""``panlearn sample``: names restored, labels as they were, the same rows again."""

import json

import numpy as np
import pandas as pd
import pytest

import panlearn
from panlearn.generative import RealNVP
from panlearn.latent import GaussianMixture


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    y = np.repeat([1, 2], 40)
    X = pd.DataFrame(rng.normal(size=(80, 2)) + 50 * y[:, None], columns=["width", "height"])
    options = {"transforms": 2, "max_epochs": 3, "random_state": 0}
    panlearn.save(RealNVP(**options).fit(X, y), made / "labels")
    panlearn.save(RealNVP(**options).fit(X, y + rng.uniform(size=80)), made / "numbers")
    panlearn.save(RealNVP(**options).fit(X), made / "plain")
    panlearn.save(GaussianMixture(2, random_state=0).fit(X), made / "mixture")
    panlearn.save(panlearn.linear.Ridge().fit(X, y), made / "ridge")
    return made


def test_rows_with_names_and_labels(run, folder, tmp_path):
    output = tmp_path / "rows.csv"
    result = run("sample", folder / "labels", "--n", 200, "--label", "2", "--output", output)
    assert result.exit_code == 0, result.stderr
    rows = pd.read_csv(output)
    assert list(rows.columns) == ["width", "height"]
    expected = panlearn.load(folder / "labels").sample(200, random_state=0, y=2)
    np.testing.assert_allclose(rows, expected, rtol=1e-12)
    other = run("sample", folder / "labels", "--n", 2, "--label", "1", "--json")
    assert max(json.loads(other.stdout)["rows"]["width"]) < rows["width"].median()
    assert run("sample", folder / "numbers", "--label", "1.5").stdout.startswith("width,height\n")


def test_a_mixture_names_its_component(run, folder, tmp_path):
    output = tmp_path / "rows.parquet"
    assert run("sample", folder / "mixture", "--n", 50, "--output", output).exit_code == 0
    rows = pd.read_parquet(output)
    assert list(rows.columns)[:2] == ["width", "height"]
    assert len(rows) == 50
    assert run("sample", folder / "plain", "--seed", 1).stdout != run(
        "sample", folder / "plain", "--seed", 2
    ).stdout  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("labels", "--label", "3"), "no label '3'; there are 1 and 2"),
        (("plain", "--label", "3"), "fitted without labels"),
        (("numbers", "--label", "a,b"), "must be 1 numbers"),
        (("ridge",), "a Ridge draws no rows"),
        (("plain", "--output", "rows.xlsx"), "neither CSV"),
    ],
)
def test_what_cannot_be_drawn_is_said(run, folder, arguments, words):
    result = run("sample", folder / arguments[0], *arguments[1:])
    assert result.exit_code == 2
    assert words in result.stderr


def test_code_does_what_the_command_does(run, folder, capsys):
    code = run("sample", folder / "labels", "--n", 3, "--label", "2", "--code").stdout
    exec(code, {})
    assert "width" in capsys.readouterr().out
