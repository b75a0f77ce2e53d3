"""A recurrent encoder, and a decoder that attends to it: sequences in, sequences out."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.parameters import BelowOne, Count, Positive
from panlearn.core.random import generator
from panlearn.core.sequences import read_sequences
from panlearn.core.sources import SequenceRows, Sequences
from panlearn.neural import _sequences
from panlearn.neural._attention import EncoderDecoder, search
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._recurrence import Ragged, within

_ROWS = 256  # sources of a batch when nothing is learned


@dataclass(eq=False, repr=False)
class RecurrentSeq2Seq(DeepEstimator):
    r"""A source read in both directions, and a decoder that looks at all of it at every step.

    .. math::
        e_{ij} = v^\top \tanh(W s_{i-1} + U h_j), \quad
        \alpha_i = \operatorname{softmax}(e_i), \quad
        c_i = \sum_j \alpha_{ij} h_j, \quad
        s_i = f(s_{i-1}, [y_{i-1}; c_i])

    Parameters
    ----------
    hidden_size : int, default=64
        Numbers in the decoder's state s; h has half of them in each direction.
    cell : {"gru", "lstm", "elman"}, default="gru"
        The step f, of encoder and decoder.
    embedding_size : int, default=32
        Numbers that stand for a symbol.
    dropout : float, default=0.0
        The share of embeddings and states that are left out in training, below one.
    beam_width : int, default=1
        How many beginnings of an answer `predict` keeps; with 1 it takes the best symbol each time.
    symbols : array-like or None, default=None
        The symbols that a source may hold; those of the training sources if not given.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,)
        The symbols of sources.
    target_symbols_ : ndarray of shape (n_target_symbols,)
        The symbols of targets.
    max_length_ : int
        The most symbols that `predict` gives: twice those of the longest target, and ten.
    weights_ : dict of {str: ndarray}
        The weights.
    history_ : dict
        The mean loss of a symbol in each epoch, and more.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether all epochs were walked.

    Notes
    -----
    Sources and targets are lists of sequences of symbols of any kinds and lengths. In training the
    decoder is given the true symbols before each step; an end symbol closes every target, and
    `predict` stops at it. The decoder starts from the encoder's last backward state. Padding of
    sources gets no attention, and padding of targets no loss. The beam sums logarithms of
    probabilities and does not divide by the length.

    References
    ----------
    D. Bahdanau, K. Cho and Y. Bengio (2015). Neural machine translation by jointly learning to
    align and translate. ICLR. arXiv:1409.0473

    I. Sutskever, O. Vinyals and Q. V. Le (2014). Sequence to sequence learning with neural
    networks. NeurIPS. arXiv:1409.3215

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.neural import RecurrentSeq2Seq
    >>> rng = np.random.default_rng(0)
    >>> words = [rng.choice(list("abc"), size=rng.integers(1, 4)) for _ in range(200)]
    >>> model = RecurrentSeq2Seq(32, max_epochs=12, learning_rate=0.02, random_state=0)
    >>> model = model.fit(words, [word[::-1] for word in words])
    >>> print(*model.predict(list("abb")))
    b b a
    >>> model.alignment([list("abb")])[0].shape  # of b, b, a and the end
    (4, 3)
    """

    hidden_size: Count = 64
    _: KW_ONLY
    cell: Literal["gru", "lstm", "elman"] = "gru"
    embedding_size: Count = 32
    dropout: BelowOne = 0.0
    beam_width: Count = 1
    symbols: np.ndarray | None = None
    learning_rate: Positive[float] = 5e-3
    clip_norm: Positive[float] | None = 1.0

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from pairs of sequences.

        Parameters
        ----------
        X : list of array-like of shape (S,)
            Sources, sequences of symbols of any lengths.
        y : list of array-like of shape (T,)
            The target of each.
        sample_weight : array-like of shape (n_pairs,), default=None
            Weights of the pairs.

        Returns
        -------
        RecurrentSeq2Seq
            The model itself.
        """
        if y is None:
            raise ValueError("RecurrentSeq2Seq requires y to be passed, but the target y is None")
        source, single = _sequences.read(self, X, "symbols", reset=True)
        target = _targets(self, [y] if single else y)
        if len(source) != len(target):
            raise ValueError(f"X holds {len(source)} sources and y {len(target)} targets")
        weight = _sequences.read_weights(sample_weight, len(source))
        self.symbols_ = _sequences.symbols(source, self.symbols, "symbols")
        self.target_symbols_ = _sequences.symbols(target, None, "y")
        self.max_length_ = 2 * int(target.lengths.max()) + 10
        objective = self._objective(
            _sequences.coded(source, self.symbols_, "symbols"), self._closed(target), weight
        )
        rng = generator(self.random_state)
        self._learn(self._initial(rng), objective, (np.flatnonzero(weight > 0),), rng)
        return self

    def _closed(self, target: Sequences) -> Sequences:
        """Codes of targets, each with the end behind it."""
        codes = _sequences.coded(target, self.target_symbols_, "y")
        closed = np.insert(codes.values, codes.offsets[1:], len(self.target_symbols_))
        return Sequences(closed, codes.offsets + np.arange(len(codes.offsets)))

    def _objective(self, source: Sequences, target: Sequences, weight: np.ndarray) -> Any:
        """The losses of all symbols of the targets of a batch, given by their numbers."""
        sources, targets = (Ragged(s.values, s.offsets) for s in (source, target))
        weights = torch.from_numpy(weight)

        def objective(module: nn.Module, batch: Any) -> Any:
            (index,) = batch
            wanted, lengths = targets(index)
            scores, _ = module(*sources(index), wanted)
            there = within(lengths, wanted.shape[1])
            each = weights[index].to(scores)[:, None].expand(there.shape)
            return F.cross_entropy(scores[there], wanted[there], reduction="none"), each[there]

        return objective

    def _build(self) -> nn.Module:
        n_sources, n_targets = len(self.symbols_), len(self.target_symbols_)
        sizes = int(self.embedding_size), int(self.hidden_size)
        return EncoderDecoder(self.cell, n_sources, n_targets, *sizes, self.dropout)

    def _sources(self, X: Any) -> tuple[Ragged, int, bool]:
        self._require_fitted()
        source, single = _sequences.read(self, X, "symbols", reset=False)
        codes = _sequences.coded(source, self.symbols_, "symbols")
        return Ragged(codes.values, codes.offsets), len(codes), single

    def predict(self, X: Any) -> Any:
        """Give the target that the model finds most probable for each source.

        Parameters
        ----------
        X : list of array-like of shape (S,)
            Sources, or a single one.

        Returns
        -------
        list of ndarray of shape (T,)
            Symbols of targets; for a single source the array alone.
        """
        sources, n, single = self._sources(X)
        module: Any = self.module_
        device, found = next(module.parameters()).device, []
        with torch.inference_mode():
            for index in torch.arange(n).split(_ROWS):
                batch = sources(index.to(device))
                found += search(module, *batch, int(self.beam_width), self.max_length_)
        answers = [self.target_symbols_[codes] for codes in found]
        return answers[0] if single else answers

    def alignment(self, X: Any, y: Any = None) -> Any:
        r"""Give the weights :math:`\alpha_{ij}` with which step i of a target looks at step j.

        Parameters
        ----------
        X : list of array-like of shape (S,)
            Sources, or a single one.
        y : list of array-like of shape (T,), default=None
            Their targets; by default those that are predicted.

        Returns
        -------
        list of ndarray of shape (T + 1, S)
            Rows sum to one; the last is that of the end. For a single source the array alone.
        """
        sources, n, single = self._sources(X)
        answers = self.predict(X) if y is None else y
        answers = [answers] if single else list(answers)
        if len(answers) != n:
            raise ValueError(f"X holds {n} sources and y {len(answers)} targets")
        module: Any = self.module_
        device, found = next(module.parameters()).device, []
        with torch.inference_mode():
            for i, answer in enumerate(answers):
                codes = np.array([len(self.target_symbols_)])
                if len(answer):
                    codes = self._closed(_targets(self, [answer])).values
                batch = sources(torch.tensor([i], device=device))
                found.append(module(*batch, torch.tensor(codes[None], device=device))[1][0].cpu())
        return found[0].numpy() if single else [weights.numpy() for weights in found]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of sources whose target is predicted without a fault.

        Parameters
        ----------
        X : list of array-like of shape (S,)
            Sources.
        y : list of array-like of shape (T,)
            Their targets.
        sample_weight : array-like of shape (n_pairs,), default=None
            Weights of the pairs.

        Returns
        -------
        float
        """
        found = self.predict(list(X))
        weight = _sequences.read_weights(sample_weight, len(found))
        right = [np.array_equal(a, np.asarray(b)) for a, b in zip(found, y, strict=True)]
        return float(np.average(right, weights=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def _targets(estimator: Any, y: Any) -> Sequences:
    """Sequences of symbols that are to come out; an error says that they are targets."""
    try:
        rows = read_sequences(estimator, list(y), kind="symbols", reset=False)
        assert isinstance(rows, SequenceRows)
        _sequences.check_symbols(rows.X.values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the targets y: {str(error).replace('X holds', 'y holds')}") from error
    return rows.X
