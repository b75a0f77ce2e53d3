"""Diffusion: closed forms on Gaussian data, samplers, guidance, tables and images."""

import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch.distributions import Normal, kl_divergence

from panlearn.generative import DiffusionModel
from panlearn.generative._diffusion import (
    NoiseSchedule,
    bound,
    denoising_losses,
    variational_losses,
)
from panlearn.generative._diffusion import reverse as states_back
from panlearn.neural._draws import Draws, Share


def draws(n, seed=0):
    return Draws(Share(0, n, n), seed, 0, torch.device("cpu"))


def reverse(*given, **options):
    """Where the way back ends."""
    return list(states_back(*given, **options))[-1]


def best(schedule, variance):
    """What the best network says of noise in data N(0, variance)."""

    def predict(x, t):
        left = schedule.at(t, x)
        return (1 - left).sqrt() * x / (left * variance + 1 - left), None

    return predict


@pytest.mark.parametrize("kind", ["linear", "cosine"])
def test_noise_step_by_step_is_noise_at_once(kind):
    schedule = NoiseSchedule(kind, 300)
    mean, variance = 1.0, 0.0
    for beta, left in zip(schedule.betas.tolist(), schedule.left.tolist(), strict=True):
        mean, variance = mean * np.sqrt(1 - beta), variance * (1 - beta) + beta
        assert mean == pytest.approx(np.sqrt(left), rel=1e-12)
        assert variance == pytest.approx(1 - left, rel=1e-12)
    assert schedule.left[-1] < 1e-3


def test_schedules_are_those_of_the_papers():
    """Nichol and Dhariwal's cosine; Ho, Jain and Abbeel's line, steeper where it is shorter."""
    curve = [math.cos((t / 100 + 0.008) / 1.008 * math.pi / 2) ** 2 for t in range(100)]
    left = NoiseSchedule("cosine", 100).left.numpy()
    np.testing.assert_allclose(left[:-1], np.array(curve[1:]) / curve[0], rtol=1e-10)
    assert left[-1] == pytest.approx(left[-2] * 0.001)  # of the last step more would be lost
    betas = NoiseSchedule("linear", 1000).betas
    np.testing.assert_allclose(betas[[0, 500, -1]], [1e-4, 1e-4 + 0.0199 * 500 / 999, 0.02])
    np.testing.assert_allclose(NoiseSchedule("linear", 250).betas[[0, -1]], [4e-4, 0.08])


def test_the_posterior_is_that_of_bayes(rng):
    schedule = NoiseSchedule("cosine", 50)
    x_t, x_0 = 0.7, -0.4
    for t, before in [(30, 29), (30, 12), (1, 0)]:
        now, then = schedule.left[t], schedule.left[before]
        alpha = now / then
        # p(x_s | x_0) p(x_t | x_s) in x_s
        precision = 1 / (1 - then) + alpha / (1 - alpha)
        mean = (then.sqrt() * x_0 / (1 - then) + alpha.sqrt() * x_t / (1 - alpha)) / precision
        row = torch.tensor([[x_t]], dtype=torch.float64)
        found = schedule.posterior(row, torch.full_like(row, x_0), torch.tensor([t]),
                                   torch.tensor([before]))  # fmt: skip
        assert found[0].item() == pytest.approx(mean.item(), rel=1e-10)
        assert found[1].item() == pytest.approx(1 / precision.item(), rel=1e-10)


def test_all_predictions_stand_for_one_origin(rng):
    schedule = NoiseSchedule("linear", 100)
    x, noise = (torch.as_tensor(rng.normal(size=(5, 3))) for _ in range(2))
    t = torch.tensor([0, 3, 50, 80, 99])
    noisy = schedule.noised(x, noise, t)
    for prediction in ("noise", "sample", "velocity"):
        said = schedule.target(prediction, x, noise, t)
        found = schedule.origin(prediction, noisy, said, t)
        np.testing.assert_allclose(found, x, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "rtol"),
    [
        ({"variance": "large"}, 0.05),
        ({"variance": "small"}, 0.05),
        ({"sampler": "ddim"}, 0.05),
        ({"sampler": "ddim", "n_steps": 50}, 0.08),
        ({"sampler": "ddim", "eta": 1.0}, 0.05),
    ],
)
def test_the_best_network_gives_the_data_back(options, rtol):
    schedule, n = NoiseSchedule("linear", 1000), 8000  # at the end nothing is left of the data
    for variance in (0.25, 4.0):
        start = draws(n).normal(1, dtype=torch.float64)
        x = reverse(schedule, best(schedule, variance), start, draws(n, 1), **options)
        assert x.var().item() == pytest.approx(variance, rel=rtol)
        assert abs(x.mean()) < 0.05 * variance**0.5 * 2


