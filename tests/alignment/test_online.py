"""Policies that learn from rewards of what they draw: rollouts, GRPO and PPO."""

import copy
import os

import numpy as np
import pytest
import torch

import panlearn
from panlearn.alignment import GRPO, PPO, distill, rewards, supervised_finetune
from panlearn.alignment._games import critic_of, expected, log_probabilities, token_rewards
from panlearn.alignment._prompts import read_prompts
from panlearn.alignment._rollouts import roll_out
from panlearn.core.errors import DataError
from panlearn.transformer import GPT, GPTConfig

SEEDS = torch.arange(1, 13).view(3, 4)


@pytest.fixture(scope="module")
def model():
    """A decoder that knows a few letters, and that texts end."""
    texts = ["abc", "bca", "cab", "aab"] * 4
    return GPT(GPTConfig(2, 16, 2, 24), learning_rate=1e-2, max_epochs=12, random_state=0).fit(
        texts
    )


@pytest.fixture(scope="module")
def arms():
    """A decoder of five tokens that knows nothing: one token is one answer."""
    tokens = np.array([0, 1, 2, 3, 4] * 8)
    return GPT(GPTConfig(1, 8, 1, 2), max_epochs=1, learning_rate=1e-2, random_state=1).fit(tokens)


@pytest.fixture(scope="module")
def digits():
    """A decoder of five tokens, the last of which ends a text."""
    tokens = np.array([0, 1, 2, 3, 4] * 8)
    model = GPT(GPTConfig(1, 8, 1, 9), max_epochs=1, random_state=1).fit(tokens)
    model.end_tokens_ = (4,)
    return model


def count_a(prompts, completions, answers):
    return [text.count("a") for text in completions]


def drawn(model, prompts, seeds=SEEDS, max_tokens=8):
    tokens = [answer.prompt for answer in model._answers(prompts, ())]
    return roll_out(model, model.module_, tokens, seeds, max_tokens=max_tokens)


def test_rollouts_agree_with_a_fresh_pass(model):
    found = drawn(model, ["a", "abcabcab", "bc"])
    assert {len(c.tokens) for c in found.completions} != {8}  # some end before
    fresh = log_probabilities(model.module_, found).detach()
    torch.testing.assert_close(found.log_probs, fresh, rtol=0, atol=1e-5)
    for prompt, completion in zip(found.prompts, found.completions, strict=True):
        logits = model.module_(torch.tensor([[*prompt, *completion.tokens]]))[0].log_softmax(-1)
        places = len(prompt) - 1 + np.arange(len(completion.tokens))
        alone = logits[places, completion.tokens].detach().numpy()
        np.testing.assert_allclose(completion.log_probs, alone, rtol=0, atol=1e-4)


def test_rollouts_are_drawn_from_the_policy(model):
    """The share of each first letter is the probability that the model gives it."""
    seeds = torch.arange(4000).view(1, 4000)
    found = drawn(model, ["ab"], seeds, max_tokens=1)
    (prompt,) = {tuple(p) for p in map(tuple, found.prompts)}
    law = model.module_(torch.tensor([prompt]))[0, -1].softmax(-1).detach().numpy()
    counts = np.bincount([c.tokens[0] for c in found.completions], minlength=len(law))
    error = np.abs(counts / 4000 - law)
    assert (error < 4.5 * np.sqrt(law * (1 - law) / 4000) + 1e-3).all()


def test_a_completion_depends_on_its_seed_alone(model):
    together = drawn(model, ["a", "abcabcab", "bc"])
    alone = drawn(model, ["abcabcab"], SEEDS[1:2])
    for one, other in zip(together.completions[4:8], alone.completions, strict=True):
        np.testing.assert_array_equal(one.tokens, other.tokens)
    assert len({tuple(c.tokens) for c in together.completions[:4]}) > 1


def test_completions_end_at_the_end_token(model):
    found = drawn(model, ["a"] * 3)
    for completion in found.completions:
        last = completion.tokens[-1] == model.end_token_
        assert completion.ended == last
        assert model.end_token_ not in completion.tokens[:-1]
        assert "\0" not in completion.text
        assert last or len(completion.tokens) == 8


def test_the_first_move_has_ratios_of_one_and_a_loss_of_zero(model):
    tuner = GRPO(model, count_a, max_tokens=6, batch_size=2, max_steps=1, random_state=0)
    found = tuner.fit(["a", "bc"]).history_
    assert found["ratio"] == [1.0]
    assert found["clipped"] == [0.0]
    assert found["loss"][0] == pytest.approx(0, abs=1e-6)
    ppo = PPO(model, count_a, max_tokens=6, batch_size=2, max_steps=1, num_ppo_epochs=1)
    found = ppo.fit(["a", "bc"]).history_
    assert found["ratio"] == [1.0]
    assert found["policy_loss"][0] == pytest.approx(0, abs=1e-6)  # whitened advantages
    assert found["kl"] == [pytest.approx(0, abs=1e-6)]


