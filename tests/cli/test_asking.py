"""The ask command, and indexes that know meaning: answers, sources, exit codes."""

import json
import os
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import panlearn
from panlearn.cli.passages import find, open_index, update_index
from panlearn.representation import SentenceEncoder
from panlearn.transformer import GPT, GPTConfig

PAIRS = [
    ("a cat", "our feline"),
    ("the cat sleeps", "a feline rests"),
    ("a dog", "our hound"),
    ("the dog barks", "a hound howls"),
    ("rain falls", "it pours"),
    ("heavy rain", "pours of water"),
]
FILES = {
    "pets.md": "# Pets\n\nThe cat sleeps all day. It likes milk.\n\nThe dog barks at night.\n",
    "sky.txt": "Heavy rain falls in autumn. Snow comes in January.\n",
}


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    """Folders of two encoders that know that a feline is a cat."""
    made = []
    for seed in range(2):
        model = SentenceEncoder(learning_rate=1e-2, max_epochs=20, random_state=seed).fit(PAIRS)
        made.append(tmp_path_factory.mktemp("encoder"))
        model.save_pretrained(made[-1])
    return made


@pytest.fixture
def folder(tmp_path):
    here = tmp_path / "tree"
    here.mkdir()
    hour_ago = time.time() - 3600
    for name, text in FILES.items():
        (here / name).write_text(text)
        os.utime(here / name, (hour_ago, hour_ago))
    return here


def test_the_nearest_sentence_and_its_source(run, folder, tmp_path):
    output = tmp_path / "i.index"
    assert run("index", folder, "--output", output).exit_code == 0
    result = run("ask", output, "When does snow come?")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"Snow comes in January. [1]\n[1] {folder / 'sky.txt'}:1\n"
    answer = json.loads(run("ask", output, "what does the dog do at night?", "--json").stdout)
    assert answer["text"] == "The dog barks at night. [1]"
    assert answer["citations"] == [
        {"number": 1, "file": str(folder / "pets.md"), "line": 5, "first": 1, "last": 6}
    ]
    assert (answer["found"], answer["faithfulness"], answer["unknown"]) == (True, 1.0, [])
    for question in ("Who is the emperor of Mars?", "feline"):
        nothing = run("ask", output, question)
        assert (nothing.exit_code, nothing.stdout) == (1, "not in the documents\n")


def test_a_model_answers_and_what_it_cites_is_checked(run, folder, tmp_path, monkeypatch):
    output, model = tmp_path / "i.index", tmp_path / "model"
    run("index", folder, "--output", output)
    config = GPTConfig(n_layers=1, width=16, n_heads=2, context=600)
    gpt = GPT(config, max_steps=1, random_state=0).fit(list(FILES.values()))
    panlearn.save(gpt, model)
    answer = json.loads(
        run("ask", output, "When does snow come?", "--model", model, "--json").stdout
    )
    assert set(answer) == {
        *("question", "text", "found", "citations", "unknown", "faithfulness"),
    }
    prompts = []

    def generate(self, prompt, **settings):
        prompts.append(prompt)
        return " Snow comes in January [1]. And in June [4]."

    monkeypatch.setattr(GPT, "generate", generate)
    result = run("ask", output, "When does snow come?", "--model", model)
    assert result.stdout.startswith("Snow comes in January [1]. And in June.\n[1] ")
    assert "do not exist: 4" in result.stderr
    assert FILES["sky.txt"].strip() in prompts[0]
    short = run("ask", output, "When does snow come?", "--model", model, "--max-tokens", 590)
    assert short.exit_code == 2
    assert "longer context" in short.stderr


@pytest.mark.parametrize("by", ["both", "meaning"])
def test_an_index_with_an_encoder_knows_other_words(run, folder, tmp_path, encoders, by):
    output = tmp_path / "i.index"
    words = ("index", folder, "--output", output, "--lines", 2, "--overlap", 0)
    result = run(*words, "--encoder", encoders[0], "--by", by)
    assert result.exit_code == 0, result.stderr
    found = json.loads(run("search", output, "feline", "--json").stdout)
    assert "cat" in found[0]["text"]
    answer = json.loads(run("ask", output, "a feline rests", "--json").stdout)
    assert answer["text"].startswith("The cat sleeps all day.")
    index = open_index(output)
    pages = ["\n".join(FILES["sky.txt"].split("\n")[:2])]
    alone = SentenceEncoder.from_pretrained(encoders[0]).transform(pages)
    row = index.vectors_.ids_.tolist().index((str(folder / "sky.txt"), 1, 2))
    np.testing.assert_allclose(index.vectors_.transform(alone)[0, row], 1, rtol=1e-5)
    assert index.vectors_.ids_.tolist() == index.ids_.tolist()


def test_vectors_follow_the_files_and_the_encoder(folder, tmp_path, encoders):
    output, meaning = tmp_path / "i.index", {"encoder": encoders[0], "approximate": True}
    assert update_index([str(folder)], output, **meaning).recall == 1.0
    (folder / "sky.txt").unlink()
    (folder / "new.txt").write_text("It pours.")
    again = update_index([str(folder)], output, **meaning)
    assert [len(again.new), len(again.gone), again.recall] == [1, 1, 1.0]
    index = open_index(output)
    assert {i[0] for i in index.vectors_.ids_.tolist()} == set(index.files_)
    assert Path(find(index, "heavy rain falls", k=1)[0].file).name == "new.txt"
    kept = update_index([str(folder)], output, **meaning)
    assert [kept.new, kept.changed, kept.gone, kept.recall] == [[], [], [], 1.0]
    other = tmp_path / "moving"  # a folder in which another encoder comes to stand
    SentenceEncoder.from_pretrained(encoders[0]).save_pretrained(other)
    update_index([str(folder)], output, encoder=other)
    SentenceEncoder.from_pretrained(encoders[1]).save_pretrained(other)
    with pytest.raises(ValueError, match="another one now"):
        find(open_index(output), "rain")
    assert len(update_index([str(folder)], output, encoder=other).new) == 2
    assert find(open_index(output), "rain")


def test_errors_and_code(run, folder, tmp_path, encoders):
    output = tmp_path / "i.index"
    result = run("index", folder, "--output", output, "--encoder", folder)
    assert result.exit_code == 2
    assert "no sentence encoder" in result.stderr
    assert result.stderr.count("\n") == 1
    code = run("index", folder, "--output", output, "--encoder", encoders[0], "--code").stdout
    out = StringIO()
    with redirect_stdout(out):
        exec(code, {})
    assert "passages=" in out.getvalue()
    assert open_index(output).settings_["by"] == "both"
