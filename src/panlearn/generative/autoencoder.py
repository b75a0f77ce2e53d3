"""Autoencoders: networks that describe rows by a few numbers and make them again."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from torch import nn

from panlearn.core.estimator import fitting
from panlearn.core.parameters import BelowOne, Count, NonNegative
from panlearn.core.random import generator
from panlearn.generative._base import UnconditionalModel
from panlearn.generative._convolutional import Networks
from panlearn.generative._sizes import Sizes, hidden_sizes
from panlearn.generative._variational import read_codes
from panlearn.neural._draws import Draws
from panlearn.neural._layers import Activation
from panlearn.neural._moves import Objective
from panlearn.neural._random import draw_seed, seeded
from panlearn.neural._step import Step
from panlearn.neural.mlp_classifier import MLPClassifier


class Bottleneck(nn.Module):
    """An encoder to a few numbers, and a decoder that mirrors it."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Make rows (n, d) again."""
        return self.decoder(self.encoder(x))


def reconstruction(noise: float = 0.0, masking: float = 0.0) -> Objective:
    r"""The squared error :math:`\lVert g(f(\tilde x)) - x \rVert^2` of rows from noisy ones."""

    def objective(module: nn.Module, batch: Any, step: Step) -> torch.Tensor:
        x = batch[0].flatten(1)
        seen = x
        if step.training and noise:
            seen = seen + noise * step.normal(x.shape[1], dtype=x.dtype)
        if step.training and masking:
            seen = seen * step.mask(x, 1 - masking)
        return (module(seen) - x).square().sum(1)

    return objective


