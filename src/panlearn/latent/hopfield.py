"""An associative memory whose dynamics descend an energy."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import linalg
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.jit import jit
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.latent._rows import rows_in_memory


@dataclass(eq=False, repr=False)
class HopfieldNetwork(OneToOneFeatureMixin, TransformerMixin, Estimator):
    r"""Patterns stored as minima of an energy, found again from corrupted ones.

    .. math::
        E(s) = -\tfrac12 s^\top W s, \qquad W = \tfrac1d \sum_p x_p x_p^\top - \operatorname{diag},
        \qquad s_i \leftarrow \operatorname{sign}(W s)_i, \quad s \in \{-1, 1\}^d

    Parameters
    ----------
    rule : {"hebb", "projection"}, default="hebb"
        How patterns are stored. Hebb's rule is the sum above, good for patterns that are not
        alike. The projection on the span of the patterns stores any that are linearly independent.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_features)
        The couplings W, symmetric with zeros on the diagonal.
    patterns_ : ndarray of shape (n_samples, n_features)
        The stored patterns in -1 and 1.
    stable_ : ndarray of shape (n_samples,)
        Whether each stored pattern is a fixed point.
    capacity_ : float
        How many random patterns can be stored and nearly all be fixed points:
        :math:`d / (2 \ln d)` for Hebb's rule, d for the projection.
    n_features_in_ : int
        Number of units d.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    A value above zero is a unit that is on, 1, any other is off, -1: patterns may be given in -1
    and 1 or in 0 and 1. Recall is asynchronous: one unit after the other, in their order, takes the
    sign of its field, and keeps its state if the field is zero. With W symmetric and no coupling of
    a unit to itself each flip lowers the energy by :math:`2 |(W s)_i|`, so the dynamics stop at a
    fixed point, always. It need not be a stored pattern: mixtures of patterns and reversed patterns
    are minima too. A sweep is one product of matrices for the first fields, then :math:`O(d)` a
    flip.

    References
    ----------
    J. J. Hopfield (1982). Neural networks and physical systems with emergent collective
    computational abilities. PNAS 79(8). doi:10.1073/pnas.79.8.2554

    R. J. McEliece, E. C. Posner, E. R. Rodemich and S. S. Venkatesh (1987). The capacity of the
    Hopfield associative memory. IEEE Transactions on Information Theory 33(4).
    doi:10.1109/TIT.1987.1057328

    L. Personnaz, I. Guyon and G. Dreyfus (1986). Collective computational properties of neural
    networks. Physical Review A 34. doi:10.1103/PhysRevA.34.4217

    Examples
    --------
    >>> from panlearn.latent import HopfieldNetwork
    >>> patterns = [[1, 1, 1, 1, -1, -1, -1, -1], [1, -1, 1, -1, 1, -1, 1, -1]]
    >>> memory = HopfieldNetwork().fit(patterns)
    >>> memory.transform([[-1, 1, 1, 1, -1, -1, -1, -1]]).astype(int).tolist()
    [[1, 1, 1, 1, -1, -1, -1, -1]]
    >>> memory.energy(patterns)
    array([-3., -3.])
    """

    learned = shapes(
        weights_="(n_features, n_features)",
        patterns_="(n_samples, n_features)",
        stable_="(n_samples,)",
    )

    _: KW_ONLY
    rule: Literal["hebb", "projection"] = "hebb"

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Store patterns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The patterns, one a row.
        y : object, default=None
            Ignored.

        Returns
        -------
        HopfieldNetwork
            The model itself.
        """
        X = rows_in_memory(self, X)
        d = X.shape[1]
        require_memory((2, d, d), "the couplings of the units, twice,", "take fewer features")
        self.patterns_ = self._states(X)
        states = self.patterns_.astype(float)
        if self.rule == "hebb":
            self.weights_ = states.T @ states / d
            self.capacity_ = float(d / (2 * np.log(max(d, 2))))
        else:
            basis = linalg.orth(states.T)
            self.weights_ = basis @ basis.T
            self.capacity_ = float(d)
        np.fill_diagonal(self.weights_, 0.0)
        opposed = states * (states @ self.weights_) < -self._rounding
        self.stable_ = ~opposed.any(axis=1)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Recall: let each row run to its fixed point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The states to start from, such as corrupted patterns.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            States in -1 and 1.
        """
        self._require_fitted()
        states = self._states(rows_in_memory(self, X, reset=False))
        recalled = states.astype(float)
        for state, field in zip(recalled, recalled @ self.weights_, strict=True):
            settle(self.weights_, state, field, self._rounding)
        return recalled.astype(states.dtype, copy=False)

    def predict(self, X: Any) -> np.ndarray:
        """Recall, and say which stored pattern each row has led to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The states to start from.

        Returns
        -------
        ndarray of shape (n_samples,)
            Rows of `patterns_`; -1 where the fixed point is none of them.
        """
        overlap = self.transform(X) @ self.patterns_.T
        best = overlap.argmax(axis=1)
        return np.where(overlap.max(axis=1) == self.n_features_in_, best, -1)

    def energy(self, X: Any) -> np.ndarray:
        """Give the energy of states.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The states.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._require_fitted()
        states = self._states(rows_in_memory(self, X, reset=False))
        return (-0.5 * np.sum(states * (states @ self.weights_), axis=1)).astype(states.dtype)

    def score(self, X: Any, y: Any = None) -> float:
        """Give minus the mean energy of states.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The states.
        y : object, default=None
            Ignored.

        Returns
        -------
        float
        """
        return -float(self.energy(X).mean())

    def trajectory(self, x: Any) -> np.ndarray:
        """Follow one state to its fixed point.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The state to start from.

        Returns
        -------
        ndarray of shape (n_flips + 1, n_features)
            The states: the first is x, each next one differs in one unit, the last is fixed.
        """
        self._require_fitted()
        state = self._states(rows_in_memory(self, [x], reset=False))[0]
        moving = state.astype(float)
        flipped = settle(self.weights_, moving, moving @ self.weights_, self._rounding)
        states = np.repeat(state[None], len(flipped) + 1, axis=0)
        for step, unit in enumerate(flipped, start=1):
            states[step:, unit] *= -1
        return states

    def _states(self, X: np.ndarray) -> np.ndarray:
        return np.where(X > 0, 1, -1).astype(X.dtype)

    @property
    def _rounding(self) -> float:
        """What a field of zero may be off by."""
        return 1e-12 * float(np.abs(self.weights_).sum(axis=1).max())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@jit
def settle(
    weights: np.ndarray, state: np.ndarray, field: np.ndarray, rounding: float
) -> np.ndarray:
    """Flip units against their field, in order, until there are none; returns which flipped."""
    flipped = [0]
    flipped.pop()
    before = -1
    while before < len(flipped):
        before = len(flipped)
        for unit in range(len(state)):
            if state[unit] * field[unit] < -rounding:
                state[unit] = -state[unit]
                field += 2 * state[unit] * weights[unit]
                flipped.append(unit)
    return np.array(flipped, dtype=np.int64)
