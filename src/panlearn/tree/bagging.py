"""Bagging: the same classifier on many samples of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter, validate_data

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.labels import encode_labels
from panlearn.core.learned import shapes
from panlearn.core.parameters import Jobs, Positive, RandomState
from panlearn.core.plain import go_together, is_named, is_plain
from panlearn.core.random import generator
from panlearn.core.threads import threads
from panlearn.core.validation import FLOATS, reject_hidden
from panlearn.tree._base import MemberCount, ProbabilisticClassifier
from panlearn.tree._members import checked_base, seeded_copy
from panlearn.tree._problem import expect_trees, feature_count, label_problem
from panlearn.tree._sampling import Part, out_of_bag_mean, row_sampler, sample_size, scored
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
        Features that are drawn for each member, or their part of all.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    bootstrap_features : bool, default=False
        Whether features are drawn with replacement.
    oob_score : bool or callable, default=False
        Score the ensemble on each row by the members that were fitted without it: by the accuracy,
        or by a function of the labels and the predicted ones.
    warm_start : bool, default=False
        Keep the members of the last fit, and fit those that n_estimators has more. With the same
        integer random_state they are the members that one fit would have.
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
        Score out of bag, if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities out of bag, if asked for; NaN, with a warning, for a row that is in every bag.
        Rows of weight zero are left out.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    A row that was drawn twice has weight two if the estimator takes sample_weight, else it is
    given twice. Rows are drawn with chances in proportion to their weights, which are relative: as
    many are drawn as there are with a weight above zero, or ``max_samples``, however large the
    weights. With a whole number of these a row of weight two is two copies of it, for the same
    seed. scikit-learn draws as many as the weights sum to. Without replacement the weights go to
    the estimator. A sample that holds one class only is drawn again.

    Each member has a seed of its own, and the members are summed in their order, so that any
    number of threads gives the same bits. Threads pay for estimators that leave Python's lock, as
    the trees of this library do. It costs :math:`O(m)` fits of the estimator for m members.

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

    learned = shapes(
        estimators_samples_="n_members of (*,)",
        estimators_features_="n_members of (*,) < n_features",
        oob_decision_function_="(n_samples, n_classes)",
    )

    capabilities = Capabilities(missing=True, sparse=True)

    estimator: Any = None
    n_estimators: MemberCount = 10
    _: KW_ONLY
    max_samples: Positive[int] | Part = 1.0
    max_features: Positive[int] | Part = 1.0
    bootstrap: bool = True
    bootstrap_features: bool = False
    oob_score: bool | Callable = False
    warm_start: bool = False
    n_jobs: Jobs = None
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members to samples of training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
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
        if is_plain(X) and not is_named(self) and go_together(X, y, "labels"):
            self.n_features_in_ = X.shape[1]
        else:
            # what is no number is refused in a row that no sample has, too; others may take words
            dtype = FLOATS if isinstance(base, DecisionTreeClassifier) else None
            X, y = validate_data(
                self, X, y, dtype=dtype, ensure_all_finite=False, accept_sparse=self._formats()
            )
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
        old = len(getattr(self, "estimators_", []))
        if old > self.n_estimators:
            raise ValueError(
                f"warm_start: n_estimators={self.n_estimators} is less than the {old} members"
            )
        draw = row_sampler(weight)
        size, width = sample_size(self.max_samples, n), feature_count(self.max_features, d)
        if not self.bootstrap and size > n:
            raise ValueError(f"max_samples={size} is more than the {n} rows")

        def learn(seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
            rng = np.random.default_rng(seed)
            features = np.arange(d)
            if width < d or self.bootstrap_features:
                features = np.sort(rng.choice(d, width, replace=self.bootstrap_features))
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

        # the same seeds whether or not some members are there
        seeds = generator(self.random_state).integers(2**63, size=self.n_estimators)[old:]
        if self.estimator is None:
            problem = label_problem(codes[None], [len(self.classes_)], weight, base.criterion)
            expect_trees(base, len(seeds), problem, width)
        with threads(self.n_jobs) as run:
            fitted = list(run(learn, seeds.tolist()))
        columns = {
            "estimators_": [member for member, _, _ in fitted],
            "estimators_samples_": [kept[rows] for _, rows, _ in fitted],
            "estimators_features_": [features for _, _, features in fitted],
        }
        for name, new in columns.items():
            setattr(self, name, [*getattr(self, name, []), *new])
        if self.oob_score:
            self._score_out_of_bag(X, codes, kept)
        return self

    def _formats(self) -> Any:
        """The sparse formats that X may have."""
        return "csr" if get_tags(self).input_tags.sparse else False

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
        X = X if np.array_equal(features, np.arange(X.shape[1])) else X[:, features]
        if not hasattr(member, "predict_proba"):
            return np.eye(len(self.classes_))[member.predict(X)]
        part = member.predict_proba(X)
        if len(member.classes_) == len(self.classes_):
            return part
        result = np.zeros((len(part), len(self.classes_)), dtype=part.dtype)
        result[:, member.classes_] = part
        return result

    def _score_out_of_bag(self, X: Any, codes: np.ndarray, kept: np.ndarray) -> None:
        n = len(codes)
        total, times = np.zeros((n, len(self.classes_))), np.zeros(n)
        for index, rows in enumerate(self.estimators_samples_):
            outside = np.flatnonzero(~np.isin(kept, rows))
            if len(outside):
                total[outside] += self._member_probabilities(index, X[outside])
                times[outside] += 1
        self.oob_decision_function_ = out_of_bag_mean(total, times)
        seen = times > 0
        best = self.classes_[self.oob_decision_function_[seen].argmax(axis=1)]
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = scored(score, self.classes_[codes[seen]], best)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class: the mean over the members.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, as the estimator takes them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        self._require_fitted()
        X = validate_data(
            self,
            X,
            reset=False,
            dtype=None,
            ensure_all_finite=False,
            accept_sparse=self._formats(),
        )
        numbers = range(len(self.estimators_))
        total = np.zeros((X.shape[0], len(self.classes_)))
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
            tags.input_tags.sparse = inner.sparse
        return tags
