"""f-divergences, adversarial objectives, transport, and what makes a function Lipschitz."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.special import log_expit
from scipy.stats import norm, wasserstein_distance

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.linear import LogisticRegression
from panlearn.theory import approximation, information


def _pair(seed: int, cells: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(cells), size=2)


@claim("B180")
def f_divergences() -> Iterator[Evidence]:
    """T log t gives KL(p || q), -log t gives KL(q || p), |t - 1| / 2 half the sum of |p - q|."""
    p, q = _pair(0)
    yield equal("kl", information.f_divergence(p, q, "kl"), (p * np.log(p / q)).sum(), 1e-12)
    reverse = information.f_divergence(p, q, "reverse_kl")
    yield equal("reverse", reverse, (q * np.log(q / p)).sum(), 1e-12)
    half = information.f_divergence(p, q, "total_variation")
    yield equal("total variation", half, np.abs(p - q).sum() / 2, 1e-12)


@claim("B181")
def conjugates() -> Iterator[Evidence]:
    """T log t - t + 1 has e^s - 1; t log t - (t+1) log(t+1) + log 4 has -log(1 - e^s) - log 4."""
    t = np.linspace(1e-9, 60, 2_000_001)
    for name, f, points in (
        ("kl", t * np.log(t) - t + 1, (-2.0, 0.0, 1.5)),
        ("gan", t * np.log(t) - (t + 1) * np.log(t + 1) + np.log(4), (-2.0, -0.7, -0.1)),
    ):
        for s in points:
            by_grid = (s * t - f).max()
            yield equal(f"f* of {name} at {s}", information.conjugate(s, name), by_grid, 1e-6)
        slopes = np.linspace(-12, -1e-6 if name == "gan" else 3, 400_001)
        again = (0.8 * slopes - information.conjugate(slopes, name)).max()
        yield equal(f"f** of {name}", again, f[np.searchsorted(t, 0.8)], 1e-4)


@claim("B182")
def variational_divergence() -> Iterator[Evidence]:
    """KL(q || p) = max_S E_q S - E_p e^S + 1, at S = log(q / p); any other S gives less."""
    p, q = _pair(1)
    truth, best = information.kl_divergence(q, p), np.log(q / p)
    yield equal("at log(q / p)", information.variational_bound(best, q, p, "kl"), truth, 1e-12)
    by_hand = q @ best - p @ np.exp(best) + 1
    yield equal("by its terms", by_hand, truth, 1e-12)
    for S in np.random.default_rng(1).normal(size=(20, 6)):
        yield at_most("at another S", information.variational_bound(S, q, p, "kl"), truth)


@claim("B183")
def adversarial_divergence() -> Iterator[Evidence]:
    """KL(q||m) + KL(p||m) = max_S E_q S + E_p log(1 - e^S) + log 4, at S = log(q / (q + p)).

    S = log D gives E_q log D + E_p log(1 - D) + log 4. The text's second term is KL(q || m), and
    its objective has the signs of the last two terms wrong. It is twice the usual JS.
    """
    p, q = _pair(2)
    truth = 2 * information.js_divergence(q, p)
    yield equal("as an f-divergence", information.f_divergence(q, p, "gan"), truth, 1e-12)
    D = q / (q + p)
    value = information.variational_bound(np.log(D), q, p, "gan")
    yield equal("at its best critic", value, truth, 1e-12)
    yield equal("in D", q @ np.log(D) + p @ np.log(1 - D) + np.log(4), value, 1e-12)


@claim("B184")
def discriminator_is_logistic() -> Iterator[Evidence]:
    """The discriminator's objective is the log-likelihood of a logistic regression."""
    rng = np.random.default_rng(3)
    real, fake = rng.normal(1, 1, (40, 2)), rng.normal(-1, 1, (40, 2))
    X, y = np.r_[real, fake], np.r_[np.ones(40), np.zeros(40)]
    model = LogisticRegression(C=1.0).fit(X, y)
    scores = {k: model.decision_function(v) for k, v in (("real", real), ("fake", fake))}
    objective = log_expit(scores["real"]).mean() + log_expit(-scores["fake"]).mean()
    p = model.predict_proba(X)[np.arange(80), y.astype(int)]
    yield equal("objective and log-likelihood", objective, 2 * np.log(p).mean(), 1e-12)


