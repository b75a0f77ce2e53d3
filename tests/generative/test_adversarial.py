"""Adversarial models: divergences and their conjugates, what each move lowers, what they learn."""

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics import adjusted_rand_score
from torch import nn
from torch.nn import functional as F

from panlearn.generative import GAN, MMDGAN, InfoGAN, WassersteinGAN, divergences
from panlearn.generative._adversarial import (
    critic_losses,
    divergence_game,
    spectrally_normal,
    steepness,
    wasserstein_game,
)
from panlearn.generative.mmd_gan import squared_mmd
from panlearn.neural import train
from panlearn.neural._layers import MLP
from panlearn.neural._random import seeded

NAMES = sorted(divergences._NAMED)


@pytest.mark.parametrize("name", NAMES)
def test_the_conjugate_is_the_largest_of_s_t_minus_f(name):
    divergence = divergences.divergence(name)
    t = torch.logspace(-9, 5, 100_001, dtype=torch.float64)
    t = torch.cat([t, torch.ones(1, dtype=torch.float64)]).sort().values  # where one has a kink
    f = divergence.f(t)
    assert divergence.f(torch.ones(1, dtype=torch.float64)).abs() < 1e-15
    for s in divergence.activation(torch.linspace(-3, 3, 13, dtype=torch.float64)):
        best = (s * t - f).max()
        assert divergence.conjugate(s) == pytest.approx(float(best), abs=2e-6, rel=2e-6)
    middle = divergence.f((t[:-1] + t[1:]) / 2)
    assert (middle <= (f[:-1] + f[1:]) / 2 + 1e-8 * (1 + f[1:].abs())).all()  # convex


@pytest.mark.parametrize("name", NAMES)
def test_the_best_critic_has_the_value_of_the_divergence(name, rng):
    divergence = divergences.divergence(name)
    p, q = (torch.as_tensor(rng.dirichlet(np.ones(5))) for _ in range(2))
    ratio = (p / q).requires_grad_()
    (best,) = torch.autograd.grad(divergence.f(ratio).sum(), ratio)  # f'(p / q)
    value = (p * best - q * divergence.conjugate(best)).sum()
    assert value == pytest.approx(float(divergence.between(p, q)), abs=1e-10)
    v = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    rise = torch.optim.LBFGS([v], max_iter=200, tolerance_grad=1e-12, tolerance_change=1e-14)

    def loss():
        rise.zero_grad()
        said = divergence.activation(v)
        value = (q * divergence.conjugate(said) - p * said).sum()
        value.backward()
        return value

    rise.step(loss)
    tolerance = 1e-3 if name == "total_variation" else 1e-6  # whose best critic is at infinity
    assert -loss().item() == pytest.approx(float(value), abs=tolerance)


def test_known_divergences(rng):
    p, q = (torch.as_tensor(rng.dirichlet(np.ones(6))) for _ in range(2))
    m = (p + q) / 2
    kl = lambda a, b: float((a * (a / b).log()).sum())  # noqa: E731
    expected = {
        "kl": kl(p, q),
        "reverse_kl": kl(q, p),
        "jensen_shannon": kl(p, m) + kl(q, m),
        "pearson": float(((p - q) ** 2 / q).sum()),
        "neyman": float(((p - q) ** 2 / p).sum()),
        "hellinger": float(((p.sqrt() - q.sqrt()) ** 2).sum()),
        "total_variation": float((p - q).abs().sum() / 2),
    }
    assert sorted(expected) == NAMES
    for name, value in expected.items():
        assert divergences.divergence(name).between(p, q).item() == pytest.approx(value, rel=1e-12)
    with pytest.raises(ValueError, match="divergence='chi' is none of"):
        divergences.divergence("chi")