@dataclass(eq=False, repr=False)
class Autoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, UnconditionalModel):
    r"""A network that is trained to give back its input through a few units.

    .. math::
        \min_{f, g} \ \frac1n \sum_i \bigl\lVert g(f(\tilde x_i)) - x_i \bigr\rVert^2, \qquad
        f : \mathbb R^d \to \mathbb R^k, \quad \tilde x_i = m_i \odot (x_i + \sigma \varepsilon_i)

    with noise :math:`\varepsilon` and a mask :math:`m` of zeros and ones, if it is to take noise
    away.

    Parameters
    ----------
    n_components : int, default=2
        Numbers k that describe an example.
    hidden_layer_sizes : int or tuple of int, default=(64,)
        Units of the hidden layers of the encoder; the decoder has them in reverse. () makes both
        linear.
    activation : str, default="relu"
        Their activation, as in `neural.MLPClassifier`.
    convolutions : int or tuple of int, default=()
        Of images, channels of convolutions at each size, from the largest down, in the place of the
        hidden layers: (16, 32) halves the images twice. () takes images as rows of their pixels.
    noise : float, default=0.0
        The deviation :math:`\sigma` of what is added to the standardised columns in training.
    masking : float, default=0.0
        The share of the entries that are set to their mean in training.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights of encoder and decoder, by name.
    code_mean_ : ndarray of shape (n_components,)
        The mean of the codes of the examples.
    code_root_ : ndarray of shape (n_components, n_components)
        A root R of their covariance, :math:`R R^\top`.

    Notes
    -----
    The linear form spans the space of the first k principal components of the standardised columns,
    in a basis that is not theirs; "lbfgs" with batches of all rows finds it in some hundred steps.
    Noise and masks are drawn anew for each step and are not there in `transform`.

    Training says nothing of how codes are distributed: `sample` decodes draws of the normal that
    has the moments of the examples' codes, and adds no noise to what comes out. A step costs
    :math:`O(b P)` for b rows of a batch and P weights.

    References
    ----------
    Hinton, Salakhutdinov (2006). Reducing the dimensionality of data with neural networks.
    doi:10.1126/science.1127647

    Vincent, Larochelle, Lajoie, Bengio, Manzagol (2010). Stacked denoising autoencoders.
    Journal of Machine Learning Research 11.

    Baldi, Hornik (1989). Neural networks and principal component analysis: learning from examples
    without local minima. doi:10.1016/0893-6080(89)90014-2

    Ghosh, Sajjadi, Vergari, Black, Schoelkopf (2020). From variational to deterministic
    autoencoders. ICLR. arXiv:1903.12436

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import Autoencoder
    >>> t = np.random.default_rng(0).uniform(-1, 1, size=(300, 1))
    >>> X = np.hstack([t, t**2, np.sin(3 * t)])  # a curve
    >>> model = Autoencoder(1, random_state=0, learning_rate=0.01).fit(X)
    >>> back = model.inverse_transform(model.transform(X))
    >>> bool(np.mean((back - X) ** 2) < 0.2 * X.var())
    True
    """

    n_components: Count = 2
    hidden_layer_sizes: Sizes = (64,)
    _: KW_ONLY
    activation: Activation = "relu"
    convolutions: Sizes = ()
    noise: NonNegative[float] = 0.0
    masking: BelowOne = 0.0

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Rows of a table, or images.
        y : object, default=None
            Ignored.

        Returns
        -------
        Autoencoder
            The model itself.
        """
        X = self._begin(X)
        self._train(X)
        codes = self._codes(self._standardized(X)).astype(np.float64)
        self.code_mean_ = codes.mean(axis=0)
        variances, axes = np.linalg.eigh(np.atleast_2d(np.cov(codes.T)))
        self.code_root_ = axes * np.sqrt(np.maximum(variances, 0))
        return self

    def _generate(self, draws: Draws, n: int) -> torch.Tensor:
        noise = draws.normal(self.n_components, dtype=self._dtype)
        root, mean = (torch.as_tensor(a).to(noise) for a in (self.code_root_, self.code_mean_))
        module: Any = self.module_
        return module.decoder(mean + noise @ root.T)

    def _codes(self, X: np.ndarray) -> np.ndarray:
        module: Any = self.module_
        return self._by_rows(lambda x: module.encoder(x.flatten(1)), X)

    def _network(self) -> nn.Module:
        make = Networks(
            self.image_shape_, self.hidden_layer_sizes, self.activation, self.convolutions
        )
        d, k = self._inner_size, self.n_components
        return Bottleneck(make.encoder(d, k), make.decoder(k, d))

    def _objective(self) -> Objective:
        return reconstruction(self.noise, self.masking)

    @property
    def _n_features_out(self) -> int:
        self._require_fitted()
        return self.n_components

    def transform(self, X: Any) -> np.ndarray:
        """Describe examples by their codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._codes(self._examples(X)).astype(self.mean_.dtype, copy=False)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Make examples from codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        ndarray of shape (n_samples, n_features), (n_samples, h, w) or (n_samples, c, h, w)
        """
        self._require_fitted()
        module: Any = self.module_
        codes = read_codes(X, self.n_components, self._floats)
        return self._restored(self._by_rows(module.decoder, codes))

    def classifier(self, classes: Any, **settings: Any) -> MLPClassifier:
        """Start a classifier whose first layers are the encoder.

        Parameters
        ----------
        classes : array-like of shape (n_classes,)
            The labels that it is to tell apart.
        **settings : object
            Parameters of `neural.MLPClassifier`; ``freeze=("layers.0.*",)``, say, keeps the first
            layer as it is.

        Returns
        -------
        MLPClassifier
            Of flat rows, with ``warm_start``: its `fit` goes on from the encoder's weights, with a
            new last layer.
        """
        self._require_fitted()
        if hidden_sizes(self.convolutions):
            raise ValueError(
                "a perceptron cannot start from convolutions: fit with convolutions=(), or give "
                "what transform says to a classifier"
            )
        hidden = (*hidden_sizes(self.hidden_layer_sizes), self.n_components)
        started = MLPClassifier(hidden, self.activation, warm_start=True, **settings)
        started.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            started.feature_names_in_ = self.feature_names_in_
        started.multilabel_ = False
        started._set_classes(np.unique(classes))
        each = self.n_features_in_ // len(self.mean_)  # pixels of a channel
        scale = np.repeat(self.scale_, each)
        started.mean_ = np.repeat(self.mean_, each)
        started.scale_ = np.where(scale > 0, scale, 1).astype(scale.dtype)
        with seeded(draw_seed(generator(started.random_state))):
            weights = {k: v.numpy() for k, v in started._build().state_dict().items()}
        for name, value in self.weights_.items():
            part, _, place = name.partition(".")
            if part != "encoder":
                continue
            if place == "layers.0.weight" and self.image_shape_ is None:
                weights[place][:] = 0.0  # columns that did not vary are not looked at
                weights[place][:, scale > 0] = value
            else:
                weights[place] = value.astype(weights[place].dtype)
        started.weights_ = weights
        return started
