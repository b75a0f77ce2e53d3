"""DPO: the loss of the paper, the optimum of its mathematics, and pairs that are refused."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from panlearn.alignment import DPO, losses
from panlearn.alignment._policy import untrained
from panlearn.alignment._prompts import with_prompts
from panlearn.neural import LoRA

PAIRS = [("2+2=", "4", "five"), ("1+1=", "2", "3"), ("the sky is", " blue", " green")]


@pytest.fixture(scope="module")
def model():
    return untrained(np.random.default_rng(0))


def test_losses_on_hand_values():
    ratios, lengths = (
        torch.tensor([[0.5, -0.5], [0.0, 0.0]]),
        torch.tensor([[2.0, 4.0], [1.0, 9.0]]),
    )
    log_sigmoid = lambda x: -np.log1p(np.exp(-x))  # noqa: E731
    expected = {
        losses.Sigmoid(): [-log_sigmoid(0.1), np.log(2)],
        losses.IPO(): [(0.375 - 5) ** 2, 25.0],
        losses.Robust(0.2): [
            (-0.8 * log_sigmoid(0.1) + 0.2 * log_sigmoid(-0.1)) / 0.6,
            np.log(2),
        ],
        losses.LengthNormalized(): [-log_sigmoid(0.0375), np.log(2)],
    }
    for loss, values in expected.items():
        np.testing.assert_allclose(loss(ratios, lengths, 0.1), values, rtol=1e-6)
    with pytest.raises(ValueError, match="label_smoothing"):
        losses.Robust(0.5)


@pytest.mark.parametrize("loss", [losses.Sigmoid(), losses.IPO(), losses.LengthNormalized()])
def test_the_policy_starts_at_its_reference_and_learns_the_pairs(model, loss):
    tuner = DPO(model, loss=loss, learning_rate=3e-3, max_epochs=15, random_state=0).fit(PAIRS)
    first = tuner.history_["loss"][0]
    assert first == pytest.approx(25.0 if loss == losses.IPO() else np.log(2), rel=1e-5)
    assert tuner.history_["reward_margin"][0] == pytest.approx(0.0, abs=1e-6)
    assert tuner.score(PAIRS) == 1.0
    assert tuner.history_["loss"][-1] < first


def test_rewards_are_beta_times_the_log_ratio_of_the_two_models(model):
    tuner = DPO(model, beta=0.3, learning_rate=3e-3, max_epochs=5, random_state=0).fit(PAIRS)
    ids = [[*model.tokenizer_.encode(chosen), model.end_token_] for _, chosen, _ in PAIRS]
    prompts = [prompt for prompt, _, _ in PAIRS]
    ratio = [
        a.sum() - b.sum()
        for a, b in zip(
            tuner.model_.log_probabilities(prompts, ids),
            model.log_probabilities(prompts, ids),
            strict=True,
        )
    ]
    found = tuner.rewards(prompts, [chosen for _, chosen, _ in PAIRS])
    np.testing.assert_allclose(found, 0.3 * np.array(ratio), atol=1e-5)
    worse = tuner.rewards(prompts, [rejected for _, _, rejected in PAIRS])
    np.testing.assert_allclose(tuner.decision_function(PAIRS), found - worse, atol=1e-6)


def test_the_policy_reaches_the_closed_form_optimum_on_a_finite_set_of_answers(model):
    """All ordered pairs, weighted by Bradley and Terry: pi* is ref exp(r / beta), normalised."""
    beta, rewards = 0.5, np.array([0.0, 0.4, -0.3])
    answers = [[65, 0], [66, 0], [67, 67, 0]]
    reference = np.array([p.sum() for p in model.log_probabilities(["?"] * 3, answers)])
    pairs, weights = [], []
    for i in range(3):
        for j in range(3):
            if i != j:
                pairs.append(("?", answers[i], answers[j]))
                weights.append(1 / (1 + np.exp(rewards[j] - rewards[i])))
    tuner = DPO(
        model,
        beta,
        learning_rate=2e-3,
        schedule="cosine",
        max_epochs=250,
        random_state=0,
    ).fit(pairs, sample_weight=weights)
    found = np.array([p.sum() for p in tuner.model_.log_probabilities(["?"] * 3, answers)])
    wanted = np.exp(reference - reference.max() + rewards / beta)
    among = np.exp(found - found.max())
    np.testing.assert_allclose(among / among.sum(), wanted / wanted.sum(), atol=2e-3)
    entropy = -np.mean(np.log(weights) * weights) * 2  # the least that the loss can be
    assert tuner.history_["loss"][-1] == pytest.approx(entropy, abs=1e-4)


def test_weights_count_pairs(model):
    how = {"learning_rate": 1e-3, "max_epochs": 2, "random_state": 0, "batch_size": 9}
    twice = DPO(model, **how).fit([PAIRS[0], PAIRS[0], PAIRS[1]])
    weighted = DPO(model, **how).fit(PAIRS, sample_weight=[2, 1, 0])
    assert weighted.history_["loss"] == pytest.approx(twice.history_["loss"], abs=1e-5)


def test_accumulation_and_padding_leave_the_gradient_as_it_is(model):
    """A long neighbour is padding to a short pair, and pieces of a batch are the batch."""
    how = {"learning_rate": 1e-3, "max_epochs": 3, "random_state": 0, "batch_size": 9}
    pairs = [*PAIRS, ("a", "b", "a very long answer that others are padded to")]
    plain, pieces = DPO(model, **how).fit(pairs), DPO(model, accumulate=4, **how).fit(pairs)
    for name, w in plain.weights_.items():
        np.testing.assert_allclose(pieces.weights_[name], w, atol=2e-4, err_msg=name)
    assert pieces.history_["loss"] == pytest.approx(plain.history_["loss"], abs=1e-5)


def test_the_tuned_model_is_one_like_the_other(model, tmp_path):
    tuner = DPO(model, max_epochs=1, random_state=0, lora=LoRA(rank=2)).fit(PAIRS)
    assert type(tuner.model_) is type(model)
    assert tuner.model_ is tuner.model_
    assert tuner.model_.history_ == tuner.history_
    assert tuner.model_.lora_ == LoRA(rank=2)
    tuner.model_.save_pretrained(tmp_path)
    again = type(model).from_pretrained(tmp_path)
    np.testing.assert_array_equal(again.score(["a"]), tuner.model_.score(["a"]))


def test_a_clone_needs_a_frozen_model(model):
    with pytest.raises(ValueError, match="FrozenEstimator"):
        clone(DPO(model)).fit(PAIRS)
    frozen = clone(DPO(FrozenEstimator(model), max_epochs=1, random_state=0)).fit(PAIRS)
    assert frozen.history_["loss"][0] == pytest.approx(np.log(2), rel=1e-6)


def test_a_warm_start_goes_on_and_keeps_the_reference(model):
    tuner = DPO(model, learning_rate=3e-3, max_epochs=3, random_state=0, warm_start=True).fit(PAIRS)
    before = tuner.history_["reward_margin"][-1]
    tuner.fit(PAIRS)
    assert tuner.history_["reward_margin"][0] > before > 0
    np.testing.assert_array_equal(
        tuner.start_.weights_["norm.weight"], model.weights_["norm.weight"]
    )


def test_a_prompt_may_be_what_both_begin_with(model):
    how = {"learning_rate": 1e-3, "max_epochs": 2, "random_state": 0}
    told = DPO(model, **how).fit([("the sky is", " blue", " green"), ("a b", "\nc d", "\ncd e")])
    again = DPO(model, **how).fit(
        [
            {"chosen": "the sky is blue", "rejected": "the sky is green"},
            {"chosen": "a b\nc d", "rejected": "a b\ncd e"},
        ]
    )
    for name, w in told.weights_.items():
        np.testing.assert_array_equal(again.weights_[name], w, err_msg=name)


def test_conversations_part_at_the_first_message_that_differs():
    asked = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "sky?"}]
    blue, green = ({"role": "assistant", "content": c} for c in ("blue", "green"))
    told = {"chosen": [*asked, blue], "rejected": [*asked, green]}
    expected = [(asked, [blue], [green])]
    assert with_prompts([told], "X") == expected
    assert with_prompts([{"prompt": "sky?", **told}], "X") == expected
    given = {"prompt": asked, "chosen": [blue], "rejected": [green]}
    assert with_prompts([given], "X") == [given]
    longer = {"chosen": [*asked, blue], "rejected": [*asked, blue, asked[1], green]}
    assert with_prompts([longer], "X")[0][0] == asked  # each side keeps a message


BAD = {
    "row 1: .* do not begin alike; give a prompt": [PAIRS[0], {"chosen": "yes", "rejected": "no"}],
    "row 0: .* not two texts": [{"chosen": [1, 2], "rejected": [1, 3]}],
    "row 1: chosen and rejected are equal": [PAIRS[0], ("a", "b", "b")],
    "row 1: the completion is empty": [PAIRS[0], ("a", "b", "")],
    "row 1: prompt and completion have 72": [PAIRS[0], ("a", "b", "c" * 70)],
    "prompt 1 has 70 tokens": [PAIRS[0], ("a" * 70, "b", "c")],
    "row 1 is .*must be a dict or tuple": [PAIRS[0], ("a", "b")],
    "row 1 lacks 'rejected'": [PAIRS[0], {"prompt": "a", "chosen": "b"}],
    "X must be a list": "text",
}


@pytest.mark.parametrize("says", BAD)
def test_bad_pairs_are_named(model, says):
    with pytest.raises(ValueError, match=says):
        DPO(model).fit(BAD[says])


def test_prompts_and_completions_are_counted(model):
    tuner = DPO(model, max_epochs=1, random_state=0).fit(PAIRS)
    with pytest.raises(ValueError, match="2 prompts and 1 completions"):
        tuner.rewards(["a", "b"], ["c"])
