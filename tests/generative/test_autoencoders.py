"""Autoencoders: principal components, noise, a classifier's start; bounds against closed forms."""

import itertools

import numpy as np
import pytest
import torch
from scipy.special import softmax
from scipy.stats import bernoulli, multivariate_normal, norm
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.preprocessing import StandardScaler

from panlearn.generative import VAE, Autoencoder, ConditionalVAE, ImportanceWeightedVAE
from panlearn.generative._bounds import elbo, importance_weighted, negative_importance_bound
from panlearn.generative._convolutional import Networks
from panlearn.generative._likelihoods import Bernoulli, Categorical, Gaussian
from panlearn.generative._variational import EncoderDecoder
from panlearn.neural._draws import Draws, Share


def draws(n, seed=0):
    return Draws(Share(0, n, n), seed, 0, torch.device("cpu"))


def linear_gaussian(rng, exact=False):
    """x = W z + b + noise with a scalar z: the networks, and the density of x that they make."""
    d = 3
    module = EncoderDecoder(Gaussian(d), 1, Networks(None, (), "identity", ())).double()
    W, b = rng.normal(size=(d, 1)), rng.normal(size=d)
    deviation = np.array([0.5, 0.8, 1.1])
    precision = 1 + (W.T @ np.diag(deviation**-2.0) @ W).item()
    gain = (W.T @ np.diag(deviation**-2.0)) / precision
    state = {
        "decoder.layers.0.weight": np.vstack([W, np.zeros((d, 1))]),
        "decoder.layers.0.bias": np.concatenate([b, np.log(deviation)]),
        "encoder.layers.0.weight": np.vstack([gain, np.zeros((1, d))]),
        "encoder.layers.0.bias": np.concatenate([-gain @ b, [-0.5 * np.log(precision)]]),
    }
    if not exact:
        state["encoder.layers.0.bias"] += [0.3, 0.4]
    module.load_state_dict({k: torch.as_tensor(v) for k, v in state.items()})
    return module, multivariate_normal(b, W @ W.T + np.diag(deviation**2))


def test_the_linear_form_spans_the_principal_components(rng):
    X = rng.normal(size=(80, 6)) @ np.diag([5, 4, 3, 0.5, 0.3, 0.2]) @ rng.normal(size=(6, 6))
    model = Autoencoder(
        3, (), optimizer="lbfgs", learning_rate=1.0, batch_size=80, max_epochs=60, random_state=0
    ).fit(X)
    scaler = StandardScaler().fit(X)
    pca = PCA(3).fit(scaler.transform(X))
    back = scaler.inverse_transform(pca.inverse_transform(pca.transform(scaler.transform(X))))
    ours = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(ours, back, atol=1e-4 * np.abs(X).max())
    basis, _ = np.linalg.qr(model.weights_["decoder.layers.0.weight"])
    np.testing.assert_allclose(basis @ basis.T, pca.components_.T @ pca.components_, atol=1e-4)
    drawn = model.sample(20_000, random_state=0)  # a normal with the moments of what comes back
    scale = np.sqrt(np.outer(X.var(axis=0), X.var(axis=0)))
    np.testing.assert_allclose(np.cov(drawn.T) / scale, np.cov(back.T) / scale, atol=0.05)
    np.testing.assert_allclose(drawn.mean(0) / X.std(0), X.mean(0) / X.std(0), atol=0.04)


@pytest.mark.parametrize("spoiled", [{"noise": 0.7}, {"masking": 0.3}])
def test_one_that_saw_noise_takes_it_away(rng, spoiled):
    X = rng.normal(size=(300, 1)) * np.ones(8) + 0.05 * rng.normal(size=(300, 8))
    noisy = (
        X + 0.7 * rng.normal(size=X.shape)
        if "noise" in spoiled
        else X * (rng.uniform(size=X.shape) > 0.3)
    )
    options = dict(random_state=0, max_epochs=60, learning_rate=0.01)
    error = {}
    for name, more in {"plain": {}, "denoising": spoiled}.items():
        model = Autoencoder(4, 16, **options, **more).fit(X)
        error[name] = np.mean((model.inverse_transform(model.transform(noisy)) - X) ** 2)
    assert error["denoising"] < 0.8 * error["plain"]


def test_the_encoder_starts_a_classifier_that_goes_on_learning(rng):
    X = np.hstack([rng.normal(size=(60, 3)), np.full((60, 1), 7.0)]) * [1, 1e6, 1e-6, 1]
    y = np.where(X[:, 0] > 0, "yes", "no")
    encoder = Autoencoder(2, (5,), max_epochs=3, random_state=0).fit(X)
    started = encoder.classifier(["yes", "no"], max_epochs=60, random_state=0)
    hidden = np.maximum((X - started.mean_) / started.scale_ @ started.coefs_[0]
                        + started.intercepts_[0], 0)  # fmt: skip
    codes = hidden @ started.coefs_[1] + started.intercepts_[1]
    np.testing.assert_allclose(codes, encoder.transform(X), rtol=1e-10, atol=1e-12)
    before = started.coefs_[0].copy()
    fitted = started.fit(X, y)
    assert not np.allclose(fitted.coefs_[0][:3], before[:3], atol=1e-6)
    assert fitted.score(X, y) > 0.8
    frozen = encoder.classifier(["yes", "no"], max_epochs=5, freeze=("layers.0.*",)).fit(X, y)
    np.testing.assert_array_equal(frozen.coefs_[0], before)


def test_likelihoods_are_those_of_scipy_and_by_hand(rng):
    outputs = torch.as_tensor(rng.normal(size=(4, 6)))
    x = rng.normal(size=(4, 3))
    mean, log_scale = outputs.numpy()[:, :3], outputs.numpy()[:, 3:]
    expected = [multivariate_normal(m, np.diag(np.exp(2 * s))).logpdf(row)
                for m, s, row in zip(mean, log_scale, x, strict=True)]  # fmt: skip
    found = Gaussian(3).log_prob(outputs, torch.as_tensor(x))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    bits = (rng.uniform(size=(4, 6)) < 0.5).astype(float)
    expected = bernoulli(1 / (1 + np.exp(-outputs.numpy()))).logpmf(bits).sum(axis=1)
    found = Bernoulli(6).log_prob(outputs, torch.as_tensor(bits))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    likelihood = Categorical(np.array([3, 2]))
    total = 0.0
    for a in range(3):
        for b in range(2):
            total += likelihood.log_prob(outputs, torch.tensor([[a, b]] * 4)).exp()
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)
    scores = np.exp(outputs.numpy()[:, :3])
    found = likelihood.log_prob(outputs, torch.tensor([[2, 0]] * 4)).exp()
    pair = np.exp(outputs.numpy()[:, 3:5])
    np.testing.assert_allclose(found, scores[:, 2] / scores.sum(1) * pair[:, 0] / pair.sum(1))


@pytest.mark.parametrize("kind", [Gaussian, Bernoulli, Categorical])
def test_draws_have_the_moments_of_the_likelihood(kind, rng):
    n = 40_000
    likelihood = kind(np.array([3, 2])) if kind is Categorical else kind(2)
    row = torch.as_tensor(rng.normal(size=likelihood.n_outputs))
    drawn = likelihood.draw(row.expand(n, -1), draws(n)).numpy()
    values = {Gaussian: None, Bernoulli: [0, 1], Categorical: [0, 1, 2]}[kind]
    if values is None:
        np.testing.assert_allclose(drawn.mean(0), row[:2], atol=0.1)
        np.testing.assert_allclose(drawn.std(0), row[2:].exp(), rtol=0.02)
        return
    for a in values:
        for b in values[:2]:
            share = (drawn == [a, b]).all(axis=1).mean()
            expected = likelihood.log_prob(row, torch.tensor([a, b]).double()).exp()
            assert abs(share - float(expected)) < 0.012  # four standard errors


def test_weights_of_the_exact_posterior_are_the_density(rng):
    module, density = linear_gaussian(rng, exact=True)
    x = rng.normal(size=(20, 3))
    logs, _ = importance_weighted(module, torch.as_tensor(x), draws(20), 5)
    expected = np.broadcast_to(density.logpdf(x)[:, None], (20, 5))
    np.testing.assert_allclose(logs.detach(), expected, atol=1e-10)


def test_the_bound_rises_with_the_draws_to_the_density(rng):
    module, density = linear_gaussian(rng)
    x = density.rvs(2000, random_state=0)
    bounds = []
    with torch.no_grad():
        for k in (1, 5, 50, 2000):
            logs, _ = importance_weighted(module, torch.as_tensor(x), draws(2000), k)
            bounds.append(float(torch.logsumexp(logs, 1).mean() - np.log(k)))
        plain = float(torch.stack([elbo(module, (torch.as_tensor(x),), draws(2000, s))
                                   for s in range(20)]).mean())  # fmt: skip
    exact = density.logpdf(x).mean()
    assert abs(plain - bounds[0]) < 0.05  # K = 1 is the ELBO
    assert bounds[0] < bounds[1] < bounds[2] < exact + 0.005
    assert abs(bounds[3] - exact) < 0.005
    assert plain < exact - 0.05


