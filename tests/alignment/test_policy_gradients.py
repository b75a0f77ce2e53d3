"""Advantages, clips, estimates of KL and losses of policies, against brute force."""

import numpy as np
import pytest
import torch

from panlearn.alignment._policy_gradients import (
    averaged,
    clipped_losses,
    generalised_advantages,
    group_advantages,
    group_losses,
    k1,
    k2,
    k3,
    value_losses,
)


def draw(rng, *shape):
    return torch.from_numpy(rng.normal(size=shape))


def test_advantages_of_a_group_by_hand():
    rewards = torch.tensor([[1.0, 0, 0, 1]], dtype=torch.float64)
    population = group_advantages(rewards, "population")[0]
    torch.testing.assert_close(
        population, torch.tensor([1.0, -1, -1, 1]).double(), rtol=0, atol=2.1e-4
    )
    sample = group_advantages(rewards, "sample")[0]
    torch.testing.assert_close(sample.abs(), torch.full((4,), 0.866025).double(), rtol=0, atol=2e-4)
    none = group_advantages(rewards, "none")[0]
    torch.testing.assert_close(none, torch.tensor([0.5, -0.5, -0.5, 0.5]).double())


def test_a_group_of_two_is_one_deviation_apart():
    found = group_advantages(torch.tensor([[1.0, 3.0]]), "sample")
    half = 1 / (2**0.5 + 1e-4)  # the deviation with one degree of freedom is the root of two
    torch.testing.assert_close(found, torch.tensor([[-half, half]]))


@pytest.mark.parametrize("deviation", ["sample", "population", "none"])
def test_equal_rewards_and_groups_of_one_have_advantages_of_zero(deviation):
    assert not group_advantages(torch.full((3, 4), 7.0), deviation).any()
    assert not group_advantages(torch.tensor([[1.0], [2.0]]), deviation).any()


def test_advantages_agree_with_numpy(rng):
    rewards = rng.normal(size=(5, 6))
    for deviation, ddof in (("sample", 1), ("population", 0)):
        expected = rewards - rewards.mean(1, keepdims=True)
        expected /= rewards.std(1, ddof=ddof, keepdims=True) + 1e-4
        found = group_advantages(torch.from_numpy(rewards), deviation)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("advantage", [2.0, -3.0, 0.0])
def test_the_clip_stops_the_gradient_on_the_side_that_improves(advantage):
    low, high = 0.2, 0.3
    for value in (0.5, 0.79, 0.81, 1.0, 1.29, 1.31, 2.0):
        ratio = torch.tensor(value, dtype=torch.float64, requires_grad=True)
        loss = clipped_losses(ratio, torch.tensor(advantage).double(), low, high)
        bound = min(value, 1 + high) if advantage >= 0 else max(value, 1 - low)
        assert loss.item() == pytest.approx(-bound * advantage, abs=1e-12)
        loss.backward()
        beyond = value > 1 + high if advantage >= 0 else value < 1 - low
        assert ratio.grad.item() == (0.0 if beyond else pytest.approx(-advantage))


def test_estimates_of_the_divergence_have_its_mean(rng):
    policy, reference = (draw(rng, 7).log_softmax(0) for _ in range(2))
    exact = (policy.exp() * (policy - reference)).sum()
    for estimate in (k1, k3):
        mean = (policy.exp() * estimate(policy, reference)).sum()
        torch.testing.assert_close(mean, exact)
    assert (k3(policy, reference) >= 0).all()
    assert not k3(policy, policy).any()
    near = (policy + 1e-4 * draw(rng, 7)).log_softmax(0)
    exact = (policy.exp() * (policy - near)).sum()
    assert ((policy.exp() * k2(policy, near)).sum() / exact).item() == pytest.approx(1, abs=1e-2)


@pytest.mark.parametrize(("kl", "forward"), [("unbiased", False), ("k3", True)])
def test_whose_gradient_the_penalty_has(rng, kl, forward):
    """Times the ratio that of KL(policy, reference); as it is that of KL(reference, policy)."""
    scores, reference = draw(rng, 6).requires_grad_(), draw(rng, 6).log_softmax(0)
    policy = scores.log_softmax(0)
    divergence = (policy.exp() * (policy - reference)).sum()
    if forward:
        divergence = (reference.exp() * (reference - policy)).sum()
    (expected,) = torch.autograd.grad(divergence, scores)
    policy = scores.log_softmax(0)
    losses = group_losses(
        policy[:, None],
        policy[:, None].detach(),
        reference[:, None],
        torch.zeros(6, dtype=torch.float64),
        low=0.2,
        high=0.2,
        beta=1.0,
        kl=kl,
    )
    (found,) = torch.autograd.grad((policy.exp().detach() * losses[:, 0]).sum(), scores)
    torch.testing.assert_close(found, expected)


