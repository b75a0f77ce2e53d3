"""The reward model: Bradley and Terry's likelihood, margins, and what it carries over."""

import numpy as np
import pytest
import torch
from sklearn.frozen import FrozenEstimator

import panlearn
from panlearn.alignment import RewardModel
from panlearn.alignment._policy import untrained
from panlearn.alignment.reward_model import bradley_terry_losses

PAIRS = [("a", "yes", "no"), ("b", "yes", "no"), ("a longer one", "yes", "perhaps")]


@pytest.fixture(scope="module")
def model():
    return untrained(np.random.default_rng(0))


def test_the_loss_depends_on_the_difference_less_the_margin():
    rewards = torch.tensor([[1.0, 0.5], [101.0, 100.5], [0.0, 0.0]], dtype=torch.float64)
    found = bradley_terry_losses(rewards, torch.tensor([0.25, 0.25, 0.0]))
    np.testing.assert_allclose(found, [np.log1p(np.exp(-0.25))] * 2 + [np.log(2)], rtol=1e-12)


def test_a_reward_is_linear_in_the_last_token_of_the_text(model):
    reward = RewardModel(model, learning_rate=1e-3, max_epochs=2, random_state=0).fit(PAIRS)
    prompts, completions = ["a", "b", "c"], ["yes", "a longer answer", "?"]
    found = reward.rewards(prompts, completions)
    module = reward.module_
    for prompt, completion, value in zip(prompts, completions, found, strict=True):
        ids = [*model.tokenizer_.encode(prompt + completion), model.end_token_]
        with torch.no_grad():
            expected = module.reward.weight[0] @ module.decoder.states(torch.tensor([ids]))[0, -1]
        assert value == pytest.approx(float(expected), abs=1e-6)


def test_it_learns_and_carries_over_and_is_saved(model, tmp_path):
    reward = RewardModel(
        FrozenEstimator(model), learning_rate=3e-3, max_epochs=15, random_state=0
    ).fit(PAIRS)
    assert reward.score(PAIRS) == 1.0
    assert reward.score([(p, worse, better) for p, better, worse in PAIRS]) == 0.0
    good, bad = reward.rewards(["c", "c"], ["yes", "no"])
    assert good > bad
    assert reward.start_.weights_ == {}
    assert model.weights_
    reward.set_params(model=None)
    panlearn.save(reward, tmp_path / "reward")
    again = panlearn.load(tmp_path / "reward")
    np.testing.assert_array_equal(again.decision_function(PAIRS), reward.decision_function(PAIRS))


def test_margins_pull_the_difference_where_their_balance_is(model):
    """Both orders of a pair, with margins m and n: the best difference is (m - n) / 2."""
    pairs = [("a", "yes", "no"), ("a", "no", "yes")]
    how = {"learning_rate": 1e-2, "schedule": "cosine", "max_epochs": 100, "random_state": 0}
    reward = RewardModel(model, **how).fit(pairs, [1.5, -0.5])
    np.testing.assert_allclose(reward.decision_function(pairs), [1.0, -1.0], atol=2e-2)


def test_a_centre_adds_the_squared_sum_of_the_rewards(model):
    how = {"learning_rate": 1e-8, "max_epochs": 1, "random_state": 0}
    reward = RewardModel(model, center_rewards_coefficient=100.0, **how).fit(PAIRS)
    found = np.array([reward.rewards([p, p], pair) for p, *pair in PAIRS])
    expected = np.log1p(np.exp(found[:, 1] - found[:, 0])) + 100 * found.sum(1) ** 2
    assert reward.history_["loss"][0] == pytest.approx(expected.mean(), rel=1e-3)
    assert expected.mean() > 1.0


def test_bad_margins_are_named(model):
    with pytest.raises(ValueError, match="row 1: the margin is nan"):
        RewardModel(model).fit(PAIRS, [0.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="3 pairs and 2 margins"):
        RewardModel(model).fit(PAIRS, [0.0, 1.0])
    with pytest.raises(ValueError, match="row 2: chosen and rejected are equal"):
        RewardModel(model).fit([*PAIRS[:2], ("a", "b", "b")])
