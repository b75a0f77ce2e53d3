"""What is solved from a sum over samples: the two ways to fit it, written once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.sources import Rows


class Mergeable(Estimator):
    r"""An estimator that is solved from a statistic of its samples; abstract.

    .. math:: \theta = \mathrm{solve}\Big(\sum_i s(x_i, y_i, w_i)\Big)

    A subclass reads samples, sums them up and solves. `fit` solves the sum over all samples,
    `partial_fit` that of those seen before and of these; ``statistic_`` keeps it.
    """

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact")

    statistic_: Any
    _kept_none_if: ClassVar[str] = ""  # when a fit kept no statistic, for the refusal to go on

    @abstractmethod
    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        """Samples of any source, checked; `reset` is False if the model has seen others."""

    @abstractmethod
    def _summarise(self, rows: Rows) -> Any:
        """Sum up the samples."""

    @abstractmethod
    def _solve(self, statistic: Any, rows: Rows) -> None:
        """Set what is learned from the sum over all samples; `rows` are the last of them."""

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix}, list, Batches or Dask collection
            The samples: rows of shape (n_samples, n_features); or sequences, a list of arrays; or
            documents, an iterable of str or of list of str. A Dask bag holds sequences or
            documents.
        y : array-like, default=None
            What is to be learned of each sample, if anything: a number or several, a label, a list
            of tags. With a stream it comes in the batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated sample.

        Returns
        -------
        self
            The model itself.
        """
        return self._fit(X, y, sample_weight)

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more data as if it had been there from the start.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
            The model itself.
        """
        rows, seen = self._read_more(X, y, sample_weight)
        return self._take(seen + self._summarise(rows), rows)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Learn from these samples alone."""
        rows = self._read_training(X, y, sample_weight, reset=True)
        return self._take(self._summarise(rows), rows)

    def _read_more(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Any]:
        """Read samples to go on with; with them comes the sum of those before, or 0."""
        first = not self.__sklearn_is_fitted__()
        if not first and "statistic_" not in vars(self):
            raise ValueError(
                f"this {type(self).__name__} kept no statistics to go on from: "
                f"{self._kept_none_if}; start a new one with partial_fit"
            )
        rows = self._read_training(X, y, sample_weight, reset=first)
        return rows, 0 if first else self.statistic_

    def _take(self, statistic: Any, rows: Rows) -> Self:
        self.statistic_ = statistic
        self._solve(statistic, rows)
        return self
