"""Rules that reward completions: right answers, forms, lengths, true sums; none runs a text."""

import time
from fractions import Fraction

import numpy as np
import pytest

from panlearn.alignment import rewards
from panlearn.alignment._arithmetic import value_of
from panlearn.core.errors import DataError


def one(reward, completion, answer=None):
    (value,) = reward([""], [completion], None if answer is None else [answer])
    return value


@pytest.mark.parametrize(
    ("completion", "answer", "right"),
    [
        ("<answer>12</answer>", "12", 1),
        ("<answer> 12 </answer>", 12, 1),
        ("<answer>12.0</answer>", "12", 1),
        ("<answer>1/2</answer>", "0.5", 1),
        ("<answer>-3</answer>", "3", 0),
        ("<answer>$7$</answer>", "7", 1),
        ("<answer>one  two</answer>", "one two", 1),
        ("<answer>1</answer> no, <answer>2</answer>", "2", 1),  # the last counts
        ("<answer>1</answer> no, <answer>2</answer>", "1", 0),
        ("<answer>1+1</answer>", "2", 0),  # an answer is not worked out
        ("<answer>1/0</answer>", "1/0", 1),
        ("<answer>1/0</answer>", "2/0", 0),
        ("12", "12", 0),
        ("<answer>12", "12", 0),
        ("12</answer>", "12", 0),
        ("<answer>1e999999999</answer>", "5", 0),  # a number that would fill the memory
    ],
)
def test_the_exact_answer_is_compared_as_a_text_or_as_a_number(completion, answer, right):
    assert one(rewards.ExactAnswer(), completion, answer) == right


def test_an_answer_may_be_the_whole_completion():
    assert one(rewards.ExactAnswer(tag=None), " 8\n", "8") == 1
    assert one(rewards.ExactAnswer(tag="result"), "<result>8</result>", "8") == 1


@pytest.mark.parametrize(
    ("completion", "answer", "right"),
    [
        (r"so \boxed{4}", "4", 1),
        (r"\boxed{3}, no, \boxed{4}", "4", 1),
        (r"\boxed{3}, no, \boxed{4}", "3", 0),
        (r"\boxed{\frac{1}{3}}", r"\frac{1}{3}", 1),
        (r"\boxed{\frac{1}{3}}", r"\frac{1", 0),
        (r"\boxed{4", "4", 0),
        ("4", "4", 0),
    ],
)
def test_the_boxed_answer_is_the_last_and_its_braces_match(completion, answer, right):
    assert one(rewards.BoxedAnswer(), completion, answer) == right


@pytest.mark.parametrize(
    ("completion", "right"),
    [
        ("<think>a</think><answer>b</answer>", 1),
        ("\n<think>\na\n</think>\n <answer>b</answer>\n", 1),
        ("<think></think><answer></answer>", 1),
        ("<think>a</think>", 0),
        ("<answer>b</answer><think>a</think>", 0),
        ("<think>a</think> so <answer>b</answer>", 0),
        ("well <think>a</think><answer>b</answer>", 0),
        ("<think>a</think><answer>b</answer> done", 0),
        ("<think><think>a</think><answer>b</answer>", 0),
        ("<think>a<answer>b</answer></think>", 0),
        ("<think>a</think></think><answer>b</answer>", 0),
        ("a</think><answer>b</answer>", 0),
        ("", 0),
    ],
)
def test_the_format_is_tags_in_their_order_and_nothing_else(completion, right):
    assert one(rewards.Format(), completion) == right


def test_a_prompt_may_have_opened_the_first_tag():
    reward = rewards.Format(opened=True)
    assert one(reward, "a</think><answer>b</answer>") == 1
    assert one(reward, "<think>a</think><answer>b</answer>") == 0


def test_the_length_falls_over_its_margin():
    reward = rewards.Length(longest=10, margin=4)
    values = reward([""] * 5, ["y" * n for n in (0, 6, 7, 10, 50)])
    np.testing.assert_allclose(values, [0, 0, -0.25, -1, -1])
    assert one(rewards.Length(3, 1, "words"), "one two three") == -1
    assert one(rewards.Length(3, 1, "words"), "one two") == 0
    with pytest.raises(ValueError, match="margin=5 must be above 0 and at most longest=4"):
        rewards.Length(4, 5)
    with pytest.raises(ValueError, match="unit='lines'"):
        rewards.Length(4, 2, "lines")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("2 - 3 - 4", -5),
        ("12 / 3 / 2", 2),
        ("1 / 3 + 1 / 6", Fraction(1, 2)),
        ("-3 * -2", 6),
        ("2 * -(3 - 5)", 4),
        ("-2 - -2", 0),
        ("+4", 4),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("6 \u00d7 7", 42),
        ("1 / 0", None),
        ("1 / (2 - 2)", None),
        ("", None),
        ("1 +", None),
        ("* 2", None),
        ("1 2", None),
        ("2 (3)", None),
        ("(1", None),
        ("1)", None),
        ("()", None),
        ("2 ** 3", None),
        ("1e5", None),
        ("__import__('os')", None),
    ],
)
def test_arithmetic_is_worked_out_in_fractions(text, value):
    assert value_of(text) == value


