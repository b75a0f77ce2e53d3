"""Indian-buffet features against the enumeration of all feature matrices."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chisquare

from panlearn.latent import IndianBuffetFactors
from panlearn.latent._buffet import BuffetChain
from panlearn.latent._restaurants import draw_dishes, log_dishes_law

SHAPES = np.array(
    [[1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]], dtype=float
)


def log_likelihood(X, Z, noise, loading):
    """The columns of X are Gaussian with covariance loading Z Z' + noise I."""
    covariance = loading * Z @ Z.T + noise * np.eye(len(X))
    log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
    return -0.5 * (X.shape[1] * log_det + np.trace(X.T @ np.linalg.solve(covariance, X)))


def matrices(n, most):
    """Every binary matrix of n rows without empty columns, up to the order of its columns."""
    columns = [c for c in itertools.product([0, 1], repeat=n) if any(c)]
    for k in range(most + 1):
        yield from itertools.combinations_with_replacement(columns, k)


def as_matrix(chosen, n):
    return np.array(chosen, dtype=float).reshape(len(chosen), n).T


def canonical(Z):
    return tuple(sorted(tuple(int(v) for v in column) for column in Z.T))


def test_the_law_of_the_buffet_sums_to_one_and_is_that_of_the_guests(rng):
    mass, n = 0.7, 3
    law = {c: np.exp(log_dishes_law(as_matrix(c, n).astype(int), mass)) for c in matrices(n, 6)}
    # more than six dishes have probability below 1e-3 for a mean of 0.7 (1 + 1/2 + 1/3) = 1.28
    assert sum(law.values()) == pytest.approx(1, abs=1e-3)
    draws = 8000
    seen = Counter(canonical(draw_dishes(n, mass, rng)) for _ in range(draws))
    for chosen, p in law.items():
        assert abs(seen[chosen] / draws - p) < 5 * np.sqrt(p / draws) + 1e-3


def test_likelihood_and_posterior_of_the_loadings(rng):
    X, Z = rng.normal(size=(6, 3)), rng.integers(2, size=(6, 2)).astype(np.int8)
    chain = BuffetChain(X, 1.0, 0.4, 1.7, rng)
    assert chain.log_likelihood(Z) == pytest.approx(log_likelihood(X, Z.astype(float), 0.4, 1.7))
    mean, H = chain.posterior(Z)
    gain = 1.7 * Z.T @ np.linalg.inv(1.7 * Z @ Z.T + 0.4 * np.eye(6))
    np.testing.assert_allclose(mean, gain @ X, atol=1e-12)
    np.testing.assert_allclose(0.4 * H, 1.7 * (np.eye(2) - gain @ Z), atol=1e-12)
    empty = np.zeros((6, 0), dtype=np.int8)
    assert chain.log_likelihood(empty) == pytest.approx(log_likelihood(X, empty, 0.4, 1.7))


@pytest.mark.parametrize("moves", [1, 3])  # without and with the exclusive or
def test_the_sampler_visits_features_by_their_posterior(rng, moves):
    X = np.array([[1.0, 0.2], [1.1, -0.9], [-0.3, -1.0]])
    mass, noise, loading = 0.8, 0.5, 1.0
    every = list(matrices(3, 5))
    log_p = [
        log_dishes_law(as_matrix(c, 3).astype(int), mass)
        + log_likelihood(X, as_matrix(c, 3), noise, loading)
        for c in every
    ]
    p = np.exp(log_p - logsumexp(log_p))
    chain, seen, n = BuffetChain(X, mass, noise, loading, rng), Counter(), 4000
    for _ in range(n):
        chain.sweep()
        for _ in range(moves - 1):
            chain.recombine()
        seen[canonical(chain.Z)] += 1
    found = np.array([seen[c] for c in every]) / n
    # successive sweeps are correlated: allow as if one in four were independent
    assert (np.abs(found - p) < 5 * np.sqrt(p * (1 - p) / (n / 4)) + 1.5e-3).all()
    best = int(np.argmax(p))
    assert found[best] > 0.5 * p[best]


