import json

import pytest

import panlearn
from panlearn.linear import Ridge
from panlearn.transformer import GPT

SMALL = ("--layers", 1, "--width", 16, "--heads", 2, "--context", 16, "--epochs", 2)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("the ship on the sea, the wind in the sail. Küste\n" * 9, encoding="utf-8")
    return path


@pytest.fixture
def model(run, corpus, tmp_path):
    path = tmp_path / "model"
    result = run("lm", "train", corpus, *SMALL, "--output", path)
    assert result.exit_code == 0, result.stderr
    assert "on text that was kept out" in result.stdout
    return path


def test_train_and_generate(run, model):
    loaded = panlearn.load(model)
    expected = loaded.generate(["the "], max_tokens=8, temperature=0.5, random_state=3)
    arguments = ("--max-tokens", 8, "--temperature", 0.5, "--seed", 3)
    shown = run("lm", "generate", model, "--prompt", "the ", *arguments)
    assert shown.stdout == f"the {expected[0]}\n"
    prompts = ("--prompt", "the ", "--prompt", "sea")
    listed = json.loads(run("lm", "generate", model, *prompts, *arguments, "--json").stdout)
    assert [row["prompt"] for row in listed] == ["the ", "sea"]
    assert listed[0]["text"] == expected[0]
    several = run("lm", "generate", model, *prompts, *arguments).stdout
    assert several == "\n\n".join(row["prompt"] + row["text"] for row in listed) + "\n"
    assert run("lm", "generate", model, "--max-tokens", 2).exit_code == 0


def test_a_folder_gets_the_files_of_hugging_face(run, corpus, tmp_path):
    folder = f"{tmp_path}/new/"
    style = ("--style", "llama", "--vocab-size", 270, "--steps", 2)
    result = run("lm", "train", corpus, *SMALL[:-2], *style, "--output", folder, "--json")
    report = json.loads(result.stdout)
    assert report["tokens"] == 270
    assert report["validation_loss"] > 0
    assert GPT.from_pretrained(folder).config_.positions == "rotary"
    assert run("lm", "generate", folder, "--max-tokens", 3).exit_code == 0


def test_a_run_is_resumed(run, corpus, tmp_path):
    arguments = ("lm", "train", corpus, *SMALL, "--checkpoint", tmp_path / "run", "--output")
    assert run(*arguments, tmp_path / "a").exit_code == 0
    refused = run(*arguments, tmp_path / "a")
    assert refused.exit_code == 2
    longer = run(*arguments, tmp_path / "b", "--resume", "--epochs", 3)
    assert longer.exit_code == 0
    # the model tells of the whole run, the epochs before it was taken up too
    assert len(panlearn.load(tmp_path / "b").history_["loss"]) == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--width", 15), "multiple"),
        (("--output", "nowhere/model"), "no folder"),
        (("--learning-rate", -1), "learning_rate"),
        (("--validation", 0.9999), "validation_fraction"),
    ],
)
def test_what_cannot_be_trained_is_said_in_one_line(run, corpus, tmp_path, arguments, says):
    result = run("lm", "train", corpus, *SMALL, "--output", tmp_path / "m", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


def test_files_that_are_no_text_or_no_model(run, corpus, model, tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xfa")
    result = run("lm", "train", tmp_path / "bytes", *SMALL, "--output", tmp_path / "m")
    assert result.exit_code == 2
    assert "UTF-8" in result.stderr
    (tmp_path / "empty").touch()
    result = run("lm", "train", tmp_path / "empty", *SMALL, "--output", tmp_path / "m")
    assert result.exit_code == 2
    assert "no text in" in result.stderr
    panlearn.save(Ridge(), tmp_path / "ridge")
    for wrong, says in ((corpus, "not a panlearn model"), (tmp_path / "ridge", "Ridge")):
        result = run("lm", "generate", wrong)
        assert result.exit_code == 2
        assert says in result.stderr
    result = run("lm", "generate", tmp_path, "--prompt", "a")
    assert "config.json" in result.stderr
    result = run("lm", "generate", model, "--prompt", "x" * 17)
    assert result.exit_code == 2
    assert "17 tokens" in result.stderr
