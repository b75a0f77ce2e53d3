"""Bayesian model averaging."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, softmax
from scipy.stats import norm
from sklearn.base import RegressorMixin, clone
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.learned import shapes
from panlearn.linear.bayesian_linear_regression import BayesianLinearRegression


@dataclass(eq=False, repr=False)
class ModelAverage(RegressorMixin, Estimator):
    r"""Average the predictive distributions of several models, weighted by their evidence.

    .. math::
        p(y \mid x, D) = \sum_m p(m \mid D) \, p(y \mid x, D, m), \qquad
        p(m \mid D) \propto p(m) \, p(D \mid m)

    Parameters
    ----------
    estimators : list, default=None
        Regressors that have ``log_evidence_`` once they are fitted and whose ``predict`` takes
        ``return_std``, or pipelines that end in one. By default one `BayesianLinearRegression`.
    priors : array-like of shape (n_models,), default=None
        Prior probabilities p(m); equal by default.

    Attributes
    ----------
    estimators_ : list
        The fitted models.
    log_evidence_ : ndarray of shape (n_models,)
        Log evidence :math:`\log p(D \mid m)` of each.
    weights_ : ndarray of shape (n_models,)
        Posterior probabilities :math:`p(m \mid D)`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Evidence is comparable only if all models are of the same targets. Where a model tuned its
    hyper-parameters to the evidence, its weight is too high by what the tuning gained; give them
    fixed, or make models of several values. The average is a mixture of normal distributions, with
    the variance within the models and that between their means. A fit and a prediction cost those
    of the models, :math:`O(m)` of them.

    References
    ----------
    J. A. Hoeting, D. Madigan, A. E. Raftery and C. T. Volinsky (1999). Bayesian model averaging: a
    tutorial. Statistical Science 14(4). doi:10.1214/ss/1009212519

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> from panlearn.bayes import ModelAverage
    >>> from panlearn.linear import BayesianLinearRegression
    >>> line = BayesianLinearRegression(prior_covariance=1.0, noise_variance=0.01)
    >>> models = [make_pipeline(PolynomialFeatures(p, include_bias=False), line) for p in (1, 2, 3)]
    >>> x = np.linspace(-1, 1, 30)[:, None]
    >>> y = x[:, 0] ** 2 + 0.1 * np.random.default_rng(0).normal(size=30)
    >>> ModelAverage(models).fit(x, y).weights_.round(3)
    array([0.   , 0.839, 0.161])
    """

    learned = shapes(
        log_evidence_="(n_models,)",
        weights_="(n_models,)",
    )

    capabilities = Capabilities(sparse=True)

    estimators: list | None = None
    _: KW_ONLY
    priors: np.ndarray | None = None

    @fitting
    def fit(self, X: Any, y: Any) -> Self:
        """Fit every model and weigh them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The targets.

        Returns
        -------
        ModelAverage
            The model itself.
        """
        models = [BayesianLinearRegression()] if self.estimators is None else self.estimators
        if not models:
            raise ValueError("estimators is empty; give one model at least")
        if bad := [m for m in models if not hasattr(m, "fit") or isinstance(m, type)]:
            raise ValueError(f"estimators must be models with fit; got {bad[0]!r}")
        log_prior = self._log_priors(len(models))
        # the models see X as it is given: a pipeline may want its columns
        validate_data(self, X, dtype=None, accept_sparse=True, ensure_all_finite=False)
        self.estimators_ = [clone(model).fit(X, y) for model in models]
        self.log_evidence_ = np.array([_log_evidence(model) for model in self.estimators_])
        self.weights_ = softmax(self.log_evidence_ + log_prior)
        return self

    def _log_priors(self, n: int) -> np.ndarray:
        try:
            priors = np.full(n, 1 / n) if self.priors is None else np.asarray(self.priors, float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"priors must hold numbers; got {self.priors!r}") from error
        if priors.shape != (n,) or not (priors >= 0).all() or abs(priors.sum() - 1) > 1e-8:
            raise ValueError(
                f"priors must be {n} probabilities, one a model, that sum to 1; got {self.priors!r}"
            )
        with np.errstate(divide="ignore"):
            return np.log(priors)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the mean of the averaged distribution for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        return_std : bool, default=False
            Whether to return also its standard deviation.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if `return_std`.
        """
        means, deviations = self._predictions(X)
        weights = self.weights_.astype(means.dtype)
        mean = weights @ means
        if not return_std:
            return mean
        return mean, np.sqrt(weights @ (deviations**2 + (means - mean) ** 2))

    def log_density(self, X: Any, y: Any) -> np.ndarray:
        """Log density of each target under the averaged distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The targets.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_consistent_length(X, y)
        means, deviations = self._predictions(X)
        inside = norm.logpdf(np.asarray(y), means, deviations)
        return logsumexp(inside, axis=0, b=self.weights_[:, None])

    def _predictions(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        self._require_fitted()
        pairs = [model.predict(X, return_std=True) for model in self.estimators_]
        means, deviations = map(np.stack, zip(*pairs, strict=True))
        return means, deviations


def _log_evidence(model: Any) -> float:
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if not hasattr(last, "log_evidence_"):
        raise ValueError(
            f"estimators must have log_evidence_ once fitted, and {type(last).__name__} has not; "
            "panlearn.linear.BayesianLinearRegression has"
        )
    return float(last.log_evidence_)
