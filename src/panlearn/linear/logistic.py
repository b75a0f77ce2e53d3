"""Logistic regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.parameters import Fraction, NonNegative, Positive, PositiveOrInf
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.threads import one_blas_thread
from panlearn.core.validation import read_rows
from panlearn.core.warning import warn
from panlearn.linear import inference
from panlearn.linear._classifier import LinearClassifier
from panlearn.linear._logistic_labels import Labels
from panlearn.linear._logistic_loss import from_scores
from panlearn.linear._logistic_problem import LogisticProblem
from panlearn.linear._logistic_steps import Part, Surrogate
from panlearn.linear._newton_columns import minimise_by_columns
from panlearn.linear._newton_products import ManyClasses
from panlearn.linear._quasi_newton import Steps, minimise
from panlearn.linear._working_sets import minimise_by_working_sets


@dataclass(eq=False, repr=False)
class LogisticRegression(LinearClassifier, Iterative):
    r"""Logistic regression, binary or multinomial, with an l2, l1 or elastic-net penalty.

    .. math::
        \min_{W, b} \; C \sum_i s_i \left( \log \sum_c e^{w_c^\top x_i + b_c}
        - w_{y_i}^\top x_i - b_{y_i} \right)
        + \frac{1 - \rho}{2} \|W\|_2^2 + \rho \|W\|_1

    where :math:`\rho` is `l1_ratio` and :math:`s_i` the weight of a row. Two classes have one
    score :math:`z_i = w^\top x_i + b` and the loss :math:`\log(1 + e^{-z_i})` or
    :math:`\log(1 + e^{z_i})`.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty; ``np.inf`` for none.
    l1_ratio : float, default=0.0
        Share of the l1 norm: 0 for l2, 1 for l1, elastic net between.
    tol : float, default=1e-8
        Stop when the Newton decrement of the mean objective, the distance to the minimum in the
        norm of the Hessian, does not exceed it. In float32 it is at least 1e-6.
    fit_intercept : bool, default=True
        Whether to learn the intercept b, which is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes by label; "balanced" makes all classes weigh the same.
    max_iter : int, default=100
        The most iterations; each is one pass over the rows, or a few.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_features)
        The weights.
    intercept_ : ndarray of shape (1 or n_classes,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    statistic_ : Surrogate
        After `partial_fit`: what it goes on from.
    weight_seen_ : float
        After `fit`: the weight of its rows, for `partial_fit` to go on.
    n_iter_ : int
        Iterations done.
    converged_ : bool
        Whether `tol` was reached.
    history_ : dict
        ``objective`` (divided by C and the total weight) and ``change`` (the decrement) of each
        iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Loss, gradient and Hessian are sums over rows, so X may be an array, a sparse matrix, a stream
    of batches (`panlearn.Batches`) or a Dask collection, with the same coefficients. The solver is
    a Newton method that computes a Hessian only when it pays: it starts from that of the best
    constant prediction (with many rows, from a solution on a sample of them), brings it up to date
    by BFGS after each pass, and renews it, from a sample at first, when steps get slow. A pass
    costs :math:`O(n d k)` and a renewal :math:`O(n d^2 k^2)`. Where that is dear, as with many
    classes, and dense rows are in memory, an l2 fit finds each Newton step by conjugate gradients,
    from products with the Hessian that cost less than a pass. With l1 the quadratic model is
    minimised by coordinate descent (proximal Newton). With more than about 2000 unknowns the
    Hessian is else a diagonal, which makes it L-BFGS, and l1 works on the columns: two classes in
    memory by coordinate descent and conjugate gradients on all of them, else on the few that can be
    active, which is slow where thousands stay. With l2 alone, n dense rows of 2n columns or more
    are put into n coordinates of the space that they span, once, in :math:`O(n^2 d)`.

    The multinomial model has one weight vector a class and is symmetric in the classes; with l2 the
    weights sum to zero over the classes. Without a penalty, classes that a hyperplane separates
    have no finite solution: the fit stops when nothing is left to gain, and warns.

    `partial_fit` keeps a quadratic, the Hessian at the minimum, for the rows that it has seen, and
    fits the next ones beside it: the first part gives what `fit` gives, and many parts come close
    to the fit to all of them, without a step size to choose, if their rows are mixed. Parts that
    are sorted by class lead far away from it: there a quadratic says little of what was seen. After
    `fit`, whose rows are gone, the first part tells the quadratic: it hangs on rows alone, not on
    their labels.

    References
    ----------
    D. Böhning (1992). Multinomial logistic regression algorithm. Annals of the Institute of
    Statistical Mathematics 44(1). doi:10.1007/BF00048682

    J. D. Lee, Y. Sun and M. A. Saunders (2014). Proximal Newton-type methods for minimizing
    composite functions. SIAM Journal on Optimization 24(3). doi:10.1137/130921428

    G.-X. Yuan, C.-H. Ho and C.-J. Lin (2012). An improved GLMNET for l1-regularized logistic
    regression. Journal of Machine Learning Research 13.

    C.-J. Lin, R. C. Weng and S. S. Keerthi (2008). Trust region Newton method for large-scale
    logistic regression. Journal of Machine Learning Research 9.

    D. J. Spiegelhalter and S. L. Lauritzen (1990). Sequential updating of conditional probabilities
    on directed graphical structures. Networks 20(5). doi:10.1002/net.3230200507

    R. H. Byrd, G. M. Chin, W. Neveitt and J. Nocedal (2011). On the use of stochastic Hessian
    information in optimization methods for machine learning. SIAM Journal on Optimization 21(3).
    doi:10.1137/10079923X

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from panlearn.linear import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> round(model.score(X, y), 3)
    0.973
    >>> model.predict_proba(X[:1]).round(3)
    array([[0.982, 0.018, 0.   ]])
    """

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, sparse=True)

    C: PositiveOrInf[float] = 1.0
    _: KW_ONLY
    l1_ratio: Fraction[float] = 0.0
    tol: NonNegative[float] = 1e-8
    fit_intercept: bool = True
    class_weight: Literal["balanced"] | dict | None = None
    max_iter: Positive[int] = 100
    warm_start: bool = False

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix}, Batches or Dask collection
            The rows, of shape (n_samples, n_features).
        y : array-like of shape (n_samples,)
            The labels, of any type that sorts; with a stream they come in its batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        LogisticRegression
            The model itself.
        """
        rows = read_rows(self, X, y, sample_weight, targets="labels", repeatable=True)
        labels = Labels.of(rows, self.class_weight)
        problem = LogisticProblem(
            rows, labels, C=self.C, l1_ratio=self.l1_ratio, fit_intercept=self.fit_intercept
        )
        shape = (problem.k, rows.n_features)
        warm = self.warm_start and getattr(self, "coef_", np.empty(0)).shape == shape
        x = problem.start(self.coef_, self.intercept_) if warm else problem.start()
        tol = max(self.tol, 8 * float(np.finfo(rows.dtype).eps))
        curvature = None
        by_products = problem.by_products
        if not by_products and not (warm and problem.dense):
            x, curvature = _first(problem, x)
        loop = Iterations(self, max_iter=self.max_iter, tol=tol, rows=rows)
        endless = False
        with loop, one_blas_thread():
            if problem.l1 and not problem.dense and problem.by_columns:
                x = minimise_by_columns(problem, x, loop, tol=tol)
            elif problem.l1 and not problem.dense:
                x = minimise_by_working_sets(problem, x, loop, max_iter=self.max_iter, tol=tol)
            elif by_products:
                # a start worse than none may lie where the loss is straight, and Newton is lost
                if warm:
                    x = min(problem.start(), x, key=lambda start: problem.evaluate(start)[0])
                x, _ = minimise(ManyClasses(problem, tol), x, None, loop)
            else:
                x, step = minimise(problem, x, curvature, loop)
                endless = np.isinf(self.C) and bool(np.abs(step).max() > 1e-3)
        for name, value in problem.attributes(x).items():
            setattr(self, name, value)
        self.weight_seen_ = float(labels.count.sum())
        if endless and self.converged_:
            warn(
                "the classes are separable, so without a penalty there is no finite solution; the "
                f"coefficients were left at a mean loss of {self.history_['objective'][-1]:.3g}. "
                "Give a finite C",
                ConvergenceWarning,
            )
        return self

    @fitting
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more data, beside a quadratic that stands for the data seen before.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array-like of shape (n_classes,), default=None
            All labels, in the first call, if that does not hold them all.
        sample_weight
            As in `fit`.

        Returns
        -------
        LogisticRegression
            The model itself.
        """
        self._require_steps()
        first = not self.__sklearn_is_fitted__()
        rows = read_rows(self, X, y, sample_weight, targets="labels", reset=first, repeatable=True)
        known = classes if first else self.classes_
        labels = Labels.among(rows, self.class_weight, known)
        settings: Any = dict(alpha=1 / self.C, fit_intercept=self.fit_intercept)
        if first:
            seen = Surrogate.start(rows, labels, **settings)
        elif "statistic_" in vars(self):
            seen = vars(self)["statistic_"]
        else:
            seen = Surrogate.after_fit(self, rows, labels, **settings)
        part = Part(seen, rows, labels, self.fit_intercept)
        tol = max(self.tol, 8 * float(np.finfo(rows.dtype).eps))
        x = seen.point.ravel()
        with (
            Iterations(self, max_iter=self.max_iter, tol=tol, rows=rows) as loop,
            one_blas_thread(),
        ):
            x, _ = minimise(part, x, None, loop)
        for name, value in part.attributes(x).items():
            setattr(self, name, value)
        self.statistic_ = part.absorbed(x)
        return self

    def _require_steps(self) -> None:
        """Refuse what cannot be learned in parts."""
        if self.l1_ratio > 0:
            raise ValueError(
                f"l1_ratio={self.l1_ratio}: partial_fit has an l2 penalty alone; set l1_ratio=0"
            )
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs the counts of all rows, which "
                "partial_fit does not know; give a dict of weights"
            )

    def summary(
        self, X: Any, y: Any, sample_weight: Any = None, confidence: float = 0.95
    ) -> inference.Summary:
        """Standard errors, tests and intervals of the coefficients, from the rows of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that the model was fitted to.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; an integer weight is a repeated row.
        confidence : float, default=0.95
            Of the intervals.

        Returns
        -------
        Summary
            See `panlearn.linear.inference`.
        """
        self._require_fitted()
        if np.isfinite(self.C) or self.class_weight is not None:
            raise ValueError(
                "standard errors are those of a fit without penalty and class weights: fit with "
                "C=np.inf and class_weight=None"
            )
        return inference.logistic(self, X, y, sample_weight, confidence)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        p = from_scores(self._score_rows(X))
        return np.hstack([1 - p, p]) if p.shape[1] == 1 else p

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class, finite where the probability underflows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        scores = self._score_rows(X)
        if scores.shape[1] == 1:
            return log_expit(np.hstack([-scores, scores]))
        return log_softmax(scores, axis=1)


def _first(problem: LogisticProblem, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """A start and a curvature for it: with many rows those of a sample, for parts of a pass."""
    sample = problem.sampled()
    if sample is None:
        return x, problem.constant_curvature()
    with one_blas_thread():
        # to within the error of sampling: the whole will move the minimum by as much
        error = float(np.sqrt(x.size / (sample.total + x.size)))
        x, _ = minimise(sample, x, sample.constant_curvature(), Steps(20, 0.3 * error))
        return x, sample.evaluate(x, curved=True)[2]