def test_later_moves_leave_the_ratio_of_one(model):
    tuner = GRPO(
        *(model, count_a), max_tokens=6, max_steps=1, num_iterations=3, learning_rate=0.01,
        random_state=0,
    )  # fmt: skip
    found = tuner.fit(["a", "bc"]).history_
    assert found["ratio"] != [1.0]
    assert found["loss"][0] < -1e-3  # the surrogate has risen


def test_a_step_is_the_policy_gradient(digits):
    """With ratios of one: the mean over completions of A grad log pi, by hand."""
    seen = {}

    def spy(prompts, completions, answers):
        seen.update(prompts=prompts, completions=completions)
        return [ids.count(1) for ids in completions]

    tuner = GRPO(
        *(digits, spy),
        max_tokens=6,
        batch_size=2,
        max_steps=1,
        optimizer="sgd",
        learning_rate=1.0,
        clip_norm=None,
        deviation="none",
        loss_type="dr_grpo",
        random_state=0,
    ).fit([[0], [1, 2]])
    assert len({len(ids) for ids in seen["completions"]}) > 1
    module = copy.deepcopy(digits.module_).requires_grad_(True)
    gains = np.array([ids.count(1) for ids in seen["completions"]], dtype=float).reshape(2, -1)
    gains = (gains - gains.mean(1, keepdims=True)).ravel()
    total = 0.0
    for before, ids, gain in zip(seen["prompts"], seen["completions"], gains, strict=True):
        logits = module(torch.tensor([before + ids]))[0].log_softmax(-1)
        total = total + gain * logits[range(len(before) - 1, len(before + ids) - 1), ids].sum()
    (total / len(gains) / 6).backward()
    for name, parameter in module.named_parameters():
        moved = tuner.weights_[name] - digits.weights_[name]
        np.testing.assert_allclose(moved, parameter.grad.numpy(), rtol=0, atol=2e-6, err_msg=name)


GAMES = {
    "grpo": lambda model, **more: GRPO(
        *(model, [count_a, rewards.Length(6, 3)]),
        **dict(num_iterations=2, beta=0.05, num_generations=3, max_tokens=5, **more),
    ),
    "ppo": lambda model, **more: PPO(
        *(model, count_a), **dict(num_ppo_epochs=2, max_tokens=5, **more)
    ),
}
PROMPTS = ["a", "bc", "abc", "c", "ab"]


@pytest.mark.parametrize("name", GAMES)
def test_a_run_that_is_cut_short_and_resumed_ends_with_the_same_bits(model, name, tmp_path):
    how = dict(batch_size=2, max_epochs=2, learning_rate=0.01, random_state=3)
    whole = GAMES[name](model, **how).fit(PROMPTS)
    for stop in (1, 4, None):
        saved = dict(checkpoint=tmp_path, resume=stop != 1, max_steps=stop)
        tuner = GAMES[name](model, **how, **saved).fit(PROMPTS)
    assert tuner.history_ == whole.history_
    for key, value in whole.weights_.items():
        np.testing.assert_array_equal(tuner.weights_[key], value)
    with pytest.raises(ValueError, match="other data"):
        GAMES[name](model, **how, checkpoint=tmp_path, resume=True).fit(PROMPTS, list("abcde"))


@pytest.mark.parametrize("name", GAMES)
def test_pieces_make_the_same_moves(model, name):
    how = dict(batch_size=5, max_epochs=2, learning_rate=0.01, random_state=3, optimizer="sgd")
    whole = GAMES[name](model, **how).fit(PROMPTS)
    cut = GAMES[name](model, **how, accumulate=2).fit(PROMPTS)
    for key, value in whole.weights_.items():
        np.testing.assert_allclose(cut.weights_[key], value, rtol=0, atol=1e-6)
    assert cut.history_["reward"] == pytest.approx(whole.history_["reward"])


@pytest.mark.parametrize("name", GAMES)
def test_tuning_raises_the_reward_and_leaves_the_model_alone(model, name):
    before = {k: v.copy() for k, v in model.weights_.items()}
    tuner = GAMES[name](model, max_steps=25, learning_rate=5e-3, random_state=0)
    tuner.fit(PROMPTS * 3)
    found = tuner.history_["reward"]
    assert np.mean(found[-3:]) > np.mean(found[:3]) + 0.3
    for key, value in model.weights_.items():
        np.testing.assert_array_equal(value, before[key])
    assert tuner.model_.tokenizer_ is model.tokenizer_
    texts = tuner.model_.generate(PROMPTS, max_tokens=5)
    worth = count_a(None, texts, None)
    if name == "grpo":
        worth = np.add(worth, rewards.Length(6, 3)(PROMPTS, texts))
    assert tuner.score(PROMPTS) == np.mean(worth)


