"""A recurrent network that gives each sequence a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from torch import nn
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.sources import ArrayRows, Sequences
from panlearn.neural import _sequences
from panlearn.neural._recurrence import Ragged
from panlearn.neural._recurrent import RecurrentEstimator


@dataclass(eq=False, repr=False)
class RecurrentClassifier(ClassifierMixin, RecurrentEstimator):
    r"""A state that reads a sequence step by step; its last value tells the label.

    .. math::
        h_t = f(x_t, h_{t-1}), \qquad
        \text{Elman: } f = \tanh(W x_t + U h_{t-1} + b), \qquad
        p(y \mid x_{1:T}) = \operatorname{softmax}(V h_T + c)

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    kind_ : {"vectors", "symbols"}
        What the steps are.
    symbols_ : ndarray of shape (n_symbols,)
        The symbols, if the steps are symbols.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        Mean and deviation of the vectors, if the steps are vectors; these are centred and scaled.
    n_outputs_ : int
        Scores of the network, one a label.
    weights_ : dict of {str: ndarray}
        The weights.
    module_ : torch.nn.Module
        The network.
    history_ : dict
        The mean loss of each epoch, and more.
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
    X is a list of sequences of any lengths: arrays of shape (T, d), or lists of symbols. A batch is
    padded to its longest sequence. A recurrence reads from left to right, so padding behind a
    sequence changes none of its states: a batch gives what its sequences give one by one. Recurrent
    weights start orthogonal, and the forget gate of the LSTM open.

    References
    ----------
    J. L. Elman (1990). Finding structure in time. Cognitive Science 14(2).
    doi:10.1207/s15516709cog1402_1

    S. Hochreiter and J. Schmidhuber (1997). Long short-term memory. Neural Computation 9(8).
    doi:10.1162/neco.1997.9.8.1735

    K. Cho et al. (2014). Learning phrase representations using RNN encoder-decoder for statistical
    machine translation. EMNLP. doi:10.3115/v1/D14-1179

    Examples
    --------
    Does a word have more a than b?

    >>> import numpy as np
    >>> from panlearn.neural import RecurrentClassifier
    >>> rng = np.random.default_rng(0)
    >>> words = [rng.choice(["a", "b"], size=rng.integers(1, 9)) for _ in range(200)]
    >>> more = [int((w == "a").sum() > (w == "b").sum()) for w in words]
    >>> model = RecurrentClassifier(16, random_state=0).fit(words, more)
    >>> model.predict([list("aab"), list("abbb"), list("aaaabb")])
    array([1, 0, 1])
    """

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from sequences and their labels.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences of vectors or of symbols, of any lengths.
        y : list of labels
            One label a sequence.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences.

        Returns
        -------
        RecurrentClassifier
            The classifier itself.
        """
        sequences, weight, single = self._begin(X, sample_weight)
        labels, whole = _sequences.read_labels(y, sequences, single)
        if not whole:
            raise ValueError("y holds a label a step, which RecurrentTagger learns; give one each")
        self.classes_, self.n_outputs_ = labels.classes, len(labels.classes)
        inputs = self._inputs(sequences)
        objective = _objective(inputs, labels.codes, weight)
        index = np.flatnonzero(weight > 0)
        rows = ArrayRows(X, labels.classes[labels.codes], weight)
        return self._train(objective, index, strata=labels.codes[index], rows=rows)

    def _scores(self, X: Any) -> np.ndarray:
        sequences, _ = self._read_new(X)
        return self._read_out(sequences, lambda module, *batch: module.last(*batch))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Give the logarithms of the probabilities of the labels.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        ndarray of shape (n_sequences, n_classes)
        """
        return log_softmax(self._scores(X), axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Give the probabilities of the labels.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        ndarray of shape (n_sequences, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Give the most probable label of each sequence.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]


def _objective(inputs: Sequences, codes: np.ndarray, weight: np.ndarray) -> Any:
    """The losses of the sequences of a batch, given by their numbers."""
    sequences = Ragged(inputs.values, inputs.offsets)
    targets, weights = torch.from_numpy(codes), torch.from_numpy(weight)

    def objective(module: nn.Module, batch: Any) -> Any:
        (index,) = batch
        scores = module.last(*sequences(index))  # type: ignore[operator]
        wanted = targets[index.cpu()].to(scores.device)
        losses = F.cross_entropy(scores, wanted, reduction="none")
        return losses, weights[index.cpu()].to(losses)

    return objective
