"""How the score of a kernel machine changes with the row that it scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import svm

from panlearn.kernel import LSSVC, SVC, GaussianProcessClassifier
from panlearn.kernel._kernel import Constant, Kernel, Product, Sum
from panlearn.kernel.kernels import RBF, Linear, Polynomial, White


def is_smooth(kernel: Any) -> bool:
    """Whether `slopes` knows the kernel."""
    if isinstance(kernel, Sum | Product):
        return is_smooth(kernel.left) and is_smooth(kernel.right)
    return isinstance(kernel, RBF | Linear | Polynomial | White | Constant)


def slopes(kernel: Kernel, X: np.ndarray, Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""The gradient in each row x of :math:`\\sum_j w_{xj} k(x, z_j)`, the weights held fixed.

    Parameters
    ----------
    kernel : Kernel
        One that `is_smooth`.
    X, Z : ndarray of shape (n, d) and (m, d)
        Rows and centres.
    weights : ndarray of shape (n, m)
        The weight of each pair.

    Returns
    -------
    ndarray of shape (n, d)
    """
    if isinstance(kernel, Sum):
        return slopes(kernel.left, X, Z, weights) + slopes(kernel.right, X, Z, weights)
    if isinstance(kernel, Product):
        left, right = kernel.left(X, Z), kernel.right(X, Z)
        ahead = slopes(kernel.left, X, Z, weights * right)
        return ahead + slopes(kernel.right, X, Z, weights * left)
    if isinstance(kernel, RBF):  # k' = k (z - x) / l^2
        pairs = weights * kernel(X, Z)
        return (pairs @ Z - pairs.sum(axis=1, keepdims=True) * X) / np.square(kernel.length_scale)
    if isinstance(kernel, Polynomial):
        inner = kernel.gamma * (X @ Z.T) + kernel.coef0
        return (weights * kernel.degree * kernel.gamma * inner ** (kernel.degree - 1)) @ Z
    if isinstance(kernel, Linear):
        return weights @ Z
    return np.zeros_like(X)  # a constant, and noise of other rows


@dataclass(frozen=True)
class Machine:
    r"""A score of two classes, :math:`f(x) = \\sum_j a_j k(x, z_j) + b`."""

    kernel: Kernel
    centres: np.ndarray
    coefficients: np.ndarray
    intercept: float

    def score(self, X: np.ndarray) -> np.ndarray:
        """The score of each row, which is above zero for the second class."""
        return self.kernel(X, self.centres) @ self.coefficients + self.intercept

    def slope(self, X: np.ndarray) -> np.ndarray:
        """Its gradient."""
        weights = np.broadcast_to(self.coefficients, (len(X), len(self.centres)))
        return slopes(self.kernel, X, self.centres, weights)


def machine_of(model: Any) -> Machine | None:
    """The machine in a fitted model of two classes, if its kernel has slopes that are known."""
    if len(getattr(model, "classes_", ())) != 2:
        return None
    if isinstance(model, GaussianProcessClassifier):
        found = model.kernel_, model.X_train_, model.alpha_[:, 0], 0.0
    elif isinstance(model, SVC):
        found = model.kernel_, model.support_vectors_, model.dual_coef_[0], model.intercept_[0]
    elif isinstance(model, LSSVC):
        found = model.kernel_, model.X_fit_, model.dual_coef_[:, 0], model.intercept_[0]
    elif isinstance(model, svm.SVC):
        kernel = _of_name(model)
        found = kernel, model.support_vectors_, model.dual_coef_[0], model.intercept_[0]
    else:
        return None
    kernel, centres, coefficients, intercept = found
    if not is_smooth(kernel):
        return None
    dense = centres.toarray() if sparse.issparse(centres) else centres
    flat = coefficients.toarray().ravel() if sparse.issparse(coefficients) else coefficients
    return Machine(kernel, dense.astype(float), np.asarray(flat, dtype=float), float(intercept))


def votes_of_pairs(model: Any) -> bool:
    """Whether the coefficients of a linear kernel are those of pairs of classes, which vote."""
    return isinstance(model, SVC | svm.SVC) and len(model.classes_) > 2


def _of_name(model: Any) -> Kernel | None:
    """scikit-learn's kernels by name."""
    gamma = model._gamma
    if model.kernel == "rbf":
        return RBF(float(np.sqrt(0.5 / gamma)))
    if model.kernel == "poly":
        return Polynomial(model.degree, gamma, model.coef0)
    return Linear() if model.kernel == "linear" else None