@claim("B185")
def strictly_convex_generators() -> Iterator[Evidence]:
    """A strictly convex f with f(1) = 0 gives D_f >= 0, zero just if p = q."""
    for name in ("kl", "gan", "js", "reverse_kl", "hellinger", "pearson"):
        pairs = [_pair(seed) for seed in range(20)]
        values = [information.f_divergence(p, q, name) for p, q in pairs]
        yield at_least(f"least {name}", min(values), 1e-6)
        p = _pair(0)[0]
        yield equal(f"{name} of equal laws", information.f_divergence(p, p, name), 0, 1e-15)


@claim("B186")
def best_discriminator() -> Iterator[Evidence]:
    """A log y + b log(1 - y) is greatest at a / (a + b): D* = p / (p + g).

    A logistic regression on samples of two Gaussians comes close to it.
    """
    y = np.linspace(1e-6, 1 - 1e-6, 1_000_001)
    for a, b in ((1.0, 1.0), (0.3, 0.9)):
        best = y[np.argmax(a * np.log(y) + b * np.log1p(-y))]
        yield equal(f"maximiser for {a}, {b}", best, a / (a + b), 2e-6)
    rng = np.random.default_rng(4)
    X = np.r_[rng.normal(0.5, 1, (20_000, 1)), rng.normal(-0.5, 1, (20_000, 1))]
    model = LogisticRegression(C=1e6).fit(X, np.repeat([1, 0], 20_000))
    x = np.linspace(-2, 2, 9)
    star = norm.pdf(x, 0.5) / (norm.pdf(x, 0.5) + norm.pdf(x, -0.5))
    yield equal("learned and best", model.predict_proba(x[:, None])[:, 1], star, 0.02)


@claim("B187", mathematics=True)
def pushed_forward() -> Iterator[Evidence]:
    """E_z log(1 - D(G(z))) = E_{x ~ p_G} log(1 - D(x)), also for G that is not invertible."""
    rng = np.random.default_rng(5)
    z, G, D = rng.dirichlet(np.ones(6)), np.array([0, 1, 1, 2, 0, 2]), rng.random(3)
    pushed = np.bincount(G, weights=z)
    yield equal("both means", z @ np.log1p(-D[G]), pushed @ np.log1p(-D), 1e-14)


@claim("B188")
def value_of_the_game() -> Iterator[Evidence]:
    """V(G, D*) = -log 4 + 2 JS(p || g): -1.1877142 for N(0, 1) and N(1, 1.5^2), -log 4 at p = g."""

    def value(x: float) -> float:
        p, g = norm.pdf(x), norm.pdf(x, 1, 1.5)
        return float(p * np.log(p / (p + g)) + g * np.log(g / (p + g)))

    by_quadrature = quad(value, -15, 15, epsabs=1e-12, limit=200)[0]
    yield equal("by quadrature", by_quadrature, -1.1877142, 1e-7)
    x = np.linspace(-15, 15, 60_001)
    js = information.js_divergence(norm.pdf(x), norm.pdf(x, 1, 1.5))
    yield equal("-log 4 + 2 JS", 2 * js - np.log(4), by_quadrature, 1e-8)
    yield equal("JS at p = g", information.js_divergence(norm.pdf(x), norm.pdf(x)), 0, 1e-15)


@claim("B189")
def segments_that_never_meet() -> Iterator[Evidence]:
    """Two segments at distance theta: KL infinite both ways, JS log 2, W |theta|; all 0 at 0.

    The text has JS saturate at half of log 2.
    """
    heights = np.linspace(0, 1, 20)
    for theta in (-1.5, 0.25, 3.0):
        p, q = np.repeat([1, 0], 20), np.repeat([0, 1], 20)
        kls = [information.kl_divergence(p, q), information.kl_divergence(q, p)]
        yield true(f"KL at {theta}", np.isinf(kls).all())
        yield equal(f"JS at {theta}", information.js_divergence(p, q), np.log(2), 1e-12)
        moved = np.c_[np.full(20, theta), heights]
        W = information.wasserstein(np.c_[np.zeros(20), heights], moved)
        yield equal(f"W at {theta}", W, abs(theta), 1e-12)
    same = np.c_[np.zeros(20), heights]
    yield equal("W at 0", information.wasserstein(same, same), 0)


P, Q, CELLS = np.array([0.5, 0.5, 0, 0]), np.array([0, 0.25, 0.25, 0.5]), np.arange(4.0)


@claim("B190")
def transport_on_the_line() -> Iterator[Evidence]:
    """W1 as a linear program is the integral of |F - G|: 1.75 for two laws on 0, 1, 2, 3."""
    plan = information.optimal_transport(P, Q, np.abs(CELLS[:, None] - CELLS))
    for name, value in (
        ("program", plan.cost),
        ("quantiles", information.wasserstein(CELLS, CELLS, P, Q)),
        ("|F - G|", np.abs(np.cumsum(P - Q))[:-1].sum()),
        ("scipy", wasserstein_distance(CELLS, CELLS, P, Q)),
    ):
        yield equal(name, value, 1.75, 1e-9)


