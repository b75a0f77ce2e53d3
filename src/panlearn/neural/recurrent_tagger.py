"""A recurrent network that gives each step of a sequence a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.metrics import accuracy_score

from panlearn.core.estimator import fitting
from panlearn.core.sources import Sequences
from panlearn.neural import _sequences
from panlearn.neural._recurrence import step_losses, true_steps
from panlearn.neural._recurrent import RecurrentEstimator


@dataclass(eq=False, repr=False)
class RecurrentTagger(RecurrentEstimator):
    r"""A state that reads a sequence step by step, and tells a label after each.

    .. math::
        h_t = f(x_t, h_{t-1}), \qquad
        p(y_t \mid x_{1:t}) = \operatorname{softmax}(V h_t + c)

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
    As `RecurrentClassifier`; the loss is the mean over the true steps of all sequences of a batch.
    A label is told by what came before it: the network does not look ahead. A step of training
    costs :math:`O(b T h (h + d))` for b sequences of T steps and h units.

    References
    ----------
    J. L. Elman (1990). Finding structure in time. Cognitive Science 14(2).
    doi:10.1207/s15516709cog1402_1

    R. J. Williams and J. Peng (1990). An efficient gradient-based algorithm for on-line training
    of recurrent network trajectories. Neural Computation 2(4). doi:10.1162/neco.1990.2.4.490

    Examples
    --------
    Was the step before this one an a?

    >>> import numpy as np
    >>> from panlearn.neural import RecurrentTagger
    >>> rng = np.random.default_rng(0)
    >>> words = [rng.choice(["a", "b"], size=8) for _ in range(100)]
    >>> after = [np.r_[False, word[:-1] == "a"] for word in words]
    >>> model = RecurrentTagger(16, random_state=0).fit(words, after)
    >>> model.predict(list("abba")).astype(int)
    array([0, 1, 0, 0])
    """

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from sequences and the labels of their steps.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences of vectors or of symbols, of any lengths; or a single one.
        y : list of lists of labels
            One label a step.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences.

        Returns
        -------
        RecurrentTagger
            The tagger itself.
        """
        sequences, weight, single = self._begin(X, sample_weight)
        labels, whole = _sequences.read_labels(y, sequences, single)
        if whole:
            raise ValueError(
                "y holds one label a sequence, which RecurrentClassifier learns; give lists"
            )
        self.classes_, self.n_outputs_ = labels.classes, len(labels.classes)
        inputs = self._inputs(sequences)
        objective = step_losses(inputs, Sequences(labels.codes, inputs.offsets), weight)
        return self._train(objective, np.flatnonzero(weight > 0))

    def _step_scores(self, X: Any) -> tuple[np.ndarray, Sequences, bool]:
        sequences, single = self._read_new(X)
        return self._read_out(sequences, true_steps), sequences, single

    def predict_log_proba(self, X: Any) -> Any:
        """Give the logarithms of the probabilities of the labels.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        list of ndarray of shape (T, n_classes)
            For a single sequence the array alone.
        """
        scores, sequences, single = self._step_scores(X)
        return _sequences.as_given(log_softmax(scores, axis=1), sequences, single)

    def predict_proba(self, X: Any) -> Any:
        """Give the probabilities of the labels.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        list of ndarray of shape (T, n_classes)
            For a single sequence the array alone.
        """
        scores, sequences, single = self._step_scores(X)
        return _sequences.as_given(np.exp(log_softmax(scores, axis=1)), sequences, single)

    def predict(self, X: Any) -> Any:
        """Give the most probable label of each step.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        list of ndarray of shape (T,)
            For a single sequence the array alone.
        """
        scores, sequences, single = self._step_scores(X)
        return _sequences.as_given(self.classes_[scores.argmax(axis=1)], sequences, single)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of steps whose label is right.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.
        y : list of lists of labels
            One label a step.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences.

        Returns
        -------
        float
        """
        scores, sequences, single = self._step_scores(X)
        weight = _sequences.read_weights(sample_weight, len(sequences))
        true = np.concatenate([np.asarray(t) for t in ([y] if single else y)])
        found = self.classes_[scores.argmax(axis=1)]
        each = np.repeat(weight, sequences.lengths)
        return float(accuracy_score(true, found, sample_weight=each))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
