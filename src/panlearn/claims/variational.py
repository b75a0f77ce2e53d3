"""Autoencoders and the variational bound: linear models, whose densities are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.extras import require
from panlearn.latent import GaussianMixture

torch = require("torch")

from panlearn.generative import GAN, VAE, Autoencoder  # noqa: E402
from panlearn.generative._bounds import elbo, importance_weighted  # noqa: E402
from panlearn.generative._convolutional import Networks  # noqa: E402
from panlearn.generative._likelihoods import Gaussian, kl_to_standard  # noqa: E402
from panlearn.generative._variational import EncoderDecoder  # noqa: E402
from panlearn.generative.vade import Clusters  # noqa: E402
from panlearn.neural import MLPClassifier  # noqa: E402
from panlearn.neural._draws import Draws, Share  # noqa: E402
from panlearn.neural._random import seeded  # noqa: E402

_SMALL = Networks(None, (4,), "tanh", ())
_W = np.array([[1.0], [-0.5], [0.8]])
_NOISE = 0.7


def _draws(n: int, seed: int = 0) -> Draws:
    return Draws(Share(0, n, n), seed, 0, torch.device("cpu"))


def _linear(off: float = 0.0) -> tuple[Any, Any]:
    """Networks of x = W z + s e with a scalar z, whose encoder is the posterior but for `off`."""
    module = EncoderDecoder(Gaussian(3), 1, Networks(None, (), "identity", ())).double()
    precision = 1 + (_W.T @ _W).item() / _NOISE**2
    state = {
        "decoder.layers.0.weight": np.vstack([_W, np.zeros((3, 1))]),
        "decoder.layers.0.bias": np.repeat([0.0, np.log(_NOISE)], 3),
        "encoder.layers.0.weight": np.vstack([_W.T / _NOISE**2 / precision, np.zeros((1, 3))]),
        "encoder.layers.0.bias": np.array([off, off - np.log(precision) / 2]),
    }
    module.load_state_dict({name: torch.as_tensor(value) for name, value in state.items()})
    return module, stats.multivariate_normal(np.zeros(3), _W @ _W.T + _NOISE**2 * np.eye(3))


def _posterior() -> tuple[np.ndarray, float]:
    precision = 1 + (_W.T @ _W).item() / _NOISE**2
    return _W[:, 0] / _NOISE**2 / precision, 1 / precision


@claim("A204")
def a_latent_variable_is_integrated_out() -> Iterator[Evidence]:
    """p(x) = int p(z) p(x | z) dz; of a decoder x = W z + s e it is N(0, W W^T + s^2 I)."""
    module, density = _linear()
    x, n = np.array([[0.3, -0.2, 0.5], [1.0, 1.0, -1.0]]), 400_000
    with torch.no_grad():
        outputs = module.decode(_draws(n).normal(1, dtype=torch.float64))
        means = [
            float(module.likelihood.log_prob(outputs, torch.as_tensor(row)).exp().mean())
            for row in x
        ]
    yield equal("ratio of the mean over z to the density", means / density.pdf(x), [1, 1], 0.01)


@claim("A205")
def the_bound_and_what_it_lacks() -> Iterator[Evidence]:
    """The density: log p(x) = ELBO + KL(q(z|x) || p(z|x)) >= ELBO, with diagonal Gaussians
    from both networks, each of which gives two vectors. The text takes q for the posterior itself;
    it only comes close.
    """
    module, density = _linear(off=0.4)
    x = np.random.default_rng(205).normal(size=(5, 3))
    gain, variance = _posterior()
    with torch.no_grad():
        mean, log_scale = (part.numpy()[:, 0] for part in module.encode(torch.as_tensor(x)))
        decoded = module.decode(torch.zeros(5, 1, dtype=torch.float64))
    yield equal("outputs of the networks, for 1 and 3", [2, decoded.shape[1]], [2, 6])
    # the expectation over q in closed form: x - W z is normal
    spread = np.exp(2 * log_scale)
    squares = ((x - mean[:, None] * _W[:, 0]) ** 2).sum(1) + spread * (_W**2).sum()
    fit = -1.5 * np.log(2 * np.pi * _NOISE**2) - squares / (2 * _NOISE**2)
    kl = kl_to_standard(torch.as_tensor(mean)[:, None], torch.as_tensor(log_scale)[:, None])
    bound = fit - kl.numpy()
    missing = (
        np.log(np.sqrt(variance)) - log_scale + (spread + (mean - x @ gain) ** 2) / (2 * variance)
    ) - 0.5
    yield equal("log density and bound + divergence", density.logpdf(x), bound + missing, 1e-8)
    yield at_least("the least divergence", missing.min(), 0.01)
    with torch.no_grad():
        many = torch.as_tensor(x).repeat_interleave(100_000, 0)
        drawn = elbo(module, (many,), _draws(len(many))).reshape(5, -1).mean(1)
    yield equal("the bound from draws", drawn, bound, 0.02)


@claim("A206")
def divergence_of_a_code_and_draws_of_it() -> Iterator[Evidence]:
    """KL(N(mu, diag s^2) || N(0, I)) = (1/2) sum(mu^2 + s^2 - 1 - log s^2), and mu + s e has mean
    mu and variance s^2.
    """
    mean, scale, n = torch.tensor([0.5, -1.0]), torch.tensor([0.5, 1.5]), 1_000_000
    z = (mean + scale * _draws(n, 206).normal(2)).double().numpy()
    density = stats.norm(mean.numpy(), scale.numpy())
    sampled = (density.logpdf(z) - stats.norm.logpdf(z)).sum(1).mean()
    yield equal("divergence and its mean", kl_to_standard(mean, scale.log()), sampled, 8e-3)
    yield equal("means", z.mean(0), mean, 8e-3)
    yield equal("variances", z.var(0), scale**2, 1.5e-2)


@claim("A207")
def an_autoencoder_and_a_classifier_that_starts_from_it() -> Iterator[Evidence]:
    """An autoencoder comes close to the identity through a bottleneck; its encoder can start a
    classifier, and be trained on with it.
    """
    rng = np.random.default_rng(207)
    X = rng.normal(size=(100, 1)) * [1.0, -2.0, 0.5] + 0.01 * rng.normal(size=(100, 3))
    model = Autoencoder(1, (8,), max_epochs=60, learning_rate=0.02, random_state=0).fit(X)
    loss = model.history_["loss"]
    yield at_most("loss at the end, of that at the start", loss[-1] / loss[0], 0.2)
    classifier = model.classifier([0, 1], max_epochs=5, random_state=0)
    start, encoder = classifier.coefs_[0].copy(), model.weights_["encoder.layers.0.weight"].T
    yield equal("the classifier's first weights and the encoder's", start, encoder)
    classifier.fit(X, X[:, 0] > 0)
    yield at_least("the largest change", np.abs(classifier.coefs_[0] - start).max(), 1e-3)


@claim("B256")
def gradients_through_draws() -> Iterator[Evidence]:
    """A draw z = mu + sigma e is distributed as N(mu, sigma^2), and its path gives
    d/dmu E z^2 = 2 mu and d/dsigma E z^2 = 2 sigma.
    """
    n = 200_000
    mean = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    scale = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    z = mean + scale * _draws(n, 256).normal(dtype=torch.float64)
    z.square().mean().backward()
    error = 4 * 2 * 2.5 / np.sqrt(n)  # four standard errors of 2 z and 2 z e
    yield equal("slopes", [mean.grad, scale.grad], [1.4, 2.6], error)
    test = stats.kstest(z.detach().numpy(), stats.norm(0.7, 1.3).cdf)
    yield at_least("probability of so large a deviation", test.pvalue, 1e-4)


@claim("B257")
def divergence_of_an_encoder() -> Iterator[Evidence]:
    """KL to N(0, I) is 1/2 sum(sigma^2 + mu^2 - 1 - log sigma^2), the general divergence of two
    Gaussians; for mu = 0.5, sigma^2 = 0.25 it is 0.4431472.
    """
    mean = torch.tensor([0.5], dtype=torch.float64)
    yield equal("value", kl_to_standard(mean, mean.log()), 0.4431472, 1e-7)
    rng = np.random.default_rng(257)
    mu, variance = rng.normal(size=4), rng.uniform(0.2, 2, size=4)
    general = (-np.log(variance).sum() - 4 + variance.sum() + mu @ mu) / 2
    found = kl_to_standard(torch.as_tensor(mu), torch.as_tensor(np.log(variance) / 2))
    yield equal("the general formula", found, general, 1e-12)


@claim("B258")
def a_linear_decoder_has_a_density() -> Iterator[Evidence]:
    """What a linear decoder makes, x = W z + e, has a Gaussian density; the bound does not exceed
    it, and reaches it where the encoder is the posterior: then p(x, z) / q(z | x) is p(x) for
    every z.
    """
    x = np.random.default_rng(258).normal(size=(6, 3))
    for off in (0.0, 0.5):
        module, density = _linear(off)
        with torch.no_grad():
            weights, _ = importance_weighted(module, torch.as_tensor(x), _draws(6), 2000)
        if off == 0:
            exact = np.repeat(density.logpdf(x)[:, None], 2000, axis=1)
            yield equal("weights with the exact posterior", weights, exact, 1e-10)
        else:
            gap = density.logpdf(x) - weights.numpy().mean(1)
            yield at_least("what another bound lacks", gap.min(), 0.1)


@claim("B259")
def a_decoder_that_bends_makes_no_gaussian() -> Iterator[Evidence]:
    """A Gaussian decoder with a non-linear mean has a marginal that is an infinite mixture, in
    general not Gaussian: x = z^2 + noise is skewed to the right.
    """
    n = 100_000
    z = _draws(n, 259)
    drawn = Gaussian(1).draw(
        torch.cat([z.normal(1).square(), torch.full((n, 1), np.log(0.3))], dim=1), z
    )
    # the third moment of z^2 is 8, the variance 2 + 0.09
    yield equal("skewness", stats.skew(drawn.numpy())[0], 8 / 2.09**1.5, 0.15)


@claim("B260")
def bound_given_a_label() -> Iterator[Evidence]:
    """E_q log p(x | y, z) - KL(q(z | x, y) || p(z | y)) <= log p(x | y): of two networks that see y
    as well, summed over a fine grid of z.
    """
    with seeded(260):
        module = EncoderDecoder(Gaussian(2), 1, _SMALL, n_conditions=2).double()
    x = torch.tensor([[0.3, -0.4], [1.0, 0.2]], dtype=torch.float64)
    y = torch.eye(2, dtype=torch.float64)
    z = torch.linspace(-8, 8, 4001, dtype=torch.float64)[None, :, None].expand(2, -1, 1)
    with torch.no_grad():
        log_p = module.likelihood.log_prob(module.decode(z, y[:, None]), x[:, None]).numpy()
        mean, log_scale = (part.numpy() for part in module.encode(x, y))
        n = 40_000
        rows = (x.repeat_interleave(n, 0), y.repeat_interleave(n, 0))
        bound = elbo(module, rows, _draws(2 * n)).reshape(2, -1).mean(1).numpy()
    grid, width = z[0, :, 0].numpy(), 16 / 4000
    exact = np.log((np.exp(log_p) * stats.norm.pdf(grid)).sum(1) * width)
    q = stats.norm.pdf(grid, mean, np.exp(log_scale))
    on_grid = (q * (log_p + stats.norm.logpdf(grid) - np.log(q + 1e-300))).sum(1) * width
    yield equal("the bound from draws and on the grid", bound, on_grid, 0.05)
    yield at_least("what the bound lacks", (exact - on_grid).min(), 0)


@claim("B261")
def clusters_of_codes() -> Iterator[Evidence]:
    """With p(x, z, c) = p(x|z) p(z|c) p(c) and q = q(z|x) q(c|x) the bound is below log p(x), the
    marginal of z is a mixture, and the best q(c|x) is proportional to
    exp(E_q log p(c) p(z|c)); any other gives less.
    """
    with seeded(261):
        autoencoder = EncoderDecoder(Gaussian(2), 1, _SMALL).double()
    module: Any = Clusters(autoencoder, 3).double()
    weights = np.array([0.5, 0.3, 0.2])
    centres, scales = np.array([-2.0, 0.5, 3.0]), np.array([0.5, 1.0, 0.7])
    with torch.no_grad():
        module.scores.copy_(torch.as_tensor(np.log(weights)))
        module.means.copy_(torch.as_tensor(centres)[:, None])
        module.log_scales.copy_(torch.as_tensor(np.log(scales))[:, None])
        x = torch.tensor([[0.5, -0.2]], dtype=torch.float64)
        grid = np.linspace(-12, 12, 6001)
        log_p = autoencoder.likelihood.log_prob(
            autoencoder.decode(torch.as_tensor(grid)[:, None]), x
        )
        mean, log_scale = autoencoder.encode(x)
        joint = module.expected_log_joint(mean, log_scale)[0].numpy()
    width, q = 24 / 6000, stats.norm.pdf(grid, mean.item(), log_scale.exp().item())
    given = stats.norm.logpdf(grid[:, None], centres, scales)
    expected = np.log(weights) + (q[:, None] * given).sum(0) * width
    yield equal("expected log p(c) p(z|c)", joint, expected, 1e-6)
    rest = (q * (log_p.numpy() - np.log(q + 1e-300))).sum() * width

    def bound(r: np.ndarray) -> float:
        return rest + r @ (expected - np.log(r))

    best = np.exp(joint - joint.max())
    best /= best.sum()
    prior = np.exp(given) @ weights
    exact = np.log((np.exp(log_p.numpy()) * prior).sum() * width)
    yield at_least("log density - best bound", exact - bound(best), 0)
    others = np.random.default_rng(261).dirichlet(np.ones(3), size=200)
    yield at_most("the best of 200 other q(c|x)", max(map(bound, others)), bound(best))


@claim("B262")
def more_draws_tighten_the_bound() -> Iterator[Evidence]:
    """L_K = E log mean_k w_k: L_1 is the ELBO, L_K does not fall in K and tends to log p(x)."""
    module, density = _linear(off=0.5)
    x = density.rvs(4000, random_state=262)
    bounds = []
    with torch.no_grad():
        for k in (1, 5, 50, 500):
            logs, _ = importance_weighted(module, torch.as_tensor(x), _draws(4000, k), k)
            bounds.append(float(torch.logsumexp(logs, 1).mean()) - np.log(k))
        plain = float(elbo(module, (torch.as_tensor(x),), _draws(4000, 7)).mean())
    yield equal("L_1 and the ELBO", bounds[0], plain, 0.1)
    yield true("L_1 < L_5 < L_50", bounds[0] < bounds[1] < bounds[2])
    yield equal("L_500 and the log density", bounds[3], density.logpdf(x).mean(), 0.01)


@claim("A214")
def who_has_a_density() -> Iterator[Evidence]:
    """Explicit models give a log density, implicit ones only samples, discriminative ones only
    p(y | x); a variational autoencoder gives samples and a bound.
    """
    X = np.random.default_rng(214).normal(size=(40, 2))
    models = {
        "mixture": GaussianMixture(random_state=0),
        "adversarial": GAN(2, 8, max_epochs=1, random_state=0),
        "classifier": MLPClassifier(8, max_epochs=1, random_state=0),
        "variational": VAE(1, 8, max_epochs=1, random_state=0),
    }
    has = {}
    for name, model in models.items():
        model.fit(X, X[:, 0] > 0)
        has[name] = [hasattr(model, m) for m in ("score_samples", "sample", "predict_proba")]
    yield true("a mixture: density and samples", all(has["mixture"][:2]))
    yield equal("an adversarial network: samples alone", has["adversarial"], [False, True, False])
    yield equal("a classifier: p(y | x) alone", has["classifier"], [False, False, True])
    yield equal("a variational autoencoder: samples", has["variational"], [False, True, False])
    bound, drawn = models["variational"].elbo(X, random_state=0), models["adversarial"].sample(3, 0)
    yield true("its bound, and what is drawn", bound.shape == (40,) and drawn.shape == (3, 2))
