"""What classifiers that decide with the probabilities of another one share."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from panlearn.bayes.gaussian_nb import GaussianNB
from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import Estimator, fitting


class DecisionMaker(ClassifierMixin, Estimator):
    """A classifier around another one, whose probabilities it turns into decisions; abstract.

    Its first field is ``estimator``; fitted, it has ``estimator_`` and ``classes_``.
    """

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact", sparse=True)

    estimator: Any
    estimator_: Any
    classes_: np.ndarray

    @property
    def _inner(self) -> Any:
        return GaussianNB() if self.estimator is None else self.estimator

    def _check(self) -> None:
        """Hold the parameters against the classes; what it finds wrong undoes the fit."""

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the inner classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix}, Batches or Dask collection
            The rows, of shape (n_samples, n_features), of any kind that the inner classifier takes.
        y : array-like of shape (n_samples,)
            The labels; with a stream they come in its batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, if the inner classifier takes them.

        Returns
        -------
        self
            The model itself.
        """
        if not hasattr(self._inner, "predict_proba"):
            raise ValueError(
                f"estimator must have predict_proba; got {self.estimator!r}. "
                "sklearn.calibration.CalibratedClassifierCV gives it to any classifier"
            )
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._adopt(clone(self._inner).fit(X, y, **more))

    @available_if(lambda self: hasattr(self._inner, "partial_fit"))
    @fitting
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Go on fitting the inner classifier.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array-like of shape (n_classes,), default=None
            Labels that may come later.
        sample_weight
            As in `fit`.

        Returns
        -------
        self
            The model itself.
        """
        more = {"classes": classes, "sample_weight": sample_weight}
        more = {name: value for name, value in more.items() if value is not None}
        inner = getattr(self, "estimator_", None)
        # a copy, so that a batch that fails leaves the model as it was
        inner = clone(self._inner) if inner is None else copy.deepcopy(inner)
        return self._adopt(inner.partial_fit(X, y, **more))

    def _adopt(self, fitted: Any) -> Self:
        self.estimator_, self.classes_ = fitted, fitted.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        self._check()
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, by the inner classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        self._require_fitted()
        return self.estimator_.predict_proba(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class, by the inner classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        self._require_fitted()
        if hasattr(self.estimator_, "predict_log_proba"):
            return self.estimator_.predict_log_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags
