"""Densities compared: scores computed again by hand, ranks, what is left out, the report."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.mixture import GaussianMixture as Mixture
from sklearn.model_selection import KFold

from panlearn.cli import main
from panlearn.compare.density import compare_density, density_models, density_table
from panlearn.core.errors import DataError
from panlearn.generative import GAN


@pytest.fixture(scope="module")
def rows():
    X, y = make_moons(240, noise=0.1, random_state=0)
    return pd.DataFrame(X * [100, 0.1] + 7, columns=["a", "b"]).assign(kind=y, name="text")


@pytest.fixture(scope="module")
def board(rows):
    X = density_table(rows).X
    quick = GAN(2, 8, max_epochs=1, random_state=0)
    models = ["GaussianMixture", "KernelDensity", "histogramdensity", quick, Mixture(400)]
    return compare_density(X, models=models, time_limit=None)


def test_likelihoods_are_those_of_rows_held_out(board, rows):
    X, expected = rows[["a", "b"]].to_numpy(), []
    for learned, held_out in KFold(3, shuffle=True, random_state=0).split(X):
        mean, scale = X[learned].mean(0), X[learned].std(0)
        standard = (X[held_out] - mean) / scale
        expected.append(stats.norm.logpdf(standard).sum(1).mean())
    np.testing.assert_allclose(board["baseline"].scores["log-likelihood"], expected, rtol=1e-9)


def test_densities_are_ranked_then_what_draws_then_failures(board):
    names = [row.name for row in board.rows]
    assert names[-1] == "GaussianMixture #2"  # 400 components of 160 rows
    assert "160" in board.rows[-1].error
    assert {"GAN", "HistogramDensity"} == set(names[-3:-1])
    assert "density zero" in board["HistogramDensity"].warnings[0]
    values = [row.mean(board.metrics[0]) for row in board.rows[:-3]]
    assert values == sorted(values, reverse=True)
    assert names.index("KernelDensity") < names.index("baseline")
    gan = board["GAN"]
    assert "log-likelihood" not in gan.scores
    assert 0.5 < gan.mean(board.metrics[1]) <= 1  # one epoch: it is told apart
    assert board["KernelDensity"].mean(board.metrics[1]) < gan.mean(board.metrics[1])
    assert gan.predictions["sample"].shape == (500, 2)


def test_labels_and_text_have_no_density(rows):
    table = density_table(rows)
    assert list(table.X.columns) == ["a", "b"]
    assert any("'kind'" in note for note in table.notes)
    with pytest.raises(DataError, match="no density to learn"):
        density_table(rows[["kind", "name"]])
    with pytest.raises(DataError, match="needs 20 or more"):
        density_table(rows[:12])


def test_the_library_has_densities_and_generators():
    known = density_models()
    assert {"HistogramDensity", "KernelDensity", "GaussianMixture", "RealNVP", "GAN"} <= set(known)
    assert not {"GaussianNB", "BernoulliRBM", "CategoricalMixture", "GaussianHMM"} & set(known)


def test_the_command_writes_one_report(rows, tmp_path, capsys):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    options = [str(tmp_path / "rows.csv"), "--task", "density", "--cv", "2"]
    options += ["--models", "KernelDensity,GaussianMixture"]
    report = tmp_path / "report.html"
    done = CliRunner().invoke(main, ["compare", *options, "--json", "--report", str(report)])
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["ranked_by"] == "log-likelihood"
    page = report.read_text()
    assert "Samples of KernelDensity" in page
    assert "Not drawn" not in page
    best = said["rows"][0]
    exec(best["code"], {})
    shown = capsys.readouterr().out
    assert f"{best['metrics']['log-likelihood']['mean']:.4f}" in shown
    code = CliRunner().invoke(main, ["compare", *options, "--code"]).stdout
    assert "compare_density(X, models=" in code
    wrong = CliRunner().invoke(main, ["compare", *options, "--target", "a"])
    assert "leave --target, --metric" in wrong.stderr
