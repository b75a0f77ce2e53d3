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
from sklearn.utils.validation import validate_data
from torch import nn

from panlearn.core.estimator import fitting
from panlearn.core.extras import require
from panlearn.core.parameters import Count, RandomState
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import FLOATS
from panlearn.generative._conditions import Conditions, conditions_of
from panlearn.neural._draws import Draws, Share
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._images import read_images
from panlearn.neural._moves import Objective
from panlearn.neural._random import draw_seed
from panlearn.neural._scaling import deviations
from panlearn.neural._threads import is_small, one_thread

_ATTRIBUTES = """
module_ : torch.nn.Module
    The network, which sees standardised examples.
mean_, scale_ : ndarray of shape (n_features_in_,) or (channels,)
    What is taken from each column, or channel, and what it is divided by; the scale of one that
    does not vary is zero.
sample_shape_ : tuple of int
    The shape of one example.
history_ : dict
    ``loss``, ``validation_loss``, ``learning_rate`` and more, an epoch.
n_iter_ : int
    Epochs.
converged_ : bool
    False if training was interrupted.
n_features_in_ : int
    Columns, or pixels over all channels.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, if X had names.
"""
_ROWS = 1024  # examples that are drawn or worked through at a time


class _Learned:
    """What `fit` sets."""

    mean_: np.ndarray
    scale_: np.ndarray
    sample_shape_: tuple[int, ...]
    conditions_: Conditions | None
    feature_names_in_: np.ndarray
    n_features_in_: int


