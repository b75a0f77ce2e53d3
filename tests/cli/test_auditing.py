"""An audit of a saved model: its numbers are those of other computations, and on the page."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, roc_auc_score

import panlearn
from panlearn.compare import conform, read_table
from panlearn.compare.audit import audit
from panlearn.compare.drift import difference


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("audit")
    n = 400
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "income": np.round(np.exp(rng.normal(8, 1, n)), 1),
            "town": rng.choice(["A", "B", "C"], n),
            "sex": rng.choice(["f", "m"], n, p=[0.4, 0.6]),
        }
    )
    score = 0.08 * (frame["age"] - 45) + 1.5 * (frame["sex"] == "m") + rng.normal(size=n)
    frame["bought"] = np.where(score > 0.5, "yes", "no")
    frame.to_csv(folder / "old.csv", index=False)
    new = frame.assign(income=frame["income"] * 3, town=rng.choice(["A", "B", "D"], n))
    new.iloc[:200].to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def model(tables):
    from click.testing import CliRunner

    from panlearn.cli import main

    path = tables / "model.panlearn"
    arguments = ["fit", tables / "old.csv", "--target", "bought", "--output", path]
    result = CliRunner().invoke(main, [*map(str, arguments), "--model", "LogisticRegression"])
    assert result.exit_code == 0, result.output
    return path


def test_numbers_are_those_of_other_computations(run, tables, model, tmp_path):
    page = tmp_path / "audit.html"
    answer = run(
        *("audit", model, tables / "new.csv", "--sensitive", "sex", "--json", "--report", page),
        *("--reference", tables / "old.csv"),
    )
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    pipeline, frame = panlearn.load(model), read_table(tables / "new.csv")
    X, _ = conform(frame, pipeline)
    chance, y = pipeline.predict_proba(X)[:, 1], (frame["bought"] == "yes").to_numpy()
    said = pipeline.predict(X) == "yes"
    scores = {row["score"]: row["value"] for row in found["scores"]["rows"]}
    assert scores["balanced accuracy"] == pytest.approx(balanced_accuracy_score(y, said))
    assert scores["ROC AUC"] == pytest.approx(roc_auc_score(y, chance))
    assert scores["tpr"] == pytest.approx(said[y].mean())
    assert scores["fpr"] == pytest.approx(said[~y].mean())
    measures = {row["measure"]: row["value"] for row in found["calibration"]["rows"]}
    assert measures["brier"] == pytest.approx(brier_score_loss(y, chance))
    # in bins of a tenth: with one for each probability the parts would say nothing
    assert measures["reliability"] < measures["brier"] / 2
    assert measures["resolution"] < 0.99 * measures["uncertainty"]
    groups = {row["group"]: row for row in found["groups"]["rows"]}
    for sex in ("f", "m"):
        own = (frame["sex"] == sex).to_numpy()
        assert groups[sex]["rows"] == own.sum()
        assert groups[sex]["tpr"].startswith(f"{said[own & y].mean():.3f} [")
    gap = abs(np.subtract(*(said[(frame["sex"] == s).to_numpy()].mean() for s in "fm")))
    assert groups["gap of independence"]["acceptance"].startswith(f"{gap:.3f} [")
    drift = {row["column"]: row for row in found["drift"]["rows"]}
    old = read_table(tables / "old.csv")
    expected = stats.ks_2samp(frame["income"], old["income"])
    assert drift["income"]["distance"] == pytest.approx(expected.statistic)
    assert drift["income"]["p-value"] == pytest.approx(expected.pvalue)
    assert drift["age"]["distance"] < 0.1 < drift["town"]["distance"]
    assert "'town'" in found["drift"]["summary"]
    worst = [row["at the worst"] for row in found["robustness"]["rows"]]
    assert worst[0] == pytest.approx((said == y).mean())  # all of the 200 rows
    assert worst == sorted(worst, reverse=True)
    assert worst[-1] < worst[0] - 0.1
    assert all(row["by chance"] >= row["at the worst"] for row in found["robustness"]["rows"])
    text = page.read_text("utf-8")
    for word in ("Scores", "Calibration", "Groups", "Robustness", "Drift", "gap of separation"):
        assert word in text
    assert text.count("<figure") == 3
    assert "Not drawn" not in text


def test_the_worst_change_of_a_linear_model_is_the_closed_form(tables, model):
    pipeline, frame = panlearn.load(model), read_table(tables / "new.csv")
    X, _ = conform(frame, pipeline)
    y = frame["bought"].to_numpy()
    section = next(s for s in audit(pipeline, X, y).sections if s.title == "Robustness")
    rows = np.asarray(pipeline[:-1].transform(X), dtype=float)
    names = pipeline[0].get_feature_names_out()
    free = np.array([name.startswith("number") for name in names])
    signs = np.where(y == "yes", 1, -1)
    slope = pipeline[-1].coef_[0]
    margin = signs * (rows @ slope + pipeline[-1].intercept_[0])
    for (_, _, found), radius in zip(section.rows[1:], (0.05, 0.1, 0.2, 0.5), strict=True):
        reach = radius * (np.abs(slope) * free * rows.std(axis=0)).sum()
        assert found == pytest.approx((margin > reach).mean(), abs=0.011)


def test_in_the_terminal_and_for_numbers(run, tables, tmp_path):
    path, page = tmp_path / "m.panlearn", tmp_path / "a.html"
    run("fit", tables / "old.csv", "--target", "income", "--model", "Ridge", "--output", path)
    result = run("audit", path, tables / "new.csv", "--sensitive", "age,sex", "--report", page)
    assert result.exit_code == 0, result.output
    for word in (
        "R²",
        "RMSE",
        "Groups: The error is largest for",
        "cut at its quartiles",
        "report",
    ):
        assert word in result.stdout


def test_more_classes_and_refusals(run, tables, model, tmp_path):
    path, page = tmp_path / "m.panlearn", tmp_path / "a.html"
    run("fit", tables / "old.csv", "--target", "town", "--model", "GaussianNB", "--output", path)
    options = ["--sensitive", "sex", "--report", page, "--target", "town"]
    assert run("audit", path, tables / "old.csv", *options).exit_code == 0
    for more, word in (
        (["--sensitive", "gender"], "no column 'gender'"),
        (["--positive", "maybe"], "no class 'maybe'"),
        (["--target", "age"], "does not know the class"),
    ):
        result = run("audit", model, tables / "new.csv", "--report", page, *more)
        assert result.exit_code == 2
        assert word in result.stderr


def test_differences_of_columns(rng):
    a, b = pd.Series(list("aab")), pd.Series(list("abb"))
    assert difference(a, b)[0] == pytest.approx(1 / 3)
    assert difference(a, a) == (0.0, pytest.approx(1.0))
    nothing = pd.Series([np.nan, np.nan])
    assert difference(nothing, nothing) == (0.0, 1.0)
    assert difference(nothing, pd.Series([1.0])) == (1.0, 0.0)
    assert difference(pd.Series(["x"]), pd.Series(["x", "x"])) == (0.0, 1.0)
