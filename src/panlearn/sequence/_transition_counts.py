"""Counts of starts and steps, which merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.labels import missing
from panlearn.core.sources import Sequences
from panlearn.core.statistics import LabelCounts, Statistic
from panlearn.sequence._path_kernels import count_path
from panlearn.sequence._symbols import encode, label_counts


@dataclass(frozen=True)
class TransitionCounts(Statistic):
    """How often sequences start in each state, and step from each state to each.

    Attributes
    ----------
    states : ndarray of shape (n_states,)
        The labels; two parts merge over all the labels of both.
    start : ndarray of shape (n_states,)
    step : ndarray of shape (n_states, n_states)
    """

    states: np.ndarray
    start: np.ndarray
    step: np.ndarray

    @classmethod
    def of(cls, X: Sequences, weight: np.ndarray | None = None, states: Any = None) -> Self:
        """Count in sequences of labels: of the states that are given, or of those that occur."""
        if missing(X.values).any():
            raise ValueError("a state is missing (NaN or None): cut the sequence in two there")
        if states is None:
            states = label_counts(X).labels
        codes = encode(X.values, states, "states")
        w = np.ones(len(X)) if weight is None else weight.astype(float)
        step = np.zeros((len(states), len(states)))
        count_path(codes, X.offsets, w, step)
        start = np.bincount(codes[X.offsets[:-1]], w, minlength=len(states))
        return cls(states, start, step)

    @property
    def weight(self) -> float:
        """The weight of the sequences."""
        return float(self.start.sum())

    @property
    def is_finite(self) -> bool:
        """Labels need not be numbers; their counts are finite if the weights are."""
        return bool(np.isfinite(self.start).all() and np.isfinite(self.step).all())

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, TransitionCounts):
            return NotImplemented
        if list(self.states) == list(other.states):
            return type(self)(self.states, self.start + other.start, self.step + other.step)
        if not len(self.states) or not len(other.states):
            return self if not len(other.states) else type(self)(*vars(other).values())
        both = LabelCounts(self.states, self.start) + LabelCounts(other.states, other.start)
        states = both.labels
        return self.among(states) + other.among(states)

    def among(self, states: np.ndarray) -> Self:
        """The same counts among more states, which are sorted."""
        start, step = np.zeros(len(states)), np.zeros((len(states), len(states)))
        place = np.searchsorted(states, self.states)
        start[place], step[np.ix_(place, place)] = self.start, self.step
        return type(self)(states, start, step)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.states, factor * self.start, factor * self.step)
