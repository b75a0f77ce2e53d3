"""What models of sequences share: one sequence is one sample."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import DensityMixin

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import Estimator
from panlearn.core.sequences import Kind, as_list, read_sequences
from panlearn.core.sources import SequenceRows, Sequences, is_dask


class SequenceModel(DensityMixin, Estimator):
    """A density of sequences, of vectors or of symbols.

    Cross-validation splits a list of sequences, a weight belongs to a sequence, and a single
    sequence gives what a list of one gives. scikit-learn's checks of estimators feed rows, so
    that the tag ``two_d_array`` is off; what holds instead is tested by the library's own checks.
    """

    capabilities = Capabilities(sources=ANYWHERE, any_order=True)

    _kind: ClassVar[Kind]

    def _read(self, X: Any) -> tuple[Sequences, bool]:
        """New sequences for a fitted model, and whether X was a single one."""
        kind = self._kind
        self._require_fitted()
        if is_dask(X):
            raise ValueError("X is a Dask bag; compute it, or map this method over its partitions")
        rows = read_sequences(self, X, kind=kind, reset=False)
        if not isinstance(rows, SequenceRows):
            raise ValueError("X is a stream; give the sequences of one batch after the other")
        return rows.X, as_list(X, kind)[1]

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, lengths: Any = None
    ) -> float:
        """Give the mean log-likelihood of sequences.

        Parameters
        ----------
        X : array-like, or list of them
            One sequence, or several of any lengths.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences in the mean.
        lengths : array-like of int, default=None
            The lengths of sequences that X has one below the other.

        Returns
        -------
        float
        """
        values: Any = self.score_samples(unstacked(X, lengths))
        return float(np.average(values, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.categorical = self._kind == "symbols"
        return tags


def unstacked(X: Any, lengths: Any) -> Any:
    """The sequences that X, or what belongs to its steps, has one below the other."""
    if lengths is None or X is None:
        return X
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not (sizes > 0).all():
        raise ValueError(f"lengths must be positive whole numbers; got {lengths!r}")
    if sizes.sum() != len(X):
        raise ValueError(f"lengths sum to {sizes.sum()}, and X has {len(X)} steps")
    ends = np.cumsum(sizes)
    rows = X.iloc if hasattr(X, "iloc") else X
    if getattr(X, "ndim", 0) == 2 and X.dtype.kind not in "fc" and X.shape[1] == 1:
        rows = X[:, 0]  # symbols in a column
    return [rows[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def in_shape(flat: np.ndarray, X: Sequences, single: bool) -> Any:
    """What was computed for every step, as X came: an array for one sequence, else a list."""
    return flat if single else np.split(flat, X.offsets[1:-1])