def test_the_critic_of_jensen_and_shannon_is_a_logistic_regression(rng):
    critic = nn.Linear(2, 1).double()
    real, fake = (torch.as_tensor(rng.normal(size=(7, 2))) for _ in range(2))
    losses = critic_losses(divergences.JensenShannon(), critic, real, fake)
    logits = critic(torch.cat([real, fake]))[:, 0]
    labels = torch.tensor([1.0] * 7 + [0.0] * 7, dtype=torch.float64)
    cross_entropy = F.binary_cross_entropy_with_logits(logits, labels, reduction="sum") / 7
    assert losses.mean().item() == pytest.approx(cross_entropy.item() - np.log(4), abs=1e-12)


@pytest.mark.parametrize("non_saturating", [True, False])
def test_the_generator_is_told_what_the_setting_says(non_saturating):
    players = {"generator": nn.Linear(1, 1), "critic": nn.Linear(1, 1)}
    with seeded(0):
        z = torch.randn(16, 1)
    game = divergence_game(divergences.JensenShannon(), lambda draws: z, 1, non_saturating)
    (_, first), (player, losses) = list(game(players, (z,), None))
    assert player is players["generator"]
    score = players["critic"](players["generator"](z))
    expected = -F.logsigmoid(score) if non_saturating else F.logsigmoid(-score) + np.log(4)
    torch.testing.assert_close(losses, expected)
    assert first.shape == (16, 1)


def test_slopes_are_penalised_away_from_one_and_weights_are_clipped():
    critic = nn.Linear(3, 1)
    points = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    for length in (1.0, 3.0):
        with torch.no_grad():
            critic.weight.copy_(length * torch.tensor([[2.0, -1.0, 2.0]]) / 3)
        torch.testing.assert_close(steepness(critic, points), torch.full((5,), (length - 1) ** 2))
    players = {"generator": nn.Linear(2, 3), "critic": nn.Linear(3, 1)}
    X = np.random.default_rng(0).normal(size=(32, 3)).astype(np.float32) + 5
    latent = lambda draws: draws.normal(2)  # noqa: E731
    game = wasserstein_game(latent, 2, None, 0.03)
    run = train(players, game, (X,), max_epochs=3, learning_rate=0.1, random_state=0)
    largest = max(p.detach().abs().max().item() for p in players["critic"].parameters())
    assert largest == pytest.approx(0.03)
    assert run.players["critic"].moves == 2 * run.players["generator"].moves
    assert "wasserstein" in run.history


def test_spectral_norms_bound_the_slope(rng):
    with seeded(0):
        critic = spectrally_normal(MLP((4, 16, 16, 1), "relu"))
    for _ in range(30):  # power iterations go on in training
        critic(torch.zeros(1, 4))
    critic.eval()
    matrices = [layer.weight for layer in critic.modules() if isinstance(layer, nn.Linear)]
    assert len(matrices) == 3
    for matrix in matrices:
        assert torch.linalg.matrix_norm(matrix, 2).item() == pytest.approx(1, abs=1e-3)
    a, b = (torch.as_tensor(rng.normal(size=(500, 4)), dtype=torch.float32) for _ in range(2))
    assert ((critic(a) - critic(b))[:, 0].abs() <= 1.01 * (a - b).norm(dim=1)).all()


def test_the_discrepancy_is_the_double_sum(rng):
    x, y, widths = rng.normal(size=(5, 2)), rng.normal(size=(4, 2)) + 1, (0.5, 2.0)
    k = lambda a, b: sum(np.exp(-((a - b) ** 2).sum() / (2 * w * w)) for w in widths)  # noqa: E731
    xx = np.mean([k(x[i], x[j]) for i in range(5) for j in range(5) if i != j])
    yy = np.mean([k(y[i], y[j]) for i in range(4) for j in range(4) if i != j])
    xy = np.mean([k(a, b) for a in x for b in y])
    found = squared_mmd(torch.as_tensor(x), torch.as_tensor(y), widths)
    assert found.item() == pytest.approx(xx + yy - 2 * xy, rel=1e-12)


GAMES = {
    **{name: (GAN, {"divergence": name}) for name in NAMES},
    # whose critic has no slope where it is sure
    "total_variation": (
        GAN,
        {"divergence": "total_variation", "spectral_norm": True, "n_critic": 3},
    ),
    "saturating": (GAN, {"non_saturating": False}),
    "clipping": (WassersteinGAN, {"constraint": "clipping", "n_critic": 2}),
    "gradient penalty": (WassersteinGAN, {"n_critic": 2}),
}


