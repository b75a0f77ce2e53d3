"""A network that is trained on the worst rows near those that are given."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.extras import require
from panlearn.core.parameters import Count, NonNegative, Positive, RandomState
from panlearn.trust.worst_case import WorstCase


def _trains_in_the_loop(estimator: Any) -> bool:
    require("torch")
    from panlearn.neural import MLPClassifier
    from panlearn.neural._image_classifier import ImageClassifier

    return isinstance(estimator, MLPClassifier | ImageClassifier)


@dataclass(eq=False, repr=False)
class AdversarialTraining(ClassifierMixin, Estimator):
    r"""Fit a network so that no small change of a row turns its prediction.

    .. math:: \min_\theta \frac1n \sum_i \max_{\|\delta_i\| \le \epsilon}
        \ell\bigl(f_\theta(x_i + \delta_i), y_i\bigr)

    Parameters
    ----------
    estimator : classifier, default=None
        MLPClassifier, ConvNetClassifier or ViTClassifier; an MLPClassifier if it is not given.
    eps : float, default=0.1
        The radius of the ball, in the units of X: the network's own scaling is taken into account.
    norm : {"linf", "l2"}, default="linf"
        Its norm.
    method : {"pgd", "fast", "free"}, default="pgd"
        How the maximum is sought: by `steps` of projected gradient ascent; by one of 1.25 eps;
        or while learning, where each batch is replayed `steps` times.
    steps : int, default=None
        7 for "pgd", 4 for "free"; "fast" has one.
    step : float, default=None
        The length of a step; 2.5 eps / steps for "pgd", 1.25 eps for "fast", eps for "free".
    random_start : bool, default=True
        Whether the ascent starts at random in the ball.
    bounds : tuple (low, high), default=None
        The box that rows stay in, in the units of X; pixels have one.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the network, in place of its own seed; None leaves that.

    Attributes
    ----------
    estimator_ : classifier
        The network, fitted.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    passes_ : int
        Forward and backward passes for each batch: what it costs, in ordinary trainings.
    n_iter_ : int
        Epochs.
    history_ : dict
        What the network recorded, an epoch, and the ``passes``.
    n_features_in_ : int
        Number of features, if rows were given.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    `WorstCase` has the ascent, and does the same to any objective of `neural.train`. Starts are
    drawn for the rows of a batch: a weight of two is not a repeated row, which would start twice.
    Accuracy on rows as they are falls as eps grows; `attacks.robust_accuracy_curve` shows both.
    Scaling that stands before the network in a pipeline changes the units of eps. A step costs
    :math:`O(s b P)` for s moves of the rows, b rows and P weights.

    References
    ----------
    A. Madry, A. Makelov, L. Schmidt, D. Tsipras and A. Vladu (2018). Towards deep learning models
    resistant to adversarial attacks. arXiv:1706.06083

    A. Shafahi, M. Najibi, A. Ghiasi, Z. Xu, J. Dickerson, C. Studer, L. S. Davis, G. Taylor and
    T. Goldstein (2019). Adversarial training for free! arXiv:1904.12843

    E. Wong, L. Rice and J. Z. Kolter (2020). Fast is better than free: revisiting adversarial
    training. arXiv:2001.03994

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.neural import MLPClassifier
    >>> from panlearn.trust import AdversarialTraining, attacks
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=200)
    >>> X = np.c_[2.0 * y - 1, 0.2 * (2 * y[:, None] - 1) + 0.3 * rng.normal(size=(200, 30))]
    >>> plain = MLPClassifier((), max_epochs=40, learning_rate=0.1, random_state=0)
    >>> robust = AdversarialTraining(plain, eps=0.4, method="fast").fit(X, y)
    >>> robust.passes_
    2
    >>> found = [attacks.pgd(model, X, y, 0.4, bounds=None, random_state=0)
    ...          for model in (plain.fit(X, y), robust)]
    >>> bool(found[1].success_rate < 0.2 < found[0].success_rate)
    True
    """

    capabilities = Capabilities(sparse=True)  # as far as the network takes it

    estimator: Any = None
    eps: NonNegative[float] = 0.1
    _: KW_ONLY
    norm: Literal["linf", "l2"] = "linf"
    method: Literal["pgd", "fast", "free"] = "pgd"
    steps: Count | None = None
    step: Positive[float] | None = None
    random_start: bool = True
    bounds: tuple | list | None = None
    random_state: RandomState = None

    @property
    def _inner(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        require("torch")
        from panlearn.neural import MLPClassifier

        return MLPClassifier()

    def _worst_case(self) -> WorstCase:
        options: dict[str, Any] = {
            "norm": self.norm,
            "step": self.step,
            "random_start": self.random_start,
            "bounds": None if self.bounds is None else tuple(self.bounds),
        }
        if self.method == "fast":
            if self.steps not in (None, 1):
                raise ValueError(f"steps={self.steps}: method='fast' has one; take 'pgd' for more")
            options["step"] = 1.25 * self.eps if self.step is None else self.step
            return WorstCase(self.eps, steps=1, **options)
        if self.method == "free":
            return WorstCase(self.eps, steps=self.steps or 4, replay=True, **options)
        return WorstCase(self.eps, steps=self.steps or 7, **options)

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network, from new weights.

        Parameters
        ----------
        X : array-like
            The rows or images, as the network takes them.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        self
            The model itself.
        """
        if not _trains_in_the_loop(self._inner):
            raise ValueError(
                "estimator must be an MLPClassifier, a ConvNetClassifier or a ViTClassifier; got "
                f"{self.estimator!r}. In a pipeline, wrap its last step"
            )
        from panlearn.neural._changes import changing

        case, inner = self._worst_case(), clone(self._inner)
        if self.random_state is not None:
            inner.set_params(random_state=self.random_state)

        def harden(objective: Any, data: Any) -> tuple[Any, Any]:
            shape = (-1,) if len(data[0].shape) == 2 else (-1, 1, 1)
            mean, scale = (np.asarray(a).reshape(shape) for a in (inner.mean_, inner.scale_))
            return case(objective, mean, scale), data

        with changing(inner, harden):
            inner.fit(X, y, sample_weight=sample_weight)
        self.estimator_, self.classes_ = inner, inner.classes_
        self.passes_ = case.passes
        self.n_iter_, self.history_ = inner.n_iter_, inner.history_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        return self

    @property
    def _predicts_as(self) -> Any:
        """The model that gives the scores."""
        self._require_fitted()
        return self.estimator_

    @available_if(lambda self: hasattr(self._inner, "decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Give the scores of the classes before the softmax.

        Parameters
        ----------
        X : array-like
            Rows or images as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For two classes the difference, of shape (n_samples,).
        """
        return self._predicts_as.decision_function(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Give the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like
            Rows or images as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._predicts_as.predict_log_proba(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Give the probability of each class.

        Parameters
        ----------
        X : array-like
            Rows or images as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._predicts_as.predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable label.

        Parameters
        ----------
        X : array-like
            Rows or images as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._predicts_as.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.classifier_tags.multi_label = True  # as the default has it
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
            tags.classifier_tags = get_tags(self.estimator).classifier_tags
        return tags
