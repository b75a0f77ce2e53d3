"""The multilayer perceptron as a classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target

from panlearn.core.estimator import fitting
from panlearn.core.parameters import BelowOne, Count, NonNegative, Positive
from panlearn.neural._layers import Activation, Initialization, Normalization
from panlearn.neural._moves import Objective
from panlearn.neural._objectives import logistic_loss, softmax_loss
from panlearn.neural._perceptrons import MultilayerPerceptron


@dataclass(eq=False, repr=False)
class MLPClassifier(ClassifierMixin, MultilayerPerceptron):
    r"""A multilayer perceptron that gives the probability of each class.

    .. math::
        v_l = \phi(W_l v_{l-1} + b_l), \quad
        p(y \mid x) = \operatorname{softmax}(W_L v_{L-1} + b_L), \qquad
        \min_{W, b} \ -\sum_i w_i \sum_k q_{ik} \log p(k \mid x_i)

    with :math:`q_i` the label as a vector, smoothed if asked.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(100,)
        Units of each hidden layer; () makes logistic regression.
    activation : str, default="relu"
        :math:`\phi`: "identity", "logistic", "tanh", "relu", "leaky_relu", "elu", "selu", "gelu",
        "silu" or "softplus".
    dropout : float, default=0.0
        The share of hidden units that each row of a batch does without.
    normalization : {"batch", "layer", "rms"}, default=None
        What stands between a layer and its activation.
    initialization : str, default="auto"
        How weights begin: "glorot_uniform", "glorot_normal", "he_uniform", "he_normal",
        "lecun_uniform", "lecun_normal", "orthogonal", or "auto" to suit the activation.
    label_smoothing : float, default=0.0
        :math:`\epsilon` in :math:`q = (1 - \epsilon) e_y + \epsilon / K`.
    standardize : bool, default=True
        Whether to bring each feature to mean 0 and variance 1 first.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights by name.
    module_ : torch.nn.Module
        The network, which maps standardised rows to scores.
    coefs_, intercepts_ : list of ndarray
        Matrices of shape (n_in, n_out) and biases, as in scikit-learn.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; the numbers of the columns if y is an indicator matrix.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        What is taken from the features, and what they are divided by.
    multilabel_ : bool
        Whether a row may have several labels.
    n_outputs_ : int
        Scores of the network: one for two classes, else one a class or label.
    n_iter_ : int
        Epochs.
    converged_ : bool
        False if training was interrupted.
    history_ : dict
        ``loss``, ``validation_loss``, ``learning_rate`` and the ``change`` of the loss, an epoch.
    optimizer_state_ : dict
        What the optimiser remembers, after `partial_fit`.
    n_steps_ : int
        Steps so far, after `partial_fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Trained by `neural.train`; a step costs :math:`O(b P)` for b rows of a batch and P weights.
    Sparse rows are made dense, and centred, a batch at a time. The names of the settings are those
    of `neural.train`, the same for every deep model, where scikit-learn's class says ``solver``,
    ``learning_rate_init``, ``alpha`` and ``max_iter``: its ``alpha`` is a penalty in the loss,
    `weight_decay` here is decoupled from the gradient. Up to `batch_size` rows a step sees them
    all, and an integer weight is a repeated row exactly; beyond it, up to the noise of the batches.
    Small networks compute on one thread, which is quicker and gives the same bits on any machine.
    There is no warning when `max_epochs` are over: they are the plan.

    References
    ----------
    Rumelhart, Hinton, Williams (1986). Learning representations by back-propagating errors.
    doi:10.1038/323533a0

    Glorot, Bengio (2010). Understanding the difficulty of training deep feedforward neural
    networks. AISTATS.

    He, Zhang, Ren, Sun (2015). Delving deep into rectifiers. arXiv:1502.01852

    Examples
    --------
    >>> from panlearn.neural import MLPClassifier
    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1]], ["no", "yes", "yes", "no"]
    >>> MLPClassifier(16, max_epochs=200, random_state=0).fit(X, y).predict(X)
    array(['no', 'yes', 'yes', 'no'], dtype='<U3')
    """

    hidden_layer_sizes: Positive[int] | tuple | list = (100,)
    activation: Activation = "relu"
    _: KW_ONLY
    dropout: BelowOne = 0.0
    normalization: Normalization | None = None
    initialization: Initialization = "auto"
    label_smoothing: BelowOne = 0.0
    standardize: bool = True
    batch_size: Count = 200
    max_epochs: Count | None = 50
    learning_rate: Positive[float] = 0.01
    schedule: str | Callable = "cosine"
    weight_decay: NonNegative[float] = 0.01

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data, from new weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The labels, of any type that sorts, or a matrix of zeros and ones, a column a label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        MLPClassifier
            The model itself.
        """
        rows = self._read_labels(X, y, sample_weight, first=True)
        classes = np.arange(rows.y.shape[1]) if self.multilabel_ else np.unique(rows.y)
        self._set_classes(classes)
        strata = None if self.multilabel_ else rows.y
        return self._train(rows, self._encode(rows.y, rows.dtype), strata)

    @fitting
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train one epoch more, on these rows, at a constant learning rate.

        Parameters
        ----------
        X, y
            As in `fit`. The first call learns how to standardise from its rows.
        classes : array-like of shape (n_classes,), default=None
            All labels that will come; those of the first y if it is not given.
        sample_weight
            As in `fit`.

        Returns
        -------
        MLPClassifier
            The model itself.
        """
        first = not self.__sklearn_is_fitted__()
        rows = self._read_labels(X, y, sample_weight, first)
        if first:
            known = np.arange(rows.y.shape[1]) if self.multilabel_ else np.unique(rows.y)
            self._set_classes(known if classes is None else np.unique(np.asarray(classes)))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={np.unique(classes).tolist()} are not those of the first call, "
                f"{self.classes_.tolist()}"
            )
        return self._train_more(rows, self._encode(rows.y, rows.dtype), first)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Give the probability of each class, or of each label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self._predicted(X)
        if self.multilabel_:
            return expit(scores)
        if self.n_outputs_ == 1:
            return np.concatenate([expit(-scores), expit(scores)], axis=1)
        return softmax(scores, axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Give the logarithm of the probability of each class, or of each label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self._predicted(X)
        if self.multilabel_:
            return log_expit(scores)
        if self.n_outputs_ == 1:
            return np.concatenate([log_expit(-scores), log_expit(scores)], axis=1)
        return log_softmax(scores, axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable label of each row, or the set of its labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        scores = self._predicted(X)
        if self.multilabel_:
            return (scores > 0).astype(int)
        if self.n_outputs_ == 1:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[scores.argmax(1)]

    def _read_labels(self, X: Any, y: Any, sample_weight: Any, first: bool) -> Any:
        shape = np.asarray(y).shape  # np.shape would ask what is array-like to compute it
        multilabel = len(shape) == 2 and shape[1] > 1
        if not first and multilabel != self.multilabel_:
            raise ValueError("y is an indicator matrix in one call and a list of labels in another")
        kind = type_of_target(y, input_name="y") if multilabel else ""
        if multilabel and kind != "multilabel-indicator":
            raise ValueError(f"a y with columns must hold zeros and ones; this one is {kind}")
        rows = self._read(X, y, sample_weight, "numbers" if multilabel else "labels", first)
        self.multilabel_ = multilabel
        return rows

    def _set_classes(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"the data hold one class only, {classes.tolist()}; a classifier needs two or more"
            )
        self.classes_ = classes
        self.n_outputs_ = 1 if len(classes) == 2 and not self.multilabel_ else len(classes)

    def _encode(self, y: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Targets as the objective wants them: numbers of classes, or zeros and ones."""
        if self.multilabel_:
            if y.shape[1] != self.n_outputs_:
                raise ValueError(f"y has {y.shape[1]} columns; the model knows {self.n_outputs_}")
            return y
        codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        if (self.classes_[codes] != y).any():
            raise ValueError(f"y holds labels that are not among {self.classes_.tolist()}")
        return codes[:, None].astype(dtype) if self.n_outputs_ == 1 else codes

    def _objective(self) -> Objective:
        if self.multilabel_ or self.n_outputs_ == 1:
            return logistic_loss(self.label_smoothing)
        return softmax_loss(self.label_smoothing)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