def test_ddim_without_noise_is_a_function_of_its_start():
    schedule = NoiseSchedule("cosine", 40)
    start = draws(6).normal(2)
    one, other = (
        reverse(schedule, best(schedule, 2.0), start, draws(6, s), sampler="ddim") for s in (1, 2)
    )
    torch.testing.assert_close(one, other)
    assert not torch.allclose(
        *(reverse(schedule, best(schedule, 2.0), start, draws(6, s)) for s in (1, 2))
    )
    with pytest.raises(ValueError, match="n_sampling_steps=41 must be from 1 to the 40"):
        schedule.path(41)
    assert schedule.path(3) == [(39, 26), (26, 12), (12, -1)]


def test_the_loss_of_the_best_network_is_known():
    r"""For data N(0, v) it is :math:`\bar\alpha v / (\bar\alpha v + 1 - \bar\alpha)`, over t."""
    schedule, variance, n = NoiseSchedule("cosine", 60), 2.5, 200_000
    predict = best(schedule, variance)
    x = variance**0.5 * draws(n, 5).normal(1, dtype=torch.float64)
    losses = denoising_losses(schedule, "noise", False, 0.0)(predict, (x,), draws(n))
    left = schedule.left
    expected = (left * variance / (left * variance + 1 - left)).mean()
    assert losses.mean().item() == pytest.approx(expected.item(), rel=0.02)


def test_a_learned_variance_lies_between_the_two_and_pays_by_divergence(rng):
    """Against PyTorch's own KL of normals, and at the first step minus a log density."""
    schedule = NoiseSchedule("cosine", 30)
    x, noise, origin = (torch.as_tensor(rng.normal(size=(4, 3))) for _ in range(3))
    share, t = torch.as_tensor(rng.uniform(size=(4, 3))), torch.tensor([0, 1, 15, 29])
    noisy = schedule.noised(x, noise, t)
    found = variational_losses(schedule, x, noisy, origin, share, t)
    left = [1.0, *schedule.left.tolist()]
    for row, step in enumerate(t.tolist()):
        beta = schedule.betas[step].item()
        small = beta * (1 - left[step]) / (1 - left[step + 1])
        low = small or schedule.betas[1].item() * (1 - left[1]) / (1 - left[2])
        variance = beta ** share[row] * min(low, beta) ** (1 - share[row])
        means = [
            (1 - beta) ** 0.5 * (1 - left[step]) / (1 - left[step + 1]) * noisy[row]
            + left[step] ** 0.5 * beta / (1 - left[step + 1]) * start[row]
            for start in (x, origin)
        ]
        model = Normal(means[1], variance.sqrt())
        if step:
            expected = kl_divergence(Normal(means[0], small**0.5), model).mean()
        else:
            expected = -model.log_prob(x[row]).mean()
        assert found[row].item() == pytest.approx(expected.item(), rel=1e-9)


def test_the_bound_teaches_a_learned_variance_alone(rng):
    schedule, n = NoiseSchedule("cosine", 20), 6
    x = torch.as_tensor(rng.normal(size=(n, 2)))
    said, raw = (torch.as_tensor(rng.normal(size=(n, 2))).requires_grad_() for _ in range(2))
    losses = {
        learned: denoising_losses(schedule, "velocity", learned, 0.0)(
            lambda x, t: (said, raw.sigmoid()), (x,), draws(n)
        )
        for learned in (False, True)
    }
    plain, _ = torch.autograd.grad(losses[False].sum(), (said, raw), allow_unused=True)
    whole, variance = torch.autograd.grad(losses[True].sum(), (said, raw))
    torch.testing.assert_close(whole, plain)
    assert variance.abs().min() > 0