@pytest.mark.parametrize("name", GAMES)
def test_every_game_comes_near_a_skewed_law(name):
    """By the largest difference of distribution functions, 0.27 with the first weights."""
    X = 100 + 3 * np.random.default_rng(0).exponential(size=(512, 1)).astype(np.float32)
    cls, options = GAMES[name]
    settings = dict(batch_size=128, learning_rate=4e-3, schedule="linear", ema_decay=0.95)
    model = cls(2, (16,), max_epochs=60, random_state=0, **settings, **options)
    drawn = model.fit(X).sample(2000, random_state=0)
    assert stats.ks_2samp(X[:, 0], drawn[:, 0]).statistic < 0.18


def ring(n, rng):
    """Four Gaussians that lie apart, and their centres."""
    centres = 3.0 * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    return centres[rng.integers(4, size=n)] + 0.3 * rng.normal(size=(n, 2)), centres


MODELS = {
    "jensen-shannon": (GAN, {"max_epochs": 75}),
    "gradient penalty": (WassersteinGAN, {"n_critic": 3, "max_epochs": 60}),
    "mmd": (MMDGAN, {"max_epochs": 40}),
}


@pytest.mark.parametrize("name", MODELS)
def test_all_of_four_modes_are_found(name, rng):
    X, centres = ring(512, rng)
    cls, more = MODELS[name]
    settings = dict(batch_size=128, learning_rate=4e-3, schedule="linear")
    model = cls(2, (32, 32), random_state=0, ema_decay=0.95, **settings, **more)
    drawn = model.fit(X.astype(np.float32)).sample(1000, random_state=0)
    away = np.linalg.norm(drawn[:, None] - centres, axis=-1)
    near = np.bincount(away.argmin(1)[away.min(1) < 1.2], minlength=4) / 1000
    assert (near > 0.08).all()  # a third of its share
    assert near.sum() > 0.6


def test_codes_are_read_off_and_decide_what_is_made(rng):
    X = rng.normal(size=(512, 2)) + 12 * rng.integers(2, size=(512, 1))
    truth = X.mean(axis=1) > 6
    settings = dict(batch_size=128, max_epochs=60, learning_rate=2e-3, random_state=0)
    model = InfoGAN(2, (32,), n_clusters=2, n_continuous=1, **settings).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert adjusted_rand_score(truth, model.labels_) > 0.8
    means = [model.sample(300, random_state=0, category=c).mean() for c in (0, 1)]
    assert abs(means[0] - means[1]) > 8
    for c in (0, 1):
        made = model.sample(300, random_state=1, category=c)
        assert (model.predict(made) == c).mean() > 0.9
    codes = model.transform(X)
    assert codes.shape == (512, 3)
    np.testing.assert_allclose(codes[:, :2].sum(axis=1), 1, rtol=1e-9)
    assert model.history_["log_reading"][-1] > model.history_["log_reading"][0]
    with pytest.raises(ValueError, match="category=2 must be from 0 to 1"):
        model.sample(category=2)


def test_settings_of_players_are_their_own(rng):
    X = rng.normal(size=(64, 2))
    options = dict(max_epochs=1, random_state=0)
    model = GAN(2, 8, learning_rate=1e-9, critic_learning_rate=0.1, **options)
    start, before = model._initial, None

    def remembering(data, rng):
        nonlocal before
        module = start(rng)
        before = {k: v.clone() for k, v in module.state_dict().items()}
        return module

    model._start = remembering
    model.fit(X)
    moved = {k: np.abs(model.weights_[k] - v.numpy()).max() for k, v in before.items()}
    assert max(v for k, v in moved.items() if k.startswith("generator")) < 1e-6
    assert max(v for k, v in moved.items() if k.startswith("critic")) > 0.01
    with pytest.raises(ValueError, match="widths="):
        MMDGAN(widths=(0.0,)).fit(X)
