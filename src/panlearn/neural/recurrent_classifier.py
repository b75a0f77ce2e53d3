"""A recurrent network that gives each sequence a label."""

from __future__ import annotations

from dataclasses import dataclass

from panlearn.neural._recurrent import RecurrentEstimator
from panlearn.neural._sequence_estimator import SequenceClassifier


@dataclass(eq=False, repr=False)
class RecurrentClassifier(RecurrentEstimator, SequenceClassifier):
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
    weights start orthogonal, and the forget gate of the LSTM open. A step of training costs
    :math:`O(b T h (h + d))` for b sequences of T steps and h units, one step of time after the
    other.

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
