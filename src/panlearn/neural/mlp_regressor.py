"""The multilayer perceptron as a regressor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from panlearn.core.estimator import fitting
from panlearn.core.parameters import BelowOne, Count, NonNegative, Positive
from panlearn.neural._layers import Activation, Initialization, Normalization
from panlearn.neural._moves import Objective
from panlearn.neural._objectives import squared_loss
from panlearn.neural._perceptrons import MultilayerPerceptron
from panlearn.neural._scaling import moments


@dataclass(eq=False, repr=False)
class MLPRegressor(MultiOutputMixin, RegressorMixin, MultilayerPerceptron):
    r"""A multilayer perceptron for one or several targets.

    .. math::
        v_l = \phi(W_l v_{l-1} + b_l), \quad f(x) = W_L v_{L-1} + b_L, \qquad
        \min_{W, b} \ \tfrac12 \sum_i w_i \lVert f(x_i) - y_i \rVert^2

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(100,)
        Units of each hidden layer; () makes linear regression.
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
    standardize : bool, default=True
        Whether to bring each feature to mean 0 and variance 1 first.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights by name.
    module_ : torch.nn.Module
        The network, which maps standardised rows to standardised targets.
    coefs_, intercepts_ : list of ndarray
        Matrices of shape (n_in, n_out) and biases, as in scikit-learn.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        What is taken from the features, and what they are divided by.
    target_mean_, target_scale_ : float or ndarray of shape (n_outputs_,)
        The same for the targets: numbers if y has one dimension.
    n_outputs_ : int
        Targets of a row.
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
    See `MLPClassifier`. The targets are standardised too, so that the learning rate does not depend
    on their unit; predictions are in the unit of y. A step costs :math:`O(b P)` for b rows of a
    batch and P weights.

    References
    ----------
    Rumelhart, Hinton, Williams (1986). Learning representations by back-propagating errors.
    doi:10.1038/323533a0

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.neural import MLPRegressor
    >>> x = np.linspace(-3, 3, 100)[:, None]
    >>> model = MLPRegressor(max_epochs=200, random_state=0)
    >>> bool(model.fit(x, np.sin(x[:, 0])).score(x, np.sin(x[:, 0])) > 0.99)
    True
    """

    hidden_layer_sizes: Positive[int] | tuple | list = (100,)
    activation: Activation = "relu"
    _: KW_ONLY
    dropout: BelowOne = 0.0
    normalization: Normalization | None = None
    initialization: Initialization = "auto"
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
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        MLPRegressor
            The model itself.
        """
        rows: Any = self._read(X, y, sample_weight, "numbers", first=True)
        self._scale_targets(rows)
        return self._train(rows, self._encode(rows.y), strata=None)

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train one epoch more, on these rows, at a constant learning rate.

        Parameters
        ----------
        X, y
            As in `fit`. The first call learns how to standardise from its rows.
        sample_weight
            As in `fit`.

        Returns
        -------
        MLPRegressor
            The model itself.
        """
        first = not self.__sklearn_is_fitted__()
        rows: Any = self._read(X, y, sample_weight, "numbers", first)
        if first:
            self._scale_targets(rows)
        elif rows.y.shape[1:] != np.shape(self.target_mean_):
            raise ValueError(
                f"y has shape {rows.y.shape}; the model knows {self.n_outputs_} targets"
            )
        return self._train_more(rows, self._encode(rows.y), first)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        outputs = self._predicted(X)
        outputs = outputs[:, 0] if np.ndim(self.target_mean_) == 0 else outputs
        return outputs * self.target_scale_ + self.target_mean_

    def _scale_targets(self, rows: Any) -> None:
        if self.warm_start and "target_mean_" in vars(self):
            return
        mean, scale = moments(rows.y.reshape(len(rows.y), -1), rows.weight)
        shape = rows.y.shape[1:]  # a number for y of one dimension
        self.target_mean_ = mean.astype(rows.dtype).reshape(shape)
        self.target_scale_ = scale.astype(rows.dtype).reshape(shape)
        self.n_outputs_ = len(mean)

    def _encode(self, y: np.ndarray) -> np.ndarray:
        return ((y - self.target_mean_) / self.target_scale_).reshape(len(y), -1)

    def _objective(self) -> Objective:
        return squared_loss