@dataclass(eq=False, repr=False, kw_only=True)
class GenerativeModel(DeepEstimator, _Learned):
    r"""A deep model of rows (n, d) or of images (n, h, w) or (n, c, h, w); abstract.

    Columns of a table, or channels of images, are brought to mean zero and deviation one, and put
    back in what comes out. A column that does not vary is not modelled, and put back as it was.
    A table is computed with in its own floats, images in float32.
    """

    batch_size: Count = 128
    max_epochs: Count | None = 100

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        head, mark, tail = (cls.__doc__ or "").partition("\nNotes\n-----")
        if "\nAttributes\n------" in head:  # what every model learns is written once
            cls.__doc__ = head.rstrip() + _ATTRIBUTES + mark + tail

    @abstractmethod
    def _network(self) -> nn.Module:
        """Make the module for examples of shape ``_inner_shape``."""

    @abstractmethod
    def _objective(self) -> Objective:
        """Make the objective of `neural.train`."""

    def _standardizes(self) -> bool:
        """Whether examples are standardised; not those that are counts or probabilities."""
        return True

    def _check_examples(self, X: np.ndarray) -> None:
        """Refuse values that the model cannot have; X is as it was given."""

    def _target(self, module: nn.Module) -> Any:
        """Who learns: the module, or players that are parts of it."""
        return module

    def _start(self, data: tuple[np.ndarray, ...], rng: np.random.Generator) -> nn.Module:
        """Make the module that training starts from."""
        return self._initial(rng)

    def _build(self) -> nn.Module:
        return self._network().to(self._dtype)

    # -- examples ------------------------------------------------------------------------------

    @property
    def image_shape_(self) -> tuple[int, int, int] | None:
        """Channels, height and width of an image; None if the model was fitted on a table."""
        shape = self.sample_shape_
        if len(shape) == 1:
            return None
        return shape if len(shape) == 3 else (1, *shape)  # type: ignore[return-value]

    @property
    def _inner_shape(self) -> tuple[int, ...]:
        """The shape of an example inside: the columns that vary, or (c, h, w)."""
        return self.image_shape_ or (int(np.count_nonzero(self.scale_)),)

    @property
    def _inner_size(self) -> int:
        return math.prod(self._inner_shape)

    @property
    def _dtype(self) -> torch.dtype:
        wide = self.image_shape_ is None and self.mean_.dtype == np.float64
        return torch.float64 if wide else torch.float32

    @property
    def _floats(self) -> Any:
        """The floats of the network, as NumPy calls them."""
        return np.float64 if self._dtype == torch.float64 else np.float32

    @property
    def _log_scale(self) -> float:
        """The log determinant of the standardisation: a log density of units is less by it."""
        logs = np.log(self.scale_[self.scale_ > 0].astype(np.float64)).sum()
        return float(logs) * (1 if self.image_shape_ is None else math.prod(self.image_shape_[1:]))

    def _read(self, X: Any, reset: bool) -> np.ndarray:
        """Validate examples: a table (n, d), or images (n, c, h, w)."""
        axes = np.ndim(X) if isinstance(X, list | tuple) else getattr(X, "ndim", 2)
        images = axes > 2 if reset else self.image_shape_ is not None
        if images:
            found, _, _ = read_images(self, X, reset=reset)
        else:
            if axes > 2:
                raise ValueError(
                    f"X has {axes} dimensions; this {type(self).__name__} was fitted on rows of "
                    f"{self.n_features_in_} columns: give an array of shape (n, "
                    f"{self.n_features_in_})"
                )
            found = validate_data(
                self, X, reset=reset, dtype=FLOATS, ensure_min_samples=2 if reset else 1
            )
        if reset:
            if len(found) < 2:
                raise ValueError(
                    f"X has 1 sample, and {type(self).__name__} needs two or more to learn from"
                )
            self.sample_shape_ = np.shape(X)[1:] if images else (found.shape[1],)
        self._check_examples(found)
        return found

    def _begin(self, X: Any) -> np.ndarray:
        """Read examples to learn from, and learn their shape and scale."""
        before = self.sample_shape_ if "sample_shape_" in vars(self) else None
        X = self._read(X, reset=True)
        if before == self.sample_shape_:  # a warm start: the weights are for that scale
            return X
        last = X.shape[1]
        mean, scale = np.zeros(last), np.ones(last)
        if self._standardizes():
            mean, scale = deviations(np.moveaxis(X, 1, -1).reshape(len(X), -1, last))
            if not scale.any():
                raise ValueError("no column of X varies: there is nothing to learn from equal rows")
            mean = np.where(scale > 0, mean, X[0].reshape(last, -1)[:, 0])  # and not its rounding
        self.mean_, self.scale_ = mean.astype(X.dtype), scale.astype(X.dtype)
        return X

    def _standardized(self, X: np.ndarray) -> np.ndarray:
        """Examples as the network sees them."""
        wide = X.astype(np.float64, copy=False)
        mean, scale = self.mean_.astype(np.float64), self.scale_.astype(np.float64)
        if self.image_shape_ is None:
            varies = scale > 0
            scaled = (wide[:, varies] - mean[varies]) / scale[varies]
        else:
            safe = np.where(scale > 0, scale, 1.0)
            scaled = (wide - mean[:, None, None]) / safe[:, None, None]
        return scaled.astype(self._floats)

    def _examples(self, X: Any) -> np.ndarray:
        """Read examples that are like those of `fit`, standardised."""
        self._require_fitted()
        return self._standardized(self._read(X, reset=False))

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

    # -- training, and what is computed afterwards -----------------------------------------------

    def _train(self, X: np.ndarray, *more: np.ndarray, y: Any = None) -> Self:
        """Train on examples that `_begin` has read, with what stands beside them."""
        rng = generator(self.random_state)
        data = (self._standardized(X), *more)
        module = self._start(data, rng)
        rows = ArrayRows(X, y, None)
        self._learn(module, self._objective(), data, rng, rows=rows, target=self._target(module))
        return self

    def _by_rows(
        self, function: Callable[..., torch.Tensor], *arrays: np.ndarray, size: int = _ROWS
    ) -> np.ndarray:
        """A function of tensors, applied `size` rows at a time, as an array."""
        device = next(self.module_.parameters()).device
        parts = []
        for low in range(0, len(arrays[0]), size):
            rows = tuple(torch.tensor(a[low : low + size]).to(device) for a in arrays)
            with torch.no_grad(), one_thread(is_small(self.module_, rows)):
                parts.append(function(*rows).cpu().numpy())
        return np.concatenate(parts)

    def _noise(self, random_state: RandomState) -> Callable[[int], Draws]:
        """A function of n that gives fresh draws for n rows, all from one seed."""
        seed, device = draw_seed(random_state), next(self.module_.parameters()).device
        number = iter(range(2**62))
        return lambda n: Draws(Share(0, n, n), seed, next(number), device)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


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
        self._require_fitted()
        rng = generator(random_state)
        if y is None and self.conditions_ is not None:
            y = self.conditions_.draw(n_samples, rng)
        noise, numbers = self._noise(rng), places(n_samples)

        def generate(i: torch.Tensor, condition: torch.Tensor | None = None) -> torch.Tensor:
            return self._generate(noise(len(i)), len(i), condition)

        made = self._by_rows(generate, numbers, *self._beside(y, n_samples))
        return self._framed(self._restored(made))


def places(n_samples: Any) -> np.ndarray:
    """The numbers of so many samples, from zero."""
    if not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise ValueError(f"n_samples={n_samples!r} must be a whole number of at least one")
    return np.arange(n_samples)
