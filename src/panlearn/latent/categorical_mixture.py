"""Mixtures of products of categoricals: latent classes."""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import validate_data

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.em import expectation_maximisation
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.labels import missing
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.progress import Iterative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.starts import RowSample, Starts, best_of, sample_rows
from panlearn.core.validation import FLOATS, read_rows
from panlearn.latent._categories import (
    LOG_ZERO,
    ExpectedCounts,
    Products,
    Values,
    codes_of,
    expect,
    log_posteriors,
    log_prior,
    maximise,
    ones_of,
    posteriors,
    starts_of,
)
from panlearn.latent._likelihood import ClassedLikelihood
from panlearn.latent._words import distinct, has_words, named, numbered


@dataclass(eq=False, repr=False)
class CategoricalMixture(ClassedLikelihood, DensityMixin, Iterative, Estimator):
    r"""Latent classes within which categorical features are independent, learned by EM.

    .. math::
        p(x) = \sum_{c=1}^k \pi_c \prod_j \theta_{cj x_j}, \qquad
        \max_{\pi, \theta} \; \sum_i s_i \log p(x_i) + \alpha \sum_{c, j, v} \log \theta_{cjv}

    Parameters
    ----------
    n_components : int, default=1
        The number k of classes.
    alpha : float, default=0.01
        Additive smoothing of the counts of each category in each class; 0 is maximum likelihood.
    tol : float, default=1e-5
        The loop ends when the objective, for a row, changes by no more than this.
    max_iter : int, default=500
        The most iterations of one start.
    n_init : int, default=1
        How many starts to try; the highest likelihood wins.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        The probabilities :math:`\pi_c`.
    feature_prob_ : list of n_features ndarrays of shape (n_components, n_categories)
        The probabilities :math:`\theta_{cjv}`.
    categories_ : list of n_features ndarrays
        The values of each feature, sorted.
    lower_bound_ : float
        The objective, for a row, at the last expectation.
    n_iter_ : int
        Iterations of the start that won.
    converged_ : bool
        Whether it converged.
    history_ : dict
        ``log_likelihood`` (of a row, with its part of the prior) before, and ``change`` of, each
        iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    Each distinct value of a feature is a category: numbers, or in an array or a data frame also
    strings. Two of them make a mixture of Bernoullis. NaN and None are missing entries, whose
    factor is left out, which is exact; so is that of a category that was never seen. An iteration
    costs :math:`O(n d k)`. The smoothing is a Dirichlet prior, and with its part the objective
    never falls. A start is one row for each class, far apart in the number of entries in which they
    differ, mixed with the shares of all rows.

    References
    ----------
    P. F. Lazarsfeld and N. W. Henry (1968). Latent structure analysis. Houghton Mifflin.

    L. A. Goodman (1974). Exploratory latent structure analysis using both identifiable and
    unidentifiable models. Biometrika 61(2). doi:10.1093/biomet/61.2.215

    Examples
    --------
    >>> from panlearn.latent import CategoricalMixture
    >>> X = [["red", "round"], ["red", "round"], ["green", "long"], ["green", None]] * 10
    >>> model = CategoricalMixture(2, random_state=0).fit(X)
    >>> model.weights_.round(2), model.impute([["green", None]]).tolist()
    (array([0.5, 0.5]), [['green', 'long']])
    """

    learned = shapes(
        weights_="(n_components,)",
        feature_prob_="n_features of (n_components, n_categories_i)",
        categories_="n_features of (n_categories_i,)",
    )

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, missing=True, sparse=True)

    n_components: Positive[int] = 1
    _: KW_ONLY
    alpha: NonNegative[float] = 0.01
    tol: NonNegative[float] = 1e-5
    max_iter: Positive[int] = 500
    n_init: Starts = 1
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the mixture from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix}, Batches or Dask collection
            The rows, of shape (n_samples, n_features); NaN or None is missing. A stream is walked
            several times, and its categories are numbers.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        CategoricalMixture
            The model itself.
        """
        words: list[np.ndarray] | None = None
        given = X
        if has_words(X):
            table = validate_data(self, X, dtype=object, ensure_all_finite=False)
            words = [distinct(column, j) for j, column in enumerate(table.T)]
            X = numbered(table, words)
        rows = read_rows(self, X, None, sample_weight, repeatable=True)
        if words is not None:  # the numbers have no names
            validate_data(self, given, skip_check_array=True)
        if isinstance(rows, ArrayRows) and (n := rows.X.shape[0]) < self.n_components:
            raise ValueError(f"n_samples={n} should be >= n_components; ask for fewer classes")
        rng = generator(self.random_state)
        values = map_reduce(lambda X, y, w: Values.of(X, w), rows, require_finite=False)
        categories = _checked(values)
        sample = sample_rows(
            rows, rng, size=max(2000, 20 * self.n_components), require_finite=False
        )

        def expected(at: Products, X: Any, y: Any, weight: Any) -> ExpectedCounts:
            return expect(at, X, y, weight, prior=log_prior(at, self.alpha) / values.weight)

        def run(estimator: Any, start: Products) -> Products:
            return expectation_maximisation(
                estimator,
                rows,
                start,
                expect=expected,
                maximise=lambda at, seen: maximise(categories, seen, self.alpha),
                max_iter=self.max_iter,
                tol=self.tol,
            )

        def objective(at: Products) -> float:
            return map_reduce(functools.partial(expected, at), rows).log_likelihood

        starts = [_start(self, values, sample, categories, rng) for _ in range(self.n_init)]
        found = best_of(self, rows, starts, run, objective)
        self.weights_ = found.weights
        tables = np.split(np.exp(found.log_probabilities), starts_of(categories)[1:-1])
        self.feature_prob_ = [np.ascontiguousarray(t.T) for t in tables]
        self.categories_ = categories if words is None else named(categories, words)
        self.lower_bound_ = self.history_["log_likelihood"][-1]
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log probability of each row, of the entries that it has.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN or None is missing, and so is a category that was never seen.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._posteriors(X)[0]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Give the probabilities of the classes of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN or None is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._posteriors(X)[1]

    def predict(self, X: Any) -> np.ndarray:
        """Give the most probable class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN or None is missing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._posteriors(X)[1].argmax(axis=1)

    def impute(self, X: Any) -> np.ndarray:
        """Fill missing entries with their most probable categories.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN or None is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        numbers, at = self._numbers(X, accept_sparse=False), self._products()
        responsibilities = posteriors(at, ones_of(numbers, at.categories))[1]
        words = self._knows_words()
        out = np.array(X, dtype=object) if words else np.array(numbers)
        for j, empty in enumerate(np.isnan(numbers).T):
            if words:
                empty = missing(out[:, j])
            guess = (responsibilities[empty] @ self.feature_prob_[j]).argmax(axis=1)
            out[empty, j] = self.categories_[j][guess]
        return out

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
            The class of each row.
        """
        self._require_fitted()
        rng = generator(random_state)
        y = rng.choice(len(self.weights_), size=n_samples, p=self.weights_ / self.weights_.sum())
        columns = []
        for known, table in zip(self.categories_, self.feature_prob_, strict=True):
            ends = np.cumsum(table, axis=1)[y]
            code = (rng.random(n_samples)[:, None] * ends[:, -1:] >= ends).sum(axis=1)
            columns.append(known[np.minimum(code, len(known) - 1)])
        words = self._knows_words()
        return np.stack([c.astype(object) if words else c for c in columns], axis=1), y

    def _n_parameters(self) -> int:
        k = len(self.weights_)
        return k - 1 + k * sum(len(known) - 1 for known in self.categories_)

    def _knows_words(self) -> bool:
        return any(known.dtype.kind == "U" for known in self.categories_)

    def _products(self) -> Products:
        known = [np.arange(float(len(c))) if c.dtype.kind == "U" else c for c in self.categories_]
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([t.T for t in self.feature_prob_]))
        return Products(known, self.weights_, np.maximum(logs, LOG_ZERO))

    def _log_posteriors(self, X: Any) -> np.ndarray:
        numbers, at = self._numbers(X), self._products()
        return log_posteriors(at, ones_of(numbers, at.categories)).astype(numbers.dtype)

    def _posteriors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        numbers, at = self._numbers(X), self._products()
        log_density, probabilities = posteriors(at, ones_of(numbers, at.categories))
        log_density = np.where(log_density < LOG_ZERO / 2, -np.inf, log_density)
        return log_density.astype(numbers.dtype), probabilities.astype(numbers.dtype)

    def _numbers(self, X: Any, accept_sparse: Any = "csr") -> Any:
        """The rows as numbers, which are codes where the categories are words."""
        self._require_fitted()
        words = self._knows_words()
        rest = {"reset": False, "ensure_all_finite": False if words else "allow-nan"}
        if words:
            table = validate_data(self, X, dtype=object, **rest)
            return numbered(table, self.categories_)
        return validate_data(self, X, dtype=FLOATS, accept_sparse=accept_sparse, **rest)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _checked(values: Values) -> list[np.ndarray]:
    """The categories of each feature; refused where there are none, or infinite ones."""
    if not values.weight > 0:
        raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
    if not values.is_finite:
        raise ValueError("Input X contains infinity or a value too large for its dtype")
    categories = values.by_column(values.value)
    empty = [j for j, known in enumerate(categories) if not len(known)]
    if empty:
        raise ValueError(
            f"column {', '.join(map(str, empty))} of X is NaN in every row; drop it, or learn from "
            "rows that have it"
        )
    return categories


def _start(
    model: CategoricalMixture,
    values: Values,
    sample: RowSample,
    categories: list[np.ndarray],
    rng: np.random.Generator,
) -> Products:
    """Rows far apart, one a class, each mixed with the shares of all rows."""
    codes, k = codes_of(sample.rows, categories), model.n_components
    weight = sample.weight_of
    nearest, chosen = np.ones(len(codes)), []
    for _ in range(k):
        odds = weight * nearest
        odds = odds if odds.sum() > 0 else weight
        chosen.append(int(rng.choice(len(codes), p=odds / odds.sum())))
        differs = ((codes != codes[chosen[-1]]) & (codes >= 0)).mean(axis=1)
        nearest = differs if len(chosen) == 1 else np.minimum(nearest, differs)
    shares = np.concatenate([c / c.sum() for c in values.by_column(values.count)])
    ones = ones_of(sample.rows[chosen], categories).toarray()
    count = np.maximum(0.5 * (shares + ones), np.finfo(float).tiny).T
    return maximise(categories, ExpectedCounts(1.0, 0.0, np.ones(k), count), 0.0)
