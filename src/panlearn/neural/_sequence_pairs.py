"""What estimators share that read a sequence of symbols and write another."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.parameters import BelowOne, Count, Positive
from panlearn.core.random import generator
from panlearn.core.sequences import read_sequences
from panlearn.core.sources import SequenceRows, Sequences
from panlearn.neural import _sequences
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._recurrence import Ragged, within

_ROWS = 256  # sources of a batch when nothing is learned


class _Learned:
    """What `fit` sets; here, and not among the fields."""

    symbols_: np.ndarray
    target_symbols_: np.ndarray
    max_length_: int
    tokenizer_: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class SequencePairs(DeepEstimator, _Learned):
    """A network from sequences of symbols to sequences of symbols; abstract.

    Its module takes padded sources, their lengths and padded targets. Targets are codes 0, ...,
    n - 1; n stands for the end, and for the beginning.

    Parameters
    ----------
    label_smoothing : float, default=0.0
        The share of the target that is spread over all symbols, below one.
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
    history_ : dict of {str: list}
        The mean loss of a symbol in each epoch, and more.
    """

    label_smoothing: BelowOne = 0.0
    beam_width: Count = 1
    symbols: np.ndarray | None = None
    clip_norm: Positive[float] | None = 1.0

    @abstractmethod
    def _checked(self) -> dict[str, Any]:
        """Refuse shapes that no module has; give the settings of the run that fields do not."""

    @abstractmethod
    def _scores(self, module: Any, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """Score every symbol of targets given those before it, shape (n, T, n_targets + 1)."""

    @abstractmethod
    def _looks(self, module: Any, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """Say which step of a target looks at which of its source, shape (n, T, S)."""

    @abstractmethod
    def _search(self, module: Any, source: Tensor, lengths: Tensor) -> list[list[int]]:
        """Find the targets, without their ends."""

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
        object
            The model itself.
        """
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        changes = self._checked()
        source, single = _sequences.read(self, self._ids(X), "symbols", reset=True)
        y = self._ids(y, framed=False)
        target = _targets(self, [y] if single else y)
        if len(source) != len(target):
            raise ValueError(f"X holds {len(source)} sources and y {len(target)} targets")
        weight = _sequences.read_weights(sample_weight, len(source))
        if not (self.warm_start and "weights_" in vars(self)):
            self.symbols_ = _sequences.symbols(source, self.symbols, "symbols")
            self.target_symbols_ = _sequences.symbols(target, None, "y")
            self.max_length_ = 2 * int(target.lengths.max()) + 10
        objective = self._objective(
            _sequences.coded(source, self.symbols_, "symbols"), self._closed(target), weight
        )
        rng = generator(self.random_state)
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

        def objective(module: nn.Module, batch: Any, step: Any) -> Any:
            (index,) = batch
            wanted, lengths = targets(index, step)
            scores = self._scores(module, *sources(index, step), wanted)
            there = within(lengths, wanted.shape[1])
            each = weights[index.cpu()].to(scores)[:, None].expand(there.shape)
            smoothing = self.label_smoothing if module.training else 0.0
            losses = F.cross_entropy(
                scores[there], wanted[there], reduction="none", label_smoothing=smoothing
            )
            return losses, each[there]

        return objective

    def _ids(self, X: Any, *, framed: bool = True) -> Any:
        """Numbers of tokens in the place of texts, if there is a tokenizer."""
        if self.tokenizer_ is None or not _are_texts(X):
            return X
        texts = [X] if isinstance(X, str) else list(X)
        ids = self.tokenizer_.encode_batch(texts, add_special_tokens=framed)
        return ids[0] if isinstance(X, str) else ids

    def _sources(self, X: Any) -> tuple[Ragged, int, bool]:
        self._require_fitted()
        source, single = _sequences.read(self, self._ids(X), "symbols", reset=False)
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
            Symbols of targets; for a single source the array alone. If a tokenizer was read, texts
            for texts.
        """
        answers, single = self._answers(X)
        if self.tokenizer_ is not None and _are_texts(X):
            known = self.tokenizer_.n_tokens
            answers = [
                self.tokenizer_.decode(ids[ids < known], skip_special_tokens=True)
                for ids in answers
            ]
        return answers[0] if single else answers

    def _answers(self, X: Any) -> tuple[list[Any], bool]:
        """The symbols of the best targets, and whether there is one source alone."""
        sources, n, single = self._sources(X)
        module, found = self.module_, []
        device = next(module.parameters()).device
        with torch.inference_mode():
            for index in torch.arange(n).split(_ROWS):
                found += self._search(module, *sources(index.to(device)))
        return [self.target_symbols_[np.array(codes, dtype=int)] for codes in found], single

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
            Rows sum to one; the last is that of the end. Where there are several heads it is their
            mean in the last layer. For a single source the array alone.
        """
        sources, n, single = self._sources(X)
        if y is None:
            answers, _ = self._answers(X)
        else:
            y = self._ids(y, framed=False)
            answers = [y] if single else list(y)
        if len(answers) != n:
            raise ValueError(f"X holds {n} sources and y {len(answers)} targets")
        module, found = self.module_, []
        device = next(module.parameters()).device
        with torch.inference_mode():
            for i, answer in enumerate(answers):
                codes = np.array([len(self.target_symbols_)])
                if len(answer):
                    codes = self._closed(_targets(self, [answer])).values
                batch = sources(torch.tensor([i], device=device))
                aims = torch.tensor(codes[None], device=device)
                found.append(self._looks(module, *batch, aims)[0].cpu().numpy())
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


def _are_texts(X: Any) -> bool:
    """Whether sources or targets are texts, or one is."""
    return isinstance(X, str) or (
        isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(text, str) for text in X)
    )


def _targets(estimator: Any, y: Any) -> Sequences:
    """Sequences of symbols that are to come out; an error says that they are targets."""
    try:
        rows = read_sequences(estimator, list(y), kind="symbols", reset=False)
        assert isinstance(rows, SequenceRows)
        _sequences.check_symbols(rows.X.values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the targets y: {str(error).replace('X holds', 'y holds')}") from error
    return rows.X
