"""Samplers and their diagnostics against arviz, emcee and blackjax."""

import logging

import numpy as np
import pytest

from panlearn.montecarlo import WeightedDraws, diagnostics, hamiltonian, metropolis_hastings
from panlearn.montecarlo._hamiltonian import Hamiltonian


@pytest.fixture
def arviz(monkeypatch):
    module = pytest.importorskip("arviz", reason="arviz is not installed")
    logging.getLogger("arviz").setLevel(logging.ERROR)
    return module


def chains(rng, kind, m, n):
    if kind == "cauchy":
        return rng.standard_cauchy((m, n))
    noise, x = rng.normal(size=(m, n)), np.zeros((m, n))
    phi = {"antithetic": -0.7, "independent": 0.0, "slow": 0.95, "rounded": 0.6}[kind]
    for t in range(n):
        x[:, t] = phi * x[:, t - 1] + noise[:, t]
    return np.round(x) if kind == "rounded" else x


@pytest.mark.parametrize("kind", ["antithetic", "independent", "slow", "rounded", "cauchy"])
@pytest.mark.parametrize(("m", "n"), [(2, 4), (4, 11), (3, 101), (8, 500)])
@pytest.mark.filterwarnings("ignore")
def test_diagnostics_are_those_of_arviz(arviz, rng, kind, m, n):
    x = chains(rng, kind, m, n)
    pairs = {
        "rhat": (diagnostics.rhat, arviz.rhat(x)),
        "split_rhat": (diagnostics.split_rhat, arviz.rhat(x, method="split")),
        "ess_bulk": (diagnostics.ess_bulk, arviz.ess(x)),
        "ess_tail": (diagnostics.ess_tail, arviz.ess(x, method="tail")),
        "ess_mean": (diagnostics.ess_mean, arviz.ess(x, method="mean")),
        "mcse_mean": (diagnostics.mcse_mean, arviz.mcse(x)),
    }
    for name, (function, expected) in pairs.items():
        np.testing.assert_allclose(function(x), expected, rtol=1e-9, err_msg=name)
    theirs = arviz.autocorr(x)
    np.testing.assert_allclose(diagnostics.autocorrelation(x), theirs, atol=1e-9)


@pytest.mark.parametrize("shape", [0.1, 0.5, 0.9])
def test_tail_of_weights_is_that_of_arviz(arviz, rng, shape):
    log_weights = np.log(rng.pareto(1 / shape, size=2000) + 1)
    ours = WeightedDraws(np.zeros((2000, 1)), log_weights)
    _, expected = arviz.psislw(log_weights)
    np.testing.assert_allclose(ours.pareto_k, expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_draws_go_to_arviz(arviz, rng):
    draws = metropolis_hastings(
        lambda x: -(x**2).sum(axis=1) / 2, rng.normal(size=(4, 2)), random_state=0
    )
    data = arviz.from_dict(**draws.to_dict(["a", "b"]))
    assert data.posterior["a"].shape == (4, 1000)
    summary = arviz.summary(data, round_to="none")
    ours = draws.summary()
    for column in ("mean", "ess_bulk", "ess_tail"):
        np.testing.assert_allclose(ours[column], summary[column], rtol=1e-9)
    np.testing.assert_allclose(ours["rhat"], summary["r_hat"], rtol=1e-9)


def test_the_law_is_that_of_emcee(rng):
    emcee = pytest.importorskip("emcee", reason="emcee is not installed")
    precision = np.array([[2.0, 0.9], [0.9, 1.0]])

    def log_density(x):
        return -np.einsum("ij,jk,ik->i", x, precision, x) / 2 - np.abs(x[:, 0])

    start = rng.normal(size=(32, 2))
    ours = metropolis_hastings(log_density, start, n_draws=3000, random_state=0)
    peer = emcee.EnsembleSampler(32, 2, log_density, vectorize=True)
    peer.random_state = np.random.RandomState(0).get_state()
    peer.run_mcmc(start, 4000)
    theirs = peer.get_chain(discard=1000).swapaxes(0, 1)
    error = np.hypot(diagnostics.mcse_mean(ours.draws), diagnostics.mcse_mean(theirs))
    assert (np.abs(ours.mean() - theirs.mean(axis=(0, 1))) < 4 * error).all()
    spread = np.cov(theirs.reshape(-1, 2), rowvar=False)
    np.testing.assert_allclose(ours.covariance(), spread, atol=0.05)


SPREAD = np.array([0.5, 1.0, 4.0])


def _bent(x):
    """A density whose gradient is not linear: a curved ridge, and a heavy tail."""
    ridge = x[..., 1] - 2 * x[..., 0] / (1 + x[..., 0] ** 2) ** 0.5
    return -(x[..., 0] ** 2) / 2 - ridge**2 / 2 - (1 + x[..., 2] ** 2 / 3) ** 0.5


def _slope(x):
    root = (1 + x[..., 0] ** 2) ** 0.5
    ridge = x[..., 1] - 2 * x[..., 0] / root
    tail = -x[..., 2] / 3 / (1 + x[..., 2] ** 2 / 3) ** 0.5
    return np.stack([-x[..., 0] + 2 * ridge / root**3, -ridge, tail], axis=-1)


def test_a_path_is_that_of_blackjax(rng):
    """The same momentum, steps and masses lead to the same end."""
    jax = pytest.importorskip("jax", reason="jax is not installed")
    integrators = pytest.importorskip("blackjax.mcmc.integrators", reason="needs blackjax")
    metrics = pytest.importorskip("blackjax.mcmc.metrics", reason="needs blackjax")
    position, momentum = rng.normal(size=(2, 3, 3))
    ours = Hamiltonian(_bent, _slope, 0.11, 1.0, 100, SPREAD)
    end, gradient, final = ours.leapfrog(position, _slope(position), momentum, 17)
    with jax.enable_x64(True):
        metric = metrics.default_metric(jax.numpy.asarray(SPREAD**2))
        step = jax.jit(integrators.velocity_verlet(_bent, metric.kinetic_energy))
        for chain in range(3):
            # its momentum has the masses 1 / spread^2, ours is that over the spread
            state = integrators.new_integrator_state(
                _bent,
                jax.numpy.asarray(position[chain]),
                jax.numpy.asarray(momentum[chain] / SPREAD),
            )
            for _ in range(17):
                state = step(state, 0.11)
            np.testing.assert_allclose(end[chain], state.position, rtol=0, atol=1e-10)
            np.testing.assert_allclose(final[chain] / SPREAD, state.momentum, rtol=0, atol=1e-10)
            np.testing.assert_allclose(gradient[chain], state.logdensity_grad, rtol=0, atol=1e-10)


def test_the_draws_have_the_law_of_those_of_blackjax(rng):
    jax = pytest.importorskip("jax", reason="jax is not installed")
    blackjax = pytest.importorskip("blackjax", reason="blackjax is not installed")
    with jax.enable_x64(True):
        kernel = blackjax.hmc(
            _bent,
            step_size=0.25,
            inverse_mass_matrix=jax.numpy.asarray(SPREAD**2),
            num_integration_steps=7,
        )

        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position

        def chain(key, position):
            return jax.lax.scan(step, kernel.init(position), jax.random.split(key, 4000))[1]

        keys = jax.random.split(jax.random.PRNGKey(0), 8)
        run = jax.jit(jax.vmap(chain))
        theirs = np.asarray(run(keys, jax.numpy.asarray(rng.normal(size=(8, 3)))))[:, 500:]
    ours = hamiltonian(
        _bent, _slope, rng.normal(size=(8, 3)), n_draws=3000, n_warmup=800, random_state=0
    ).draws
    for moment in (lambda x: x, lambda x: x**2, lambda x: np.abs(x) < 1):
        a, b = moment(ours.reshape(8, -1, 3)), moment(theirs)
        error = np.hypot(*(v.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(8) for v in (a, b)))
        # five standard errors, from the means of eight chains each
        difference = np.abs(a.mean(axis=(0, 1)) - b.mean(axis=(0, 1)))
        assert (difference < 5 * error + 1e-3).all(), difference / error
