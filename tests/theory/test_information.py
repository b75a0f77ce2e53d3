"""Entropies, divergences and distances against closed forms, brute force and SciPy."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from sklearn.feature_selection._mutual_info import _compute_mi_cc

from panlearn.theory import information

NAMES = ["kl", "reverse_kl", "total_variation", "js", "gan", "pearson", "hellinger"]


@pytest.fixture
def pair(rng):
    return rng.dirichlet(np.ones(6), size=2)


def test_tables_agree_with_scipy(pair):
    p, q = pair
    assert information.entropy(p, base=2) == pytest.approx(stats.entropy(p, base=2), abs=1e-12)
    assert information.kl_divergence(p, q) == pytest.approx(stats.entropy(p, q), abs=1e-12)
    middle = (stats.entropy(p, (p + q) / 2) + stats.entropy(q, (p + q) / 2)) / 2
    assert information.js_divergence(p, q) == pytest.approx(middle, abs=1e-12)
    assert information.cross_entropy(p, q) == pytest.approx(-(p @ np.log(q)), abs=1e-12)
    assert information.entropy(1000 * p) == pytest.approx(stats.entropy(p), abs=1e-12)


def test_zeros_are_limits():
    assert information.entropy([0, 1, 0]) == 0
    assert information.cross_entropy([1, 0], [1, 0]) == 0
    assert information.cross_entropy([1, 1], [1, 0]) == np.inf
    assert information.kl_divergence([1, 0], [1, 1]) == pytest.approx(np.log(2))
    assert information.kl_divergence([1, 1], [1, 0]) == np.inf
    assert information.js_divergence([1, 0], [0, 1], base=2) == pytest.approx(1)


@pytest.mark.parametrize("bad", [[], [0, 0], [-1, 2], [np.nan, 1]])
def test_what_is_no_table_is_refused(bad):
    with pytest.raises(ValueError, match="probabilities or counts"):
        information.entropy(bad)


def test_tables_of_other_shapes_and_bases_are_refused():
    with pytest.raises(ValueError, match="same cells"):
        information.kl_divergence([1, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="base=1"):
        information.entropy([1, 1], base=1)
    with pytest.raises(ValueError, match="two variables"):
        information.mutual_information([1, 1])
    with pytest.raises(ValueError, match="'nothing'"):
        information.f_divergence([1, 1], [1, 1], "nothing")


def test_joint_tables(rng):
    joint = rng.dirichlet(np.ones(12)).reshape(3, 4)
    columns = joint.sum(axis=0)
    by_column = sum(c * stats.entropy(joint[:, j] / c) for j, c in enumerate(columns))
    assert information.conditional_entropy(joint) == pytest.approx(by_column, abs=1e-12)
    expected = stats.entropy(joint.sum(axis=1)) - by_column
    assert information.mutual_information(joint) == pytest.approx(expected, abs=1e-12)
    product = np.outer(joint.sum(axis=1), columns)
    assert information.mutual_information(product) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_f_divergences_by_their_definitions(pair, name):
    p, q = pair
    kl, m = stats.entropy, (p + q) / 2
    expected = {
        "kl": kl(p, q),
        "reverse_kl": kl(q, p),
        "total_variation": np.abs(p - q).sum() / 2,
        "js": (kl(p, m) + kl(q, m)) / 2,
        "gan": kl(p, m) + kl(q, m),
        "pearson": ((p - q) ** 2 / q).sum(),
        "hellinger": ((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2,
    }[name]
    assert information.f_divergence(p, q, name) == pytest.approx(expected, abs=1e-12)
    assert information.f_divergence(p, p, name) == pytest.approx(0, abs=1e-12)
    best = information.best_critic(p, q, name)
    assert information.variational_bound(best, p, q, name) == pytest.approx(expected, abs=1e-12)
    worse = best - np.linspace(0, 0.2, 6)
    assert information.variational_bound(worse, p, q, name) <= expected + 1e-12


@pytest.mark.parametrize(
    ("name", "disjoint"),
    [("kl", np.inf), ("total_variation", 1), ("js", np.log(2)), ("gan", np.log(4)),
     ("hellinger", 1), ("reverse_kl", np.inf), ("pearson", np.inf)],
)  # fmt: skip
def test_laws_that_never_meet(name, disjoint):
    assert information.f_divergence([1, 0], [0, 1], name) == pytest.approx(disjoint)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("s", [-1.5, -0.4, -0.1])
def test_conjugates_are_suprema(name, s):
    chosen = information.f_divergence.__globals__["F_DIVERGENCES"][name]
    run = minimize_scalar(lambda t: chosen.f(t) - s * t, bounds=(1e-12, 60), method="bounded",
                          options={"xatol": 1e-12})  # fmt: skip
    edge = -chosen.at_zero  # the limit at t = 0, which the search comes close to only
    assert information.conjugate(s, name) == pytest.approx(max(-run.fun, edge), abs=1e-7)
    step = 1e-6
    slope = (chosen.f(0.7 + step) - chosen.f(0.7 - step)) / (2 * step)
    assert chosen.derivative(0.7) == pytest.approx(slope, abs=1e-8)


def test_conjugates_end():
    assert information.conjugate(0.0, "gan") == np.inf
    assert information.conjugate(2.0, "reverse_kl") == np.inf
    assert information.conjugate(0.6, "total_variation") == np.inf
    assert information.conjugate(-5.0, "pearson") == -1


def test_gaussians(rng):
    m1, m2 = rng.normal(size=(2, 3))
    S1, S2 = (a @ a.T + np.eye(3) for a in rng.normal(size=(2, 3, 3)))
    law, other = stats.multivariate_normal(m1, S1), stats.multivariate_normal(m2, S2)
    assert information.gaussian_entropy(S1) == pytest.approx(law.entropy(), abs=1e-12)
    draws = law.rvs(200_000, random_state=1)
    gaps = law.logpdf(draws) - other.logpdf(draws)
    error = gaps.std() / np.sqrt(len(gaps))
    assert abs(information.gaussian_kl_divergence(m1, S1, m2, S2) - gaps.mean()) < 4 * error
    assert information.gaussian_kl_divergence(m1, S1, m1, S1) == pytest.approx(0, abs=1e-12)
    one = information.gaussian_kl_divergence(0.5, 4.0, -1.0, 9.0)
    assert one == pytest.approx(np.log(1.5) + (4 + 2.25) / 18 - 0.5, abs=1e-12)
    rho = 0.8
    info = information.gaussian_mutual_information([[1, rho], [rho, 1]], 0)
    assert info == pytest.approx(-np.log(1 - rho**2) / 2, abs=1e-12)
    with pytest.raises(ValueError, match="cov2 must be a positive definite"):
        information.gaussian_kl_divergence([0, 0], np.eye(2), [0, 0], np.zeros((2, 2)))


def test_wasserstein_of_gaussians(rng):
    S1, S2 = np.diag([4.0, 1.0]), np.diag([1.0, 9.0])
    assert information.gaussian_wasserstein([0, 0], S1, [3, 4], S2) == pytest.approx(np.sqrt(30))
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]  # a rotation of both changes nothing
    both = [turn @ S @ turn.T for S in (S1, S2)]
    assert information.gaussian_wasserstein(
        turn @ [0, 0], both[0], turn @ [3, 4], both[1]
    ) == pytest.approx(np.sqrt(30))
    singular = np.outer([1, 1], [1, 1])
    assert information.gaussian_wasserstein([0, 0], singular, [0, 0], singular) < 1e-7
    found = information.gaussian_wasserstein(0, 1, 1, 4)
    quantiles = quad(lambda u: (stats.norm.ppf(u) - stats.norm.ppf(u, 1, 2)) ** 2, 0, 1)[0]
    assert found == pytest.approx(np.sqrt(quantiles), abs=1e-6)


def test_wasserstein_on_the_line(rng):
    x, y = rng.normal(size=30), rng.normal(1, 2, size=21)
    u, v = rng.random(30), rng.random(21)
    ours = information.wasserstein(x, y, u, v)
    assert ours == pytest.approx(stats.wasserstein_distance(x, y, u, v), abs=1e-12)
    plan = information.optimal_transport(u, v, np.abs(x[:, None] - y) ** 2)
    assert information.wasserstein(x, y, u, v, order=2) ** 2 == pytest.approx(plan.cost, abs=1e-9)
    np.testing.assert_allclose(plan.plan.sum(axis=0), v / v.sum(), atol=1e-9)
    prices = plan.potentials[0][:, None] + plan.potentials[1]
    assert (prices - np.abs(x[:, None] - y) ** 2).max() < 1e-9
    dual = plan.potentials[0] @ u / u.sum() + plan.potentials[1] @ v / v.sum()
    assert dual == pytest.approx(plan.cost, abs=1e-9)


def test_wasserstein_in_the_plane(rng):
    x, y = rng.normal(size=(2, 15, 2))
    assignment = information.wasserstein(x, y, order=2)
    program = information.wasserstein(x, y, np.ones(15), np.ones(15), order=2)
    assert assignment == pytest.approx(program, abs=1e-9)
    assert information.wasserstein(x, y) == pytest.approx(
        stats.wasserstein_distance_nd(x, y), abs=1e-8
    )
    with pytest.raises(ValueError, match="order"):
        information.wasserstein(x, y, order=0.5)


def test_mmd_by_all_pairs(rng, monkeypatch):
    X, Y = rng.normal(size=(7, 2)), rng.normal(1, 1, size=(5, 2))

    def mean(A, B, own):
        pairs = [(a, b) for i, a in enumerate(A) for j, b in enumerate(B) if not own or i != j]
        return np.mean([np.exp(-0.3 * ((a - b) ** 2).sum()) for a, b in pairs])

    expected = mean(X, X, True) + mean(Y, Y, True) - 2 * mean(X, Y, False)
    assert information.mmd(X, Y, gamma=0.3) == pytest.approx(expected, abs=1e-12)
    biased = mean(X, X, False) + mean(Y, Y, False) - 2 * mean(X, Y, False)
    assert information.mmd(X, Y, gamma=0.3, biased=True) == pytest.approx(biased, abs=1e-12)
    assert information.mmd(X, X, biased=True) == pytest.approx(0, abs=1e-12)
    big = rng.normal(size=(2500, 1))  # more than one block of rows
    pairs = np.exp(-((big - big.T) ** 2)).sum() - 2500
    left = information.mmd(big, big[:3], gamma=1.0)
    few = big[:3]
    expected = (
        pairs / (2500 * 2499)
        + (np.exp(-((few - few.T) ** 2)).sum() - 3) / 6
        - 2 * np.exp(-((big - few.T) ** 2)).mean()
    )
    assert left == pytest.approx(expected, abs=1e-12)


def test_estimates_of_samples(rng):
    X = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 2]], size=4000)
    truth = stats.multivariate_normal(cov=[[1, 0.6], [0.6, 2]]).entropy()
    assert information.sample_entropy(X) == pytest.approx(truth, abs=0.06)  # 3 standard errors
    assert information.sample_entropy(10 * X) == pytest.approx(
        information.sample_entropy(X) + 2 * np.log(10), abs=1e-9
    )
    Y = rng.normal([1, 0], [2, 2], size=(4000, 2))
    expected = information.gaussian_kl_divergence(
        [0, 0], [[1, 0.6], [0.6, 2]], [1, 0], 4 * np.eye(2)
    )
    assert information.sample_kl_divergence(X, Y) == pytest.approx(expected, abs=0.1)
    rho = 0.6 / np.sqrt(2)
    found = information.sample_mutual_information(X[:, 0], X[:, 1])
    assert found == pytest.approx(-np.log(1 - rho**2) / 2, abs=0.06)
    assert found == pytest.approx(_compute_mi_cc(X[:, 0], X[:, 1], 3), abs=1e-9)


def test_repeated_rows_have_no_density(rng):
    with pytest.raises(ValueError, match="no density"):
        information.sample_entropy(np.zeros((10, 1)))
    with pytest.raises(ValueError, match="n_neighbors=3"):
        information.sample_entropy(rng.normal(size=(3, 1)))


def test_labels(rng):
    x = rng.integers(4, size=300)
    assert information.label_mutual_information(x, x) == pytest.approx(
        stats.entropy(np.bincount(x)), abs=1e-12
    )
    plain, corrected = [], []
    for _ in range(200):  # independent: what is found is chance, and the correction takes it off
        a, b = rng.integers(4, size=(2, 100))
        plain.append(information.label_mutual_information(a.astype(str), b))
        corrected.append(information.label_mutual_information(a, b, correction=True))
    assert np.mean(plain) > 0.03
    assert abs(np.mean(corrected)) < 0.01
    with pytest.raises(ValueError, match="one of each a row"):
        information.label_mutual_information([0, 1], [0, 1, 1])


def test_bounds_by_scores(rng):
    joint = rng.dirichlet(np.ones(9)).reshape(3, 3)
    ratio = np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))
    cells = rng.choice(9, size=60_000, p=joint.ravel())
    rows, columns = np.divmod(cells, 3)
    truth = information.mutual_information(joint)
    bound = information.donsker_varadhan(
        ratio[rows, columns], ratio[rows, rng.permutation(columns)]
    )
    assert bound == pytest.approx(truth, abs=0.02)
    few = ratio[np.ix_(rows[:200], np.arange(3))][:, columns[:200]]
    assert information.infonce(few) <= np.log(200)
    assert information.infonce(np.zeros((5, 5))) == pytest.approx(0)
    assert information.infonce(100 * np.eye(5)) == pytest.approx(np.log(5))
