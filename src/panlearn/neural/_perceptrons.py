"""What the two multilayer perceptrons share: rows read and scaled, training, partial training."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.validation import validate_data
from torch import nn

from panlearn.core.capabilities import Capabilities
from panlearn.core.memory import available
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import FLOATS, Targets, read_rows
from panlearn.neural._estimator import DeepEstimator, to_arrays, to_tensors
from panlearn.neural._layers import MLP
from panlearn.neural._moves import Objective
from panlearn.neural._scaling import ScaledRows, moments, sparse_moments


class MultilayerPerceptron(DeepEstimator):
    """A fully connected network that predicts from rows of numbers; abstract."""

    capabilities = Capabilities(sparse=True)

    hidden_layer_sizes: Any
    activation: Any
    dropout: float
    normalization: Any
    initialization: Any
    standardize: bool
    history_: dict[str, list[float]]
    optimizer_state_: dict[str, Any]
    mean_: np.ndarray
    scale_: np.ndarray
    n_outputs_: int
    multilabel_: bool
    classes_: np.ndarray
    target_mean_: np.ndarray
    target_scale_: np.ndarray
    n_features_in_: int

    @abstractmethod
    def _objective(self) -> Objective:
        """The loss of rows with their targets."""

    @property
    def coefs_(self) -> list[np.ndarray]:
        """The matrix of each layer, of shape (n_in, n_out) as in scikit-learn."""
        return [w.T for name, w in self.weights_.items() if w.ndim == 2 and "weight" in name]

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """The biases of each layer."""
        matrices = [n for n, w in self.weights_.items() if w.ndim == 2 and "weight" in n]
        return [self.weights_[name.replace("weight", "bias")] for name in matrices]

    def _sizes(self) -> tuple[int, ...]:
        hidden = self.hidden_layer_sizes
        hidden = (hidden,) if isinstance(hidden, int | np.integer) else tuple(hidden)
        if not all(isinstance(h, int | np.integer) and h > 0 for h in hidden):
            raise ValueError(
                f"hidden_layer_sizes={self.hidden_layer_sizes!r} must be an int above zero, or a "
                "tuple of them"
            )
        sizes = (self.n_features_in_, *map(int, hidden), self.n_outputs_)
        weights = sum(a * b for a, b in itertools.pairwise(sizes))
        if 32 * weights > available():  # with their gradients and the optimiser's two averages
            raise ValueError(
                f"a network with hidden_layer_sizes={self.hidden_layer_sizes!r} has more weights "
                "than the free memory can train; make them smaller"
            )
        return sizes

    def _build(self) -> nn.Module:
        module = MLP(
            self._sizes(),
            self.activation,
            dropout=self.dropout,
            normalization=self.normalization,
            initialization=self.initialization,
        )
        return module.to(torch.float32 if self.mean_.dtype == np.float32 else torch.float64)

    def _read(self, X: Any, y: Any, sample_weight: Any, targets: Targets, first: bool) -> ArrayRows:
        rows = read_rows(self, X, y, sample_weight, targets=targets, reset=first)
        assert isinstance(rows, ArrayRows)  # no other source is declared
        rows.reject_non_finite()
        if rows.weight is not None and rows.y is not None:
            there = rows.weight > 0
            rows = ArrayRows(rows.X[there], rows.y[there], rows.weight[there])
        return rows

    def _scale(self, rows: ArrayRows) -> None:
        """Learn the mean and the standard deviation of each feature; 1 where it is constant."""
        if self.warm_start and "mean_" in vars(self):  # the weights are for rows of that scale
            return
        d = rows.X.shape[1]
        self.mean_, self.scale_ = np.zeros(d, rows.dtype), np.ones(d, rows.dtype)
        if self.standardize:
            measure = sparse_moments if sparse.issparse(rows.X) else moments
            mean, scale = measure(rows.X, rows.weight)
            self.mean_, self.scale_ = mean.astype(rows.dtype), scale.astype(rows.dtype)

    def _train(self, rows: ArrayRows, targets: np.ndarray, strata: Any) -> Self:
        """Fit from new weights, with a part held out if there is patience."""
        rng = generator(self.random_state)
        self._scale(rows)
        data = self._columns(rows, targets)
        self._learn(
            self._initial(rng),
            self._objective(),
            data,
            rng,
            rows=rows,
            strata=strata,
            batch_size=self._batch_size(rows.X.shape[0]),
        )
        return self

    def _train_more(self, rows: ArrayRows, targets: np.ndarray, first: bool) -> Self:
        """One epoch over new rows, from where the last call left weights and optimiser."""
        steps = 0 if first else getattr(self, "n_steps_", 0)
        state, history, n_iter = None, {}, 0
        if isinstance(self.random_state, int | np.integer):  # so that a saved model goes on alike
            rng = np.random.default_rng((int(self.random_state), steps))
        else:
            rng = generator(self.random_state)
        if first:
            self._scale(rows)
            module = self._initial(rng)
        else:
            module = self._with_weights()
            history, n_iter = self.history_, self.n_iter_
            if hasattr(self, "optimizer_state_"):
                state = to_tensors(self.optimizer_state_)
        run = self._learn(
            module,
            self._objective(),
            self._columns(rows, targets),
            rng,
            rows=rows,
            max_epochs=1,
            batch_size=self._batch_size(rows.X.shape[0]),
            schedule="constant",
            optimizer_state=state,
            whole=True,
        )
        self.n_iter_ += n_iter
        self.history_ = {
            name: history.get(name, []) + values for name, values in self.history_.items()
        }
        self.n_steps_ = steps + run.step
        self.optimizer_state_ = to_arrays(run.players[""].optimizer.state_dict())
        return self

    def _columns(self, rows: ArrayRows, targets: np.ndarray) -> tuple[np.ndarray, ...]:
        weights = () if rows.weight is None else (rows.weight,)
        return (self._scaled(rows.X), targets, *weights)

    def _scaled(self, X: Any) -> Any:
        """Rows as the network wants them; sparse ones become so a batch at a time."""
        if sparse.issparse(X):
            return ScaledRows(X, self.mean_, self.scale_)
        return (X - self.mean_) / self.scale_

    def _batch_size(self, n: int) -> int:
        """At most n, and no batch of one row where its variance is divided by."""
        n -= round(self._held_fraction * n)
        size = min(self.batch_size, max(n, 1))
        if self.normalization == "batch":
            if n == 1:
                raise ValueError("normalization='batch' needs two rows or more")
            while n % size == 1:
                size += 1
        return size

    def _predicted(self, X: Any) -> np.ndarray:
        """The outputs of the network for rows, (n, n_outputs)."""
        self._require_fitted()
        X = validate_data(self, X, reset=False, dtype=FLOATS, accept_sparse="csr")
        return self._outputs(self._scaled(X.astype(self.mean_.dtype, copy=False)))
