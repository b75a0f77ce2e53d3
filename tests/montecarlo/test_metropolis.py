"""Metropolis-Hastings: exact on a finite space, known moments, tuned in the warm-up alone."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from panlearn.montecarlo import diagnostics, metropolis_hastings, proposals
from panlearn.montecarlo._metropolis import Metropolis

NORMAL = lambda x: -(x**2).sum(axis=1) / 2  # noqa: E731


def transition_matrix(log_weights, q, hastings=True):
    """The kernel by enumeration: one chain for each pair of states, its proposal prescribed."""
    n = len(log_weights)
    source, target = (a.ravel() for a in np.indices((n, n)))
    log_factor = np.log(q[target, source] / q[source, target]) if hastings else 0.0
    sampler = Metropolis(
        lambda x: log_weights[x[:, 0].astype(int)], lambda rng, x: (target[:, None], log_factor)
    )
    state = sampler.step(np.random.default_rng(0), sampler.init(source[:, None].astype(float)))
    moves = (q[source, target] * state.acceptance).reshape(n, n)
    return moves + np.diag(1 - moves.sum(axis=1))


def test_detailed_balance_by_enumeration(rng):
    weights, q = rng.random(5) * 7, rng.dirichlet(np.ones(5), 5)
    law = weights / weights.sum()
    kernel = transition_matrix(np.log(weights), q)
    flow = law[:, None] * kernel
    np.testing.assert_allclose(flow, flow.T, atol=1e-16)
    np.testing.assert_allclose(law @ kernel, law, atol=1e-15)
    wrong = law[:, None] * transition_matrix(np.log(weights), q, hastings=False)
    assert np.abs(wrong - wrong.T).max() > 1e-3


def test_correlated_normal_law(rng):
    A = rng.normal(size=(3, 3))
    cov, mean = A @ A.T + 0.1 * np.eye(3), np.array([1.0, -2.0, 30.0])
    precision = np.linalg.inv(cov)
    draws = metropolis_hastings(
        lambda x: -np.einsum("ij,jk,ik->i", x - mean, precision, x - mean) / 2,
        rng.normal(size=(32, 3)),
        n_draws=2000,
        random_state=1,
    )
    summary = draws.summary()
    # four standard errors, as estimated from the draws
    assert (np.abs(summary["mean"] - mean) < 4 * summary["mcse_mean"]).all()
    np.testing.assert_allclose(draws.covariance(), cov, atol=0.1 * np.abs(cov).max())
    assert (summary["rhat"] < 1.02).all()
    assert 0.15 < draws.acceptance.mean() < 0.45


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_warm_up_finds_the_scale(rng, scale):
    draws = metropolis_hastings(
        lambda x: NORMAL(x / scale), np.zeros((8, 2)) + scale, random_state=2
    )
    np.testing.assert_allclose(draws.draws.std(axis=(0, 1)), scale, rtol=0.15)
    root = np.sqrt(np.diag(draws.info["covariance"]))
    assert (root > 0.2 * scale).all()
    assert (root < 10 * scale).all()


def test_after_the_warm_up_nothing_is_tuned(rng):
    """The draws are those of a chain with the reported covariance, started where it ended."""
    start = rng.normal(size=(4, 2))
    seed = np.random.default_rng(5)
    tuned = metropolis_hastings(NORMAL, start, n_draws=50, n_warmup=200, random_state=seed)
    proposal = proposals.RandomWalk(1.0, np.linalg.cholesky(tuned.info["covariance"]))
    seed = np.random.default_rng(5)
    warm = metropolis_hastings(NORMAL, start, n_draws=1, n_warmup=200, random_state=seed)
    sampler = Metropolis(NORMAL, proposal)
    state = sampler.init(warm.draws[:, 0])
    for t in range(1, 50):
        state = sampler.step(seed, state)
        np.testing.assert_allclose(state.position, tuned.draws[:, t], rtol=1e-9)


def test_any_proposal_with_its_hastings_factor(rng):
    shape, start = 3.0, rng.gamma(3.0, size=(32, 1))
    gamma = lambda x: np.where(x[:, 0] > 0, (shape - 1) * np.log(x[:, 0]) - x[:, 0], -np.inf)  # noqa: E731
    chosen = [
        proposals.LogRandomWalk(),
        proposals.Independent(lambda r, n: r.exponential(4, (n, 1)), lambda x: -x[:, 0] / 4),
        lambda r, x: (x * np.exp(f := r.uniform(-1, 1, size=x.shape)), f[:, 0]),
    ]
    for proposal in chosen:
        draws = metropolis_hastings(
            gamma, start, proposal=proposal, n_draws=3000, n_warmup=300, random_state=3
        )
        error = 4 * draws.summary()["mcse_mean"]
        assert abs(draws.mean() - shape) < error
    # without its factor the same proposal has another law
    wrong = metropolis_hastings(
        gamma, start, proposal=lambda r, x: (chosen[2](r, x)[0], 0.0), n_draws=3000, random_state=3
    )
    assert abs(wrong.mean() - shape) > 0.5


def test_thinning_and_seeds(rng):
    start = rng.normal(size=(3, 2))
    every = metropolis_hastings(NORMAL, start, n_draws=40, n_warmup=20, random_state=7)
    fourth = metropolis_hastings(NORMAL, start, n_draws=10, n_warmup=20, thin=4, random_state=7)
    np.testing.assert_array_equal(fourth.draws, every.draws[:, 3::4])
    np.testing.assert_array_equal(fourth.acceptance, every.acceptance)
    np.testing.assert_array_equal(every.log_density, NORMAL(every.flat()).reshape(3, 40))
    other = metropolis_hastings(NORMAL, start, n_draws=40, n_warmup=20, random_state=8)
    assert not np.array_equal(every.draws, other.draws)


def test_chains_stop_at_the_wanted_size_or_say_how_many_more(rng):
    start = rng.normal(size=(8, 2))
    draws = metropolis_hastings(NORMAL, start, n_draws=20_000, target_ess=500, random_state=0)
    assert draws.draws.shape[1] < 5000
    assert (diagnostics.ess_bulk(draws.draws) >= 500).all()
    with pytest.warns(ConvergenceWarning, match=r"about \d+ more draws"):
        metropolis_hastings(NORMAL, start, n_draws=200, target_ess=5000, random_state=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"init": np.zeros(3)}, "one row a chain"),
        ({"init": [[np.nan]]}, "finite start"),
        ({"log_density": lambda x: x}, "one value a chain"),
        ({"log_density": lambda x: np.full(len(x), -np.inf)}, "start of chain 0"),
        ({"n_draws": 0}, "n_draws must be"),
        ({"thin": 1.5}, "thin must be"),
        ({"target_ess": -1}, "target_ess must be"),
        ({"log_density": lambda x: np.where(np.abs(x[:, 0]) < 2, 0.0, np.nan)}, "NaN for the"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"log_density": NORMAL, "init": np.zeros((2, 1)), "random_state": 0, **change}
    with pytest.raises(ValueError, match=message):
        metropolis_hastings(**arguments)


@pytest.mark.parametrize("n_warmup", [1, 2, 5, 20])
def test_one_chain_may_have_a_short_warmup(n_warmup):
    draws = metropolis_hastings(
        lambda x: -(x**2).sum(axis=1) / 2,
        [[0.0, 0.0]],
        n_draws=50,
        n_warmup=n_warmup,
        random_state=0,
    )
    assert np.isfinite(draws.draws).all()


def test_a_target_needs_draws_to_be_measured_on():
    with pytest.raises(ValueError, match="four draws"):
        metropolis_hastings(lambda x: -(x[:, 0] ** 2), [[0.0]], n_draws=3, target_ess=10)
