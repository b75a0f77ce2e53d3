"""Recurrent networks: a label for a sequence, a label for each step, or the next step."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from scipy.special import log_softmax
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from torch import nn
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.parameters import BelowOne, Count, NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.sources import Sequences
from panlearn.neural import _sequences
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._fields import Optimizer, Schedule
from panlearn.neural._recurrence import Ragged, Recurrent, within

_ROWS = 256  # sequences of a batch when nothing is learned


def _gives_labels(model: Any) -> bool:
    if hasattr(model, "target_") and not hasattr(model, "classes_"):
        raise AttributeError("it learned to predict the next vector, which has no probabilities")
    return True


@dataclass(eq=False, repr=False)
class RecurrentNetwork(DeepEstimator):
    r"""A state that reads a sequence step by step, and a linear read-out of it.

    .. math::
        h_t = f(x_t, h_{t-1}), \qquad
        \text{Elman: } f = \tanh(W x_t + U h_{t-1} + b), \qquad
        p(y_t \mid x_{1:t}) = \operatorname{softmax}(V h_t + c)

    Parameters
    ----------
    hidden_size : int, default=32
        Numbers in the state h.
    cell : {"lstm", "gru", "elman"}, default="lstm"
        The step f: long short-term memory, the gated recurrent unit, or the plain network.
    n_layers : int, default=1
        Recurrences, each of which reads the states of the one below it.
    embedding_size : int, default=16
        Numbers that stand for a symbol, if the steps are symbols.
    dropout : float, default=0.0
        The share of states that are left out in training, below one.
    truncation : int or None, default=None
        Through how many steps, at most, the gradient goes back; the state goes on. None for all.
    symbols : array-like or None, default=None
        The symbols that may come; those of the training sequences if not given.
    batch_size : int, default=32
        Sequences of a step.
    max_epochs : int, default=10
        Passes over the sequences.
    optimizer : str or callable, default="adamw"
        See `neural.train`.
    learning_rate : float, default=0.01
        The step length.
    schedule : str or callable, default="constant"
        The factor of the step length over time, see `neural.train`.
    weight_decay : float, default=0.0
        How strongly weights, not biases, are pulled towards zero.
    clip_norm : float or None, default=1.0
        The largest norm of a gradient: long products of slopes may explode.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the first weights, the order of the sequences and dropout.
    verbose : bool, default=False
        Whether to report progress.

    Attributes
    ----------
    target_ : {"sequence", "steps", "next"}
        What was learned: a label for each sequence, one for each step, or the next step.
    classes_ : ndarray of shape (n_classes,)
        The labels, or the symbols of which one is the next.
    symbols_ : ndarray of shape (n_symbols,)
        The symbols, if the steps are symbols.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        Mean and deviation of the vectors, if the steps are vectors; these are centred and scaled.
    weights_ : dict of {str: ndarray}
        The weights.
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
    X is a list of sequences of any lengths: arrays of shape (T, d), or lists of symbols. What is
    learned follows from y. With one label a sequence, the last state is read out and `predict`
    gives one label a sequence. With a list of labels a sequence, one a step, every state is, and
    `predict` gives lists. Without y the next step is learned: `predict` gives, after each step, the
    most probable next symbol, or the mean of the next vector, by least squares.

    A batch is padded to its longest sequence. A recurrence reads from left to right, so padding
    behind a sequence changes none of its states, and the loss takes its own steps alone: a batch
    gives what its sequences give one by one. Recurrent weights start orthogonal, and the forget
    gate of the LSTM open.

    References
    ----------
    J. L. Elman (1990). Finding structure in time. Cognitive Science 14(2).
    doi:10.1207/s15516709cog1402_1

    S. Hochreiter and J. Schmidhuber (1997). Long short-term memory. Neural Computation 9(8).
    doi:10.1162/neco.1997.9.8.1735

    K. Cho et al. (2014). Learning phrase representations using RNN encoder-decoder for statistical
    machine translation. EMNLP. doi:10.3115/v1/D14-1179

    R. J. Williams and J. Peng (1990). An efficient gradient-based algorithm for on-line training
    of recurrent network trajectories. Neural Computation 2(4). doi:10.1162/neco.1990.2.4.490

    Examples
    --------
    Does a word have more a than b? One label a sequence:

    >>> import numpy as np
    >>> from panlearn.neural import RecurrentNetwork
    >>> rng = np.random.default_rng(0)
    >>> words = [rng.choice(["a", "b"], size=rng.integers(1, 9)) for _ in range(200)]
    >>> more = [int((w == "a").sum() > (w == "b").sum()) for w in words]
    >>> model = RecurrentNetwork(16, random_state=0).fit(words, more)
    >>> model.predict([list("aab"), list("abbb"), list("aaaabb")])
    array([1, 0, 1])

    The next symbol, without y:

    >>> model = RecurrentNetwork(16, max_epochs=60, random_state=0).fit([list("abcabcab")])
    >>> print(*model.predict(list("abca")))
    b c a b
    """

    hidden_size: Count = 32
    _: KW_ONLY
    cell: Literal["lstm", "gru", "elman"] = "lstm"
    n_layers: Count = 1
    embedding_size: Count = 16
    dropout: BelowOne = 0.0
    truncation: Count | None = None
    symbols: np.ndarray | None = None
    batch_size: Count = 32
    max_epochs: Count = 10
    optimizer: Optimizer = "adamw"
    learning_rate: Positive[float] = 1e-2
    schedule: Schedule = "constant"
    weight_decay: NonNegative[float] = 0.0
    clip_norm: Positive[float] | None = 1.0
    random_state: RandomState = None
    verbose: bool = False

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences of vectors or of symbols, of any lengths; or a single one.
        y : list of labels or of lists of labels, default=None
            One label a sequence, or one a step; without it the next step is learned.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences.

        Returns
        -------
        RecurrentNetwork
            The network itself.
        """
        kind = _sequences.kind_of(X)
        sequences, single = _sequences.read(self, X, kind, reset=True)
        weight = _sequences.read_weights(sample_weight, len(sequences))
        labels = None
        if y is not None:
            labels, whole = _sequences.read_labels(y, sequences, single)
            self.target_ = "sequence" if whole else "steps"
        else:
            self.target_ = "next"
            if sequences.lengths.max() < 2:
                raise ValueError("without y the next step is learned, and no sequence has two")
        if kind == "symbols":
            self.symbols_ = _sequences.symbols(sequences, self.symbols, "symbols")
        else:
            values = sequences.values
            self.mean_, self.scale_ = values.mean(axis=0), values.std(axis=0)
            self.scale_ = np.where(self.scale_ > 0, self.scale_, 1).astype(values.dtype)
        if labels is not None:
            self.classes_ = labels.classes
        elif kind == "symbols":
            self.classes_ = self.symbols_
        inputs = self._inputs(sequences)
        index = np.flatnonzero((weight > 0) & (sequences.lengths > (self.target_ == "next")))
        if not len(index):
            raise ValueError("sample_weight leaves no sequence with a step to learn")
        rng = generator(self.random_state)
        module = self._initial(rng)
        self._learn(module, self._objective(inputs, labels, weight), (index,), rng)
        return self

    def _objective(self, inputs: Sequences, labels: Any, weight: np.ndarray) -> Any:
        """The losses of the sequences of a batch, given by their numbers."""
        sequences = Ragged(inputs.values, inputs.offsets)
        weights = torch.from_numpy(weight)
        if self.target_ == "sequence":
            codes = torch.from_numpy(labels.codes)

            def of_sequence(module: Any, batch: Any) -> Any:
                (index,) = batch
                scores = module.last(*sequences(index))
                losses = F.cross_entropy(scores, codes[index].to(scores.device), reduction="none")
                return losses, weights[index].to(losses)

            return of_sequence
        targets = sequences
        if self.target_ == "steps":
            targets = Ragged(labels.codes, inputs.offsets)

        def of_steps(module: nn.Module, batch: Any) -> Any:
            (index,) = batch
            steps, lengths = sequences(index)
            wanted, _ = targets(index)
            if self.target_ == "next":
                steps, wanted, lengths = steps[:, :-1], wanted[:, 1:], lengths - 1
            outputs, there = module(steps), within(lengths, steps.shape[1])
            each = weights[index].to(outputs)[:, None].expand(there.shape)[there]
            if hasattr(self, "classes_"):
                return F.cross_entropy(outputs[there], wanted[there], reduction="none"), each
            return ((outputs[there] - wanted[there]) ** 2).mean(dim=-1), each

        return of_steps

    def _inputs(self, X: Sequences) -> Sequences:
        if hasattr(self, "symbols_"):
            return _sequences.coded(X, self.symbols_, "symbols")
        scaled = (X.values - self.mean_) / self.scale_
        return Sequences(np.asarray(scaled, dtype=np.float32), X.offsets)

    def _build(self) -> nn.Module:
        n_symbols = len(self.symbols_) if hasattr(self, "symbols_") else 0
        n_inputs = self.embedding_size if n_symbols else self.n_features_in_
        n_outputs = len(self.classes_) if hasattr(self, "classes_") else self.n_features_in_
        return Recurrent(
            self.cell,
            n_inputs,
            self.hidden_size,
            self.n_layers,
            n_outputs,
            n_symbols=n_symbols,
            dropout=self.dropout,
            truncation=None if self.truncation is None else int(self.truncation),
        )

    def _read_out(self, X: Any) -> tuple[np.ndarray, Sequences, bool]:
        """The outputs for new sequences: (n, k) for labels of sequences, else of all steps."""
        self._require_fitted()
        kind = "symbols" if hasattr(self, "symbols_") else "vectors"
        if _sequences.kind_of(X) != kind:
            raise ValueError(f"X must hold sequences of {kind}, as those of fit did")
        sequences, single = _sequences.read(self, X, kind, reset=False)
        inputs, module = self._inputs(sequences), self.module_
        ragged, parts = Ragged(inputs.values, inputs.offsets), []
        device = next(module.parameters()).device
        with torch.inference_mode():
            for rows in torch.arange(len(inputs)).split(_ROWS):
                steps, lengths = ragged(rows.to(device))
                if self.target_ == "sequence":
                    parts.append(module.last(steps, lengths))  # type: ignore[operator]
                else:
                    parts.append(module(steps)[within(lengths, steps.shape[1])])
        outputs = torch.cat(parts).cpu().numpy()
        dtype = sequences.values.dtype if kind == "vectors" else np.dtype(float)
        return outputs.astype(dtype), sequences, single

    def _in_shape(self, values: np.ndarray, X: Sequences, single: bool) -> Any:
        if self.target_ == "sequence":
            return values
        return values if single else np.split(values, X.offsets[1:-1])

    @available_if(_gives_labels)
    def predict_log_proba(self, X: Any) -> Any:
        """Give the logarithms of the probabilities of the labels.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        ndarray of shape (n_sequences, n_classes), or list of ndarray of shape (T, n_classes)
            One row a sequence if there is a label for each, else one a step.
        """
        outputs, sequences, single = self._read_out(X)
        return self._in_shape(log_softmax(outputs, axis=1), sequences, single)

    @available_if(_gives_labels)
    def predict_proba(self, X: Any) -> Any:
        """Give the probabilities of the labels.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        ndarray of shape (n_sequences, n_classes), or list of ndarray of shape (T, n_classes)
            One row a sequence if there is a label for each, else one a step.
        """
        outputs, sequences, single = self._read_out(X)
        return self._in_shape(np.exp(log_softmax(outputs, axis=1)), sequences, single)

    def predict(self, X: Any) -> Any:
        """Give a label for each sequence, for each step, or what follows each step.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        ndarray of shape (n_sequences,), or list of ndarray of shape (T,) or (T, d)
            Labels of sequences; or, for each sequence, labels of its steps, the symbols that
            follow them, or the vectors that do. For a single sequence the array alone.
        """
        outputs, sequences, single = self._read_out(X)
        if hasattr(self, "classes_"):
            values = self.classes_[outputs.argmax(axis=1)]
        else:
            values = self.mean_ + self.scale_ * outputs
        return self._in_shape(values, sequences, single)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give the accuracy of labels, or of next symbols; of next vectors the R squared.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.
        y : list of labels or of lists of labels, default=None
            As in `fit`; it is not looked at if the next step was learned.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences.

        Returns
        -------
        float
        """
        self._require_fitted()
        found = self.predict(X)
        sequences, single = _sequences.read(self, X, _sequences.kind_of(X), reset=False)
        weight = _sequences.read_weights(sample_weight, len(sequences))
        if self.target_ == "sequence":
            return float(accuracy_score(y, found, sample_weight=weight))
        each = np.repeat(weight, sequences.lengths)
        found = np.concatenate([found] if single else found)
        if self.target_ == "steps":
            labels, _ = _sequences.read_labels(y, sequences, single)
            return float(accuracy_score(labels.classes[labels.codes], found, sample_weight=each))
        late = np.ones(len(found), dtype=bool)  # steps that another follows
        late[sequences.offsets[1:] - 1] = False
        true = sequences.values[np.flatnonzero(late) + 1]
        measure = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(measure(true, found[late], sample_weight=each[late]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags
