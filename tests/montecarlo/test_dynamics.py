"""Gibbs, Langevin and Hamiltonian samplers: exact laws, reversibility, tuning."""

from itertools import product

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from panlearn.montecarlo import gibbs, hamiltonian, langevin
from panlearn.montecarlo._gibbs import Gibbs
from panlearn.montecarlo._hamiltonian import Hamiltonian
from panlearn.montecarlo._langevin import Adjusted

SPREAD = np.array([0.01, 1.0, 100.0])


def log_density(x):
    return -((x / SPREAD) ** 2).sum(axis=1) / 2


def score(x):
    return -x / SPREAD**2


def test_gibbs_leaves_a_table_invariant_by_enumeration(rng):
    """One chain for each state and each outcome of the three draws; its probability is known."""
    table = rng.dirichlet(np.ones(8)).reshape(2, 2, 2)
    pairs = list(product(product((0, 1), repeat=3), repeat=2))
    start, outcome = (np.array([p[k] for p in pairs]) for k in (0, 1))
    probability = np.ones(len(pairs))

    def conditional(j):
        def draw(_, x):
            at = [x[:, k].astype(int) for k in range(3)]
            both = np.stack([table[(*at[:j], np.full(len(x), v), *at[j + 1 :])] for v in (0, 1)])
            chosen = outcome[:, j]
            probability[:] *= both[chosen, np.arange(len(x))] / both.sum(axis=0)
            return chosen

        return draw

    sampler = Gibbs(tuple((j, conditional(j)) for j in range(3)))
    state = sampler.step(rng, sampler.init(start.astype(float)))
    np.testing.assert_array_equal(state.position, outcome)
    law = np.zeros(8)
    np.add.at(law, outcome @ [4, 2, 1], table.ravel()[start @ [4, 2, 1]] * probability)
    np.testing.assert_allclose(law, table.ravel(), atol=1e-16)


@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_gibbs_blocks_and_scans(rng, scan):
    cov = np.array([[1, 0.7, 0.2], [0.7, 2, 0.5], [0.2, 0.5, 1.5]])
    inner = np.linalg.solve(cov[:2, :2], cov[:2, 2])
    outer = cov[:2, 2] / cov[2, 2]
    root = np.linalg.cholesky(cov[:2, :2] - np.outer(outer, cov[2, :2]))
    draws = gibbs(
        [
            ([0, 1], lambda r, x: x[:, 2:] * outer + r.normal(size=(len(x), 2)) @ root.T),
            (
                [2],
                lambda r, x: r.normal(x[:, :2] @ inner, np.sqrt(1.5 - inner @ cov[:2, 2]))[:, None],
            ),
        ],
        np.zeros((20, 3)),
        scan=scan,
        n_draws=1500,
        n_warmup=50,
        random_state=0,
    )
    np.testing.assert_allclose(draws.covariance(), cov, atol=0.1)
    assert (draws.acceptance == 1).all()


def test_gibbs_needs_every_coordinate():
    with pytest.raises(ValueError, match="every coordinate"):
        gibbs([lambda r, x: x[:, 0]], np.zeros((2, 2)))
    with pytest.raises(ValueError, match="scan must be"):
        gibbs([lambda r, x: x[:, 0]], np.zeros((2, 1)), scan="both")


@pytest.mark.parametrize("step", [0.1, 0.5])
def test_plain_langevin_has_the_variance_of_its_step(step):
    draws = langevin(
        lambda x: -x, np.zeros((200, 1)), step_size=step, n_draws=2000, n_warmup=100, random_state=0
    )
    # the ESS is n e / 4 or so: a standard error of the variance below 1 %
    np.testing.assert_allclose(draws.covariance(), 1 / (1 - step / 4), rtol=0.03)


def test_adjusted_langevin_weighs_the_way_back(rng):
    """The factor in the acceptance is the ratio of the two Gaussian transition densities."""
    position = rng.normal(size=(6, 3)) * SPREAD
    root = SPREAD[:, None] * np.tril(rng.normal(size=(3, 3)))
    sampler = Adjusted(log_density, score, 0.7, root)
    cov, back = root @ root.T, np.linalg.inv(root)
    state = sampler.init(position)

    def log_q(new, old):
        mean = old + 0.35 * score(old) @ cov
        return -(((new - mean) @ back.T) ** 2).sum(axis=1) / (2 * 0.7)

    noise = np.random.default_rng(3).standard_normal(position.shape)
    new = position + 0.35 * score(position) @ cov + np.sqrt(0.7) * noise @ root.T
    ratio = log_density(new) - log_density(position) + log_q(position, new) - log_q(new, position)
    after = sampler.step(np.random.default_rng(3), state)
    np.testing.assert_allclose(after.acceptance, np.exp(np.minimum(ratio, 0)), rtol=1e-10)


