"""Claims on factorisations of matrices."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.threads import threads
from panlearn.latent import NMF, MatrixFactorization
from panlearn.latent._rating_factors import Alternation, Loss
from panlearn.latent._stochastic_factors import _steps


def _fit(X: np.ndarray, k: int, regularization: float, sweeps: int) -> MatrixFactorization:
    """A factorisation of all entries, without biases, by exact alternating least squares."""
    model = MatrixFactorization(k, solver="als", biased=False, regularization=regularization)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(tol=0, max_iter=sweeps, random_state=0).fit(X)


def _alternation(X: np.ndarray, k: int, regularization: float) -> Alternation:
    """Its sweeps, one by one."""
    loss = Loss(False, regularization=regularization, alpha=0.0, mean=0.0, biased=False)
    return Alternation(sparse.csr_array(X), loss, k, np.random.default_rng(0), exact=True)


def _product(model: MatrixFactorization) -> np.ndarray:
    return model.user_factors_ @ model.item_factors_.T


@claim("A168")
def multiplicative_updates_never_increase_the_loss() -> Iterator[Evidence]:
    """Multiplicative updates keep Z, B ≥ 0 and never increase ‖X - ZB‖² or the divergence KL.

    The divergence is the log-likelihood of Poisson counts (the text's word is garbled).
    """
    rng = np.random.default_rng(168)
    X = rng.poisson(rng.gamma(1, size=(30, 4)) @ rng.gamma(1, size=(4, 20))).astype(float)
    for loss in ("frobenius", "kullback-leibler"):
        model = NMF(4, solver="mu", beta_loss=loss, init="random", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(tol=0, max_iter=300).fit(X)
        steps = np.diff(model.history_["objective"])
        yield at_most(f"largest increase of {loss} in 300 iterations", steps.max(), 1e-10)
        yield at_least("smallest entry of B", model.components_.min(), 0)
        yield at_least("smallest entry of Z", model.transform(X).min(), 0)


@claim("A170")
def a_step_on_one_entry_touches_two_rows() -> Iterator[Evidence]:
    """The gradient of ½(x_dn - w_d·z_n)² is -e z_n in row d of W, -e w_d in row n of Z, else zero.

    So a stochastic step costs O(K). The text's loss lacks the ½ that its gradients have.
    """
    rng = np.random.default_rng(170)
    W, Z, x, d, n = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), 1.7, 2, 1
    pad = np.zeros((5, 1)), np.zeros((4, 1))  # no biases
    users, items, rate = np.hstack([W, pad[0]]), np.hstack([Z, pad[1]]), 1e-3
    one = np.array([d]), np.array([n]), np.array([x])
    _steps(*one, users, items, False, np.array([rate, 1.0]))

    def cost(W: np.ndarray, Z: np.ndarray) -> float:
        return float(0.5 * (x - W[d] @ Z[n]) ** 2)

    for name, factor, after in (("W", W, users[:, :3]), ("Z", Z, items[:, :3])):
        slope = np.zeros_like(factor)
        for index in np.ndindex(factor.shape):
            step = np.zeros_like(factor)
            step[index] = 1e-6
            pair = [(W + s * step, Z) if name == "W" else (W, Z + s * step) for s in (1, -1)]
            slope[index] = (cost(*pair[0]) - cost(*pair[1])) / 2e-6
        yield equal(f"step in {name} and the slope", (after - factor) / -rate, slope, 1e-8)
        row = d if name == "W" else n
        others = np.delete(np.arange(len(factor)), row)
        yield true(f"other rows of {name} as they were", (after[others] == factor[others]).all())


@claim("A171")
def factors_are_not_identifiable() -> Iterator[Evidence]:
    """(WR, ZR⁻ᵀ) fits as (W, Z) does; the cost is convex in each factor and not in both.

    In one dimension its Hessian at zero is [[0, -x], [-x, 0]], with eigenvalues ±x.
    """
    rng = np.random.default_rng(171)
    X = rng.normal(size=(8, 6))
    model = _fit(X, 3, 0.0, 20)
    W, Z, R = model.user_factors_, model.item_factors_, rng.normal(size=(3, 3))
    yield equal("W R (Z R⁻ᵀ)ᵀ and W Zᵀ", W @ R @ (Z @ np.linalg.inv(R).T).T, _product(model), 1e-10)
    yield equal("(2W)(Z/2)ᵀ and W Zᵀ", (2 * W) @ (Z / 2).T, _product(model), 1e-10)
    x, h = 1.5, 1e-4

    def cost(w: float, z: float) -> float:
        return 0.5 * (x - w * z) ** 2

    mixed = (cost(h, h) - cost(h, -h) - cost(-h, h) + cost(-h, -h)) / (4 * h * h)
    pure = (cost(h, 0) - 2 * cost(0, 0) + cost(-h, 0)) / h**2
    eigenvalues = np.linalg.eigvalsh([[pure, mixed], [mixed, pure]])
    yield equal("eigenvalues at zero", eigenvalues, np.array([-x, x]), 1e-6)
    yield at_least("least curvature in W for fixed Z", np.linalg.eigvalsh(Z.T @ Z).min(), 0)


@claim("A172")
def as_many_factors_as_rows_or_columns_fit_perfectly() -> Iterator[Evidence]:
    """K = N fits with (W, Z) = (X, I), K = D with (I, Xᵀ); the error does not rise with K.

    From Z = I a sweep of least squares finds W = X and stays there, and from Z = Xᵀ it finds
    W = I. The text writes Z = X for the second. The lesser of D and N is enough.
    """
    rng = np.random.default_rng(172)
    X = rng.normal(size=(7, 5))
    with threads() as share:
        for name, rows, start in (("X", X, np.eye(5)), ("I", X.T, X)):
            sides = _alternation(rows, 5, 0.0)
            sides.items[:] = start
            error = sides.iterate(share)
            expected = rows @ np.linalg.pinv(start.T)
            yield equal(f"W and {name}", sides.users, expected, 1e-10)
            yield equal("Z", sides.items, start, 1e-10)
            yield equal("error", error, 0.0, 1e-10)
    yield equal("W of the second", X.T @ np.linalg.pinv(X.T), np.eye(5), 1e-10)
    errors = [np.linalg.norm(X - _product(_fit(X, k, 0.0, 400))) for k in range(1, 6)]
    best = np.sqrt(np.r_[np.cumsum(np.linalg.svd(X)[1][::-1] ** 2)[::-1][1:], 0.0])
    yield equal("errors and those of the best of rank K", errors, best, 1e-6)
    yield at_most("largest rise of the error with K", np.diff(errors).max(), 1e-8)
    yield at_most("error at K = min(D, N)", errors[-1], 1e-8)


@claim("A173")
def alternating_least_squares_minimise_each_block() -> Iterator[Evidence]:
    """With all entries observed Zᵀ = (WᵀW + λ_z I)⁻¹WᵀX and Wᵀ = (ZᵀZ + λ_w I)⁻¹ZᵀXᵀ minimise
    ½‖X - WZᵀ‖² + ½λ_z‖Z‖² + ½λ_w‖W‖² in a block each, so it never rises; K × K solves are all.

    The text's objective lacks the ½ and has one λ; with missing entries each row has its own solve.
    """
    rng = np.random.default_rng(173)
    X, k, penalty = rng.normal(size=(9, 6)), 3, 0.05
    n, m = X.shape
    sides = _alternation(X, k, penalty)
    with threads() as share:
        objectives = []
        for _ in range(30):
            before = sides.items.copy()
            objectives.append(0.5 * sides.iterate(share))
            W, Z = sides.users, sides.items
            # a user has m entries and an item n, and λ is of each entry
            expected_W = np.linalg.solve(
                before.T @ before + penalty * m * np.eye(k), before.T @ X.T
            )
            expected_Z = np.linalg.solve(W.T @ W + penalty * n * np.eye(k), W.T @ X)
        yield equal("W and its block solution", W, expected_W.T, 1e-10)
        yield equal("Z and its block solution", Z, expected_Z.T, 1e-10)
    slope = (W @ Z.T - X).T @ W + penalty * n * Z
    yield at_most("gradient in Z after its turn", np.abs(slope).max(), 1e-10)
    direct = 0.5 * ((X - W @ Z.T) ** 2).sum()
    direct += 0.5 * penalty * (m * (W**2).sum() + n * (Z**2).sum())
    yield equal("objective of the formula", objectives[-1], direct, 1e-10)
    yield at_most("largest rise of the objective", np.diff(objectives).max(), 1e-10)


@claim("A174")
def regularised_factors_shrink_the_singular_values() -> Iterator[Evidence]:
    """All entries observed and λ_w = λ_z = λ: WZᵀ = U_K max(S_K - λ, 0) V_Kᵀ at the optimum, where
    the objective is ½‖X‖² - ½ Σ_{i ≤ K} max(s_i - λ, 0)²; λ = 0 is the truncated decomposition.
    """
    X, k = np.random.default_rng(174).normal(size=(6, 6)), 3
    U, s, Vt = np.linalg.svd(X)
    for shrink in (0.0, 0.8):
        sides = _alternation(X, k, shrink / 6)  # six entries in each row and column
        with threads() as share:
            objectives = [0.5 * sides.iterate(share) for _ in range(500)]
        kept = np.maximum(s[:k] - shrink, 0)
        product = sides.users @ sides.items.T
        yield equal(f"WZᵀ at λ = {shrink}", product, (U[:, :k] * kept) @ Vt[:k], 1e-10)
        value = 0.5 * (X**2).sum() - 0.5 * (kept**2).sum()
        yield equal("objective", objectives[-1], value, 1e-10)