LAWS = {  # noise and loadings for which the data say much, and for which the prior does
    "data": (0.7, 1.0),
    "prior": (4.0, 0.5),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("move", ["sweep", "recombine"])
def test_each_move_leaves_the_posterior_as_it_is(rng, move, law):
    """Exact draws, moved once, are exact draws: independent, so that chi-squared judges them."""
    X = np.array([[2.0, 0.2], [0.1, -1.9], [2.1, -2.0]])
    (noise, loading), mass, draws = LAWS[law], 0.7, 2500
    every = list(matrices(3, 5))
    log_p = np.array(
        [
            log_dishes_law(as_matrix(c, 3).astype(int), mass)
            + log_likelihood(X, as_matrix(c, 3), noise, loading)
            for c in every
        ]
    )
    p = np.exp(log_p - logsumexp(log_p))
    chain, seen, moved = BuffetChain(X, mass, noise, loading, rng), Counter(), 0
    for start in rng.choice(len(every), size=draws, p=p):
        Z = as_matrix(every[start], 3).astype(np.int8)
        chain.Z = Z[:, rng.permutation(Z.shape[1])]
        getattr(chain, move)()
        end = canonical(chain.Z)
        seen[end] += 1
        moved += end != canonical(Z)
    assert moved > draws / 50
    count = np.array([seen[canonical(as_matrix(c, 3))] for c in every])
    common = p * draws > 10
    expected = np.r_[p[common], p[~common].sum()] * draws
    found = np.r_[count[common], draws - count[common].sum()]
    assert chisquare(found, expected).pvalue > 1e-4


def test_rows_that_say_nothing_leave_the_prior(rng):
    """Loadings of no size make no difference to the rows, so Z keeps the law of the buffet."""
    n, mass, rounds = 8, 1.5, 3000
    chain = BuffetChain(rng.normal(size=(n, 2)), mass, 1.0, 1e-12, rng)
    numbers = []
    for _ in range(rounds):
        chain.sweep()
        numbers.append(chain.Z.shape[1])
    mean = mass * (1 / np.arange(1, n + 1)).sum()  # Poisson
    assert np.mean(numbers) == pytest.approx(mean, abs=4 * np.sqrt(mean * 10 / rounds))
    assert np.var(numbers) == pytest.approx(mean, rel=0.25)


def test_shapes_are_found_with_their_rows(rng):
    Z = rng.integers(2, size=(80, 3))
    X = Z @ (3 * SHAPES) + 0.3 * rng.normal(size=(80, 8))
    model = IndianBuffetFactors(fit_intercept=False, random_state=0, n_iter=150).fit(X)
    assert model.n_components_ == 3
    match = (model.components_ @ SHAPES.T).argmax(axis=1)
    assert sorted(match) == [0, 1, 2]
    np.testing.assert_allclose(model.components_, 3 * SHAPES[match], atol=0.3)
    np.testing.assert_array_equal(model.indicators_, Z[:, match] == 1)
    assert model.noise_variance_ == pytest.approx(0.09, rel=0.2)
    np.testing.assert_allclose(model.transform(X), Z[:, match], atol=0.05)
    np.testing.assert_allclose(model.inverse_transform(Z[:, match]), Z @ (3 * SHAPES), atol=0.9)
    assert {len(v) for v in model.history_.values()} == {150}


def test_new_rows_have_nearly_their_exact_probabilities(rng):
    Z = rng.integers(2, size=(60, 3))
    X = Z @ SHAPES + 0.4 * rng.normal(size=(60, 8))
    model = IndianBuffetFactors(
        fit_intercept=False, noise_variance=0.16, random_state=1, n_iter=150
    ).fit(X)
    k, n = model.n_components_, 60
    states = np.array(list(itertools.product([0, 1], repeat=k)))
    taken = n * model.frequencies_
    prior = states @ np.log(taken / (n + 1 - taken))
    gap = X[:, None] - states @ model.components_
    log_p = prior - (gap**2).sum(axis=2) / (2 * 0.16)
    exact = np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True)) @ states
    # the features hardly overlap, so the factorised law is nearly the exact one
    np.testing.assert_allclose(model.transform(X), exact, atol=0.05)


def test_what_is_drawn_and_what_is_refused(rng):
    X = rng.normal(size=(15, 3)) + 5
    model = IndianBuffetFactors(resample_concentration=True, n_iter=120, random_state=0).fit(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    for name in ("noise_variance", "feature_variance", "concentration"):
        assert np.std(model.history_[name]) > 0
    fixed = IndianBuffetFactors(noise_variance=2.0, feature_variance=3.0, random_state=0).fit(X)
    assert fixed.noise_variance_ == pytest.approx(2)
    assert fixed.feature_variance_ == pytest.approx(3)
    with pytest.raises(ValueError, match="n_burn_in=300"):
        IndianBuffetFactors(n_burn_in=300).fit(X)


def test_features_of_another_number_are_refused(rng):
    model = IndianBuffetFactors(n_iter=5, n_burn_in=1, random_state=0).fit(rng.normal(size=(9, 2)))
    with pytest.raises(ValueError, match="of what transform returns"):
        model.inverse_transform(np.ones((1, model.n_components_ + 1)))
