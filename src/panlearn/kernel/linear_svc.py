"""Linear support vector classification for many rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.labels import class_weights, encode_labels
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import read_rows
from panlearn.kernel._hinge_dual import Dual
from panlearn.kernel._hinge_primal import Hinge, SquaredHinge, factor_normal
from panlearn.kernel._labels import present, signs
from panlearn.linear._classifier import LinearClassifier

FEW = 500
"""Features up to which a Newton step is cheap."""


@dataclass(eq=False, repr=False)
class LinearSVC(LinearClassifier, Iterative):
    r"""Linear support vector machine, in time that grows with the number of rows.

    .. math::
        \min_{w, b} \; \tfrac12 \|w\|^2 + C \sum_i s_i \, \ell(y_i (w^\top x_i + b)),
        \qquad \ell(t) = \max(0, 1 - t)^2 \;\text{ or }\; \max(0, 1 - t)

    Parameters
    ----------
    C : float, default=1.0
        The weight of the errors; a smaller one regularises more.
    loss : {'squared_hinge', 'hinge'}, default='squared_hinge'
        The loss; with "hinge" it is `SVC` with the linear kernel.
    dual : bool or 'auto', default='auto'
        Whether to solve the dual by coordinate descent, else the primal by Newton steps; "auto"
        takes the dual from 500 features.
    fit_intercept : bool, default=True
        Whether to learn the intercept b. It is not penalised.
    class_weight : dict or "balanced", default=None
        Factors of C for the classes; "balanced" makes them inverse to the weight of the class.
    tol : float, default=1e-4
        Where to stop. Primal: the derivative beside that at the start, or for "hinge" the gap
        between primal and dual beside the objective. Dual: the violation of optimality by any row.
    max_iter : int, default=1000
        The most Newton steps, or passes over the rows.
    random_state : int, Generator or RandomState, default=None
        Shuffles the rows in the dual.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; with two, ``classes_[1]`` is on the positive side.
    coef_ : ndarray of shape (1 or n_classes, n_features)
        The weights w: of one machine for two classes, else of each class against the rest.
    intercept_ : ndarray of shape (1 or n_classes,)
        The intercepts b.
    n_iter_ : int
        Newton steps, or passes over the rows.
    converged_ : bool
        Whether `tol` was reached.
    history_ : dict
        ``objective``, summed over the machines (in the dual, of the dual), and ``change``, what is
        compared with `tol`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Few features: the squared hinge is minimised by Newton's method, whose steps are exact once the
    rows inside the margin are known; the hinge by an interior point method, whose duality gap says
    how much is missing at most. Either takes a handful of steps of :math:`O(n d^2)`.

    Many features: coordinate descent on the dual in random order, which leaves out rows that stay
    at a bound (Hsieh et al.), :math:`O(n d)` a pass or the stored entries of a sparse X. Where the
    rows are fewer than the features some tens of passes do. Where they are more, and C is large
    beside their squares, thousands may not: the multipliers of rows that depend on one another
    trade places, with an intercept or without. Newton's method does not mind.

    Dense rows are copied to float64 about their mean, so that an offset costs no digits.

    The intercept is not penalised, so that a constant added to a feature changes no prediction.
    liblinear, and scikit-learn's class of this name, penalise it as the weight of a column of
    ones, and advise a large `intercept_scaling` against that, which slows their descent. Here the
    condition that its absence puts on the dual, :math:`\sum_i \alpha_i y_i = 0`, is met by the
    method of multipliers, of which the intercept is the multiplier.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan (2008). A dual coordinate
    descent method for large-scale linear SVM. ICML. doi:10.1145/1390156.1390208

    O. L. Mangasarian (2002). A finite Newton method for classification. Optimization Methods and
    Software 17(5). doi:10.1080/1055678021000028375

    M. C. Ferris and T. S. Munson (2002). Interior-point methods for massive support vector
    machines. SIAM Journal on Optimization 13(3). doi:10.1137/S1052623400374379

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from panlearn.kernel import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(loss="hinge").fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.99
    """

    capabilities = Capabilities(any_order=True, sparse=True)

    C: Positive[float] = 1.0
    _: KW_ONLY
    loss: Literal["squared_hinge", "hinge"] = "squared_hinge"
    dual: Literal["auto"] | bool = "auto"
    fit_intercept: bool = True
    class_weight: Mapping | Literal["balanced"] | None = None
    tol: NonNegative[float] = 1e-4
    max_iter: Positive[int] = 1000
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for the rows; an integer weight is a repeated row.

        Returns
        -------
        LinearSVC
            The model itself.
        """
        rows = read_rows(self, X, y, sample_weight, targets="labels")
        assert isinstance(rows, ArrayRows)  # no other source is declared
        rows.reject_non_finite()
        Z, labels, weight = present(rows.X, rows.y, rows.weight)
        self.classes_, codes = encode_labels(labels)
        c = (
            self.C
            * weight
            * class_weights(self.class_weight, self.classes_, np.bincount(codes, weight))[codes]
        )
        dual = Z.shape[1] > FEW if self.dual == "auto" else self.dual
        centre = np.zeros(Z.shape[1])
        remedy = "raise max_iter, scale the features, lower C, or accept a larger tol"
        if dual and Z.shape[1] < Z.shape[0]:
            remedy = (
                f"give dual=False, which has {Z.shape[1]} unknowns and not one a row; or {remedy}"
            )
        loop = Iterations(self, max_iter=self.max_iter, tol=self.tol, rows=rows, remedy=remedy)
        with np.errstate(all="ignore"), loop:
            if self.fit_intercept and not sparse.issparse(Z):
                centre = Z.mean(axis=0, dtype=np.float64)
            _refuse_overflow(Z, centre)
            make = self._in_dual(Z, centre, c) if dual else self._in_primal(Z, centre, c)
            machines = [make(s) for s in np.ascontiguousarray(signs(codes, len(self.classes_)).T)]
            names = ("classes_", "coef_", "intercept_")
            solution = partial(_solution, machines, centre, rows.dtype)
            for _ in loop:
                alive = [m.step() for m in machines if m.change > self.tol]
                loop.record(
                    change=max(m.change for m in machines),
                    objective=sum(m.objective for m in machines),
                    attributes=lambda: dict(zip(names, (self.classes_, *solution()), strict=True)),
                )
                if alive and not any(alive):
                    loop.stop("rounding allows no further progress")
        with np.errstate(over="ignore"):
            self.coef_, self.intercept_ = solution()
        return self

    def _in_dual(self, X: Any, centre: np.ndarray, c: np.ndarray) -> Any:
        """What makes the machine for given signs, in the dual."""
        X = X.astype(np.float64, copy=False) if sparse.issparse(X) else X - centre
        return lambda sign: Dual(
            X,
            sign,
            c,
            squared=self.loss == "squared_hinge",
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            rng=generator(self.random_state),
        )

    def _in_primal(self, X: Any, centre: np.ndarray, c: np.ndarray) -> Any:
        """What makes the machine for given signs, in the primal."""
        n, d = X.shape
        penalised = np.ones(d + self.fit_intercept)
        penalised[d:] = 0
        if sparse.issparse(X):
            ones = np.ones((n, len(penalised) - d))
            X = sparse.csr_array(sparse.hstack([X.astype(np.float64), ones]))
        else:
            rows, X = X, np.empty((n, len(penalised)))
            np.subtract(rows, centre, out=X[:, :d])
            X[:, d:] = 1
        if self.loss == "hinge":
            return lambda sign: Hinge(X, sign, c, penalised)
        margin = np.sqrt(2 * c)
        if sparse.issparse(X):
            X = X.multiply(margin[:, None]).tocsr()
        else:
            X *= margin[:, None]
        solve = factor_normal(X, penalised, lambda rows, at: rows)
        return lambda sign: SquaredHinge(X, sign, margin, penalised, solve)


def _refuse_overflow(X: Any, centre: np.ndarray) -> None:
    """Refuse rows whose squares are beyond the floats."""
    largest = max(abs(X.max()), abs(X.min()), np.abs(centre).max())
    if not np.isfinite(2.0 * largest**2 * X.shape[0]):
        raise ValueError(
            f"the squares of X overflow, its largest entry is {largest:.3g}: scale the features, "
            "for example with StandardScaler"
        )


def _solution(machines: list[Any], centre: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts for rows that are not centred."""
    coef = np.array([m.w for m in machines])
    intercept = np.array([m.b for m in machines]) - coef @ centre
    return coef.astype(dtype), intercept.astype(dtype)
