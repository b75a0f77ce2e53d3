"""What hidden Markov models of vectors share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from panlearn.core.parameters import RandomState
from panlearn.core.sequences import read_sequences
from panlearn.core.sources import Rows, Sequences
from panlearn.sequence._emissions import Emission
from panlearn.sequence._hmm import HiddenMarkovModel


class VectorHMM(HiddenMarkovModel):
    """A hidden chain of states that emit vectors; abstract."""

    means_: np.ndarray
    covars_: np.ndarray

    _kind = "vectors"

    @abstractmethod
    def _starts(self, rows: Rows) -> list[Emission]:
        """Emissions to start from."""

    def _learn_vectors(self, X: Any, y: Any, sample_weight: Any) -> Self:
        rows = read_sequences(
            self,
            X,
            y,
            sample_weight,
            kind="vectors",
            repeatable=True,
            n_states=self.n_components,
        )
        self._learn(rows, self._starts(rows))
        if not all(np.isfinite(v).all() for v in (self.means_, self.covars_)):
            raise ValueError(f"the covariances are beyond {rows.dtype}; rescale the columns of X")
        return self

    def _values(self, X: Any) -> tuple[Sequences, bool]:
        return self._read(X)

    def sample(
        self, n_steps: int = 1, random_state: RandomState = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw one sequence.

        Parameters
        ----------
        n_steps : int, default=1
            How many steps.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.

        Returns
        -------
        X : ndarray of shape (n_steps, n_features)
        states : ndarray of shape (n_steps,)
        """
        X, states = self._draw(n_steps, random_state)
        return X.astype(self.means_.dtype, copy=False), states
