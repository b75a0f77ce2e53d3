"""A classifier whose layers are a differential equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
import torch
from sklearn.utils.validation import validate_data
from torch import nn
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Bounds, Count, Positive
from panlearn.core.random import generator
from panlearn.core.softmax import SoftmaxClassifier
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import FLOATS, read_rows
from panlearn.generative._flow_layers import perceptron
from panlearn.generative._sizes import Sizes, hidden_sizes
from panlearn.generative.ode_layer import ODELayer
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._layers import Activation
from panlearn.neural._objectives import softmax_loss
from panlearn.neural._scaling import moments


class _Learned:
    """What `fit` sets."""

    classes_: np.ndarray
    mean_: np.ndarray
    scale_: np.ndarray
    n_features_in_: int


class FlowAndRead(nn.Module):
    """Rows with zeros beside them flow for a while; where they end, a linear layer reads."""

    def __init__(self, flow: ODELayer, n_zeros: int, size: int, n_classes: int) -> None:
        super().__init__()
        self.flow, self.n_zeros = flow, n_zeros
        self.read = nn.Linear(size, n_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        return self.read(self.flow(F.pad(x, (0, self.n_zeros))))


@dataclass(eq=False, repr=False)
class NeuralODEClassifier(SoftmaxClassifier, DeepEstimator, _Learned):
    r"""A linear classifier of where rows come to along a field that is learned with it.

    .. math::
        h(0) = (x, 0), \qquad \frac{dh}{dt} = f_\theta(h), \qquad
        p(y \mid x) = \operatorname{softmax}(W h(1) + b)

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(64,)
        Units of the hidden layers of :math:`f`.
    activation : str, default="tanh"
        Their activation, one of those of `neural.MLPClassifier`.
    n_augmented : int, default=4
        Zeros beside the columns, which give paths room to go round each other.
    method : {"rk4", "dopri5", "euler"}, default="rk4"
        The solver, see `odeint`.
    step_size : float, default=0.25
        The steps of "rk4" and "euler".
    rtol : float, default=1e-5
        The relative tolerance of "dopri5".
    atol : float, default=1e-6
        The absolute one.
    gradient : {"plain", "adjoint"}, default="plain"
        Through the steps, or by the adjoint equation in less memory.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights by name.
    module_ : torch.nn.Module
        The field and the linear layer, which see standardised rows.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        What is taken from the columns, and what they are divided by.
    history_ : dict
        ``loss``, ``validation_loss``, ``learning_rate`` and more, an epoch.
    n_iter_ : int
        Epochs.
    converged_ : bool
        False if training was interrupted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Paths of a field do not cross: without zeros beside the columns a class that lies inside another
    stays inside, and no linear layer tells it apart. A step of "rk4" costs four passes through
    :math:`f`. With steps of fixed length what is said of a row does not depend on the others beside
    it; with "dopri5", whose steps suit all of a batch, it does, up to the tolerances. A step of
    training costs :math:`O(s b P)` for s passes, b rows and P weights.

    References
    ----------
    Chen, Rubanova, Bettencourt, Duvenaud (2018). Neural ordinary differential equations. NeurIPS.
    arXiv:1806.07366

    Dupont, Doucet, Teh (2019). Augmented neural ODEs. NeurIPS. arXiv:1904.01681

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from panlearn.generative import NeuralODEClassifier
    >>> X, y = make_circles(200, noise=0.05, factor=0.5, random_state=0)
    >>> model = NeuralODEClassifier(16, max_epochs=30, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    hidden_layer_sizes: Sizes = (64,)
    activation: Activation = "tanh"
    _: KW_ONLY
    n_augmented: Annotated[int, Bounds(0, 10**6, closed_low=True, closed_high=True)] = 4
    method: Literal["rk4", "dopri5", "euler"] = "rk4"
    step_size: Positive[float] = 0.25
    rtol: Positive[float] = 1e-5
    atol: Positive[float] = 1e-6
    gradient: Literal["plain", "adjoint"] = "plain"
    max_epochs: Count | None = 50
    learning_rate: Positive[float] = 0.01
    schedule: str | Callable = "cosine"

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        NeuralODEClassifier
            The model itself.
        """
        rows = read_rows(self, X, y, sample_weight, targets="labels")
        assert isinstance(rows, ArrayRows)  # no other source is declared
        assert rows.y is not None
        rows.reject_non_finite()
        weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        kept = weight > 0
        values, labels, weight = rows.X[kept], rows.y[kept], weight[kept]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"the data hold one class only, {self.classes_.tolist()}; a classifier needs two "
                "or more"
            )
        if not (self.warm_start and "mean_" in vars(self)):
            mean, scale = moments(values, weight)
            self.mean_, self.scale_ = mean.astype(values.dtype), scale.astype(values.dtype)
        rng = generator(self.random_state)
        data = (self._scaled(values), codes, (weight / weight.max()).astype(values.dtype))
        size = min(self.batch_size, len(codes))
        module = self._initial(rng)
        self._learn(module, softmax_loss(), data, rng, rows=rows, strata=codes, batch_size=size)
        return self

    def _build(self) -> nn.Module:
        size = self.n_features_in_ + self.n_augmented
        field = perceptron((size, *hidden_sizes(self.hidden_layer_sizes), size), self.activation)
        layer = ODELayer(
            field,
            method=self.method,
            step_size=self.step_size,
            rtol=self.rtol,
            atol=self.atol,
            gradient=self.gradient,
        )
        module = FlowAndRead(layer, self.n_augmented, size, len(self.classes_))
        return module.to(torch.float32 if self.mean_.dtype == np.float32 else torch.float64)

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) / self.scale_

    def _scores(self, X: Any) -> np.ndarray:
        self._require_fitted()
        X = validate_data(self, X, reset=False, dtype=FLOATS)
        return self._outputs(self._scaled(X.astype(self.mean_.dtype, copy=False)))
