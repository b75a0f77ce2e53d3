"""Bagging: the same classifier on many samples of the rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter, validate_data

from panlearn.core.estimator import fitting
from panlearn.core.labels import encode_labels
from panlearn.core.parameters import Jobs, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.threads import threads
from panlearn.core.validation import reject_hidden
from panlearn.tree._base import MemberCount, ProbabilisticClassifier, feature_count
from panlearn.tree._members import checked_base, seeded_copy
from panlearn.tree._sampling import Part, row_sampler, sample_size
from panlearn.tree.decision_tree import DecisionTreeClassifier


@dataclass(eq=False, repr=False)
class BaggingClassifier(ProbabilisticClassifier):
    r"""Bagging: copies of one classifier, each fitted to its own sample of rows and features.

    .. math:: p(y = k \mid x) = \frac{1}{M} \sum_{m=1}^{M} p_m(k \mid x)

    where :math:`p_m` is what member m says, or 1 for the class that it votes for.

    Parameters
    ----------
    estimator : classifier, default=None
        What is copied; None for a `DecisionTreeClassifier` of full depth.
    n_estimators : int, default=10
        Number of members M, 100,000 at most.
    max_samples : int or float, default=1.0
        Rows that are drawn for each member, or their part of all.
    max_features : int or float, default=1.0
        Features that are drawn for each member, without replacement, or their part of all.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    oob_score : bool, default=False
        Score the ensemble on each row by the members that were fitted without it.
    n_jobs : int, default=None
        Threads: None for one, -1 for one a core. The result is the same.
    random_state : int, Generator or RandomState, default=None
        Seeds the samples, and an estimator that takes a random_state.

    Attributes
    ----------
    estimators_ : list of classifiers
        The members. Their labels are the places of the classes, 0, 1 and so on.
    estimators_samples_ : list of ndarrays
        The rows that each member was fitted to, repeated as often as they were drawn.
    estimators_features_ : list of ndarrays
        The features that each member looks at, in rising order.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    oob_score_ : float
        Accuracy out of bag, if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities out of bag, if asked for; NaN for a row that is in every bag. Rows of weight
        zero are left out.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    A row that was drawn twice has weight two if the estimator takes sample_weight, else it is
    given twice. Rows are drawn with chances in proportion to their weights; weights that are whole
    numbers stand for repeated rows. Without replacement the weights go to the estimator. A sample
    that holds one class only is drawn again.

    Each member has a seed of its own, and the members are summed in their order, so that any
    number of threads gives the same bits. Threads pay for estimators that leave Python's lock, as
    the trees of this library do.

    References
    ----------
    L. Breiman (1996). Bagging predictors. Machine Learning 24(2). doi:10.1007/BF00058655

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from panlearn.tree import BaggingClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    estimator: Any = None
    n_estimators: MemberCount = 10
    _: KW_ONLY
    max_samples: Positive[int] | Part = 1.0
    max_features: Positive[int] | Part = 1.0
    bootstrap: bool = True
    oob_score: bool = False
    n_jobs: Jobs = None
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members to samples of training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, as the estimator takes them.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        BaggingClassifier
            The model itself.
        """
        base = checked_base(self._base())
        if self.oob_score and not self.bootstrap and self.max_samples == 1.0:
            raise ValueError("oob_score needs bootstrap=True or max_samples below 1")
        reject_hidden(X=X, y=y, sample_weight=sample_weight)
        X, y = validate_data(self, X, y, dtype=None, ensure_all_finite=False)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        kept = np.flatnonzero(weight)
        X, y, weight = X[kept], y[kept], weight[kept]
        self.classes_, codes = encode_labels(y)
        weighted = has_fit_parameter(base, "sample_weight")
        if not weighted and not self.bootstrap and (weight != weight[0]).any():
            raise ValueError(
                f"estimator takes no sample_weight, so weights need bootstrap=True; got {base!r}"
            )
        n, d = X.shape
        draw = row_sampler(weight)
        size, width = sample_size(self.max_samples, weight), feature_count(self.max_features, d)

        def learn(seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
            rng = np.random.default_rng(seed)
            features = np.sort(rng.choice(d, width, replace=False)) if width < d else np.arange(d)
            rows = self._sample(rng, draw, size, codes)
            member = seeded_copy(base, rng)
            if not weighted:
                member.fit(X[rows][:, features], codes[rows])
            else:
                count = np.bincount(rows, minlength=n) * (1.0 if self.bootstrap else weight)
                bag = np.flatnonzero(count)
                data = X[bag][:, features], codes[bag]
                member.fit(*data, sample_weight=count[bag])
            return member, rows, features

        seeds = generator(self.random_state).integers(2**63, size=self.n_estimators)
        with threads(self.n_jobs) as run:
            fitted = list(run(learn, seeds.tolist()))
        self.estimators_ = [member for member, _, _ in fitted]
        self.estimators_samples_ = [kept[rows] for _, rows, _ in fitted]
        self.estimators_features_ = [features for _, _, features in fitted]
        if self.oob_score:
            self._score_out_of_bag(X, codes, [rows for _, rows, _ in fitted])
        return self

    def _base(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _sample(
        self, rng: np.random.Generator, draw: Any, size: int, codes: np.ndarray
    ) -> np.ndarray:
        """Draw rows of two classes or more, in rising order."""
        n = len(codes)
        for _ in range(100):
            if self.bootstrap:
                rows = draw(rng, size)
            else:
                rows = rng.permutation(n)[:size] if size < n else np.arange(n)
            if (codes[rows] != codes[rows[0]]).any():
                return np.sort(rows)
        raise ValueError(
            f"max_samples={self.max_samples!r} gives samples of {size} rows, which hold one class "
            "only; draw more"
        )

    def _member_probabilities(self, index: int, X: np.ndarray) -> np.ndarray:
        """What a member says of rows; a class that it has not seen has probability zero."""
        member, features = self.estimators_[index], self.estimators_features_[index]
        X = X if len(features) == X.shape[1] else X[:, features]
        if not hasattr(member, "predict_proba"):
            return np.eye(len(self.classes_))[member.predict(X)]
        part = member.predict_proba(X)
        if len(member.classes_) == len(self.classes_):
            return part
        result = np.zeros((len(X), len(self.classes_)), dtype=part.dtype)
        result[:, member.classes_] = part
        return result

    def _score_out_of_bag(
        self, X: np.ndarray, codes: np.ndarray, samples: list[np.ndarray]
    ) -> None:
        total, times = np.zeros((len(X), len(self.classes_))), np.zeros(len(X))
        for index, rows in enumerate(samples):
            outside = np.setdiff1d(np.arange(len(X)), rows)
            if len(outside):
                total[outside] += self._member_probabilities(index, X[outside])
                times[outside] += 1
        with np.errstate(invalid="ignore"):
            self.oob_decision_function_ = total / times[:, None]
        seen = times > 0
        if not seen.any():
            raise ValueError("oob_score: no row is out of any bag; raise n_estimators")
        best = self.oob_decision_function_[seen].argmax(axis=1)
        self.oob_score_ = float(accuracy_score(codes[seen], best))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class: the mean over the members.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, as the estimator takes them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        self._require_fitted()
        X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        numbers = range(len(self.estimators_))
        total = np.zeros((len(X), len(self.classes_)))
        dtype: Any = np.float64
        with threads(self.n_jobs) as run:
            for part in run(lambda i: self._member_probabilities(i, X), numbers):
                total += part
                dtype = part.dtype
        return (total / len(self.estimators_)).astype(dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self._base(), "fit") and not isinstance(self._base(), type):
            inner = get_tags(self._base()).input_tags
            tags.input_tags.allow_nan, tags.input_tags.string = inner.allow_nan, inner.string
            tags.input_tags.categorical = inner.categorical
        return tags
