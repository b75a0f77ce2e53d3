"""Distillation: the two divergences, the slope of answers, and who may learn from whom."""

import numpy as np
import pytest
import torch

from panlearn.alignment import distill, losses
from panlearn.alignment._policy import trainable, untrained
from panlearn.alignment._prompts import Sequences
from panlearn.alignment.distill import divergence_losses
from panlearn.alignment.supervised_finetune import completion_losses
from panlearn.text import BPETokenizer
from panlearn.transformer import GPT, GPTConfig


@pytest.fixture(scope="module")
def pair():
    return [untrained(np.random.default_rng(seed)) for seed in (0, 1)]


def test_divergences_on_hand_values():
    p, q = np.array([0.5, 0.25, 0.25]), np.array([0.2, 0.7, 0.1])
    teacher, student = (torch.tensor(np.log([x])) + 3.0 for x in (p, q))
    forward, reverse = (p * np.log(p / q)).sum(), (q * np.log(q / p)).sum()
    assert float(losses.ForwardKL()(student, teacher)) == pytest.approx(forward, rel=1e-12)
    assert float(losses.ReverseKL()(student, teacher)) == pytest.approx(reverse, rel=1e-12)
    p, q = (np.sqrt(x) / np.sqrt(x).sum() for x in (p, q))
    hot = 4 * (p * np.log(p / q)).sum()
    assert float(losses.ForwardKL(2.0)(student, teacher)) == pytest.approx(hot, rel=1e-12)
    with pytest.raises(ValueError, match="temperature"):
        losses.ReverseKL(0.0)


@pytest.mark.parametrize("divergence", [losses.ForwardKL, losses.ReverseKL])
def test_a_temperature_is_above_zero(divergence):
    with pytest.raises(ValueError, match="temperature=0 must be above zero"):
        divergence(temperature=0)


def test_the_mean_slope_of_answers_is_that_of_the_forward_divergence(pair):
    """All answers of one token, each as often as the teacher gives it."""
    student, teacher = pair
    tokens = student.n_tokens_
    sequences = Sequences.of([np.array([5, 9])] * tokens, [np.array([v]) for v in range(tokens)])
    ids, mask = sequences.padded(np.arange(tokens))
    with torch.no_grad():
        chances = teacher.module_(ids[:1, :2])[0, -1].softmax(-1)
    module = trainable(student)
    (completion_losses(module, ids, mask) * chances).sum().backward()
    drawn = module.projection.grad
    module = trainable(student)
    divergence_losses(teacher.module_, losses.ForwardKL())(
        module, ids[:1], mask[:1]
    ).sum().backward()
    torch.testing.assert_close(module.projection.grad, drawn, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("divergence", [None, losses.ForwardKL(), losses.ReverseKL()])
def test_a_smaller_student_comes_to_answer_as_its_teacher(divergence):
    shape = GPTConfig(2, 32, 2, 16)
    teacher = GPT(shape, learning_rate=1e-2, max_epochs=99, random_state=0).fit(["ab" * 50])
    student = GPT(GPTConfig(1, 16, 2, 16), max_steps=1, random_state=3).fit(["ab"])
    prompts = ["a", "ab"]
    how = {"max_tokens": 6, "learning_rate": 1e-2, "max_epochs": 99, "random_state": 0}
    tuned = distill(student, teacher, prompts, temperature=0, divergence=divergence, **how)
    wanted = teacher.generate(prompts, max_tokens=6)
    assert wanted == ["bababa", "ababab"]
    assert tuned.generate(prompts, max_tokens=6) == wanted
    assert type(tuned) is GPT
    assert tuned.config_ == student.config_


def test_a_student_that_is_its_teacher_has_nothing_to_learn(pair):
    teacher, _ = pair
    for divergence in (losses.ForwardKL(), losses.ReverseKL(3.0)):
        tuned = distill(teacher, teacher, ["a"], ["bc"], divergence=divergence, max_steps=1)
        assert tuned.history_["loss"][0] == pytest.approx(0.0, abs=1e-6)


def test_answers_follow_from_the_seed(pair):
    student, teacher = pair
    how = {"n_samples": 2, "max_tokens": 3, "max_steps": 2}
    one, same, other = (
        distill(student, teacher, ["a", "b"], random_state=seed, **how) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.weights_["norm.weight"], same.weights_["norm.weight"])
    assert one.history_["loss"] != other.history_["loss"]


def test_other_tokens_are_handed_over_as_texts(pair):
    _, teacher = pair
    tokenizer = BPETokenizer(300, special_tokens=("<end>",)).fit(
        ["a text with a few words, and a few more words"]
    )
    student = GPT(GPTConfig(1), tokenizer, max_steps=1, random_state=0).fit(["a text"])
    with pytest.raises(ValueError, match="different tokens"):
        distill(student, teacher, ["a"], divergence=losses.ForwardKL())
    tuned = distill(student, teacher, ["a"], ["few words"], max_steps=1)
    ids = [*tokenizer.encode("few words"), student.end_token_]
    (found,) = student.log_probabilities(["a"], [ids])
    assert tuned.history_["loss"][0] == pytest.approx(-found.mean(), abs=1e-4)


def test_prompts_and_completions_are_counted_and_named(pair):
    student, teacher = pair
    with pytest.raises(ValueError, match="2 prompts and 1 completions"):
        distill(student, teacher, ["a", "b"], ["c"])
    with pytest.raises(ValueError, match="row 1: the completion is empty"):
        distill(student, teacher, ["a", "b"], ["c", ""])
    with pytest.raises(ValueError, match="teacher is a GPT that is not fitted"):
        distill(student, GPT(), ["a"])
