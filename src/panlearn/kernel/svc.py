"""Support vector classification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function

from panlearn.core.derived import derived
from panlearn.core.estimator import fitting
from panlearn.core.interrupts import interruption
from panlearn.core.labels import class_weights, encode_labels
from panlearn.core.learned import shapes
from panlearn.core.parameters import Positive, PositiveOrInf, RandomState
from panlearn.core.random import generator
from panlearn.core.short_rows import first_largest
from panlearn.core.threads import threads
from panlearn.core.warning import warn
from panlearn.kernel._base import KernelMethod, KernelOrMatrix, rounded, times
from panlearn.kernel._machine import Machine, folds, precision
from panlearn.kernel._platt import couple
from panlearn.kernel._rows import GivenRows, rows_of
from panlearn.kernel._smo import Solution
from panlearn.kernel.kernels import Linear

FEW = 500  # rows on which a pair of classes is learned before a thread would have begun


@dataclass(eq=False, repr=False)
class SVC(ClassifierMixin, KernelMethod):
    r"""Support vector machine for classification.

    .. math::
        \min_{w, b, \xi} \; \tfrac12 \|w\|^2 + C \sum_i s_i \, \xi_i
        \quad \text{with} \quad y_i \, (w^\top \varphi(x_i) + b) \ge 1 - \xi_i, \;\; \xi_i \ge 0

    Parameters
    ----------
    C : float, default=1.0
        The weight of the errors; a smaller one regularises more. Infinity is the hard margin, and
        classes that cannot be separated are then refused.
    kernel : str, kernel or callable, default='rbf'
        "linear", "poly", "polynomial", "rbf", "laplacian", "cosine" or "sigmoid"; a kernel of
        `panlearn.kernel.kernels` or of scikit-learn; a function of two matrices of rows, or of
        two rows; or "precomputed": X is then the matrix of the rows with the training rows.
    degree : int, default=3
        The degree of "poly".
    gamma : float, 'scale' or 'auto', default='scale'
        The factor in "rbf", :math:`\exp(-\gamma \|x - z\|^2)`, "laplacian", "poly" and "sigmoid";
        "scale" is 1 / (n_features * X.var()) and "auto" is 1 / n_features.
    coef0 : float, default=0.0
        The constant in "poly" and "sigmoid".
    shrinking : bool, default=True
        Whether to leave out variables at a bound that will hardly leave it.
    probability : bool, default=False
        Whether to fit the sigmoids for `predict_proba`, which takes five more fits.
    tol : float, default=1e-3
        The largest violation of the optimality conditions.
    cache_size : float, default=200
        Megabytes for the rows of the kernel matrix that are kept, of each machine that is fitted
        at a time.
    class_weight : dict or "balanced", default=None
        Factors of C for the classes; "balanced" makes them inverse to the weight of the class.
    max_iter : int, default=-1
        The most steps for a pair of classes; -1 is 100 a row, and ten million at the least.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        With three classes or more, whether `decision_function` gives one score a class, or those
        of the pairs.
    break_ties : bool, default=True
        Whether, of three classes or more with equal votes, `predict` takes the one that the scores
        favour, as `decision_function` does; if not, the first. scikit-learn's default is False.
    random_state : int, Generator or RandomState, default=None
        Shuffles the rows into the five parts that `probability` needs.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; with two, ``classes_[1]`` is on the positive side.
    support_ : ndarray of shape (n_support_vectors,)
        Positions of the support vectors in X, class by class.
    support_vectors_ : {ndarray, csr matrix} of shape (n_support_vectors, n_features)
        The support vectors, sparse if X was; without columns for "precomputed".
    n_support_ : ndarray of shape (n_classes,)
        How many of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support_vectors)
        The signed multipliers :math:`\alpha_i y_i` of a support vector against each other class.
    intercept_ : ndarray of shape (n_pairs,)
        The biases b; pairs are in the order (0, 1), (0, 2), ..., (1, 2), ... and if there are
        several the first of a pair is on the positive side.
    dual_objective_ : ndarray of shape (n_pairs,)
        :math:`\sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)`.
    n_iter_ : ndarray of shape (n_pairs,)
        Steps made.
    converged_ : bool
        Whether `tol` was reached for every pair.
    probA_, probB_ : ndarray of shape (n_pairs,)
        The sigmoids 1 / (1 + exp(A f + B)), if `probability`.
    kernel_ : Kernel or None
        The kernel as it was used; None for "precomputed".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    The dual is solved by sequential minimal optimisation. The first variable of a step violates
    optimality most, the second gains most to second order (Fan et al.). Rows of the kernel matrix
    are made a block at a time, the one that is needed with those that are likely next, so that
    matrix products do the work; those used last are kept in `cache_size`. Variables that are held
    at a bound are left out, and checked when the others are done. The rows are kept in float32 if
    their rounding stays below half of `tol`, which depends on C, in float64 otherwise.

    More than two classes are learned one against one, on threads, with the same bits for any number
    of them. `predict` takes the class with most votes. Sparse rows stay sparse under the kernels
    "linear", "poly", "rbf" and "cosine".

    A hard margin is looked for as long as a margin can exist that is not vanishingly thin beside
    the rows: each step before one is found raises the dual objective D, and no margin is above
    :math:`1 / \sqrt{2 D}`. A step costs :math:`O(n)`, and :math:`O(n d)` for a row of the kernel
    matrix that is not kept; the steps grow in number at least as n does, so a fit lies between
    :math:`O(n^2 d)` and :math:`O(n^3 d)`.

    References
    ----------
    C. Cortes and V. Vapnik (1995). Support-vector networks. Machine Learning 20(3).
    doi:10.1007/BF00994018

    R.-E. Fan, P.-H. Chen and C.-J. Lin (2005). Working set selection using second order information
    for training support vector machines. Journal of Machine Learning Research 6.

    H.-T. Lin, C.-J. Lin and R. C. Weng (2007). A note on Platt's probabilistic outputs for support
    vector machines. Machine Learning 68(3). doi:10.1007/s10994-007-5018-6

    T.-F. Wu, C.-J. Lin and R. C. Weng (2004). Probability estimates for multi-class classification
    by pairwise coupling. Journal of Machine Learning Research 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from panlearn.kernel import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> round(model.score(X, y), 2), model.n_support_
    (0.97, array([ 7, 29, 24]))
    """

    learned = shapes(
        support_="(n_support_vectors,)",
        support_vectors_="(n_support_vectors, n_features) or (n_support_vectors, 0)",
        n_support_="(n_classes,)",
        dual_coef_="(*, n_support_vectors)",
        intercept_="(n_pairs,)",
        dual_objective_="(n_pairs,)",
        n_iter_="(n_pairs,)",
        probA_="(n_pairs,)",
        probB_="(n_pairs,)",
    )

    C: PositiveOrInf[float] = 1.0
    _: KW_ONLY
    kernel: KernelOrMatrix = "rbf"
    degree: Positive[int] = 3
    gamma: Literal["scale", "auto"] | Positive[float] = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    probability: bool = False
    tol: Positive[float] = 1e-3
    cache_size: Positive[float] = 200
    class_weight: Mapping | Literal["balanced"] | None = None
    max_iter: Literal[-1] | Positive[int] = -1
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = True
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" the kernel matrix, (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for the rows; an integer weight is a repeated row.

        Returns
        -------
        SVC
            The model itself.
        """
        X, y, weight = self._read(X, y, sample_weight, "labels", keep_sparse=True)
        weight = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        index = np.flatnonzero(weight)  # a zero weight is an absent row
        weight = weight[index]
        self.classes_, codes = encode_labels(y[index])
        C = (
            self.C
            * weight
            * class_weights(self.class_weight, self.classes_, np.bincount(codes, weight))[codes]
        )
        self.kernel_, rows = self._matrix(X, index, weight)
        dtype = precision(rows.diagonal, C, self.tol)
        rows = rows.rounded(dtype)
        pairs = list(combinations(range(len(self.classes_)), 2))
        fold = folds(codes, generator(self.random_state)) if self.probability else np.empty(0)
        machines = [
            Machine(at, np.where(codes[at] == (i if len(pairs) > 1 else j), 1.0, -1.0), C[at])
            for i, j in pairs
            for at in [np.flatnonzero((codes == i) | (codes == j))]
        ]
        options: dict[str, Any] = dict(
            tol=self.tol,
            max_iter=max(10_000_000, 100 * len(y)) if self.max_iter == -1 else self.max_iter,
            cache_bytes=self.cache_size * 1e6,
            dtype=dtype,
            shrinking=self.shrinking,
        )

        def fit_pair(machine: Machine) -> tuple[Solution, tuple[float, float]]:
            mine = rows if len(pairs) == 1 else rows.taken(machine.members)
            solution = machine.solve(mine, options)
            if not self.probability:
                return solution, (0.0, 0.0)
            parts = fold[machine.members]
            return solution, machine.sigmoid(mine, parts, weight[machine.members], options)

        with interruption():
            if len(pairs) == 1:  # a single machine leaves BLAS its threads
                found = [fit_pair(machines[0])]
            else:
                with threads(-1 if len(index) > FEW else 1) as run:
                    found = list(run(fit_pair, machines))
        solutions = [solution for solution, _ in found]
        self.intercept_ = np.array([s.intercept for s in solutions])
        self.dual_objective_ = np.array([s.objective for s in solutions])
        self.n_iter_ = np.array([s.n_iter for s in solutions])
        self.converged_ = bool(all(s.violation <= self.tol for s in solutions))
        if self.probability:
            self.probA_, self.probB_ = np.array([sigmoid for _, sigmoid in found]).T
        coefficients = np.zeros((len(index), len(pairs)))
        for column, (machine, s) in enumerate(zip(machines, solutions, strict=True)):
            coefficients[machine.members, column] = s.beta
        self._keep_support(X, index, codes, coefficients, pairs)
        if not self.converged_:
            self._warn(solutions)
        return self

    def _matrix(self, X: Any, index: np.ndarray, weight: np.ndarray) -> Any:
        """The kernel, and its matrix of the rows at `index`."""
        if self._is_given:
            return None, GivenRows(X, index)
        Z = X[index].astype(np.float64, copy=False)
        kernel = self._choose_kernel(Z, X, weight)
        return kernel, rows_of(kernel, Z)

    def _keep_support(
        self,
        X: Any,
        index: np.ndarray,
        codes: np.ndarray,
        coefficients: np.ndarray,
        pairs: list[tuple[int, int]],
    ) -> None:
        """Set what is learned of the support vectors, class by class."""
        support = np.flatnonzero(coefficients.any(axis=1))
        support = support[np.argsort(codes[support], kind="stable")]
        of = codes[support]
        self.support_ = index[support]
        self.n_support_ = np.bincount(of, minlength=len(self.classes_))
        self.dual_coef_ = np.zeros((len(self.classes_) - 1, len(support)))
        here = np.split(np.arange(len(support)), np.cumsum(self.n_support_)[:-1])
        for column, (i, j) in enumerate(pairs):
            self.dual_coef_[j - 1, here[i]] = coefficients[support[here[i]], column]
            self.dual_coef_[i, here[j]] = coefficients[support[here[j]], column]
        self.support_vectors_ = X[self.support_, :0] if self._is_given else X[self.support_]

    def _warn(self, solutions: list[Solution]) -> None:
        worst = max(solutions, key=lambda s: s.violation)
        warn(
            f"SVC did not converge: after {worst.n_iter} steps optimality is violated by "
            f"{worst.violation:.3g}, above tol={self.tol:.3g}; raise max_iter, scale the features, "
            "lower C, or accept a larger tol",
            ConvergenceWarning,
        )

    @derived("classes_", "n_support_", "dual_coef_")
    def _pairs(self) -> np.ndarray:
        """The multipliers with one column a pair of classes."""
        of = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        columns = [
            np.where(of == i, self.dual_coef_[j - 1], np.where(of == j, self.dual_coef_[i], 0))
            for i, j in combinations(range(len(self.classes_)), 2)
        ]
        return np.column_stack(columns)

    def _scores(self, X: Any) -> np.ndarray:
        """One score a pair, in the floats of the training rows."""
        self._require_fitted()
        X = self._new_rows(X, self.support_vectors_)
        if self.kernel_ is None:
            scores = X[:, self.support_] @ self._pairs
        else:
            scores = times(self.kernel_, X, self.support_vectors_, self._pairs)
        return rounded(scores + self.intercept_, self.support_vectors_.dtype)

    def _votes(self, scores: np.ndarray) -> np.ndarray:
        votes = _ovr_decision_function(scores < 0, -scores, len(self.classes_))
        return votes.astype(scores.dtype, copy=False)

    def decision_function(self, X: Any) -> np.ndarray:
        """Score each row; with two classes a positive score stands for ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" their kernel matrix with the training rows.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            With more classes the votes of the pairs, with their sum of scores to break ties; or
            the scores of the pairs, if ``decision_function_shape="ovo"``, of which a positive one
            stands for the first of the pair.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return scores if self.decision_function_shape == "ovo" else self._votes(scores)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" their kernel matrix with the training rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        if self.break_ties:
            return self.classes_[first_largest(self._votes(scores))]
        k, column, votes = len(self.classes_), 0, np.zeros((len(scores), len(self.classes_)))
        for i in range(k):  # of the classes with the most votes the first
            for j in range(i + 1, k):
                votes[:, i] += scores[:, column] > 0
                votes[:, j] += scores[:, column] <= 0
                column += 1
        return self.classes_[first_largest(votes)]

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimate the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" their kernel matrix with the training rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Of two classes the sigmoid of the score, of more the pairs coupled.
        """
        scores = self._scores(X)
        first = expit(-(self.probA_ * scores + self.probB_))
        k = len(self.classes_)
        if k == 2:
            return np.column_stack([1 - first, first]).astype(scores.dtype, copy=False)
        pairwise = np.full((len(scores), k, k), 0.5)
        for column, (i, j) in enumerate(combinations(range(k), 2)):
            pairwise[:, i, j], pairwise[:, j, i] = first[:, column], 1 - first[:, column]
        return couple(pairwise).astype(scores.dtype, copy=False)

    @available_if(lambda self: self.probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities that `predict_proba` gives.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" their kernel matrix with the training rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Minus infinity for a probability of zero.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def coef_(self) -> np.ndarray:
        """The weights w of each pair, of shape (n_pairs, n_features), for the linear kernel."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ is there with a linear kernel only, after fit")
        weights = np.asarray(self._pairs.T @ self.support_vectors_)
        return weights.astype(self.support_vectors_.dtype)
