"""What self-supervised models share: an encoder, a projector, two views of each example."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Count, Positive
from panlearn.core.warning import warn
from panlearn.neural import layers as _layers
from panlearn.neural._draws import Draws
from panlearn.neural._examples import ExampleModel
from panlearn.neural._moves import Objective
from panlearn.neural._player import Player
from panlearn.neural._step import Step, current_step
from panlearn.neural.augmentation import Augmentation
from panlearn.neural.layers import Conv, Linear
from panlearn.representation._objectives import spread_and_rank

_IMAGES = [Conv(32, 3), "relu", Conv(64, 3, stride=2), "relu"]
_ROWS = [Linear(256), "relu"]
_LEAST_SPREAD = 0.05  # of unit vectors, below which rows can hardly be told apart


class Views(nn.Module):
    """An encoder whose output is kept, and heads that only training needs."""

    def __init__(self, encoder: nn.Module, **heads: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleDict(heads)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Give the representation."""
        return self.encoder(x)

    def project(self, one: torch.Tensor, other: torch.Tensor) -> list[torch.Tensor]:
        """Give what the loss compares of two views; the encoder reads both at once."""
        views = torch.stack([one, other], dim=1).flatten(0, 1)
        seen = self.encoder(views).unflatten(0, (-1, 2))
        return [self.heads["projector"](view) for view in seen.unbind(1)]


