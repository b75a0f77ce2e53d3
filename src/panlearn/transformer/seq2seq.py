"""The encoder-decoder of the original paper: sequences in, sequences out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.parameters import BelowOne, Count, NonNegative, Positive
from panlearn.core.random import generator
from panlearn.core.sources import Sequences
from panlearn.neural import _sequences
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._recurrence import Ragged, within
from panlearn.neural.seq2seq import _targets
from panlearn.transformer._seq2seq import EncoderDecoder, search

_ROWS = 256  # sources of a batch when nothing is learned


@dataclass(eq=False, repr=False)
class Seq2Seq(DeepEstimator):
    r"""A transformer that reads a source and writes a target, looking at both.

    .. math::
        p(y_1, \ldots, y_T \mid x) = \prod_{t=1}^{T} p_\theta(y_t \mid y_1, \ldots, y_{t-1}, x)

    Parameters
    ----------
    width : int, default=64
        Coordinates of a symbol, an even number.
    n_layers : int, default=2
        Blocks of the encoder, and of the decoder.
    n_heads : int, default=4
        Heads of attention.
    hidden : int, default=None
        Width of the feed-forward layers; four times the width if None.
    dropout : float, default=0.1
        The share of values that are left out in training, below one.
    norm_first : bool, default=False
        Whether norms stand before the branches, with one more at each end, and not after the sums
        as in the paper.
    label_smoothing : float, default=0.1
        The share of the target that is spread over all symbols, below one.
    warmup : int, default=100
        Steps over which the learning rate rises, with the schedule "inverse_sqrt".
    schedule : str, callable or class, default="inverse_sqrt"
        The factor of the learning rate over time: "inverse_sqrt" rises linearly to 1 and falls with
        the root of the step; else as in `neural.train`.
    beam_width : int, default=1
        How many beginnings of an answer `predict` keeps; with 1 it takes the best symbol each time.
    length_penalty : float, default=0.6
        The power :math:`\alpha`: answers are compared by
        :math:`\log p(y \mid x) / ((5 + T) / 6)^\alpha`, T with the end.
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
    Sources and targets are lists of sequences of symbols of any kinds and lengths. In training all
    symbols of a target are predicted at once, each from the true ones before it; an end symbol
    closes every target, and `predict` stops at it. Padding is not looked at, so that an answer does
    not depend on the others of a batch. The decoder keeps keys and values, of the source once and
    of the target as it grows: a symbol costs :math:`O(P + L d (S + T))`. A search ends when no
    beginning can become better than the best answer that has ended. The tables of sources and
    targets and the last layer are three; the paper shares one among them.

    References
    ----------
    Vaswani, A. et al. (2017). Attention is all you need. Advances in Neural Information Processing
    Systems 30. https://arxiv.org/abs/1706.03762

    Wu, Y. et al. (2016). Google's neural machine translation system: bridging the gap between human
    and machine translation. https://arxiv.org/abs/1609.08144

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.transformer import Seq2Seq
    >>> rng = np.random.default_rng(0)
    >>> words = [rng.choice(list("abc"), size=rng.integers(1, 4)) for _ in range(200)]
    >>> model = Seq2Seq(32, n_heads=2, dropout=0.0, n_layers=1, max_epochs=40, warmup=50,
    ...                 learning_rate=1e-2, random_state=0)
    >>> model = model.fit(words, [word[::-1] for word in words])
    >>> print(*model.predict(list("abb")))
    b b a
    >>> model.alignment([list("abb")])[0].shape  # of b, b, a and the end
    (4, 3)
    """

    width: Count = 64
    _: KW_ONLY
    n_layers: Count = 2
    n_heads: Count = 4
    hidden: Count | None = None
    dropout: BelowOne = 0.1
    norm_first: bool = False
    label_smoothing: BelowOne = 0.1
    warmup: Count = 100
    schedule: str | Callable = "inverse_sqrt"
    beam_width: Count = 1
    length_penalty: NonNegative[float] = 0.6
    symbols: np.ndarray | None = None
    learning_rate: Positive[float] = 3e-3
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
        Seq2Seq
            The model itself.
        """
        if y is None:
            raise ValueError("Seq2Seq requires y to be passed, but the target y is None")
        if self.width % self.n_heads or self.width % 2:
            raise ValueError(
                f"width={self.width} must be even and a multiple of n_heads={self.n_heads}"
            )
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
        changes: dict[str, Any] = {}
        if self.schedule == "inverse_sqrt":
            changes["schedule"] = functools.partial(inverse_root, warmup=self.warmup)
        data = (np.flatnonzero(weight > 0),)
        self._learn(self._initial(rng), objective, data, rng, **changes)
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
            scores = module(*sources(index), wanted)
            there = within(lengths, wanted.shape[1])
            each = weights[index.cpu()].to(scores)[:, None].expand(there.shape)
            smoothing = self.label_smoothing if module.training else 0.0
            losses = F.cross_entropy(
                scores[there], wanted[there], reduction="none", label_smoothing=smoothing
            )
            return losses, each[there]

        return objective

    def _build(self) -> nn.Module:
        n_sources, n_targets = len(self.symbols_), len(self.target_symbols_)
        return EncoderDecoder(
            *(n_sources, n_targets, self.width, self.n_heads, self.hidden or 4 * self.width),
            self.n_layers,
            dropout=self.dropout,
            norm_before=self.norm_first,
        )

    def _sources(self, X: Any) -> tuple[Ragged, int, bool]:
        self._require_fitted()
        source, single = _sequences.read(self, X, "symbols", reset=False)
        codes = _sequences.coded(source, self.symbols_, "symbols")
        return Ragged(codes.values, codes.offsets), len(codes), single

    def predict(self, X: Any) -> Any:
        """Give the target that the search finds best for each source.

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
                most, penalty = self.max_length_, self.length_penalty
                found += search(module, *batch, int(self.beam_width), most, penalty)
        answers = [self.target_symbols_[np.array(codes, dtype=int)] for codes in found]
        return answers[0] if single else answers

    def alignment(self, X: Any, y: Any = None) -> Any:
        """Give the weights with which step i of a target looks at step j of its source.

        Parameters
        ----------
        X : list of array-like of shape (S,)
            Sources, or a single one.
        y : list of array-like of shape (T,), default=None
            Their targets; by default those that are predicted.

        Returns
        -------
        list of ndarray of shape (T + 1, S)
            The mean over the heads of the last layer. Rows sum to one; the last is that of the end.
            For a single source the array alone.
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
                aims = torch.tensor(codes[None], device=device)
                found.append(module.alignment(*batch, aims)[0].cpu().numpy())
        return found[0] if single else found

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


def inverse_root(step: Any, warmup: int) -> Any:
    r"""The schedule of the paper, :math:`\sqrt w \min(k^{-1/2}, k w^{-3/2})`, which reaches 1."""
    k = np.asarray(step) + 1.0
    return np.minimum(np.sqrt(warmup / k), k / warmup)
