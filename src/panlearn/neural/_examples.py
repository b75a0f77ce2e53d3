"""Deep models of examples: rows of a table or images, read, standardised, trained on."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.utils.validation import validate_data
from torch import nn

from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import FLOATS, reject_hidden
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._images import read_images
from panlearn.neural._moves import Objective
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


class _Learned:
    """What `fit` sets."""

    mean_: np.ndarray
    scale_: np.ndarray
    sample_shape_: tuple[int, ...]
    feature_names_in_: np.ndarray
    n_features_in_: int


@dataclass(eq=False, repr=False, kw_only=True)
class ExampleModel(DeepEstimator, _Learned):
    """A deep model of rows (n, d) or of images (n, h, w) or (n, c, h, w); abstract.

    Columns of a table, or channels of images, are brought to mean zero and deviation one. A column
    that does not vary is not shown to the network. A table is computed with in its own floats,
    images in float32.
    """

    _at_once: ClassVar[int] = 1024  # examples that are made or worked through at a time

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
            reject_hidden(X=X)
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
        self, function: Callable[..., torch.Tensor], *arrays: np.ndarray, size: int | None = None
    ) -> np.ndarray:
        """A function of tensors, applied `size` rows at a time, as an array."""
        size = size or self._at_once
        device = next(self.module_.parameters()).device
        parts = []
        for low in range(0, len(arrays[0]), size):
            rows = tuple(torch.tensor(a[low : low + size]).to(device) for a in arrays)
            with torch.no_grad(), one_thread(is_small(self.module_, rows)):
                parts.append(function(*rows).cpu().numpy())
        return np.concatenate(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def require_second_slopes(estimator: Any, remedy: str) -> None:
    """Refuse settings under which PyTorch gives no gradients of gradients."""
    for name, value in (("strategy", "fsdp"), ("recompute", True)):
        if getattr(estimator, name) == value:
            raise ValueError(
                f"{name}={value!r} goes with no gradients of gradients, which are needed here; "
                f"leave it out, or {remedy}"
            )