@pytest.mark.parametrize("variance", ["small", "large"])
def test_the_bound_is_that_of_the_chain(variance):
    """Against the densities of chains of a few steps, one by one; and the density that they make.

    A prediction that is linear in x makes every step back a normal, and so the whole chain.
    """
    schedule, spread, n = NoiseSchedule("linear", 4), 1.7, 200_000
    predict, x = best(schedule, spread), torch.full((n, 1), 0.8, dtype=torch.float64)
    found = bound(schedule, predict, x, draws(n), variance=variance)
    steps, noise = [x], draws(n, 1)
    log_ratio, made = torch.zeros(n, dtype=torch.float64), 1.0
    for beta in schedule.betas.tolist():
        steps.append((1 - beta) ** 0.5 * steps[-1] + beta**0.5 * noise.normal(1, dtype=x.dtype))
        log_ratio -= Normal((1 - beta) ** 0.5 * steps[-2], beta**0.5).log_prob(steps[-1])[:, 0]
    log_ratio += Normal(0.0, 1.0).log_prob(steps[-1])[:, 0]
    left = [1.0, *schedule.left.tolist()]
    for t in range(3, -1, -1):
        now, then, beta = left[t + 1], left[t], schedule.betas[t].item()
        small = beta * (1 - then) / (1 - now)
        if t == 0:  # zero; that of the second step is taken
            second = schedule.betas[1].item() * (1 - left[1]) / (1 - left[2])
            small = min(second, beta)
        deviation = (small if variance == "small" else beta) ** 0.5
        slope = (1 - beta) ** 0.5 * (1 - then) / (1 - now)
        slope += then**0.5 * beta / (1 - now) * now**0.5 * spread / (now * spread + 1 - now)
        log_ratio += Normal(slope * steps[t + 1], deviation).log_prob(steps[t])[:, 0]
        made = slope**2 * made + deviation**2
    error = (found.std() + log_ratio.std()).item() / n**0.5
    assert found.mean().item() == pytest.approx(log_ratio.mean().item(), abs=4 * error)
    assert found.mean() < Normal(0.0, made**0.5).log_prob(torch.tensor(0.8))


def test_the_bound_comes_near_the_density_and_knows_units(rng):
    schedule, spread, n = NoiseSchedule("linear", 1000), 0.6, 300
    x = spread**0.5 * draws(n, 2).normal(3, dtype=torch.float64)
    found = bound(schedule, best(schedule, spread), x, draws(n), variance="large")
    exact = Normal(0.0, spread**0.5).log_prob(x).sum(1)
    assert found.mean().item() == pytest.approx(exact.mean().item(), abs=0.05)
    y = rng.integers(2, size=60)
    X = rng.normal(size=(60, 2)) + 9 * y[:, None]
    options = dict(max_epochs=20, learning_rate=5e-3, random_state=0)
    one, other = (DiffusionModel(16, 10, **options).fit(rows, y) for rows in (X, 1000 * X))
    bounds = one.elbo(X, y, random_state=1)
    assert bounds.shape == (60,)
    shift = bounds - other.elbo(1000 * X, y, random_state=1)
    np.testing.assert_allclose(shift, 2 * np.log(1000), rtol=1e-6)
    assert bounds.mean() > one.elbo(X, 1 - y, random_state=1).mean() + 0.2
    with pytest.raises(ValueError, match="fitted with y"):
        one.elbo(X)
    learned = DiffusionModel(16, 10, variance="learned", **options).fit(X)
    assert np.isfinite(learned.elbo(X, random_state=0)).all()


@pytest.mark.parametrize("prediction", ["noise", "sample", "velocity"])
def test_a_table_is_learned_whatever_is_predicted(prediction, rng):
    t = rng.normal(size=400)
    X = np.stack([1000 * t, -t + 0.3 * rng.normal(size=400) + 7], axis=1)
    model = DiffusionModel(
        (64, 64), 40, prediction=prediction, max_epochs=80, learning_rate=5e-3, random_state=0
    ).fit(X)
    drawn = model.sample(1000, random_state=0)
    np.testing.assert_allclose(drawn.mean(0) / X.std(0), X.mean(0) / X.std(0), atol=0.25)
    np.testing.assert_allclose(drawn.std(0) / X.std(0), 1, atol=0.25)
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(np.corrcoef(X.T)[0, 1], abs=0.15)


