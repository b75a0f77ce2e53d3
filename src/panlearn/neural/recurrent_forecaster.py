"""A recurrent network that tells the next step of a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from panlearn.core.estimator import fitting
from panlearn.core.sources import Sequences
from panlearn.neural import _sequences
from panlearn.neural._recurrence import step_losses, true_steps
from panlearn.neural._recurrent import RecurrentEstimator


def _gives_probabilities(model: Any) -> bool:
    if getattr(model, "kind_", "symbols") == "vectors":
        raise AttributeError("it learned to predict the next vector, which has no probabilities")
    return True


@dataclass(eq=False, repr=False)
class RecurrentForecaster(RecurrentEstimator):
    r"""A state that reads a sequence step by step, and tells after each what comes next.

    .. math::
        h_t = f(x_t, h_{t-1}), \qquad
        p(x_{t+1} \mid x_{1:t}) = \operatorname{softmax}(V h_t + c)
        \quad \text{or} \quad \mathbb{E}[x_{t+1} \mid x_{1:t}] = V h_t + c

    Attributes
    ----------
    kind_ : {"vectors", "symbols"}
        What the steps are: symbols have probabilities, vectors a mean, by least squares.
    symbols_ : ndarray of shape (n_symbols,)
        The symbols, if the steps are symbols.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        Mean and deviation of the vectors, if the steps are vectors; these are centred and scaled.
    n_outputs_ : int
        Outputs of the network: one a symbol, or one a feature.
    weights_ : dict of {str: ndarray}
        The weights.
    module_ : torch.nn.Module
        The network.
    history_ : dict
        The mean loss of a step in each epoch, and more.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether all epochs were walked.
    n_features_in_ : int
        Numbers in a vector.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the sequences were frames.

    Notes
    -----
    As `RecurrentClassifier`. `predict` tells one step ahead of every step that it is given;
    `forecast` goes on by itself, each time with what it told before. A step of training costs
    :math:`O(b T h (h + d))` for b sequences of T steps and h units.

    References
    ----------
    J. L. Elman (1990). Finding structure in time. Cognitive Science 14(2).
    doi:10.1207/s15516709cog1402_1

    T. Mikolov et al. (2010). Recurrent neural network based language model. Interspeech.
    doi:10.21437/Interspeech.2010-343

    Examples
    --------
    >>> from panlearn.neural import RecurrentForecaster
    >>> model = RecurrentForecaster(16, max_epochs=60, random_state=0).fit([list("abcabcab")])
    >>> print(*model.predict(list("abca")))
    b c a b
    >>> print(*model.forecast(list("abca"), 4))
    b c a b
    """

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences of vectors or of symbols, of any lengths; or a single one.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences.

        Returns
        -------
        RecurrentForecaster
            The forecaster itself.
        """
        sequences, weight, _ = self._begin(X, sample_weight)
        if sequences.lengths.max() < 2:
            raise ValueError("the next step is learned, and no sequence has two")
        self.n_outputs_ = len(self.symbols_) if self.kind_ == "symbols" else self.n_features_in_
        inputs = self._inputs(sequences)
        objective = step_losses(inputs, inputs, weight, ahead=1)
        return self._train(objective, np.flatnonzero((weight > 0) & (sequences.lengths > 1)))

    def _told(self, X: Any) -> tuple[np.ndarray, Sequences, bool]:
        sequences, single = self._read_new(X)
        return self._read_out(sequences, true_steps), sequences, single

    def _next(self, outputs: np.ndarray) -> np.ndarray:
        """What outputs mean: symbols, or vectors in the unit of the data."""
        if self.kind_ == "symbols":
            return self.symbols_[outputs.argmax(axis=1)]
        return self.mean_ + self.scale_ * outputs

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Give the logarithms of the probabilities of the symbol that follows each step.

        Parameters
        ----------
        X : list of array-like of shape (T,)
            Sequences, or a single one.

        Returns
        -------
        list of ndarray of shape (T, n_symbols)
            For a single sequence the array alone.
        """
        outputs, sequences, single = self._told(X)
        return _sequences.as_given(log_softmax(outputs, axis=1), sequences, single)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Give the probabilities of the symbol that follows each step.

        Parameters
        ----------
        X : list of array-like of shape (T,)
            Sequences, or a single one.

        Returns
        -------
        list of ndarray of shape (T, n_symbols)
            For a single sequence the array alone.
        """
        outputs, sequences, single = self._told(X)
        return _sequences.as_given(np.exp(log_softmax(outputs, axis=1)), sequences, single)

    def predict(self, X: Any) -> Any:
        """Tell what follows each step: the most probable symbol, or the mean of the vector.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        list of ndarray of shape (T,) or (T, d)
            For a single sequence the array alone.
        """
        outputs, sequences, single = self._told(X)
        return _sequences.as_given(self._next(outputs), sequences, single)

    def forecast(self, X: Any, n_steps: int = 1) -> np.ndarray:
        """Go on with one sequence, each time with the step that was told before.

        Parameters
        ----------
        X : array-like of shape (T, d) or (T,)
            The sequence so far.
        n_steps : int, default=1
            How many steps to tell.

        Returns
        -------
        ndarray of shape (n_steps,) or (n_steps, d)
        """
        if n_steps < 1:
            raise ValueError(f"n_steps must be at least 1; got {n_steps}")
        sequences, single = self._read_new(X)
        if not single:
            raise ValueError("forecast goes on with one sequence; give it by itself")
        values = sequences.values
        for _ in range(n_steps):
            so_far = Sequences(values, np.array([0, len(values)]))
            step = self._next(self._read_out(so_far, true_steps)[-1:])
            values = np.concatenate([values, step.astype(values.dtype, copy=False)])
        return values[-n_steps:]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give the accuracy of the next symbols, or of the next vectors the R squared.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences.

        Returns
        -------
        float
        """
        outputs, sequences, _ = self._told(X)
        weight = _sequences.read_weights(sample_weight, len(sequences))
        followed = np.ones(len(outputs), dtype=bool)
        followed[sequences.offsets[1:] - 1] = False
        true = sequences.values[np.flatnonzero(followed) + 1]
        each = np.repeat(weight, sequences.lengths)[followed]
        measure = accuracy_score if self.kind_ == "symbols" else r2_score
        return float(measure(true, self._next(outputs)[followed], sample_weight=each))