def law_of(model):
    """Probabilities of the tokens after token 0."""
    return model.module_(torch.tensor([[0]]))[0, -1].softmax(-1).detach().numpy().astype(float)


GAINS = np.array([0.0, 1.0, 0.4, -0.5, 0.7])


def paid(prompts, completions, answers):
    return [GAINS[token] for (token,) in completions]


BANDIT = dict(
    max_tokens=1, max_steps=60, learning_rate=0.1, schedule="linear", ema_decay=0.9,
    clip_norm=None, random_state=0,
)  # fmt: skip


@pytest.mark.parametrize("kl", ["unbiased", "k3"])
def test_a_group_policy_reaches_the_closed_form_optimum(arms, kl):
    """Of pi_ref e^(r / beta); with the estimate as it is, of E r - beta KL(pi_ref, pi)."""
    n, beta = 64, 0.5
    how = dict(deviation="none", beta=beta, kl=kl, num_generations=n, batch_size=4)
    tuner = GRPO(arms, paid, **how, **BANDIT).fit([[0]] * 4)
    reference = law_of(arms)
    beta *= n / (n - 1)  # a completion is part of the mean that it is compared with
    best = reference * np.exp(GAINS / beta)
    best /= best.sum()
    if kl == "k3":  # pi = beta pi_ref / (level - r), whose level makes the sum one
        low, high = GAINS.max() + 1e-9, GAINS.max() + 9.0
        for _ in range(60):
            level = (low + high) / 2
            best = beta * reference / (level - GAINS)
            low, high = (level, high) if best.sum() > 1 else (low, level)
    np.testing.assert_allclose(law_of(tuner.model_), best, rtol=0, atol=0.03)
    assert np.abs(reference - best).max() > 0.15


def test_a_proximal_policy_reaches_the_closed_form_optimum(arms):
    tuner = PPO(arms, paid, kl_coef=0.5, num_ppo_epochs=1, batch_size=256, **BANDIT)
    tuner.fit([[0]] * 256)
    best = law_of(arms) * np.exp(GAINS / 0.5)
    np.testing.assert_allclose(law_of(tuner.model_), best / best.sum(), rtol=0, atol=0.03)


def test_rewards_of_tokens_by_hand():
    there = torch.tensor([[False, True, True, False], [True, False, False, False]])
    divergence = torch.tensor([[9.0, 1, 2, 9], [3, 9, 9, 9]])
    found = token_rewards(torch.tensor([5.0, 7.0]), divergence, there, 0.1)
    torch.testing.assert_close(found, torch.tensor([[0, -0.1, 4.8, 0], [6.7, 0, 0, 0]]))


def test_nothing_is_expected_at_first(model):
    critic = critic_of(model.module_)
    found = drawn(model, ["a", "b", "c"])
    assert not expected(critic, found.tokens[0]).any()
    assert set(model.weights_) < set(critic.state_dict())


def test_what_is_expected_is_saved_and_gone_on_from(model, tmp_path):
    """The network of values: by hand from its weights, the same bits from a file, and further."""
    how = dict(max_tokens=5, max_steps=12, learning_rate=1e-9, batch_size=5, random_state=0)
    how |= dict(value_learning_rate=1e-2)  # the policy stays, and what it is worth is learned
    reward = rewards.Length(5, 5)
    tuner = PPO(model, reward, **how, kl_coef=0.0).fit(PROMPTS)
    said = ["aab", "b", "ca", "abc", "c"]
    found = tuner.values(PROMPTS, said)
    assert [len(row) for row in found] == [4, 2, 3, 4, 2]  # with the token that ends a text
    critic = critic_of(model.module_)
    critic.load_state_dict({k: torch.tensor(v) for k, v in tuner.critic_weights_.items()})
    (prompt,) = read_prompts(model, ["bc"])
    ids = torch.tensor([[*prompt, *model.tokenizer_.encode("b"), model.end_token_]])
    with torch.no_grad():
        alone = critic.value(critic.states(ids))[0, len(prompt) - 1 : -1, 0]
    np.testing.assert_allclose(found[1], alone, rtol=0, atol=1e-5)
    worth = np.mean(tuner.history_["reward"])
    assert np.mean([row[0] for row in found]) == pytest.approx(worth, abs=0.2)
    assert worth < -0.4  # and nothing was expected at first
    panlearn.save(tuner, tmp_path / "ppo")
    loaded = panlearn.load(tmp_path / "ppo")
    for one, other in zip(found, loaded.values(PROMPTS, said), strict=True):
        np.testing.assert_array_equal(one, other)
    more = dict(max_steps=1, warm_start=True, num_ppo_epochs=1, value_learning_rate=1e-9)
    again = loaded.set_params(**more).fit(PROMPTS)
    fresh = PPO(tuner.model_, reward, **how | more, kl_coef=0.0).fit(PROMPTS)
    assert again.history_["reward"] == fresh.history_["reward"]
    assert again.history_["value_loss"][0] < fresh.history_["value_loss"][0] / 2
    for name, value in tuner.critic_weights_.items():
        np.testing.assert_allclose(again.critic_weights_[name], value, rtol=0, atol=1e-6)


