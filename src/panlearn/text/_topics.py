"""What topic models share: documents or counts in, words and coherence of the topics out."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, validate_data

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Bounds
from panlearn.core.sources import is_dask
from panlearn.core.validation import reject_hidden
from panlearn.text._base import TextModel
from panlearn.text._documents import Tokens, collect, read_documents
from panlearn.text._scan import document_frequencies
from panlearn.text._topic_kernels import together
from panlearn.text._words import as_objects

Topics = Annotated[int, Bounds(1, 10**6, closed_low=True, closed_high=True)]
"""How many topics there may be."""


class Corpus(NamedTuple):
    """Documents in a fixed vocabulary: a matrix of counts, and the tokens if they have an order."""

    counts: sparse.csr_array
    weight: np.ndarray | None
    ids: Any = None
    offsets: Any = None


class TopicModel(TransformerMixin, ClassNamePrefixFeaturesOutMixin, TextModel):
    """A model whose topics are laws of words, the rows of ``components_``.

    It learns from documents, or from a matrix of counts with one column a word, and then wants the
    same of new data. ``words_`` names the columns.
    """

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, sparse=True)

    n_components: int
    min_df: int
    components_: np.ndarray
    words_: np.ndarray

    def top_words(self, n_words: int = 10) -> list[list[str]]:
        """Give the most probable words of each topic.

        Parameters
        ----------
        n_words : int, default=10
            How many of each.

        Returns
        -------
        list of list of str
        """
        self._require_fitted()
        return [self.words_[top].tolist() for top in self._top(n_words)]

    def coherence(
        self, X: Any, measure: Literal["npmi", "umass"] = "npmi", *, n_words: int = 10
    ) -> np.ndarray:
        r"""Say how much the top words of each topic occur in the same documents.

        The mean over pairs of words i before j of

        .. math::
            \text{npmi} = \frac{\log (p_{ij} / p_i p_j)}{-\log p_{ij}}, \qquad
            \text{umass} = \log \frac{D_{ij} + 1}{D_i}

        for :math:`D_{ij}` of D documents with both words and :math:`p = D_{ij} / D`. A pair that
        never meets has npmi -1; one with a word that no document has, the least of both measures.

        Parameters
        ----------
        X : iterable of documents, or matrix of counts
            The reference: the training data, or other documents.
        measure : {"npmi", "umass"}, default="npmi"
            What to average.
        n_words : int, default=10
            How many of the most probable words.

        Returns
        -------
        ndarray of shape (n_components,)
        """
        if measure not in ("npmi", "umass"):
            raise ValueError(f"measure must be 'npmi' or 'umass'; got {measure!r}")
        if n_words < 2:
            raise ValueError(f"n_words must be 2 at least, for there to be a pair; got {n_words}")
        self._require_fitted()
        corpus, tops = self._new(X), self._top(n_words)
        chosen = np.unique(tops)
        place = np.full(len(self.words_), -1)
        place[chosen] = np.arange(len(chosen))
        alone, both = together(corpus.counts.indices, corpus.counts.indptr, place, len(chosen))
        n = corpus.counts.shape[0]
        if n == 0:
            raise ValueError("there is no document, so words cannot meet")
        later, earlier = np.tril_indices(tops.shape[1], -1)
        values = np.empty(len(tops))
        for k, top in enumerate(place[tops]):
            i, j = top[earlier], top[later]
            met, first, second = both[i, j], alone[i], alone[j]
            if measure == "umass":
                value = np.log((met + 1) / np.maximum(first, 1))
                value[(first == 0) | (second == 0)] = -np.log(n)
            else:
                some = np.where(met > 0, met, 1)
                surprise = -np.log(some / n)
                gain = np.log(np.maximum(some * n, 1) / np.maximum(first * second, 1))
                # two words that are in every document say nothing of each other
                value = np.divide(gain, surprise, out=np.zeros_like(gain), where=surprise > 0)
                value[met == 0] = -1.0
            values[k] = value.mean() if len(value) else 0.0
        return values

    def _top(self, n_words: int) -> np.ndarray:
        """Columns of the most probable words, of equal ones the first."""
        return np.argsort(-self.components_, axis=1, kind="stable")[:, :n_words]

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _learn_words(self, X: Any, sample_weight: Any = None) -> Corpus:
        """Read what is to be learned from, and name its words."""
        if is_counts(X):
            corpus = self._read_counts(X, sample_weight, reset=True)
            names = getattr(self, "feature_names_in_", None)
            self.words_ = as_objects(
                [f"x{i}" for i in range(corpus.counts.shape[1])] if names is None else names
            )
        else:
            block = collect(read_documents(self, X, None, sample_weight, tokenizer=self.tokenizer))
            tokens: Tokens = block.X
            if self.min_df > 1:
                frequency = document_frequencies(tokens.ids, tokens.offsets, len(tokens.words))
                tokens = tokens.keep(frequency >= min(self.min_df, len(tokens) + 1))
            order = np.array(
                sorted(range(len(tokens.words)), key=tokens.words.__getitem__), dtype=np.int64
            )
            self.words_ = as_objects([tokens.words[i] for i in order])
            number = np.empty(len(order), dtype=np.int32)
            number[order] = np.arange(len(order), dtype=np.int32)
            corpus = of_tokens(number[tokens.ids], tokens.offsets, len(order), block.weight)
        if not corpus.counts.nnz:
            raise ValueError(
                "there is no word in X, so there is nothing to learn from; look at the tokenizer "
                "and its stop words, and at min_df"
            )
        shape = (corpus.counts.shape[0] + len(self.words_), self.n_components)
        require_memory(shape, "the tables of topics", "lower n_components")
        return corpus

    def _new(self, X: Any) -> Corpus:
        """Read new data; words that were not there when the model was fitted are left out."""
        self._require_fitted()
        if is_counts(X):
            if not hasattr(self, "n_features_in_") and X.shape[1] != len(self.words_):
                raise ValueError(
                    f"X has {X.shape[1]} columns and the model {len(self.words_)} words; give "
                    "documents, or a matrix with a column a word"
                )
            return self._read_counts(X, None, reset=False)
        if hasattr(self, "n_features_in_") and not hasattr(self, "feature_names_in_"):
            raise ValueError(
                f"this {type(self).__name__} was fitted on a matrix of counts and does not know "
                "the words; give it a matrix, or fit on documents or a data frame"
            )
        tokens = self._read(X)
        index = {word: i for i, word in enumerate(self.words_.tolist())}
        number = np.array([index.get(word, -1) for word in tokens.words], dtype=np.int32)
        known = tokens.keep(number >= 0)
        return of_tokens(number[number >= 0][known.ids], known.offsets, len(self.words_), None)

    def _read_counts(self, X: Any, sample_weight: Any, *, reset: bool) -> Corpus:
        reject_hidden(X=X)
        values = X if sparse.issparse(X) else np.asarray(X)
        if values.dtype.kind not in "biuf":
            raise ValueError(
                f"X is a table of {values.dtype}; give a list of documents, or a matrix of counts"
            )
        if reset or hasattr(self, "n_features_in_"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        counts = sparse.csr_array(values, dtype=float, copy=True)
        counts.sum_duplicates()
        counts.eliminate_zeros()
        if not np.isfinite(counts.data).all():
            raise ValueError("X contains NaN or infinity, and a count is neither")
        if (counts.data < 0).any():
            raise ValueError("Negative values in data: X holds counts, which are zero or more")
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, counts, ensure_non_negative=True)
            kept = np.flatnonzero(weight)
            counts, weight = counts[kept], weight[kept]
        if not counts.shape[0]:
            raise ValueError("there is no document (of a weight above zero) in X")
        return Corpus(counts, weight)


def is_counts(X: Any) -> bool:
    """Whether X is a matrix of numbers, and no list of documents."""
    if is_dask(X):
        return False
    return sparse.issparse(X) or hasattr(X, "columns") or getattr(X, "ndim", 1) == 2


def of_tokens(
    ids: np.ndarray, offsets: np.ndarray, n_words: int, weight: np.ndarray | None
) -> Corpus:
    """The counts of the words of each document, beside the tokens."""
    shape = (len(offsets) - 1, n_words)
    counts = sparse.csr_array((np.ones(len(ids)), ids, offsets), shape=shape, copy=True)
    counts.sum_duplicates()
    return Corpus(counts, weight, ids, offsets)
