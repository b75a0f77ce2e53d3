"""What generative models share: examples read, standardised and put back; training; sampling.

A class derives from `UnconditionalModel` or `ConditionalModel` and says three things::

    _network()                       the module, for examples of shape ``self._inner_shape``
    _objective()                     for `neural.train`, on batches (x,) or (x, condition)
    _generate(draws, n, condition)   new examples, a tensor in standardised units

`fit` and `sample` are then there. Other methods read X by ``_examples(X)``, which checks it against
what was fitted and standardises it, and work through it by ``_by_rows(function, ...)``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from panlearn.core.estimator import fitting
from panlearn.core.extras import require
from panlearn.core.parameters import Count, RandomState
from panlearn.core.random import generator
from panlearn.generative._conditions import Conditions, conditions_of
from panlearn.neural._draws import Draws, Share
from panlearn.neural._examples import ExampleModel
from panlearn.neural._random import draw_seed


class _Learned:
    """What `fit` sets, beside what `ExampleModel` says."""

    conditions_: Conditions | None


@dataclass(eq=False, repr=False, kw_only=True)
class GenerativeModel(ExampleModel, _Learned):
    """A deep model that makes examples; abstract.

    What comes out is put back into the units of the examples of `fit`. A column that did not vary
    is put back as it was.
    """

    batch_size: Count = 128
    max_epochs: Count | None = 100

    @property
    def _log_scale(self) -> float:
        """The log determinant of the standardisation: a log density of units is less by it."""
        logs = np.log(self.scale_[self.scale_ > 0].astype(np.float64)).sum()
        return float(logs) * (1 if self.image_shape_ is None else math.prod(self.image_shape_[1:]))

    def _restored(self, inner: np.ndarray) -> np.ndarray:
        """What the network made, in the units, shape and floats of the examples of `fit`."""
        mean, scale = self.mean_.astype(np.float64), self.scale_.astype(np.float64)
        inner = inner.reshape(len(inner), *self._inner_shape)
        if self.image_shape_ is None:
            made = np.broadcast_to(mean, (len(inner), len(mean))).copy()
            made[:, scale > 0] += inner * scale[scale > 0]
        else:
            made = mean[:, None, None] + inner * scale[:, None, None]
        return made.reshape(len(inner), *self.sample_shape_).astype(self.mean_.dtype)

    def _framed(self, made: np.ndarray) -> Any:
        """A data frame with the columns of the one that was fitted on, if it was one."""
        if not hasattr(self, "feature_names_in_"):
            return made
        return require("pandas").DataFrame(made, columns=self.feature_names_in_)

    def _noise(self, random_state: RandomState) -> Callable[[int], Draws]:
        """A function of n that gives fresh draws for n rows, all from one seed."""
        seed, device = draw_seed(random_state), next(self.module_.parameters()).device
        number = iter(range(2**62))
        return lambda n: Draws(Share(0, n, n), seed, next(number), device)


@dataclass(eq=False, repr=False, kw_only=True)
class UnconditionalModel(GenerativeModel):
    """A generative model of examples alone; abstract."""

    @abstractmethod
    def _generate(self, draws: Draws, n: int) -> torch.Tensor:
        """Make n new examples, in standardised units; noise comes from `draws`."""

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
        self
            The model itself.
        """
        return self._train(self._begin(X))

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> Any:
        """Draw new examples.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator or RandomState, default=None
            Seeds the draws.

        Returns
        -------
        ndarray of shape (n_samples, n_features), (n_samples, h, w) or (n_samples, c, h, w)
            Like the examples of `fit`; a data frame with their columns if they were one.
        """
        return self._sampled(self._generate, n_samples, random_state)

    def _sampled(
        self, generate: Callable[[Draws, int], torch.Tensor], n_samples: int, seed: RandomState
    ) -> Any:
        self._require_fitted()
        noise = self._noise(seed)
        made = self._by_rows(lambda i: generate(noise(len(i)), len(i)), places(n_samples))
        return self._framed(self._restored(made))


@dataclass(eq=False, repr=False, kw_only=True)
class ConditionalModel(GenerativeModel):
    """A generative model of examples given labels or numbers, or of examples alone; abstract.

    What it learns of y is ``conditions_``, None if there was none.

    Batches are ``(x,)`` if `fit` was not given y, and ``(x, condition)`` if it was, with a
    condition of ``self._condition_size`` columns: one for each class, or y standardised.
    """

    @abstractmethod
    def _generate(self, draws: Draws, n: int, condition: torch.Tensor | None) -> torch.Tensor:
        """Make n new examples, in standardised units, of which the condition holds."""

    @property
    def _condition_size(self) -> int:
        """Columns of the condition, zero if there is none."""
        return 0 if self.conditions_ is None else self.conditions_.size

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from examples and what is known of each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Rows of a table, or images.
        y : array-like of shape (n_samples,) or (n_samples, n_numbers), default=None
            Labels, or numbers with a fraction; None for a model of X alone.

        Returns
        -------
        self
            The model itself.
        """
        X = self._begin(X)
        self.conditions_ = None if y is None else conditions_of(y, len(X))
        return self._train(X, *self._beside(y, len(X)), y=None if y is None else np.asarray(y))

    def _beside(self, y: Any, n: int) -> tuple[np.ndarray, ...]:
        """The condition of n examples, if there is one, in the floats of the network."""
        if self.conditions_ is None:
            if y is not None:
                raise ValueError("y is given, and the model was fitted without: leave it out")
            return ()
        if y is None:
            raise ValueError("the model was fitted with y: say what it is of these examples")
        return (self.conditions_.columns(y, n).astype(self._floats),)

    def sample(self, n_samples: int = 1, random_state: RandomState = None, y: Any = None) -> Any:
        """Draw new examples.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator or RandomState, default=None
            Seeds the draws.
        y : label, number, or array-like of shape (n_samples,) or (n_samples, n_numbers)
            What is to hold of all examples, or of each. None draws labels as often as they were in
            the data; numbers must be given.

        Returns
        -------
        ndarray of shape (n_samples, n_features), (n_samples, h, w) or (n_samples, c, h, w)
            Like the examples of `fit`; a data frame with their columns if they were one.
        """
        made = self._made(self._generate, n_samples, random_state, y)
        return self._framed(self._restored(made))

    def _made(self, generate: Any, n_samples: int, random_state: RandomState, y: Any) -> np.ndarray:
        """What a function of draws, a number of rows and their condition gives, row by row."""
        self._require_fitted()
        rng = generator(random_state)
        if y is None and self.conditions_ is not None:
            y = self.conditions_.draw(n_samples, rng)
        noise, numbers = self._noise(rng), places(n_samples)

        def rows(i: torch.Tensor, condition: torch.Tensor | None = None) -> torch.Tensor:
            return generate(noise(len(i)), len(i), condition)

        return self._by_rows(rows, numbers, *self._beside(y, n_samples))


def places(n_samples: Any) -> np.ndarray:
    """The numbers of so many samples, from zero."""
    if not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise ValueError(f"n_samples={n_samples!r} must be a whole number of at least one")
    return np.arange(n_samples)
