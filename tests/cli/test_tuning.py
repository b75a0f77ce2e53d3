import json

import numpy as np
import pytest

import panlearn
from panlearn.alignment import load_adapter
from panlearn.transformer import GPT, GPTConfig


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    panlearn.save(GPT(GPTConfig(1, 32), max_steps=1, random_state=0).fit(["one two three"]), path)
    return path


def _write(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    return path


def test_examples_are_learned(run, model, tmp_path):
    rows = [{"prompt": "one", "completion": " two"}, {"prompt": "two", "completion": " three"}]
    data = _write(tmp_path / "data.jsonl", rows)
    how = ("--learning-rate", 1e-2, "--epochs", 40, "--packing")
    result = run("lm", "tune", model, data, *how, "--output", tmp_path / "tuned")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("tuned on 2 rows in 40 epochs: loss 0.")
    tuned = panlearn.load(tmp_path / "tuned")
    assert tuned.generate(["one", "two"]) == [" two", " three"]


@pytest.mark.parametrize("template", ["chatml", "llama"])
def test_conversations_are_learned(run, tmp_path, template):
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    small = GPT(GPTConfig(1, 32, context=200), max_steps=1, random_state=0).fit(["one"])
    panlearn.save(small, tmp_path / "model")
    data = _write(tmp_path / "talks", [{"messages": talk}])
    how = ("--template", template, "--steps", 1, "--output", tmp_path / "tuned")
    result = run("lm", "tune", tmp_path / "model", data, *how)
    assert result.exit_code == 0, result.stderr


def test_preferences_are_learned_and_additions_are_written(run, model, tmp_path):
    data = _write(tmp_path / "pairs", [{"prompt": "a", "chosen": "b", "rejected": "c"}])
    how = ("--method", "dpo", "--beta", 0.5, "--lora-rank", 2, "--adapter", tmp_path / "adapter")
    where = ("--output", f"{tmp_path}/folder/", "--json")
    result = run("lm", "tune", model, data, *how, "--learning-rate", 1e-2, *where)
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["rows"], report["epochs"], report["method"]) == (1, 3, "dpo")
    assert report["loss"] < np.log(2)
    assert report["reward_accuracy"] == 1.0
    tuned = GPT.from_pretrained(f"{tmp_path}/folder/")
    again = load_adapter(model, tmp_path / "adapter")
    assert again.score(["ab"]) == pytest.approx(tuned.score(["ab"]), abs=1e-4)


def test_rewards_are_learned_from(run, model, tmp_path):
    data = _write(tmp_path / "asked", [{"prompt": "a", "answer": "b"}] * 2)
    how = ("--method", "grpo", "--reward", "whole", "--reward", "format", "--max-tokens", 2)
    where = ("--output", tmp_path / "tuned", "--json")
    result = run("lm", "tune", model, data, *how, "--generations", 3, "--steps", 2, *where)
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["rows"], report["method"]) == (2, "grpo")
    assert report["reward"] == report["reward_ExactAnswer"] + report["reward_Format"]
    assert panlearn.load(tmp_path / "tuned").history_["length"]
    result = run("lm", "tune", model, _write(data, [{"prompt": "a"}]), *how, *where)
    assert result.exit_code == 2
    assert "row 0 lacks 'answer'" in result.stderr


BAD = {
    "line 2: no JSON": '{"prompt": "a", "completion": "b"}\nnonsense\n',
    "line 1: not an object": "[1, 2]\n",
    "has no rows": "\n",
    "row 0 lacks 'completion'": '{"prompt": "a"}\n',
    "row 0: the completion is empty": '{"prompt": "a", "completion": ""}\n',
}


@pytest.mark.parametrize("says", BAD)
def test_bad_rows_are_said_in_one_line(run, model, tmp_path, says):
    (tmp_path / "data").write_text(BAD[says])
    result = run("lm", "tune", model, tmp_path / "data", "--output", tmp_path / "tuned")
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "tuned").exists()


def test_an_adapter_needs_a_rank_and_help_tells_of_rows(run, model, tmp_path):
    data = _write(tmp_path / "data", [{"prompt": "a", "completion": "b"}])
    where = ("--output", tmp_path / "m", "--adapter", tmp_path / "a")
    assert "--lora-rank" in run("lm", "tune", model, data, *where).stderr
    shown = " ".join(run("lm", "tune", "--help").stdout.split())
    assert '"prompt", "chosen" and "rejected"' in shown
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    result = run("lm", "tune", model, tmp_path / "bytes", "--output", tmp_path / "m")
    assert "UTF-8" in result.stderr