def test_adjusted_langevin_learns_the_covariance(rng):
    cov = np.array([[1.0, 0.99], [0.99, 1.0]])
    precision = np.linalg.inv(cov)
    draws = langevin(
        lambda x: -x @ precision,
        rng.normal(size=(8, 2)),
        log_density=lambda x: -np.einsum("ij,jk,ik->i", x, precision, x) / 2,
        random_state=0,
    )
    np.testing.assert_allclose(draws.covariance(), cov, atol=0.15)
    assert abs(draws.acceptance.mean() - 0.574) < 0.1
    assert (draws.summary()["ess_bulk"] > 1000).all()


def test_leapfrog_is_reversible_and_keeps_the_energy(rng):
    sampler = Hamiltonian(log_density, score, 0.1, 1.0, 100, SPREAD)
    x, m = rng.normal(size=(5, 3)) * SPREAD, rng.normal(size=(5, 3))
    there, gradient, end = sampler.leapfrog(x, score(x), m, 12)
    back, _, start = sampler.leapfrog(there, gradient, -end, 12)
    np.testing.assert_allclose(back / SPREAD, x / SPREAD, atol=1e-12)
    np.testing.assert_allclose(-start, m, atol=1e-12)
    errors = []
    for step, n in ((0.1, 10), (0.05, 20)):
        half = Hamiltonian(log_density, score, step, 1.0, 100, SPREAD)
        there, _, end = half.leapfrog(x, score(x), m, n)
        energy = [-log_density(p) + (v**2).sum(axis=1) / 2 for p, v in ((x, m), (there, end))]
        errors.append(np.abs(energy[1] - energy[0]).max())
    assert 3.5 < errors[0] / errors[1] < 4.5  # of second order in the step


def test_hamiltonian_learns_masses_and_mixes_in_few_steps(rng):
    draws = hamiltonian(
        log_density, score, rng.normal(size=(8, 3)), n_draws=1000, n_warmup=500, random_state=0
    )
    summary = draws.summary()
    np.testing.assert_allclose(summary["std"], SPREAD, rtol=0.1)
    np.testing.assert_allclose(draws.info["mass"] * SPREAD**2, 1, rtol=0.3)
    assert (summary["ess_bulk"] > 1000).all()
    assert abs(draws.acceptance.mean() - 0.8) < 0.12
    assert summary["divergences"] == 0


def test_paths_that_break_down_are_counted():
    """A funnel whose neck is narrower than any step that suits its mouth."""

    def funnel(x):
        return (
            -(x[:, 0] ** 2) / 18 - x[:, 0] * 2 - (x[:, 1:] ** 2).sum(axis=1) * np.exp(-x[:, 0]) / 2
        )

    def slope(x):
        inner = np.exp(-x[:, :1])
        first = -x[:, 0] / 9 - 2 + (x[:, 1:] ** 2).sum(axis=1) * inner[:, 0] / 2
        return np.column_stack([first, -x[:, 1:] * inner])

    with pytest.warns(ConvergenceWarning, match="steps diverged"):
        draws = hamiltonian(
            funnel, slope, np.zeros((8, 5)) + 0.1, n_draws=300, n_warmup=150, random_state=0
        )
    assert draws.divergences.sum() > 0
    assert f"divergences={draws.divergences.sum()}" in repr(draws)
    assert np.isfinite(draws.draws).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: langevin(score, np.zeros((2, 3))), "need a step_size"),
        (lambda: langevin(score, np.zeros((2, 3)), step_size=-1), "step_size must be"),
        (lambda: langevin(lambda x: x[:, 0], np.zeros((2, 3)), step_size=1.0), "score must map"),
        (lambda: langevin(lambda x: x**3, np.ones((2, 1)), step_size=5.0), "lower it"),
        (lambda: hamiltonian(log_density, score, np.zeros((2, 3)), path_length=0), "path_length"),
        (
            lambda: hamiltonian(log_density, score, np.zeros((2, 3)), target_acceptance=1),
            "target_acceptance",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "conditional",
    [
        lambda rng, x: x[:, 0] * np.nan,
        lambda rng, x: x,
        lambda rng, x: rng.normal(),  # one number for all chains: they would be one
    ],
)
def test_a_conditional_gives_a_number_a_chain(conditional):
    with pytest.raises(ValueError, match="conditional of 0 must give finite draws of shape"):
        gibbs([conditional], np.ones((3, 1)), n_draws=5, n_warmup=0)
