"""What normalising flows share: densities, noise of rows and rows of noise, training."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.special import logsumexp
from sklearn.base import DensityMixin
from torch import nn

from panlearn.core.density import Density
from panlearn.core.parameters import Count
from panlearn.generative._base import ConditionalModel
from panlearn.generative._conditions import Labels
from panlearn.generative._flow_layers import ActNorm, Autoregressive, Flow
from panlearn.generative._sizes import Sizes, hidden_sizes
from panlearn.generative._univariate import Univariate
from panlearn.neural._draws import Draws
from panlearn.neural._layers import Activation
from panlearn.neural._moves import Objective

_FIRST = 1024  # examples from which layers of normalisation start


@dataclass(eq=False, repr=False, kw_only=True)
class FlowModel(DensityMixin, Density, ConditionalModel):
    """A map of examples to standard normal noise, with the density that follows; abstract.

    The module of a class has ``forward(x, context)``, which gives noise and log determinants,
    ``inverse(z, context)`` and ``log_density(x, context)``, of rows in standardised units.
    """

    def score_samples(self, X: Any, y: Any = None) -> np.ndarray:
        """Give the log density of each example.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            The examples.
        y : array-like of shape (n_samples,) or (n_samples, n_numbers), default=None
            What they are conditioned on. None after `fit` with labels
            gives the density of X alone, the sum over labels with their shares in the data.

        Returns
        -------
        ndarray of shape (n_samples,)
            In the units of X; columns that did not vary in `fit` are left out of it.
        """
        x = self._examples(X)
        known = self.conditions_
        if y is None and isinstance(known, Labels):
            parts = [
                self._by_rows(self._log_density, x, *self._beside(c, len(x))) for c in known.classes
            ]
            logs = logsumexp(np.stack(parts), axis=0, b=known.shares[:, None])
        else:
            logs = self._by_rows(self._log_density, x, *self._beside(y, len(x)))
        return (logs - self._log_scale).astype(x.dtype)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give the mean log density of examples.

        Parameters
        ----------
        X, y
            As in `score_samples`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples in the mean.

        Returns
        -------
        float
        """
        return float(np.average(self.score_samples(X, y).astype(float), weights=sample_weight))

    def _log_density(self, x: torch.Tensor, condition: torch.Tensor | None = None) -> torch.Tensor:
        return self._flow.log_density(x.flatten(1), condition)

    def _generate(self, draws: Draws, n: int, condition: torch.Tensor | None) -> torch.Tensor:
        return self._flow.inverse(draws.normal(self._inner_size, dtype=self._dtype), condition)

    @property
    def _flow(self) -> Any:
        return self.module_

    def to_noise(self, X: Any, y: Any = None) -> np.ndarray:
        """Map examples to the noise that they are made of.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            The examples.
        y : array-like of shape (n_samples,) or (n_samples, n_numbers), default=None
            What they are conditioned on, if `fit` was given y.

        Returns
        -------
        ndarray of shape (n_samples, n_varying)
            Standard normal for examples from the density of the model; columns that did not vary
            in `fit` have none.
        """
        x = self._examples(X)
        return self._by_rows(
            lambda *rows: self._flow(rows[0].flatten(1), *rows[1:])[0], x, *self._beside(y, len(x))
        )

    def from_noise(self, Z: Any, y: Any = None) -> Any:
        """Map noise to the examples that it makes.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_varying)
            Noise, as `to_noise` gives it.
        y : array-like of shape (n_samples,) or (n_samples, n_numbers), default=None
            What the examples are conditioned on, if `fit` was given y.

        Returns
        -------
        ndarray of shape (n_samples, n_features), (n_samples, h, w) or (n_samples, c, h, w)
        """
        self._require_fitted()
        noise = np.asarray(Z, dtype=self._floats)
        if noise.ndim != 2 or noise.shape[1] != self._inner_size:
            raise ValueError(
                f"noise of shape {noise.shape} was given; it must have {self._inner_size} columns"
            )
        made = self._by_rows(self._flow.inverse, noise, *self._beside(y, len(noise)))
        return self._framed(self._restored(made))


@dataclass(eq=False, repr=False, kw_only=True)
class NormalizingFlow(FlowModel):
    """A flow of a few layers; abstract.

    Parameters
    ----------
    transforms : int, default=3
        How many layers.
    hidden_layer_sizes : int or tuple of int, default=(64, 64)
        Units of the hidden layers of the networks that give the parameters of a layer.
    activation : str, default="relu"
        Their activation, one of those of `neural.MLPClassifier`.
    randperm : bool, default=False
        Whether columns are shuffled before each layer, each time in another way, always the same;
        otherwise layers look at them in turn from one side and from the other.
    actnorm : bool, default=False
        Whether a shift and a scale of each column stand before each layer, which start by
        standardising what arrives there.
    """

    transforms: Count = 3
    hidden_layer_sizes: Sizes = (64, 64)
    activation: Activation = "relu"
    randperm: bool = False
    actnorm: bool = False
    _at_once: ClassVar[int] = 8192

    @abstractmethod
    def _layers(self, features: int, context: int, number: int) -> Sequence[nn.Module]:
        """The parts of one layer."""

    def _network(self) -> nn.Module:
        features = self._inner_size
        parts: list[nn.Module] = []
        for number in range(self.transforms):
            parts += [ActNorm(features)] if self.actnorm else []
            parts += self._layers(features, self._condition_size, number)
        return Flow(parts)

    @property
    def _hidden(self) -> tuple[int, ...]:
        return hidden_sizes(self.hidden_layer_sizes)

    def _shuffled(self, features: int, number: int) -> torch.Tensor:
        """The order of the columns in a layer that shuffles them."""
        return torch.randperm(features, generator=torch.Generator().manual_seed(number))

    def _autoregressive(
        self, features: int, context: int, number: int, univariate: Univariate
    ) -> Autoregressive:
        """A masked layer; every second one sees the columns from behind."""
        order = torch.arange(features)
        order = self._shuffled(features, number) if self.randperm else order
        order = order.flip(0) if number % 2 and not self.randperm else order
        return Autoregressive(order, context, univariate, self._hidden, self.activation)

    def _objective(self) -> Objective:
        return negative_log_density

    def _start(self, data: tuple[np.ndarray, ...], rng: np.random.Generator) -> nn.Module:
        module: Any = self._initial(rng)
        known = self.warm_start and "weights_" in vars(self)
        if self.actnorm and not known:
            device = next(module.parameters()).device
            first = [torch.tensor(rows[:_FIRST]).to(device) for rows in data]
            module.begin(first[0].flatten(1), *first[1:])
        return module


def negative_log_density(module: Any, batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """The loss of each example, its negative log density."""
    return -module.log_density(batch[0].flatten(1), *batch[1:])