@claim("B191")
def transport_duality() -> Iterator[Evidence]:
    """Sup over 1-Lipschitz f of E_p f - E_q f is W1; over K-Lipschitz f it is K W1."""
    W = information.wasserstein(CELLS, CELLS, P, Q)
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    steps = np.array([np.eye(4)[i] - np.eye(4)[j] for i, j in pairs])
    gaps = np.abs([CELLS[i] - CELLS[j] for i, j in pairs])
    for K in (1.0, 2.5):
        bounds = [(0, 0), *[(None, None)] * 3]  # a constant changes nothing
        run = linprog(Q - P, A_ub=steps, b_ub=K * gaps, bounds=bounds)
        yield equal(f"{K}-Lipschitz", -run.fun, K * W, 1e-9)


@claim("B192", mathematics=True)
def clipped_critics() -> Iterator[Evidence]:
    """Clipping weights bounds a critic's Lipschitz constant; (|grad| - 1)^2 is 0 just at norm 1."""
    rng = np.random.default_rng(6)
    w = np.clip(rng.normal(size=5), -0.1, 0.1)
    x, y = rng.normal(size=(2, 500, 5))
    slopes = np.abs((x - y) @ w) / np.linalg.norm(x - y, axis=1)
    yield at_most("largest slope of a clipped critic", slopes.max(), 0.1 * np.sqrt(5))
    penalties = (np.abs([0.5, 1.0, -1.0, 2.0]) - 1) ** 2
    yield equal("penalty of f = c x", penalties, [0.25, 0, 0, 1])


@claim("B193", mathematics=True)
def lipschitz_and_smooth() -> Iterator[Evidence]:
    """|x| is 1-Lipschitz and has no derivative at 0; x^2 is C^1 and on R not Lipschitz.

    The text has every C^1 function Lipschitz; a bounded derivative is needed.
    """
    x, y = np.random.default_rng(7).normal(size=(2, 1000)) * 10
    slopes = np.abs(np.abs(x) - np.abs(y)) / np.abs(x - y)
    yield at_most("largest slope of |x|", slopes.max(), 1 + 1e-12)
    yield equal("its slopes at 0 from both sides", [abs(-1e-9) / -1e-9, abs(1e-9) / 1e-9], [-1, 1])
    steep = [((n + 1) ** 2 - n**2) for n in (10, 1000, 10**6)]
    yield at_least("slope of x^2 far out", steep[-1], 1e6)


@claim("B194")
def lipschitz_constants_of_networks() -> Iterator[Evidence]:
    """X -> Ax has the constant s_max(A); a network at most the product of its layers'."""
    rng = np.random.default_rng(8)
    A = rng.normal(size=(4, 3))
    top = np.linalg.svd(A)[2][0]
    yield equal(
        "stretch along the top vector", np.linalg.norm(A @ top), np.linalg.norm(A, 2), 1e-10
    )
    scaled = A / np.linalg.norm(A, 2)
    yield equal("A / s_max", np.linalg.svd(scaled)[1][0], 1, 1e-10)
    layers = [(rng.normal(size=s), rng.normal(size=s[0])) for s in ((4, 2), (3, 4), (1, 3))]
    product = np.prod([np.linalg.norm(W, 2) for W, _ in layers])
    steepest = max(np.linalg.norm(r.matrix, 2) for r in approximation.linear_regions(layers))
    yield at_most("steepest linear region / product", steepest / product, 1)
    yield at_least("and it is positive", steepest, 1e-3)


@claim("B195", mathematics=True)
def power_iteration() -> Iterator[Evidence]:
    """s_max = u'Av; power iteration on A'A converges like (s2 / s1)^2: 40 steps for (3, 2, 1)."""
    rng = np.random.default_rng(9)
    U, V = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    A, v = U * [3.0, 2, 1] @ V.T, rng.normal(size=3)
    errors = []
    for _ in range(40):
        v = A.T @ (A @ v)
        v /= np.linalg.norm(v)
        errors.append(np.linalg.norm(v - np.sign(v @ V[:, 0]) * V[:, 0]))
    u = A @ v / np.linalg.norm(A @ v)
    yield equal("u'Av", u @ A @ v, 3, 1e-10)
    yield equal("rate", errors[20] / errors[19], (2 / 3) ** 2, 1e-3)