def test_texts_go_on_being_learned(model):
    """A reward of nothing and texts alone: the policy learns the texts."""

    def nothing(prompts, completions, answers):
        return [0.0] * len(completions)

    how = dict(max_tokens=2, max_steps=30, learning_rate=5e-3, batch_size=4, random_state=0)
    tuner = PPO(model, nothing, ptx_coef=1.0, kl_coef=0.0, **how).fit(["a"] * 4, texts=["ccc"] * 9)
    assert tuner.history_["pretraining_loss"][-1] < tuner.history_["pretraining_loss"][0] / 2
    assert tuner.model_.perplexity(["ccc"]) < model.perplexity(["ccc"]) / 2
    with pytest.raises(ValueError, match=r"ptx_coef=0\.0 and texts go together"):
        PPO(model, nothing).fit(["a"], texts=["c"])
    with pytest.raises(ValueError, match=r"ptx_coef=1\.0 and texts go together"):
        PPO(model, nothing, ptx_coef=1.0).fit(["a"])


def test_a_completion_that_does_not_end_may_cost(model):
    how = dict(max_tokens=1, max_steps=1, batch_size=4, random_state=0, num_ppo_epochs=1)
    free, dear = (
        PPO(model, count_a, missing_eos_penalty=p, **how).fit(["a"] * 4) for p in (0.0, 5.0)
    )
    assert free.history_["reward"] == dear.history_["reward"]  # the reward is told as it is
    assert dear.history_["value_loss"][0] > free.history_["value_loss"][0] + 1


def test_bad_data_are_named(model):
    def broken(prompts, completions, answers):
        return [float("nan")] * len(completions)

    with pytest.raises(DataError, match="the reward broken of completion 0 is nan"):
        GRPO(model, broken, max_tokens=2).fit(["a"])
    with pytest.raises(ValueError, match=r"prompt 1 has 20 tokens.*lower max_tokens to 5"):
        GRPO(model, count_a, max_tokens=9).fit(["a", "abcab" * 4])
    with pytest.raises(ValueError, match="2 prompts and 1 answers"):
        GRPO(model, max_tokens=9).fit(["a", "b"], ["c"])
    with pytest.raises(DataError, match="ExactAnswer compares with answers, and that of row 0"):
        GRPO(model, max_tokens=2).fit(["a"])
    with pytest.raises(ValueError, match="num_generations=1"):
        GRPO(model, count_a, max_tokens=2, num_generations=1).fit(["a"])
    with pytest.raises(ValueError, match="strategy='fsdp' cannot draw completions"):
        GRPO(model, count_a, strategy="fsdp").fit(["a"])


def tune_all(out):
    """For tests/neural/test_processes.py, where two processes do what one does."""
    model = GPT(GPTConfig(1, 8, 1, 9), max_steps=1, random_state=1, optimizer="sgd")
    model.fit(np.array([0, 1, 2, 3, 4] * 8))
    model.end_tokens_ = (4,)

    def ones(prompts, completions, answers):
        return [ids.count(1) for ids in completions]

    how = dict(max_epochs=2, optimizer="sgd", learning_rate=0.1, random_state=0)
    # five prompts: the last batch leaves a process without a row
    rollouts = dict(max_tokens=5, batch_size=4, **how)
    found = {}
    for tuner in (GRPO(model, ones, beta=0.1, **rollouts), PPO(model, ones, **rollouts)):
        tuner.fit([[0], [1, 2], [3], [0, 1], [2]])
        found[type(tuner).__name__] = {k: torch.tensor(v) for k, v in tuner.weights_.items()}
        found[type(tuner).__name__]["reward"] = torch.tensor(tuner.history_["reward"])
    how |= dict(batch_size=3)
    rows = [([0], [1, 2]), ([1], [3, 3, 4]), ([2, 0], [4]), ([3], [0, 1])]
    for name, tuned in {
        "sft": supervised_finetune(model, rows, **how),
        "packed": supervised_finetune(model, rows, packing=True, **how),
        "distill": distill(model, tuner.model_, *map(list, zip(*rows, strict=True)), **how),
    }.items():
        found[name] = {k: torch.tensor(v) for k, v in tuned.weights_.items()}
    torch.save(found, f"{out}{os.environ.get('RANK', '')}")
