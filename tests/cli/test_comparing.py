import contextlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from panlearn.compare.timed import TimedWorker


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


def test_several_data_sets_are_set_side_by_side(run, tmp_path):
    path = tmp_path / "r.html"
    arguments = ["--cv", 2, "--models", "GaussianNB,Perceptron", "--report", path]
    answer = run("compare", "--data", "wine,moons", *arguments)
    assert answer.exit_code == 0, answer.stderr
    for word in ("mean rank", "wine", "moons", "wine: Best: GaussianNB", "Perceptron warned on"):
        assert word in answer.stdout
    page = path.read_text("utf-8")
    # of all sets, of each, and of the rows that the best of each gets most wrong
    assert page.count('<table class="leaderboard">') == 5
    for identity in ("overview", "set-1", "set-2", "1-leaderboard", "2-code-GaussianNB"):
        assert page.count(f'id="{identity}"') == 1


def test_json_of_several_data_sets_is_a_list(run):
    arguments = ["compare", "--data", "wine,moons", "--models", "GaussianNB", "--cv", 2, "--json"]
    answer = json.loads(run(*arguments).stdout)
    assert [record["source"] for record in answer] == ["wine", "moons"]


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


@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal is POSIX")
def test_progress_goes_to_a_terminal_and_the_answer_to_the_file(tmp_path):
    import pty

    reader, terminal = pty.openpty()
    # the models in that process, too: the test above has them in processes of their own
    code = (
        "from panlearn.compare.timed import TimedWorker\n"
        "TimedWorker.run = lambda self, job, *rest, limit: job(*self._shared, *rest)\n"
        "from panlearn.cli import main\n"
        "main()"
    )
    arguments = ["compare", "--data", "diabetes", "--models", "Ridge", "--cv", "2", "--json"]
    output = tmp_path / "answer.json"
    with output.open("w") as file:
        done = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdout=file,
            stderr=terminal,
            env={**os.environ, "TERM": "xterm", "OMP_NUM_THREADS": "1"},
        )
    os.close(terminal)
    shown = ""
    # The buffer of a terminal is small: read until the other side has closed it.
    with contextlib.suppress(OSError):
        while piece := os.read(reader, 4096):
            shown += piece.decode(errors="replace")
    os.close(reader)
    done.wait()
    assert done.returncode == 0, shown
    assert json.loads(output.read_text("utf-8"))["rows"][0]["model"] == "Ridge"
    assert "Ridge" in shown
    assert "/2" in shown


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


def test_ctrl_c_keeps_the_leaderboard_so_far_and_its_report(run, mixed_csv, tmp_path, monkeypatch):
    def impatient(self, job, name, *arguments, limit):
        if name == "Lasso":
            raise KeyboardInterrupt
        return job(*self._shared, name, *arguments)

    monkeypatch.setattr(TimedWorker, "run", impatient)
    path = tmp_path / "r.html"
    models = ("--models", "Ridge,Lasso,LinearRegression,ElasticNet")
    result = run(*("compare", mixed_csv, "--target", "price", "--cv", 2, *models, "--report", path))
    assert result.exit_code == 130
    assert result.stdout.splitlines()[-1] == f"report: {path.resolve()}"
    assert "Best: Ridge" in result.stdout
    assert "Lasso failed: interrupted" in result.stdout
    assert "not run: interrupted: LinearRegression, ElasticNet" in result.stdout
    page = path.read_text("utf-8")
    assert "Scores, fold by fold" in page
    assert "Learning curves" not in page  # more fits, for which nobody waits any more


def test_a_report_that_cannot_be_written_does_not_cost_the_answer(
    run, mixed_csv, tmp_path, monkeypatch
):
    def full(path, data):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("panlearn.cli.comparing.write_file", full)
    monkeypatch.setattr("panlearn.compare.report.pictures", lambda *_: [])
    path = tmp_path / "r.html"
    result = run(
        *("compare", mixed_csv, "--target", "price", "--cv", 2, "--models", "Ridge"),
        *("--report", path),
    )
    assert result.exit_code == 2
    assert "Best: Ridge" in result.stdout
    assert result.stderr == f"panlearn: {path}: No space left on device\n"


def test_models_that_are_not_compared_are_named(run, monkeypatch):
    said = ["One and Two: each is for images"]
    monkeypatch.setattr("panlearn.compare.comparison.field", lambda task, X: (["Ridge"], said))
    arguments = ("compare", "--data", "diabetes", "--cv", 2)
    assert "not compared unless named: One and Two: each is for images" in run(*arguments).stdout
    assert json.loads(run(*arguments, "--json").stdout)["left_out"] == said