def test_the_bound_of_binarised_digits_rises_with_the_draws():
    X = load_digits().data[:300, 8:56] > 7
    options = dict(likelihood="bernoulli", batch_size=50, max_epochs=20, random_state=0)
    model = ImportanceWeightedVAE(2, 32, n_importance=4, learning_rate=5e-3, **options)
    model.fit(X.astype(np.float32))
    bounds = [
        np.mean([model.elbo(X, k, random_state=seed).astype(float) for seed in range(8)], axis=0)
        for k in (1, 8, 64)
    ]
    for lower, higher in itertools.pairwise(bounds):
        rise = higher - lower
        assert rise.mean() > 4 * rise.std() / len(X) ** 0.5
    shares = X.mean(axis=0).clip(0.01, 0.99)
    independent = bernoulli(shares).logpmf(X).sum(axis=1).mean()
    assert bounds[-1].mean() > independent + 1  # it has learned something


def test_both_gradients_of_the_importance_bound_have_one_mean(rng):
    module, density = linear_gaussian(rng)
    x = torch.as_tensor(density.rvs(1, random_state=0)).expand(30_000, 3)
    found = {}
    for gradient in ("reparameterized", "doubly_reparameterized"):
        step = draws(len(x))
        losses = negative_importance_bound(4, gradient)(module, (x,), step)
        parts = torch.autograd.grad(losses.mean(), list(module.parameters()))
        found[gradient] = losses.mean().item(), torch.cat([p.flatten() for p in parts])
    (one, first), (other, second) = found.values()
    assert one == pytest.approx(other, abs=1e-12)
    np.testing.assert_allclose(first, second, atol=0.02)  # standard errors are below 0.005
    assert first.abs().max() > 0.2


def test_the_doubly_reparameterised_gradient_is_its_formula_draw_by_draw(rng):
    r"""Of the encoder :math:`\sum_k \tilde w_k^2\, \partial_z \log w_k\, \partial_\phi z_k`.

    With a scalar z and linear networks every slope is written out.
    """
    module, density = linear_gaussian(rng)
    x, k = density.rvs(6, random_state=0), 4
    losses = negative_importance_bound(k, "doubly_reparameterized")(
        module, (torch.as_tensor(x),), draws(6)
    )
    names = dict(module.named_parameters())
    found = dict(zip(names, torch.autograd.grad(losses.sum(), list(names.values())), strict=True))
    noise = draws(6).normal(k, 1, dtype=torch.float64).numpy()[..., 0]
    W, b, log_deviation, bias = (
        names[name].detach().numpy()[part]
        for name, part in [
            ("decoder.layers.0.weight", (slice(3), 0)),
            ("decoder.layers.0.bias", slice(3)),
            ("decoder.layers.0.bias", slice(3, 6)),
            ("encoder.layers.0.bias", slice(2)),
        ]
    )
    gain, scale = names["encoder.layers.0.weight"].detach().numpy()[0], np.exp(bias[1])
    mean = (x @ gain + bias[0])[:, None]
    z = mean + scale * noise
    left, deviation = x[:, None] - z[..., None] * W - b, np.exp(log_deviation)
    log_weights = norm(0, deviation).logpdf(left).sum(-1) + norm.logpdf(z)
    log_weights -= norm(mean, scale).logpdf(z)
    shares = softmax(log_weights, axis=1)
    slope = (left / deviation**2 * W).sum(-1) - z + (z - mean) / scale**2
    pull = -(shares**2) * slope
    np.testing.assert_allclose(
        found["encoder.layers.0.bias"], [pull.sum(), (pull * scale * noise).sum()], rtol=1e-10
    )
    np.testing.assert_allclose(found["encoder.layers.0.weight"][0], pull.sum(1) @ x, rtol=1e-10)
    offset = -np.einsum("nk,nkd->d", shares, left / deviation**2)  # once, in the decoder
    np.testing.assert_allclose(found["decoder.layers.0.bias"][:3], offset, rtol=1e-10)


def test_the_linear_model_has_the_likelihood_of_factor_analysis(rng):
    X = rng.normal(size=(150, 1)) @ [[1.0, -0.8, 0.5, 0.0]] + rng.normal(size=(150, 4)) * 0.5
    X = X * [1, 10, 1, 1] + [0, 5, 0, 0]
    model = VAE(
        1, (), batch_size=150, max_epochs=700, learning_rate=0.03, schedule="cosine", random_state=0
    ).fit(X)
    exact = FactorAnalysis(1, tol=1e-8, max_iter=2000).fit(X).score(X)
    bound = model.elbo(X, 100, random_state=0).mean()
    assert exact - 0.06 < bound < exact + 0.01
    far = VAE(**{**model.get_params(), "max_epochs": 3}).fit(X * 1000)
    near = VAE(**{**model.get_params(), "max_epochs": 3}).fit(X)
    shift = near.elbo(X, random_state=1) - far.elbo(X * 1000, random_state=1)
    np.testing.assert_allclose(shift, 4 * np.log(1000), rtol=1e-8)  # densities are per unit


def test_a_larger_beta_takes_information_out_of_the_codes(rng):
    X = rng.normal(size=(200, 2)) @ [[1.0, 0.5, 0.2], [0.0, 1.0, -1.0]]
    options = dict(max_epochs=40, learning_rate=0.01, random_state=0)
    spread = [VAE(2, 8, beta=b, **options).fit(X).transform(X).std() for b in (1.0, 30.0)]
    assert spread[1] < 0.1 * spread[0]


def test_categories_come_out_as_categories(rng):
    kind = rng.integers(2, size=300)
    X = np.stack([2 * kind, 4 * (1 - kind), np.zeros(300)], axis=1).astype(np.float32)
    model = VAE(1, likelihood="categorical", learning_rate=0.02, random_state=0).fit(X)
    drawn = model.sample(400, random_state=0)
    assert drawn.dtype == np.float32
    kinds, counts = np.unique(drawn, axis=0, return_counts=True)
    likely = {tuple(k) for k, c in zip(kinds, counts, strict=True) if c > 40}
    assert likely == {(0.0, 4.0, 0.0), (2.0, 0.0, 0.0)}
    np.testing.assert_array_equal(model.n_categories_, [3, 5, 1])
    with pytest.raises(ValueError, match="categories that were not there in fit"):
        model.transform([[0, 5, 0]])
    with pytest.raises(ValueError, match="whole numbers from 0"):
        VAE(likelihood="categorical").fit([[0.5], [1.0]])
    with pytest.raises(ValueError, match=r"X goes from -1 to 1.*entries from 0 to 1"):
        VAE(likelihood="bernoulli").fit([[-1.0], [1.0]])


def test_conditions_decide_what_is_drawn(rng):
    y = rng.uniform(-1, 1, size=400)
    X = np.stack([3 * y, rng.normal(size=400), 5 - y], axis=1) + 0.1 * rng.normal(size=(400, 3))
    model = ConditionalVAE(1, 16, learning_rate=0.01, random_state=0).fit(X, y)
    drawn = model.sample(500, random_state=0, y=0.5)
    np.testing.assert_allclose(drawn.mean(axis=0), [1.5, 0.0, 4.5], atol=0.25)
    mixed = model.sample(2, random_state=0, y=[-1.0, 1.0])
    assert mixed[0, 0] < mixed[1, 0]
    with pytest.raises(ValueError, match="give y to say which"):
        model.sample(3)
    right = model.elbo(X, y, random_state=0).mean()
    assert right > model.elbo(X, -y, random_state=0).mean() + 1
    codes = model.encode(X, y)
    assert abs(np.corrcoef(codes[:, 0], X[:, 1])[0, 1]) > 0.9  # what y does not say
    back = model.decode(codes, y)
    assert np.mean((back - X) ** 2) < 0.45 * np.mean((X - X.mean(0)) ** 2)
    with pytest.raises(ValueError, match="was fitted with y"):
        model.encode(X)
    labelled = ConditionalVAE(1, max_epochs=2).fit(X, np.where(y > 0.8, "b", "a"))
    np.testing.assert_allclose(labelled.conditions_.shares, [(y <= 0.8).mean(), (y > 0.8).mean()])
    for bad, says in {
        "c": r"labels \['c'\] that were not",
        ("a", "b"): "one for each of 3",
    }.items():
        with pytest.raises(ValueError, match=says):
            labelled.sample(3, y=bad)
