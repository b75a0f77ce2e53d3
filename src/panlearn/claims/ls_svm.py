"""Claims on least-squares support vector machines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, at_least, claim, equal
from panlearn.kernel import LSSVC, LSSVR, AsymmetricLSSVC
from panlearn.kernel.kernels import RBF, Linear
from panlearn.linear import Ridge

_X = np.array([[0.0], [1.0], [2.0]])
_Y = np.array([-1, -1, 1])


def _two_classes() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(71).standard_normal((30, 2))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, -1)


def _source(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, X**2])


def _target(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.tanh(X[:, ::-1]), np.cos(X)])


def _directed(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return _source(X) @ _target(Z).T


@claim("B71")
def ls_svm_is_ridge_on_labels() -> Iterator[Evidence]:
    """For labels ±1, Σ(1 − y f)² = Σ(y − f)², so the least-squares support vector machine is ridge
    regression on the labels, with a bias that is not penalised and the penalty 1/γ.
    """
    X, y = _two_classes()
    f = X @ [0.3, -2.0] + 0.1
    yield equal("the two sums of squares", np.sum((1 - y * f) ** 2), np.sum((y - f) ** 2), 1e-10)
    scores = LSSVC(4.0, kernel="linear").fit(X, y).decision_function(X)
    yield equal("scores and ridge", scores, Ridge(1 / 4).fit(X, y).predict(X), 1e-10)
    number = LSSVR(4.0, kernel=RBF()).fit(X, y).predict(X)
    same = LSSVC(4.0, kernel=RBF()).fit(X, y).decision_function(X)
    yield equal("scores and regression, RBF kernel", same, number, 1e-10)


@claim("B72")
def system_of_the_ls_svm() -> Iterator[Evidence]:
    """The machine solves [[0, yᵀ], [y, Ω + I/γ]] [b; α] = [0; 1] with Ω_ij = y_i y_j k(x_i, x_j),
    and f(x) = Σ α_i y_i k(x_i, x) + b. For x = 0, 1, 2, y = −1, −1, 1, the linear kernel and
    γ = 10: b = −9/7, α = (−20/7, 20/3, 80/21), w = 20/21. The text's compact form has α/(2γ),
    which is wrong with the objective (γ/2)Σe²: it is α/γ; the right-hand side is a vector of ones,
    not the errors.
    """
    model = LSSVC(10.0, kernel=Linear()).fit(_X, _Y)
    alpha = model.dual_coef_[:, 0] * _Y
    yield equal("b", model.intercept_[0], -9 / 7, 1e-10)
    yield equal("α", alpha, [-20 / 7, 20 / 3, 80 / 21], 1e-10)
    yield equal("w", model.dual_coef_[:, 0] @ _X[:, 0], 20 / 21, 1e-10)
    omega = np.outer(_Y, _Y) * (_X @ _X.T)
    rows = omega @ alpha + alpha / 10 + _Y * model.intercept_
    yield equal("Ωα + α/γ + yb and 1", rows, np.ones(3), 1e-10)
    score = Linear()([[5.0]], _X) @ model.dual_coef_[:, 0] + model.intercept_
    yield equal("f(5)", model.decision_function([[5.0]]), score, 1e-10)


@claim("B73")
def conditions_of_the_ls_svm() -> Iterator[Evidence]:
    """At the solution α_i = γ e_i, so multipliers may be negative and are hardly ever zero;
    Σ α_i y_i = 0 and y_i f(x_i) = 1 − e_i.
    """
    model = LSSVC(10.0, kernel=Linear()).fit(_X, _Y)
    alpha = model.dual_coef_[:, 0] * _Y
    error = 1 - _Y * model.decision_function(_X)
    yield equal("α and γe", alpha, 10 * error, 1e-10)
    yield equal("Σ αy", alpha @ _Y, 0.0, 1e-10)
    yield at_least("negative multipliers", np.sum(alpha < 0), 1)
    yield at_least("least |α|", np.abs(alpha).min(), 1.0)


@claim("B74")
def system_of_the_asymmetric_machine() -> Iterator[Evidence]:
    """For k(x, z) = φ_s(x)ᵀφ_t(z), AsK-LS solves yᵀα = yᵀβ = 0, y b₁ + α/γ + Hβ = 1 and
    y b₂ + Hᵀα + β/γ = 1 with H_ij = y_i k(x_i, x_j) y_j; f_s(x) = Σ β_i y_i k(x, x_i) + b₁ and
    f_t(x) = Σ α_i y_i k(x_i, x) + b₂. So e = α/γ and h = β/γ. That system belongs to the objective
    ωᵀν + …; with the half that the text writes before ωᵀν it would have 2H.
    """
    X, y = _two_classes()
    gamma = 3.0
    model = AsymmetricLSSVC(gamma, kernel=_directed).fit(X, y)
    alpha, beta = model.target_coef_[:, 0] * y, model.source_coef_[:, 0] * y
    yield equal("yᵀα and yᵀβ", [y @ alpha, y @ beta], [0, 0], 1e-8)
    omega, nu = _target(X).T @ (beta * y), _source(X).T @ (alpha * y)
    as_source = _source(X) @ omega + model.source_intercept_
    as_target = _target(X) @ nu + model.target_intercept_
    yield equal("e and α/γ", 1 - y * as_source, alpha / gamma, 1e-8)
    yield equal("h and β/γ", 1 - y * as_target, beta / gamma, 1e-8)
    yield equal("f_s by features", model.source_decision_function(X), as_source, 1e-8)
    yield equal("f_t by features", model.target_decision_function(X), as_target, 1e-8)


@claim("B75")
def symmetric_kernel_in_the_asymmetric_machine() -> Iterator[Evidence]:
    """With a symmetric kernel AsK-LS is the LS-SVM: α = β and b₁ = b₂, those of the LS-SVM. With an
    asymmetric one it is not the LS-SVM of the kernel made symmetric, (K + Kᵀ)/2.
    """
    X, y = _two_classes()
    both = AsymmetricLSSVC(2.0, kernel=RBF()).fit(X, y)
    one = LSSVC(2.0, kernel=RBF()).fit(X, y)
    yield equal("α and β", both.target_coef_, both.source_coef_, 1e-9)
    yield equal("β and the LS-SVM's", both.source_coef_, one.dual_coef_, 1e-9)
    yield equal("b₁ and the LS-SVM's", both.source_intercept_, one.intercept_, 1e-9)
    directed = AsymmetricLSSVC(2.0, kernel=_directed).fit(X, y)

    def halves(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return (_directed(A, B) + _directed(B, A).T) / 2

    symmetric = AsymmetricLSSVC(2.0, kernel=halves).fit(X, y)
    gap = np.abs(directed.decision_function(X) - symmetric.decision_function(X)).max()
    yield at_least("change of scores if made symmetric", gap, 1e-3)
