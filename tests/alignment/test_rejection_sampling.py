"""The best of several completions, or all above a threshold, each once."""

import sys

import numpy as np
import pytest

from panlearn.alignment import rejection_sampling, supervised_finetune
from panlearn.transformer import GPT, GPTConfig


@pytest.fixture(scope="module")
def model():
    """Says one to four letters a or b."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("ab"), rng.integers(2, 5))) for _ in range(60)]
    config = GPTConfig(1, 16, 2, 12)
    return GPT(config, learning_rate=2e-2, max_epochs=12, random_state=0).fit(texts)


def count_b(prompts, completions, answers):
    return [text.count("b") for text in completions]


def test_the_best_of_each_prompt_is_kept(model):
    drawn = model.complete(["a", "ab"], n_samples=8, max_tokens=9, random_state=5)
    kept = rejection_sampling(model, ["a", "ab"], count_b, max_tokens=9, random_state=5)
    assert [row["row"] for row in kept] == [0, 1]
    for row, completions in zip(kept, drawn, strict=True):
        whole = [c.text for c in completions if c.ended and c.text]
        most = max(text.count("b") for text in whole)
        assert row["reward"] == most
        assert row["completion"] == next(text for text in whole if text.count("b") == most)


def test_all_above_a_threshold_are_kept_once(model):
    prompts = ["a", "ab", "a"]
    how = dict(n_samples=40, max_tokens=9, random_state=0)
    kept = rejection_sampling(model, prompts, count_b, threshold=2, **how)
    assert len(kept) > 3
    assert all(row["reward"] == row["completion"].count("b") >= 2 for row in kept)
    pairs = [(row["prompt"], row["completion"]) for row in kept]
    assert len(set(pairs)) == len(pairs)
    assert [row["row"] for row in kept] == sorted(row["row"] for row in kept)
    assert rejection_sampling(model, prompts, count_b, threshold=99, **how) == []


def test_what_is_kept_can_be_learned(model):
    prompts, answers = ["a", "b"], ["b", "b"]

    def right(prompts, completions, answers):
        return [c == a for c, a in zip(completions, answers, strict=True)]

    how = dict(n_samples=60, max_tokens=9, random_state=0)
    kept = rejection_sampling(model, prompts, right, answers=answers, threshold=1, **how)
    assert [(r["prompt"], r["completion"], r["reward"]) for r in kept] == [
        ("a", "b", 1.0),
        ("b", "b", 1.0),
    ]
    tuned = supervised_finetune(model, kept, max_epochs=30, learning_rate=1e-2, random_state=0)
    assert tuned.generate(prompts, max_tokens=5) == ["b", "b"]


def test_completions_that_ran_out_of_tokens_or_are_empty_are_left_out(model):
    def all_the_same(prompts, completions, answers):
        return [1.0] * len(completions)

    kept = rejection_sampling(
        model, ["a"], all_the_same, threshold=1, n_samples=50, max_tokens=2, random_state=0
    )
    assert kept
    assert all(len(row["completion"]) == 1 for row in kept)  # the second token ended it


def test_many_prompts_are_drawn_in_parts(model, monkeypatch):
    monkeypatch.setattr(sys.modules[rejection_sampling.__module__], "_ROWS", 8)
    kept = rejection_sampling(
        model, ["a"] * 6, count_b, n_samples=4, max_tokens=9, threshold=0, random_state=0
    )
    texts = [row["completion"] for row in kept]
    assert len(texts) == len(set(texts)) > 4  # parts do not repeat each other


def test_bad_arguments_are_named(model):
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        rejection_sampling(model, ["a"], count_b, n_samples=0)
    with pytest.raises(ValueError, match="prompt 0 has 10 tokens"):
        rejection_sampling(model, ["ababababab"], count_b, max_tokens=9)