def test_the_loss_of_tokens_by_its_formula(rng):
    new, old, reference, advantages = (
        draw(rng, 3, 4),
        draw(rng, 3, 4),
        draw(rng, 3, 4),
        draw(rng, 3),
    )
    found = group_losses(new, old, reference, advantages, low=0.1, high=0.3, beta=0.04, kl="k3")
    for i in range(3):
        for t in range(4):
            p, q, r = (float(table[i, t]) for table in (new, old, reference))
            ratio, gain = np.exp(p - q), float(advantages[i])
            surrogate = min(ratio * gain, np.clip(ratio, 0.9, 1.3) * gain)
            expected = -surrogate + 0.04 * (np.exp(r - p) - (r - p) - 1)
            assert found[i, t].item() == pytest.approx(expected, abs=1e-12)
    free = group_losses(new, old, None, advantages, low=0.1, high=0.3, beta=0.04, kl="k3")
    assert not torch.equal(free, found)


def test_how_tokens_are_averaged(rng):
    losses = draw(rng, 3, 5)
    lengths = [2, 5, 3]
    there = torch.arange(5) < torch.tensor(lengths)[:, None]
    rows = [losses[i, :n].numpy() for i, n in enumerate(lengths)]
    expected = {
        "grpo": np.mean([row.mean() for row in rows]),
        "dapo": np.concatenate(rows).mean(),
        "dr_grpo": np.mean([row.sum() / 8 for row in rows]),
    }
    for average, value in expected.items():
        found, weights = averaged(losses, there, average, 8)
        assert ((found * weights).sum() / weights.sum()).item() == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 0.7), (1.0, 1.0), (0.9, 0.0)])
def test_generalised_advantages_are_sums_of_surprises(rng, gamma, lam):
    rewards, values = draw(rng, 3, 6), draw(rng, 3, 6)
    lengths = [6, 1, 4]
    there = torch.arange(6) < torch.tensor(lengths)[:, None]
    found = generalised_advantages(rewards * there, values, there, gamma, lam)
    for i, n in enumerate(lengths):
        r, v = rewards[i, :n].tolist(), [*values[i, :n].tolist(), 0.0]
        for t in range(n):
            expected = sum(
                (gamma * lam) ** (k - t) * (r[k] + gamma * v[k + 1] - v[k]) for k in range(t, n)
            )
            assert found[i, t].item() == pytest.approx(expected, abs=1e-12)
        assert not found[i, n:].any()
        if lam == 1:  # all that is still to come, without what was expected
            total = sum(gamma**k * r[k] for k in range(n)) - v[0]
            assert found[i, 0].item() == pytest.approx(total, abs=1e-12)


def test_completions_may_begin_at_any_place(rng):
    """Padding before and after the tokens changes nothing."""
    rewards, values = draw(rng, 2, 4), draw(rng, 2, 4)
    whole = generalised_advantages(rewards, values, torch.ones(2, 4, dtype=torch.bool), 0.9, 0.8)
    pad = lambda t: torch.nn.functional.pad(t, (3, 2))  # noqa: E731
    there = pad(torch.ones(2, 4)).bool()
    moved = generalised_advantages(pad(rewards), pad(values) + 5 * ~there, there, 0.9, 0.8)
    torch.testing.assert_close(moved, pad(whole))


def test_losses_of_values_by_their_formula(rng):
    new, old, returns = draw(rng, 20), draw(rng, 20), draw(rng, 20)
    found = value_losses(new, old, returns, 0.2)
    for v, o, r, loss in zip(*(t.tolist() for t in (new, old, returns, found)), strict=True):
        near = min(max(v, o - 0.2), o + 0.2)
        assert loss == pytest.approx(0.5 * max((v - r) ** 2, (near - r) ** 2), abs=1e-12)
    torch.testing.assert_close(value_losses(new, old, returns, None), (new - returns) ** 2 / 2)
