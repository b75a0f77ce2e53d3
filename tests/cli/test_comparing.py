import json
import subprocess
import sys

import numpy as np


def test_leaderboard_in_the_terminal(run, mixed_csv):
    result = run("compare", mixed_csv, "--target", "price", "--models", "Ridge", "--cv", 2)
    assert result.exit_code == 0, result.stderr
    for word in ("R²", "RMSE", "Ridge", "baseline", "±", "ms", "Best: Ridge", "dropped 'id'"):
        assert word in result.stdout
    assert result.stderr == ""


def test_json_carries_folds_and_code_that_runs(run, mixed_csv):
    arguments = ["compare", mixed_csv, "--target", "price", "--models", "Ridge", "--json"]
    answer = json.loads(run(*arguments, "--seed", 3).stdout)
    row = answer["rows"][0]
    assert answer["ranked_by"] == "R²"
    assert answer["task"] == "regression"
    assert len(row["metrics"]["R²"]["folds"]) == 5
    space = {}
    exec(row["code"], space)
    np.testing.assert_array_equal(space["scores"]["test_r2"], row["metrics"]["R²"]["folds"])


def test_a_named_model_that_fails_gives_exit_code_1(run, mixed_csv):
    models = "Ridge,sklearn.ensemble.VotingRegressor"
    result = run("compare", mixed_csv, "--target", "price", "--models", models, "--cv", 2)
    assert result.exit_code == 1
    assert "VotingRegressor (sklearn) failed: TypeError" in result.stdout


def test_report_is_written_and_its_place_said(tmp_path):
    path = tmp_path / "r.html"
    code = "from panlearn.cli import main; main()"
    arguments = ["compare", "--data", "diabetes", "--models", "Ridge", "--cv", "2"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments, "--report", str(path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert f"report: {path}" in done.stdout
    page = path.read_text("utf-8")
    assert "panlearn compare --data diabetes --cv 2 --models Ridge --report" in page
    assert "Not drawn" not in page


def test_code_makes_the_same_board(run, mixed_csv, capsys):
    result = run(
        *("compare", mixed_csv, "--target", "price", "--models", "Ridge", "--cv", 2, "--code")
    )
    space = {}
    exec(result.stdout, space)
    assert space["board"].best.name == "Ridge"
    assert "Ridge" in capsys.readouterr().out


def test_a_report_has_to_go_somewhere(run, tmp_path):
    result = run("compare", "--report", tmp_path / "no" / "r.html")
    assert result.exit_code == 2
    assert "no folder" in result.stderr
