"""BERT fine-tuned to labels or to numbers: texts, or pairs of texts, in."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d
from torch import Tensor
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.labels import require_two_classes
from panlearn.core.softmax import SoftmaxClassifier
from panlearn.core.sources import ArrayRows
from panlearn.neural._scaling import moments
from panlearn.transformer._fine_tuning import FineTuned, read_labelled


@dataclass(eq=False, repr=False)
class BERTClassifier(SoftmaxClassifier, FineTuned):
    r"""A BERT whose first token tells the class of a text, or of a pair of texts.

    .. math::
        p(y = k \mid x) = \operatorname{softmax}_k(W \tanh(P x_{\text{first}}) + b)

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_outputs_ : int
        Scores of the network, one a class.

    Notes
    -----
    All weights learn; `freeze` and `lora` hold those of the encoder fixed. From a trained encoder a
    learning rate of 2e-5 to 5e-5 and a few epochs are usual; the default rate is for one that
    starts from nothing. A text beyond the context is cut, of a pair the longer text. A document is
    a text, a list of tokens, or a tuple of two texts. A text of n tokens costs
    :math:`O(n (P + L n d))` for L blocks of width d with P weights in all, as in `BERT`.

    References
    ----------
    J. Devlin, M.-W. Chang, K. Lee and K. Toutanova (2019). BERT: pre-training of deep bidirectional
    transformers for language understanding. NAACL. doi:10.18653/v1/N19-1423

    Examples
    --------
    >>> from panlearn.transformer import BERTClassifier
    >>> texts = ["sun and sand", "snow and ice", "hot sand", "cold ice"] * 5
    >>> model = BERTClassifier(learning_rate=1e-2, max_epochs=30, random_state=0)
    >>> model.fit(texts, ["warm", "cold"] * 10).predict(["ice and snow", "hot sun"]).tolist()
    ['cold', 'warm']
    """

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled texts.

        Parameters
        ----------
        X : iterable of str, of list of str, or of tuple of two str
            Documents, or pairs of them.
        y : array-like of shape (n_documents,)
            Their labels.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.

        Returns
        -------
        BERTClassifier
            The model itself.
        """
        documents, labels, weight = read_labelled(self, X, y, sample_weight)
        labels = column_or_1d(np.asarray(labels), warn=True)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        require_two_classes(self.classes_)
        self.n_outputs_ = len(self.classes_)
        start = self._begin(documents)
        loss = functools.partial(F.cross_entropy, reduction="none")
        seen = ArrayRows(documents, labels, weight)
        self._train_texts(documents, start, loss, codes, seen, strata=codes)
        return self

    def _scores(self, X: Any) -> np.ndarray:
        return self._text_outputs(X)


@dataclass(eq=False, repr=False)
class BERTRegressor(RegressorMixin, FineTuned):
    r"""A BERT whose first token tells a number for a text, or for a pair of texts.

    .. math::
        \hat y = \mu + \sigma\,(w^\top \tanh(P x_{\text{first}}) + b)

    Attributes
    ----------
    target_mean_, target_scale_ : float
        The numbers :math:`\mu` and :math:`\sigma`: mean and deviation of the targets.
    n_outputs_ : int
        One.
    history_ : dict of {str: list}
        Losses of each epoch, half the squared error in deviations.

    Notes
    -----
    As `BERTClassifier`, with the squared error for a loss. The similarity of two texts is a target
    of pairs. A text of n tokens costs :math:`O(n (P + L n d))` for L blocks of width d with P
    weights in all, as in `BERT`.

    References
    ----------
    J. Devlin, M.-W. Chang, K. Lee and K. Toutanova (2019). BERT: pre-training of deep bidirectional
    transformers for language understanding. NAACL. doi:10.18653/v1/N19-1423

    Examples
    --------
    >>> from panlearn.transformer import BERTRegressor
    >>> texts = ["good", "very good", "bad", "very bad"] * 5
    >>> model = BERTRegressor(learning_rate=1e-2, max_epochs=30, random_state=0)
    >>> model = model.fit(texts, [1, 2, -1, -2] * 5)
    >>> bool(model.predict(["very good"])[0] > model.predict(["bad"])[0] + 1)
    True
    """

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from texts with numbers.

        Parameters
        ----------
        X : iterable of str, of list of str, or of tuple of two str
            Documents, or pairs of them.
        y : array-like of shape (n_documents,)
            Their numbers.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.

        Returns
        -------
        BERTRegressor
            The model itself.
        """
        documents, numbers, weight = read_labelled(self, X, y, sample_weight)
        targets = column_or_1d(np.asarray(numbers), warn=True)
        targets = check_array(targets, ensure_2d=False, dtype=np.float64, input_name="y")
        self.n_outputs_ = 1
        start = self._begin(documents)
        if not (self.warm_start and "target_mean_" in vars(self)):
            mean, scale = moments(targets[:, None], weight)
            self.target_mean_, self.target_scale_ = float(mean[0]), float(scale[0])
        scaled = (targets - self.target_mean_) / self.target_scale_
        seen = ArrayRows(documents, targets, weight)
        self._train_texts(documents, start, _half_square, scaled.astype(np.float32), seen)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Give a number for each text.

        Parameters
        ----------
        X : iterable of str, of list of str, or of tuple of two str
            Documents, or pairs of them.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        found = self._text_outputs(X)[:, 0]
        return found.astype(np.float64) * self.target_scale_ + self.target_mean_


def _half_square(found: Tensor, aims: Tensor) -> Tensor:
    return (found[:, 0] - aims).square() / 2
