"""Clusters among codes: the bound by quadrature and closed forms, what is found and drawn."""

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from scipy.stats import multivariate_normal, norm
from sklearn.metrics import adjusted_rand_score

from panlearn.generative import VAE, VaDE
from panlearn.generative._convolutional import Networks
from panlearn.generative._likelihoods import Gaussian
from panlearn.generative._variational import EncoderDecoder
from panlearn.generative.vade import Clusters, mixture_elbo


def linear_clusters(rng, n_clusters):
    """Two latent variables in clusters, x = W z + b + noise, and the density of x they make."""
    module = Clusters(
        EncoderDecoder(Gaussian(3), 2, Networks(None, (), "identity", ())), n_clusters
    ).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.as_tensor(0.7 * rng.normal(size=parameter.shape)))
    state = {k: v.numpy() for k, v in module.state_dict().items()}
    W, b = state["autoencoder.decoder.layers.0.weight"], state["autoencoder.decoder.layers.0.bias"]
    state["autoencoder.decoder.layers.0.weight"][3:] = 0  # one noise for all z
    state["autoencoder.encoder.layers.0.weight"][2:] = 0
    shares = np.exp(state["scores"]) / np.exp(state["scores"]).sum()
    spreads = np.exp(2 * state["log_scales"])
    W, b, noise = W[:3], b[:3], np.diag(np.exp(2 * b[3:]))
    parts = [
        (p, multivariate_normal(W @ m + b, W * v @ W.T + noise))
        for p, m, v in zip(shares, state["means"], spreads, strict=True)
    ]
    return module, lambda x: np.log(sum(p * part.pdf(x) for p, part in parts))


def by_quadrature(module, x):
    """What the bound is a mean of, at nodes of Gauss and Hermite, by SciPy; and their weights."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    noise = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    weights = np.outer(weights, weights).ravel() / (2 * np.pi)
    state = {k: v.numpy() for k, v in module.state_dict().items()}
    A, a = state["autoencoder.encoder.layers.0.weight"], state["autoencoder.encoder.layers.0.bias"]
    W, b = state["autoencoder.decoder.layers.0.weight"], state["autoencoder.decoder.layers.0.bias"]
    mean, deviation = A[:2] @ x + a[:2], np.exp(a[2:])
    z = mean + deviation * noise
    fit = norm.logpdf(x, z @ W[:3].T + b[:3], np.exp(b[3:])).sum(axis=1)
    own = norm.logpdf(z, mean, deviation).sum(axis=1)
    joint = np.stack(
        [norm.logpdf(z, m, np.exp(s)).sum(axis=1)
         for m, s in zip(state["means"], state["log_scales"], strict=True)]
    ) + log_softmax(state["scores"])[:, None]  # fmt: skip
    return noise, weights, fit - own, joint


class Nodes:
    """Draws that are given."""

    def __init__(self, noise):
        self.noise = torch.as_tensor(noise)

    def normal(self, *size, dtype=None):
        assert size == (2,)
        return self.noise


def test_the_bound_of_clusters_is_the_expectation_that_it_stands_for(rng):
    """E log p(x, z, c) - log q(z) - log q(c) over z and c, and no other q(c) has more."""
    module, log_density = linear_clusters(rng, 3)
    for x in rng.normal(size=(4, 3)):
        noise, weights, rest, joint = by_quadrature(module, x)
        gamma = softmax(joint @ weights)
        rows = torch.as_tensor(np.tile(x, (len(noise), 1)))
        with torch.no_grad():
            found = mixture_elbo(module, rows, Nodes(noise)).numpy() @ weights
            shares = module.expected_log_joint(*module.autoencoder.encode(rows[:1])).softmax(1)
        np.testing.assert_allclose(shares[0], gamma, rtol=1e-10)
        rest, joint = rest @ weights, joint @ weights
        assert found == pytest.approx(rest + gamma @ (joint - np.log(gamma)), abs=1e-10)
        assert found < log_density(x)
        for q in softmax(np.log(gamma) + 0.3 * rng.normal(size=(5, 3)), axis=1):
            assert rest + q @ (joint - np.log(q)) < found


def test_the_bound_of_one_cluster_and_its_posterior_is_the_density(rng):
    module, _ = linear_clusters(rng, 1)
    state = module.state_dict()
    W, b = state["autoencoder.decoder.layers.0.weight"], state["autoencoder.decoder.layers.0.bias"]
    W, precision = W[:3].numpy(), np.diag(np.exp(-2 * b[3:].numpy()))
    W[:, 1] -= W[:, 0] * (W[:, 0] @ precision @ W[:, 1]) / (W[:, 0] @ precision @ W[:, 0])
    prior = np.exp(-2 * state["log_scales"][0].numpy())
    posterior = np.diag(prior) + W.T @ precision @ W  # diagonal, as the encoder's is
    gain = np.linalg.solve(posterior, W.T @ precision)
    offset = np.linalg.solve(posterior, prior * state["means"][0].numpy()) - gain @ b[:3].numpy()
    state["autoencoder.encoder.layers.0.weight"][:2] = torch.as_tensor(gain)
    state["autoencoder.encoder.layers.0.bias"][:] = torch.as_tensor(
        np.concatenate([offset, -np.log(np.diag(posterior)) / 2])
    )
    covariance = W / prior @ W.T + np.linalg.inv(precision)
    density = multivariate_normal(W @ state["means"][0].numpy() + b[:3].numpy(), covariance)
    for x in rng.normal(size=(3, 3)):
        noise, weights, _, _ = by_quadrature(module, x)
        rows = torch.as_tensor(np.tile(x, (len(noise), 1)))
        with torch.no_grad():
            found = mixture_elbo(module, rows, Nodes(noise)).numpy() @ weights
        assert found == pytest.approx(density.logpdf(x), abs=1e-10)


def test_clusters_are_found_and_drawn_in_their_shares(rng):
    centres = 6 * np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1.0]])
    truth = rng.choice(3, size=240, p=[0.5, 0.3, 0.2])
    X = centres[truth] + rng.normal(size=(240, 4))
    model = VaDE(2, 16, n_clusters=3, max_epochs=30, learning_rate=5e-3, random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-12)
    drawn = model.sample(2000, random_state=0)
    nearest = ((drawn[:, None] - centres) ** 2).sum(-1).argmin(1)
    np.testing.assert_allclose(np.bincount(nearest) / 2000, [0.5, 0.3, 0.2], atol=0.08)
    assert model.elbo(X, random_state=0).mean() > VAE(2, 16, max_epochs=1).fit(X).elbo(X).mean()
    with pytest.raises(ValueError, match="n_clusters=8 and n_samples=3"):
        VaDE().fit(X[:3])