def test_random_expressions_have_the_value_that_python_gives_them(rng):
    for _ in range(100):
        n = int(rng.integers(1, 8))
        numbers = [f"Fraction({i})" for i in rng.integers(1, 30, n)]
        text = numbers[0]
        for number in numbers[1:]:
            text = f"{text} {rng.choice(list('+-*/'))} {number}"
            if rng.random() < 0.3:
                text = f"({text})"
        expected = eval(text, {"Fraction": Fraction})
        assert value_of(text.replace("Fraction", "")) == expected


@pytest.mark.parametrize(
    ("completion", "value"),
    [
        ("7 + 5 = 12", 1),
        ("7 + 5 = 13", 0),
        ("7 + 5 = 12, carry 1; 4 + 8 + 1 = 14.", 0.5),
        ("7 + 5 = 10 + 2 = 12.", 1),
        ("7+5=12 4+8+1=13", 1),
        ("7+5=12 4+8+1=14", 0.5),
        ("- 7 + 5 = 12\n* 2 * 2 = 4", 1),  # marks of a list are no signs
        ("x = 12", 0),
        ("nothing", 0),
        ("1 = 1 / 0", 0),
        ("3 4 = 7", 0),
    ],
)
def test_the_arithmetic_checker_counts_the_equations_that_hold(completion, value):
    assert one(rewards.Arithmetic(), completion) == value


@pytest.mark.parametrize(
    "text",
    ["(" * 50_000, "1" * 50_000 + " = 1", "9*" * 9_000 + "9 = 1", "- " * 50_000, "1=" * 20_000],
)
def test_hostile_texts_cost_no_more_than_their_length(text):
    began = time.perf_counter()
    assert one(rewards.Arithmetic(), text) in (0.0, 1.0)
    assert one(rewards.ExactAnswer(), f"<answer>{text}</answer>", "5") == 0
    assert time.perf_counter() - began < 10


def test_rewards_are_added_with_weights():
    reward = 2 * (rewards.ExactAnswer() + 0.5 * rewards.Format()) + rewards.Length(10, 5)
    prompts, completions = [""] * 2, ["<think></think><answer>1</answer>", "x"]
    np.testing.assert_allclose(reward(prompts, completions, ["1", "1"]), [2 + 1 - 1, 0])
    assert [(w, term.name) for w, term in reward.terms] == [
        (2.0, "ExactAnswer"),
        (1.0, "Format"),
        (1.0, "Length"),
    ]


def test_functions_and_lists_are_rewards():
    def vowels(prompts, completions, answers):
        return [sum(letter in "aeiou" for letter in text) for text in completions]

    reward = rewards.as_reward([vowels, rewards.ExactAnswer(tag=None)])
    np.testing.assert_array_equal(reward(["", ""], ["area", "b"], ["x", "b"]), [3, 1])
    assert [term.name for _, term in reward.terms] == ["vowels", "ExactAnswer"]
    with pytest.raises(TypeError, match="a reward is one of"):
        rewards.as_reward("vowels")
    with pytest.raises(TypeError, match="a reward is one of"):
        rewards.as_reward(rewards.ExactAnswer)  # the class, not one of it
    with pytest.raises(TypeError):
        reward + 3


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None, "good"])
def test_a_reward_that_is_no_number_is_named_with_its_row(bad):
    def broken(prompts, completions, answers):
        return [0.0, bad]

    with pytest.raises(DataError, match=r"broken of completion 1 is .*prompt is 'why'.*'because'"):
        rewards.as_reward(broken)(["how", "why"], ["so", "because"])


def test_wrong_counts_and_lacking_answers_are_refused():
    def short(prompts, completions, answers):
        return [1.0]

    with pytest.raises(DataError, match="short gave 1 numbers for 2 completions"):
        rewards.as_reward(short)(["", ""], ["", ""])
    with pytest.raises(DataError, match="2 completions and 1 prompts"):
        rewards.Format()([""], ["", ""])
    with pytest.raises(DataError, match="2 completions and 3 answers"):
        rewards.ExactAnswer()(["", ""], ["", ""], ["1", "2", "3"])
    with pytest.raises(DataError, match="compares with answers, and that of row 0 lacks"):
        rewards.ExactAnswer()([""], [""])
    with pytest.raises(DataError, match="looks at texts, and completion 0 is"):
        rewards.Format()([""], [[1, 2]])
