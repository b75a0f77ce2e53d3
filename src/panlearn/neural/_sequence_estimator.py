"""What estimators of whole sequences share, whatever network reads them.

A network is a module whose ``last(inputs, lengths)`` gives the outputs for a padded batch, and to
which what stands behind the end of a sequence makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array
from torch import nn
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.parameters import BelowOne, Count, Positive
from panlearn.core.random import generator
from panlearn.core.sequences import Kind
from panlearn.core.softmax import SoftmaxClassifier
from panlearn.core.sources import ArrayRows, Sequences
from panlearn.neural import _sequences
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._recurrence import Ragged
from panlearn.neural._scaling import moments

_ROWS, _STEPS = 256, 1 << 18  # sequences of a batch, and steps of it, when nothing is learned


class _Learned:
    """What `fit` sets; here, and not among the fields."""

    kind_: Kind
    symbols_: np.ndarray
    mean_: np.ndarray
    scale_: np.ndarray
    n_outputs_: int
    n_features_in_: int
    classes_: np.ndarray
    target_mean_: np.ndarray
    target_scale_: np.ndarray


@dataclass(eq=False, repr=False, kw_only=True)
class SequenceEstimator(DeepEstimator, _Learned):
    """A network over sequences of vectors or of symbols; abstract.

    Parameters
    ----------
    embedding_size : int, default=16
        Numbers that stand for a symbol, if the steps are symbols.
    dropout : float, default=0.0
        The share of states that are left out in training, below one.
    symbols : array-like or None, default=None
        The symbols that may come; those of the training sequences if not given.

    Attributes
    ----------
    kind_ : {"vectors", "symbols"}
        What the steps are.
    symbols_ : ndarray of shape (n_symbols,)
        The symbols, if the steps are symbols.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        Mean and deviation of the vectors, if the steps are vectors; these are centred and scaled.
    module_ : torch.nn.Module
        The network.
    n_features_in_ : int
        Numbers in a vector.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the sequences were frames.
    """

    embedding_size: Count = 16
    dropout: BelowOne = 0.0
    symbols: np.ndarray | None = None
    clip_norm: Positive[float] | None = 1.0

    @property
    def _n_symbols(self) -> int:
        """How many symbols there are, zero if the steps are vectors."""
        return len(self.symbols_) if self.kind_ == "symbols" else 0

    def _begin(self, X: Any, sample_weight: Any) -> tuple[Sequences, np.ndarray, bool]:
        """Read training sequences and their weights; learn symbols, or how vectors are scaled."""
        self.kind_ = _sequences.kind_of(X)
        sequences, single = _sequences.read(self, X, self.kind_, reset=True)
        weight = _sequences.read_weights(sample_weight, len(sequences))
        known = self.warm_start and "weights_" in vars(self)
        if self.kind_ == "symbols" and not known:
            self.symbols_ = _sequences.symbols(sequences, self.symbols, "symbols")
        elif not known:
            values = sequences.values
            mean, scale = moments(values, np.repeat(weight, sequences.lengths))
            self.mean_, self.scale_ = mean.astype(values.dtype), scale.astype(values.dtype)
        return sequences, weight, single

    def _train(
        self,
        objective: Callable[..., Any],
        index: np.ndarray,
        strata: Any = None,
        rows: Any = None,
    ) -> Self:
        """Learn from the sequences of these numbers; callbacks may ask for the rows."""
        if not len(index):
            raise ValueError("sample_weight leaves no sequence with a step to learn")
        rng = generator(self.random_state)
        self._learn(self._initial(rng), objective, (index,), rng, strata=strata, rows=rows)
        return self

    def _inputs(self, X: Sequences) -> Sequences:
        if self.kind_ == "symbols":
            return _sequences.coded(X, self.symbols_, "symbols")
        scaled = (X.values - self.mean_) / self.scale_
        return Sequences(np.asarray(scaled, dtype=np.float32), X.offsets)

    def _read_new(self, X: Any) -> tuple[Sequences, bool]:
        """Sequences that are like those of fit, and whether X was a single one."""
        self._require_fitted()
        if _sequences.kind_of(X) != self.kind_:
            raise ValueError(f"X must hold sequences of {self.kind_}, as those of fit did")
        return _sequences.read(self, X, self.kind_, reset=False)

    def _read_out(
        self, sequences: Sequences, output: Callable[[Any, torch.Tensor, torch.Tensor], Any]
    ) -> np.ndarray:
        """What `output` makes of the module and batches of padded sequences with lengths."""
        inputs, module = self._inputs(sequences), self.module_
        ragged = Ragged(inputs.values, inputs.offsets)
        device = next(module.parameters()).device
        n_rows = max(1, min(_ROWS, _STEPS // int(inputs.lengths.max())))
        with torch.inference_mode():
            parts = [
                output(module, *ragged(rows.to(device)))
                for rows in torch.arange(len(inputs)).split(n_rows)
            ]
        dtype = sequences.values.dtype if self.kind_ == "vectors" else np.dtype(float)
        return torch.cat(parts).cpu().numpy().astype(dtype)

    def _scores(self, X: Any) -> np.ndarray:
        """What the network gives for each sequence, (n_sequences, n_outputs)."""
        sequences, _ = self._read_new(X)
        return self._read_out(sequences, lambda module, *batch: module.last(*batch))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class SequenceClassifier(SoftmaxClassifier, SequenceEstimator):
    """A network that gives each sequence a label; abstract.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_outputs_ : int
        Scores of the network, one a label.
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
        object
            The classifier itself.
        """
        sequences, weight, single = self._begin(X, sample_weight)
        labels, whole = _sequences.read_labels(y, sequences, single)
        if not whole:
            raise ValueError(
                "y holds a label a step, which neural.RecurrentTagger learns; give one a sequence"
            )
        self.classes_, self.n_outputs_ = labels.classes, len(labels.classes)
        objective = _objective(self._inputs(sequences), labels.codes, weight, _cross_entropy)
        index = np.flatnonzero(weight > 0)
        rows = ArrayRows(X, labels.classes[labels.codes], weight)
        return self._train(objective, index, strata=labels.codes[index], rows=rows)


@dataclass(eq=False, repr=False, kw_only=True)
class SequenceRegressor(RegressorMixin, SequenceEstimator):
    """A network that gives each sequence a number, or several; abstract.

    Attributes
    ----------
    target_mean_, target_scale_ : ndarray of shape () or (n_targets,)
        Mean and deviation of the targets, by which they are scaled as well.
    n_outputs_ : int
        Targets of a sequence.
    """

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from sequences and their targets.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences of vectors or of symbols, of any lengths.
        y : array-like of shape (n_sequences,) or (n_sequences, n_targets)
            A number a sequence, or several.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences.

        Returns
        -------
        object
            The regressor itself.
        """
        sequences, weight, single = self._begin(X, sample_weight)
        targets = check_array(
            np.reshape(y, (1, -1)) if single and np.ndim(y) < 2 else y,
            ensure_2d=False,
            dtype=np.float64,
            input_name="y",
        )
        if single and targets.size == 1:
            targets = targets.reshape(1)
        if len(targets) != len(sequences):
            raise ValueError(f"X holds {len(sequences)} sequences and y {len(targets)} targets")
        self._scale_targets(targets, weight)
        flat = ((targets - self.target_mean_) / self.target_scale_).reshape(len(targets), -1)
        aims = flat.astype(np.float32)
        objective = _objective(self._inputs(sequences), aims, weight, _half_square)
        rows = ArrayRows(X, targets, weight)
        return self._train(objective, np.flatnonzero(weight > 0), rows=rows)

    def _scale_targets(self, targets: np.ndarray, weight: np.ndarray) -> None:
        if self.warm_start and "target_mean_" in vars(self):
            if targets.shape[1:] != self.target_mean_.shape:
                raise ValueError(
                    f"y has shape {targets.shape}; the model knows {self.n_outputs_} targets"
                )
            return
        mean, scale = moments(targets.reshape(len(targets), -1), weight)
        shape = targets.shape[1:]  # a number for y of one dimension
        self.target_mean_, self.target_scale_ = mean.reshape(shape), scale.reshape(shape)
        self.n_outputs_ = len(mean)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each sequence.

        Parameters
        ----------
        X : list of array-like of shape (T, d) or (T,)
            Sequences, or a single one.

        Returns
        -------
        ndarray of shape (n_sequences,) or (n_sequences, n_targets)
        """
        outputs = self._scores(X)
        outputs = outputs.reshape(len(outputs), *self.target_mean_.shape)
        found = outputs * self.target_scale_ + self.target_mean_
        return found.astype(outputs.dtype)


def _cross_entropy(scores: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(scores, codes, reduction="none")


def _half_square(outputs: torch.Tensor, aims: torch.Tensor) -> torch.Tensor:
    return torch.square(outputs - aims).sum(1) / 2


def _objective(inputs: Sequences, aims: np.ndarray, weight: np.ndarray, loss: Any) -> Any:
    """The losses of the sequences of a batch, given by their numbers."""
    sequences = Ragged(inputs.values, inputs.offsets)
    targets, weights = torch.from_numpy(aims), torch.from_numpy(weight)

    def objective(module: nn.Module, batch: Any, step: Any) -> Any:
        (index,) = batch
        outputs = module.last(*sequences(index, step))  # type: ignore[operator]
        losses = loss(outputs, targets[index.cpu()].to(outputs.device))
        return losses, weights[index.cpu()].to(losses)

    return objective
