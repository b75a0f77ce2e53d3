"""What models of documents share: one document is one sample."""

from __future__ import annotations

from typing import Any

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import Estimator
from panlearn.core.sources import Batches, is_dask
from panlearn.text._documents import Tokens, tokenize


class TextModel(Estimator):
    """A model that learns from documents, strings or lists of tokens.

    A subclass has a field ``tokenizer``. Cross-validation splits a list of documents, and a weight
    belongs to a document. scikit-learn's checks of estimators feed rows of numbers, so that the
    tag ``two_d_array`` is off; what holds instead is tested by the library's own checks.
    """

    capabilities = Capabilities(sources=ANYWHERE, any_order=True)

    tokenizer: Any

    def _read(self, X: Any) -> Tokens:
        """New documents for a fitted model, cut into words."""
        self._require_fitted()
        reject_parts(X)
        return tokenize(X, self.tokenizer)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def reject_parts(X: Any) -> None:
    """Refuse documents that do not come in one list."""
    if is_dask(X) or isinstance(X, Batches):
        raise ValueError(
            f"X is a {type(X).__name__}; map this method over its parts, which are lists"
        )
