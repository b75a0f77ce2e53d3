import json

import numpy as np
import pandas as pd
import pytest

import panlearn


@pytest.fixture
def model(run, mixed_csv, tmp_path):
    path = tmp_path / "model.panlearn"
    result = run(
        *("fit", mixed_csv, "--target", "price", "--model", "ridge"),
        *("--set", "alpha=0.5", "--output", path),
    )
    assert result.exit_code == 0, result.stderr
    assert "fitted Ridge to 79 rows" in result.stdout
    return path


def test_fit_predict_evaluate(run, model, mixed, mixed_csv, tmp_path):
    loaded = panlearn.load(model)
    assert loaded[-1].alpha == 0.5
    output = tmp_path / "pred.csv"
    assert run("predict", model, mixed_csv, "--output", output).exit_code == 0
    predictions = pd.read_csv(output)["prediction"]
    assert len(predictions) == len(mixed)
    scores = json.loads(run("evaluate", model, mixed_csv, "--json").stdout)
    known = mixed["price"].notna()
    error = np.sqrt(np.mean((predictions[known] - mixed["price"][known]) ** 2))
    assert scores["scores"]["RMSE"] == pytest.approx(error, rel=1e-9)
    assert scores["rows"] == 79
    assert "left out 1 row" in scores["notes"][-1]


def test_predictions_go_to_the_screen_to_parquet_or_to_json(run, model, mixed_csv, tmp_path):
    shown = run("predict", model, mixed_csv)
    assert shown.stdout.startswith("id,prediction\nu0000,")  # so that answers can be joined
    assert "not used by the model" in shown.stderr
    output = tmp_path / "p.parquet"
    run("predict", model, mixed_csv, "--output", output)
    stored = pd.read_parquet(output)["prediction"]
    listed = json.loads(run("predict", model, mixed_csv, "--json").stdout)["prediction"]
    np.testing.assert_array_equal(stored, listed)


def test_a_file_without_a_column_or_with_text_for_a_number(run, model, mixed, tmp_path):
    path = tmp_path / "new.csv"
    mixed.drop(columns="age").to_csv(path, index=False)
    result = run("predict", model, path)
    assert result.exit_code == 2
    assert "needs the column 'age'" in result.stderr
    assert result.stderr.count("\n") == 1
    mixed.drop(columns="price").to_csv(path, index=False)
    assert run("predict", model, path).exit_code == 0
    result = run("evaluate", model, path)
    assert result.exit_code == 2
    assert "no column 'price'" in result.stderr


def test_a_failure_leaves_the_old_predictions(run, model, mixed_csv, tmp_path, monkeypatch):
    output = tmp_path / "p.csv"
    output.write_text("old")

    def half(frame, path, **options):
        path.write_text("half")
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    result = run("predict", model, mixed_csv, "--output", output)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"panlearn: {output}: No space left on device\n")
    assert output.read_text() == "old"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_predictions_in_a_format_of_another_name_are_refused(run, model, mixed_csv, tmp_path):
    result = run("predict", model, mixed_csv, "--output", tmp_path / "p.xlsx")
    assert result.exit_code == 2
    assert "neither CSV" in result.stderr


def test_a_truth_of_words_for_a_model_of_numbers(run, model, mixed_csv):
    result = run("evaluate", model, mixed_csv, "--target", "bought")
    assert result.exit_code == 2
    assert "predicts numbers" in result.stderr


def test_no_probabilities_from_a_regressor(run, model, mixed_csv):
    result = run("predict", model, mixed_csv, "--proba")
    assert result.exit_code == 2
    assert "no probabilities" in result.stderr


def test_a_file_that_is_no_model(run, mixed_csv):
    result = run("predict", mixed_csv, mixed_csv)
    assert result.exit_code == 2
    assert "not a panlearn model" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--model", "Rigde"], "did you mean 'Ridge'"),
        (["--model", "Ridge", "--set", "alhpa=1"], "did you mean 'alpha'"),
        (["--model", "Ridge", "--set", "alpha"], "name=value"),
        (["--model", "Ridge", "--set", "alpha=-1"], "alpha"),
        (["--model", "sklearn.svm"], "no estimator"),
        (["--model", "sklearn.base.clone"], "no estimator"),
        (["--model", "sklearn.ensemble.StackingRegressor"], "estimators"),
    ],
)
def test_bad_settings(run, mixed_csv, tmp_path, arguments, word):
    output = tmp_path / "m.panlearn"
    result = run("fit", mixed_csv, "--target", "price", "--output", output, *arguments)
    assert result.exit_code == 2
    assert word in result.stderr
    assert not output.exists()


def test_a_model_that_fails_or_cannot_be_saved_is_exit_code_1(run, mixed_csv, tmp_path):
    output = tmp_path / "m.panlearn"
    for name, word in [
        ("sklearn.isotonic.IsotonicRegression", "failed"),
        ("sklearn.svm.SVR", "saved"),
    ]:
        result = run("fit", mixed_csv, "--target", "price", "--output", output, "--model", name)
        assert result.exit_code == 1
        assert word in result.stderr
        assert not output.exists()


def test_code(run, model, mixed_csv, capsys):
    exec(run("predict", model, mixed_csv, "--code").stdout, {})
    assert len(capsys.readouterr().out.split()) > 70
    code = run(
        *("fit", mixed_csv, "--target", "price", "--model", "Ridge", "--output", model, "--code")
    )
    exec(code.stdout, {})
    assert panlearn.load(model)[-1].alpha == 1.0


def test_labels_keep_their_type(run, tmp_path):
    from panlearn.cli.rows import _as_classes

    np.testing.assert_array_equal(_as_classes(np.array([1.0, 0.0]), np.array([0, 1])), [1, 0])
    np.testing.assert_array_equal(_as_classes(np.array([True]), np.array([False, True])), [True])
    with pytest.raises(ValueError, match="does not know the class 'c'"):
        _as_classes(np.array(["c"]), np.array(["a", "b"]))


def test_a_model_that_needs_an_extra_says_so(run, mixed_csv, tmp_path, request):
    from panlearn.neural import MLPClassifier

    panlearn.save(MLPClassifier(), tmp_path / "m")
    request.getfixturevalue("no_torch")
    result = run("predict", tmp_path / "m", mixed_csv)
    assert result.exit_code == 2
    assert result.stderr.startswith("panlearn: this needs torch")
