"""What examples are conditioned on: labels as indicators, or numbers that are standardised."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from panlearn.core.value import Value
from panlearn.neural._scaling import moments


class Conditions(Value):
    """The kind of y that a model was fitted with; abstract."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many columns the condition of an example has."""

    @abstractmethod
    def columns(self, y: Any, n: int) -> np.ndarray:
        """The condition of n examples, from one y for all or one for each; of shape (n, size)."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw y for n examples as they were in the data."""


@dataclass(frozen=True, eq=False)
class Labels(Conditions):
    """One of several classes, with their shares in the data."""

    classes: np.ndarray
    shares: np.ndarray

    @property
    def size(self) -> int:
        """One column a class."""
        return len(self.classes)

    def columns(self, y: Any, n: int) -> np.ndarray:
        """Indicators of the classes."""
        return np.eye(self.size)[self.codes(y, n)]

    def codes(self, y: Any, n: int) -> np.ndarray:
        """The place of each label among the classes."""
        labels = _one_each(np.asarray(y), n, 1)
        if unknown := sorted(set(labels.tolist()) - set(self.classes.tolist()), key=str):
            raise ValueError(
                f"y has labels {unknown[:5]} that were not there in fit; there are "
                f"{self.classes[:10].tolist()}"
            )
        return np.searchsorted(self.classes, labels)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Labels as often as they were in the data."""
        return self.classes[rng.choice(self.size, size=n, p=self.shares)]


@dataclass(frozen=True, eq=False)
class Numbers(Conditions):
    """Numbers beside each example, which are brought to mean zero and deviation one."""

    mean: np.ndarray
    scale: np.ndarray

    @property
    def size(self) -> int:
        """One column a number."""
        return len(self.mean)

    def columns(self, y: Any, n: int) -> np.ndarray:
        """The numbers, standardised."""
        numbers = np.asarray(y, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("y contains NaN or infinity; drop these examples, or fill them in")
        numbers = _one_each(numbers, n, 1 if self.size == 1 else 2).reshape(n, -1)
        if numbers.shape[1] != self.size:
            raise ValueError(
                f"y has {numbers.shape[1]} numbers an example; in fit there were {self.size}"
            )
        return (numbers - self.mean) / self.scale

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Refuse: the numbers of the data are not kept."""
        raise ValueError("the model was fitted with numbers for y: give y to say which to draw for")


def conditions_of(y: Any, n: int) -> Conditions:
    """Labels if y has whole numbers, strings or truth values; else numbers."""
    kind = type_of_target(y, input_name="y")
    if len(y) != n:
        raise ValueError(f"y has {len(y)} entries and X has {n} examples: give one for each")
    if kind in ("binary", "multiclass"):
        classes, counts = np.unique(np.asarray(y).reshape(n), return_counts=True)
        return Labels(classes, counts / n)
    if kind not in ("continuous", "continuous-multioutput", "multiclass-multioutput"):
        raise ValueError(
            f"Unknown label type: y is {kind}; it must be labels (n,), or numbers (n,) or (n, k)"
        )
    mean, scale = moments(np.asarray(y, dtype=np.float64).reshape(n, -1))
    return Numbers(mean, scale)


def _one_each(y: np.ndarray, n: int, axes: int) -> np.ndarray:
    """One entry for each of n examples, from one for all or n of them."""
    if y.ndim == axes - 1:
        y = np.broadcast_to(y, (n, *y.shape))
    if y.ndim == axes + 1 and y.shape[-1] == 1:
        y = y[..., 0]
    if y.ndim != axes or len(y) != n:
        raise ValueError(
            f"y has shape {y.shape}; give one for all, or one for each of {n} examples"
        )
    return y
