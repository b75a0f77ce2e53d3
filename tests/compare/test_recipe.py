import subprocess
import sys
import warnings

import numpy as np
import pytest

from panlearn.compare import compare
from panlearn.compare.files import built_in, read_table
from panlearn.compare.recipe import Source, compare_code, fit_code, load_code, row_code
from panlearn.compare.table import prepare


def execute(code):
    space = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model may warn; its numbers are what counts here
        exec(compile(code, "recipe", "exec"), space)
    return space


@pytest.mark.parametrize(
    ("target", "models"),
    [
        ("price", ["Ridge", "LinearRegression"]),
        ("bought", ["sklearn.linear_model.LogisticRegression", "sklearn.svm.LinearSVC"]),
    ],
)
def test_the_code_of_each_row_gives_the_same_numbers(mixed_csv, target, models, capsys):
    table = prepare(read_table(mixed_csv), target, rows=70, random_state=5)
    board = compare(table.X, table.y, models=models, cv=3, time_limit=None, random_state=5)
    load = load_code(str(mixed_csv), target, "auto", 70, 5)
    for row in board.rows:
        scores = execute(row_code(board, row, load))["scores"]
        assert capsys.readouterr().out.count("±") == len(row.scores)
        for metric in [m for m in board.metrics if m.name in row.scores]:
            values = metric.sign * scores[f"test_{metric.scorer}"]
            np.testing.assert_array_equal(values, row.scores[metric.name])


def test_it_runs_as_a_script_and_prints_the_mean_and_spread():
    table = prepare(built_in("diabetes"))
    board = compare(table.X, table.y, models=["Ridge"], time_limit=None)
    code = row_code(board, board.best, load_code("built-in:diabetes", "target", "auto", None, 0))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    metric = board.metrics[0]
    mean, std = board.best.mean(metric), board.best.std(metric)
    assert f"r2: {mean:.6f} ± {std:.6f}" in done.stdout


def test_the_whole_leaderboard_as_code(capsys):
    load = load_code("built-in:diabetes", "target", "regression", None, 0)
    options = {"models": ["Ridge"], "cv": 2, "time_limit": None, "random_state": 1}
    board = execute(compare_code(load, options))["board"]
    assert board.best.name == "Ridge"
    assert "Ridge" in capsys.readouterr().out


def test_fit_as_code(mixed_csv, tmp_path):
    import panlearn

    table = prepare(read_table(mixed_csv), "price")
    board = compare(table.X, table.y, models=["Ridge"], cv=2, time_limit=None)
    output = tmp_path / "m.panlearn"
    load = load_code(str(mixed_csv), "price", "auto", None, 0)
    execute(fit_code(board.best.pipeline, load, str(output)))
    loaded = panlearn.load(output)
    np.testing.assert_array_equal(loaded.predict(table.X), board.best.pipeline.predict(table.X))


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        float("inf"),
        None,
        True,
        'a "quoted" \\ name\n',
        "größe €",
        [1, [2]],
        (1,),
        (),
        ["x"] * 50,
    ],
)
def test_values_come_back(value):
    assert eval(Source().of(value)) == value


def test_only_what_differs_from_the_defaults_is_written():
    from sklearn.svm import SVC

    source = Source()
    assert source.of(SVC(C=2.0, kernel="rbf")) == "SVC(C=2.0)"
    assert source.import_lines() == ["from sklearn.svm import SVC"]