def test_samplers_and_guidance_are_chosen_after_fit(rng):
    y = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) + 4.0 * y[:, None]
    model = DiffusionModel(
        (32, 32), 30, variance="learned", max_epochs=60, learning_rate=5e-3, random_state=0
    ).fit(X, y)
    means = {}
    for name, options in {
        "ancestral": {},
        "ddim": {"sampler": "ddim", "n_sampling_steps": 10},
        "guided": {"sampler": "ddim", "n_sampling_steps": 10, "guidance": 3.0},
    }.items():
        drawn = model.set_params(**options).sample(400, random_state=0, y=1)
        means[name] = drawn.mean()
        assert drawn.shape == (400, 2)
    assert abs(means["ancestral"] - 4) < 0.8
    assert abs(means["ddim"] - 4) < 0.8
    assert means["guided"] > means["ddim"]
    mixed = model.set_params(guidance=1.0).sample(600, random_state=0)
    assert (mixed.mean(axis=1) > 2).mean() == pytest.approx(y.mean(), abs=0.1)


def test_guidance_goes_on_along_the_line_from_no_label_to_the_label(rng):
    """In one step of "ddim" a sample is linear in what the network says."""
    X, y = rng.normal(size=(40, 2)) + 100, np.array(["a", "b"] * 20)
    model = DiffusionModel(8, 6, sampler="ddim", n_sampling_steps=1, clip=False, max_epochs=3)
    model.set_params(random_state=0).fit(X, y)
    drawn = {
        (label, guidance): model.set_params(guidance=guidance).sample(5, random_state=2, y=label)
        for label in "ab"
        for guidance in (0.0, 1.0, 3.5)
    }
    np.testing.assert_array_equal(drawn["a", 0.0], drawn["b", 0.0])
    assert not np.allclose(drawn["a", 1.0], drawn["b", 1.0], rtol=0, atol=1e-3)
    for label in "ab":
        alone, given, guided = (drawn[label, guidance] for guidance in (0.0, 1.0, 3.5))
        np.testing.assert_allclose(guided, alone + 3.5 * (given - alone), rtol=1e-9)


def test_the_way_back_goes_from_noise_to_the_sample(rng):
    X, y = rng.normal(size=(40, 2)) * 5 + 100, rng.integers(2, size=40)
    model = DiffusionModel(8, 12, n_sampling_steps=5, guidance=2.0, max_epochs=1).fit(X, y)
    way = model.trajectory(600, random_state=3, y=1)
    assert way.shape == (6, 600, 2)
    np.testing.assert_array_equal(way[-1], model.sample(600, random_state=3, y=1))
    noise = (way[0] - model.mean_) / model.scale_
    np.testing.assert_allclose(noise.mean(0), 0, atol=4 / 600**0.5)
    np.testing.assert_allclose(noise.std(0), 1, atol=4 / 1200**0.5)
    images = DiffusionModel((4,), 3, max_epochs=1).fit(rng.normal(size=(6, 5, 3)))
    assert images.trajectory(2).shape == (4, 2, 5, 3)


def test_images_are_learned_by_a_u_net(rng):
    X, y = load_digits(return_X_y=True)
    X = X.reshape(-1, 8, 8)[y < 2][:96].astype(np.float32)
    y = y[y < 2][:96]
    model = DiffusionModel(
        (8, 16), 20, batch_size=32, max_epochs=30, learning_rate=5e-3, random_state=0
    ).fit(X, y)
    drawn = model.sample(40, random_state=0, y=1)
    assert drawn.shape == (40, 8, 8)
    assert drawn.dtype == np.float32
    centres = np.stack([X[y == k].mean(axis=0) for k in (0, 1)])
    away = ((drawn[:, None] - centres) ** 2).sum(axis=(2, 3))
    assert (away.argmin(axis=1) == 1).mean() > 0.7
    odd = DiffusionModel((4, 4, 4), 3, max_epochs=1).fit(rng.normal(size=(6, 2, 5, 3)))
    assert odd.sample(2).shape == (2, 2, 5, 3)


def test_bad_settings_are_refused(rng):
    X = rng.normal(size=(9, 2))
    with pytest.raises(ValueError, match=r"hidden_layer_sizes=\(\)"):
        DiffusionModel(()).fit(X)
    model = DiffusionModel(8, 5, n_sampling_steps=6, max_epochs=1).fit(X)
    with pytest.raises(ValueError, match="from 1 to the 5 of training"):
        model.sample()
