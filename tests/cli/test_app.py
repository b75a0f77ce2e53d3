import json
import re
import subprocess
import sys
import warnings

import click
import pytest
from click.testing import CliRunner

from panlearn.cli.app import App, write_json

COMMANDS = ["list", "info", "compare", "fit", "predict", "evaluate", "verify"]

LEFT_OUT = (
    "neural, transformer, statespace, generative, representation and alignment"  # without torch
)


def child(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_help_loads_no_family_and_nothing_heavy():
    done = child(
        "import sys\n"
        "from panlearn.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'numpy', 'pandas', 'sklearn', 'matplotlib', 'numba', 'torch', 'rich', 'joblib'}\n"
        "ours = {f'panlearn.{family}' for family in sys.modules['panlearn'].FAMILIES}\n"
        "print('LOADED', sorted((heavy | ours) & set(sys.modules)))\n"
    )
    assert done.returncode == 0
    assert "LOADED []" in done.stdout
    for command in COMMANDS:
        assert command in done.stdout


def test_the_version(run):
    from panlearn import __version__

    assert __version__ in run("--version").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_json_and_code(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "--json" in result.stdout
    assert "--code" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nothing"], "nothing"),
        (["compare", "not there.csv"], "not there.csv"),
        (["compare", "--cv", "1"], "--cv"),
        (["compare", "--time-limit", "0"], "--time-limit"),
        (["fit"], "FILE"),
        (["info", "Rigde"], "did you mean 'Ridge'"),
        (["list", "lineal"], "did you mean 'linear'"),
        (["verify", "Z1"], "Z1"),
        (["compare", "--data", "wien"], "did you mean 'wine'"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(run, arguments, word):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("panlearn: ")
    assert result.stderr.count("\n") == 1
    assert word in result.stderr


def broken(error):
    @click.group(cls=App)
    def app():
        pass

    @app.command()
    def go():
        raise error

    return CliRunner().invoke(app, ["go"])


def test_a_defect_is_one_line_too_and_exit_code_1():
    result = broken(RuntimeError("two\nlines"))
    assert result.exit_code == 1
    assert result.stderr.startswith("panlearn: RuntimeError: two lines")
    assert result.stderr.count("\n") == 1


def test_a_missing_extra_is_named():
    result = broken(ModuleNotFoundError("No module named 'dask'", name="dask_not_there"))
    assert result.exit_code == 1
    assert "dask" in result.stderr
    result = broken(ModuleNotFoundError("No module named 'pandas'", name="pandas.not_there"))
    assert result.exit_code == 2
    assert "panlearn[data]" in result.stderr


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["list", "neural"], ""),
        (["info", "GPT"], "no method 'GPT'"),
        (["info", "Rigde"], "no method 'Rigde'; did you mean 'Ridge'"),
        (["compare", "--models", "MLPClassifier"], "no estimator 'MLPClassifier'"),
        (["verify", "Z1"], "no claim 'Z1'"),
        (["lm", "train", __file__, "--output", "never"], ""),
        (["lm", "tune", __file__, __file__, "--output", "never"], ""),
    ],
)
def test_what_needs_torch_says_how_to_get_it(run, arguments, word):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"panlearn: {word}")
    assert "pip install 'panlearn[deep]'" in result.stderr
    assert result.stderr.count("\n") == 1
    if arguments[0] in ("info", "compare"):
        assert f"left out {LEFT_OUT}" in result.stderr


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"]])
def test_what_is_left_out_for_want_of_torch_is_said(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 0
    advice = "this needs torch, which is not installed; `pip install 'panlearn[deep]'`"
    assert result.stderr == f"· left out {LEFT_OUT}: {advice}\n"


def test_claims_that_are_left_out_for_want_of_torch_are_counted():
    """In a process of its own: claims that another test has loaded would still be there."""
    done = child(
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'torch':\n"
        "            raise ModuleNotFoundError('No module named torch', name='torch')\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "from panlearn.cli import main\n"
        "main(['verify', '--list'])\n"
    )
    assert done.returncode == 0
    advice = "this needs torch, which is not installed; `pip install 'panlearn[deep]'`"
    said = re.fullmatch(rf"· (\d+) of (\d+) claims left out: {re.escape(advice)}\n", done.stderr)
    assert said
    left_out, known = map(int, said.groups())
    shown = [line for line in done.stdout.splitlines() if re.match(r" ?[A-Z]+\d+ ", line)]
    assert 0 < left_out == known - len(shown)


def test_a_plain_installation_lists_explains_and_verifies():
    """With none of the extras: what `pip install panlearn` gives."""
    done = child(
        "import sys\n"
        "from panlearn.core.extras import _EXTRA_OF\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in _EXTRA_OF:\n"
        "            raise ModuleNotFoundError(f'No module named {name}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "from panlearn.cli import main\n"
        "for words in (['list', 'linear'], ['info', 'Ridge'], ['verify', 'B3']):\n"
        "    try:\n"
        "        main(words)\n"
        "    except SystemExit as end:\n"
        "        assert not end.code, words\n"
    )
    assert done.returncode == 0, done.stderr
    assert "1 of 1 claims hold" in done.stdout


def test_nothing_is_left_out_where_torch_is(run):
    assert run("list").stderr == ""


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionError(13, "Permission denied", "a.csv"), "a.csv: Permission denied"),
        (OSError(28, "No space left on device", b"a.csv"), "a.csv: No space left on device"),
        (FileNotFoundError("no model file at m"), "no model file at m"),
    ],
)
def test_what_cannot_be_read_or_written_is_exit_code_2(error, says):
    result = broken(error)
    assert result.exit_code == 2
    assert result.stderr == f"panlearn: {says}\n"


def test_without_a_command_the_help_is_shown_as_it_is(run):
    result = run()
    assert result.exit_code == 2
    assert "\n  compare " in result.stderr


def test_a_warning_is_one_line():
    @click.group(cls=App)
    def app():
        pass

    @app.command()
    def go():
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("two\nlines", RuntimeWarning, stacklevel=1)

    result = CliRunner().invoke(app, ["go"])
    assert result.exit_code == 0
    assert result.stderr == "panlearn: RuntimeWarning: two lines\n"


@pytest.mark.parametrize(
    "command",
    [
        ["fit", __file__, "--model", "Ridge", "--output"],
        ["predict", __file__, __file__, "--output"],
        ["compare", "--report"],
        ["index", __file__, "--output"],
        ["lm", "train", __file__, "--output"],
        ["lm", "tune", __file__, __file__, "--output"],
    ],
)
def test_where_nothing_can_be_written_is_said_before_the_work(run, tmp_path, monkeypatch, command):
    result = run(*command, tmp_path / "nowhere" / "a.csv")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"panlearn: no folder {tmp_path / 'nowhere'} to write")
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)
    result = run(*command, tmp_path / "a.csv")
    assert result.exit_code == 2
    assert result.stderr.startswith("panlearn: no permission to write")


def test_ctrl_c_is_130():
    assert broken(KeyboardInterrupt()).exit_code == 130


def test_json_has_no_nan(capsys):
    write_json({"a": [float("nan"), float("inf"), 1.5], 2: "é"})
    text = capsys.readouterr().out
    assert json.loads(text) == {"a": [None, None, 1.5], "2": "é"}
    assert "é" in text


def test_a_closed_pipe_is_silent():
    code = 'from panlearn.cli import main; main(["list", "--json"])'
    done = subprocess.run(
        f"{sys.executable} -c {code!r} | true",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
