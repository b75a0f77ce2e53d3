"""What models of preferences share: pairs to learn from, rewards, and how often they are right."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from panlearn.alignment._prompts import Sequences, columns, read_sequences, with_prompts
from panlearn.alignment._tuner import Tuner
from panlearn.core.parameters import Count


@dataclass(frozen=True)
class Pairs:
    """Chosen and rejected completions: sequences, those of pair i at the places ``index[i]``."""

    sequences: Sequences
    index: np.ndarray
    weight: np.ndarray

    def data(self, *more: np.ndarray) -> tuple[np.ndarray, ...]:
        """What a step is told of pairs: places, what tells data apart, weights, and more."""
        marks = self.sequences.marks()[self.index]
        return self.index, marks, self.weight.astype(np.float32), *more


@dataclass(eq=False, repr=False)
class PreferenceModel(Tuner):
    """A model of which completion is preferred; abstract."""

    _: KW_ONLY
    batch_size: Count = 16

    @abstractmethod
    def _rewards(self, sequences: Sequences) -> np.ndarray:
        """The reward of each sequence."""

    def rewards(self, prompts: Any, completions: Any) -> np.ndarray:
        """Give the reward of completions.

        Parameters
        ----------
        prompts : list of str, of lists of token ids, or of conversations
            What was asked.
        completions : list of str, of lists of token ids, or of conversations
            What was answered to each.

        Returns
        -------
        ndarray of shape (n_prompts,)
            The higher the better, up to a constant for each prompt.
        """
        self._require_fitted()
        return self._rewards(self._sequences(list(prompts), list(completions)))

    def decision_function(self, X: Any) -> np.ndarray:
        r"""Give the log-odds that the first completion is preferred to the second.

        Parameters
        ----------
        X : list of (prompt, chosen, rejected), or of dicts with these names
            Pairs of completions.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The difference of the rewards.
        """
        self._require_fitted()
        pairs = self._pairs(X)
        found = self._rewards(pairs.sequences)[pairs.index]
        return found[:, 0] - found[:, 1]

    def score(self, X: Any, y: Any = None) -> float:
        """Give the share of pairs in which the chosen completion has the higher reward.

        Parameters
        ----------
        X : list of (prompt, chosen, rejected), or of dicts with these names
            Pairs of completions.
        y : object, default=None
            Ignored.

        Returns
        -------
        float
        """
        return float(np.mean(self.decision_function(X) > 0))

    def _sequences(self, prompts: list[Any], completions: list[Any]) -> Sequences:
        return read_sequences(self.start_, prompts, completions, self.template)

    def _pairs(self, X: Any, sample_weight: Any = None) -> Pairs:
        names = ("prompt", "chosen", "rejected")
        prompts, chosen, rejected = columns(with_prompts(X, "X"), names, "X")
        better, worse = self._sequences(prompts, chosen), self._sequences(prompts, rejected)
        n = len(prompts)
        for i in range(n):
            if np.array_equal(better.ids[i], worse.ids[i]):
                raise ValueError(f"row {i}: chosen and rejected are equal; leave the row out")
        weight = _check_sample_weight(sample_weight, np.empty((n, 1)), ensure_non_negative=True)
        return Pairs(better.joined(worse), np.arange(2 * n).reshape(2, n).T, weight)