class BatchNorm(nn.Module):
    """Columns to mean zero and variance one over the whole batch, and then a line.

    In a run the statistics are those of the rows of all processes, so that how a batch is spread
    changes nothing.
    """

    mean: torch.Tensor
    variance: torch.Tensor

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_columns))
        self.bias = nn.Parameter(torch.zeros(n_columns))
        self.register_buffer("mean", torch.zeros(n_columns))
        self.register_buffer("variance", torch.ones(n_columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Give the rows scaled, by the batch in training and by its running average later."""
        mean, variance = self.mean, self.variance
        if self.training:
            step = current_step()
            rows = x if step is None else step.gather(x)
            variance, mean = torch.var_mean(rows, dim=0, correction=0)
            with torch.no_grad():
                self.mean.lerp_(mean, 0.1)
                self.variance.lerp_(variance, 0.1)
        return (x - mean) * torch.rsqrt(variance + 1e-5) * self.weight + self.bias


def head(n_inputs: int, n_hidden: int, n_outputs: int) -> nn.Sequential:
    """Two layers, with a norm over the batch between them."""
    return nn.Sequential(
        nn.Linear(n_inputs, n_hidden),
        BatchNorm(n_hidden),
        nn.ReLU(),
        nn.Linear(n_hidden, n_outputs),
    )


def _jitter(rows: torch.Tensor, draws: Draws) -> torch.Tensor:
    return rows + 0.5 * draws.normal(rows.shape[1], dtype=rows.dtype)


@dataclass(eq=False, repr=False)
class SelfSupervised(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ExampleModel):
    """A representation of rows or images that is learned without labels; abstract.

    A class gives its heads and the losses of two views.

    Parameters
    ----------
    n_components : int, default=128
        Numbers of the representation.
    layers : list, str or None, default=None
        The encoder before its last linear layer: words and values of `neural.layers`, or a stack
        by name, as in `neural.ConvNetClassifier`. None for two convolutions, or for a hidden layer
        of 256 units where X is a table.
    n_projected : int, default=128
        Numbers of the projection, which only the loss sees.
    augment : Augmentation, callable or None, default=None
        How a view is made of examples: ``augment(examples, draws)`` with standardised examples as
        a tensor, and ``draws.normal(*size)``, ``uniform`` and ``integers`` for noise of each row.
        None shifts, turns and adds noise to images, and to a table noise of half a deviation: one
        that knows the columns is better.
    """

    n_components: Count = 128
    _: KW_ONLY
    layers: Literal["small", "lenet", "alexnet", "resnet"] | list | tuple | None = None
    n_projected: Count = 128
    augment: Augmentation | Callable | None = None
    batch_size: Count = 128
    max_epochs: Count | None = 50
    learning_rate: Positive[float] = 1e-3

    @abstractmethod
    def _heads(self) -> dict[str, nn.Module]:
        """Make what stands on the encoder in training, a ``projector`` among it."""

    @abstractmethod
    def _losses(self, player: Any, one: torch.Tensor, other: torch.Tensor, step: Step) -> Any:
        """Give a loss for each example, from its two views; the module of the player is `Views`."""

    def _network(self) -> nn.Module:
        given = self.layers
        if given is None:
            given = _ROWS if self.image_shape_ is None else _IMAGES
        chosen = _layers.network(given) if isinstance(given, str) else list(given)
        shape: Any = self._inner_shape
        return Views(_layers.stack(chosen, shape, self.n_components), **self._heads())

    def _target(self, module: nn.Module) -> Any:
        return Player(module)

    def _objective(self) -> Objective:
        change = self._changes()

        def objective(player: Player, batch: Any, step: Step) -> Any:
            (x,) = batch
            one, other = change(x, step), change(x, step)
            return self._losses(player, one, other, step)

        return objective

    def _changes(self) -> Callable[[torch.Tensor, Step], torch.Tensor]:
        if self.augment is not None:
            return self._own_change
        if self.image_shape_ is None:
            return _jitter
        side = min(self.image_shape_[1:])
        return Augmentation(shift=max(1, side // 8), rotate=15.0, noise=0.1)

    def _own_change(self, x: torch.Tensor, draws: Draws) -> torch.Tensor:
        try:
            made = self.augment(x, draws)  # type: ignore[misc]
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"augment failed on examples of {tuple(x.shape)}: {error}") from error
        if not isinstance(made, torch.Tensor) or made.shape != x.shape:
            raise ValueError(
                f"augment must give a tensor of {tuple(x.shape)}, like what it is given; got "
                f"{tuple(made.shape) if isinstance(made, torch.Tensor) else type(made).__name__}"
            )
        return made

    def _note(self, projected: torch.Tensor, step: Step) -> None:
        """Keep for the history how far from collapse the projections are."""
        spread, rank = spread_and_rank(step.gather(projected))
        step.note(spread=spread, rank=rank)

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from examples without labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Rows of a table, or images.
        y : object, default=None
            Ignored.

        Returns
        -------
        self
            The model itself.
        """
        if self.batch_size < 2:
            raise ValueError("batch_size must be at least 2: views are compared within a batch")
        self._train(self._begin(X))
        spread = self.history_["spread"][-1]
        if not spread > _LEAST_SPREAD:
            warn(
                f"the embedding has collapsed: the spread of unit vectors is {spread:.3g}, where 1 "
                "is the most; look at history_['spread'] and ['rank'], lower learning_rate or "
                "change augment"
            )
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Give the representation: what the encoder makes, before the projector.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Rows of a table, or images.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        found = self._by_rows(self.module_, self._examples(X))
        return found.astype(self.mean_.dtype)

    def classifier(self, X: Any, y: Any, head: Any = None) -> Pipeline:
        """Fit a classifier on the representation, which stays as it is: a probe.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Labelled examples.
        y : array-like of shape (n_samples,)
            Their labels.
        head : classifier, default=None
            What is fitted: logistic regression if None; scikit-learn's ``KNeighborsClassifier()``
            for neighbours.

        Returns
        -------
        Pipeline
            From examples to labels: this model frozen, a scaler and the head.
        """
        self._require_fitted()
        last = LogisticRegression(max_iter=1000) if head is None else head
        return make_pipeline(FrozenEstimator(self), StandardScaler(), last).fit(X, y)

    @property
    def _n_features_out(self) -> int:
        self._require_fitted()
        return self.n_components
