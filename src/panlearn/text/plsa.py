"""Probabilistic latent semantic analysis by EM."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.em import expectation_maximisation
from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.progress import Iterative
from panlearn.core.random import generator
from panlearn.core.sources import Batches, Block, StreamRows
from panlearn.text._documents import Tokenizer, WordTokenizer
from panlearn.text._topic_counts import TopicCounts, fold_in_shares
from panlearn.text._topics import Corpus, TopicModel, Topics


@dataclass(eq=False, repr=False)
class PLSA(Iterative, TopicModel):
    r"""Counts of words in documents as a mixture of topics, each a law of words.

    .. math::
        P(d, w) = \sum_k P(k) P(d \mid k) P(w \mid k) = P(d) \sum_k P(k \mid d) P(w \mid k),
        \qquad \max \sum_{d, w} n_{dw} \log P(w \mid d)

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    max_iter : int, default=200
        The most iterations of EM.
    tol : float, default=1e-3
        EM ends when the mean log-likelihood of a document rises by less.
    min_df : int, default=1
        Words that fewer documents have are left out.
    tokenizer : WordTokenizer or callable, default=WordTokenizer()
        Cuts a text into words.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the topics at the start.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_words)
        The topics :math:`P(w \mid k)`; each row sums to one.
    words_ : ndarray of shape (n_words,)
        The words of the columns.
    weights_ : ndarray of shape (n_components,)
        The probabilities :math:`P(k)`.
    doc_topic_ : ndarray of shape (n_documents, n_components)
        The shares :math:`P(k \mid d)` of the training documents.
    n_iter_ : int
        Iterations that were run.
    converged_ : bool
        Whether the tolerance was reached.
    history_ : dict
        ``log_likelihood`` (mean of a document) and ``change`` of each iteration.
    n_features_in_ : int
        Number of columns, if X was a matrix.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if it had names.

    Notes
    -----
    An iteration costs :math:`O(m k)` for m counts that are not zero and k topics; the likelihood
    never falls. Documents begin with equal shares of topics that are drawn from the flat Dirichlet
    law, so that their order does not matter. Counts need not be whole. There is no prior: shares of
    new documents are folded in, which maximises their own likelihood with the topics held, and so
    are `score` and `perplexity`: they flatter. `LatentDirichletAllocation` averages over the
    shares.

    References
    ----------
    T. Hofmann (2001). Unsupervised learning by probabilistic latent semantic analysis. Machine
    Learning 42. doi:10.1023/A:1007617005950

    Examples
    --------
    >>> from panlearn.text import PLSA
    >>> model = PLSA(2, random_state=0).fit(["apple pear plum", "ship wave port"] * 5)
    >>> sorted(sorted(words) for words in model.top_words(3))
    [['apple', 'pear', 'plum'], ['port', 'ship', 'wave']]
    >>> model.transform(["pear plum"]).max().round(3)
    np.float64(1.0)
    """

    learned = shapes(
        words_="(n_words,)",
        components_="(n_components, n_words)",
        weights_="(n_components,)",
        doc_topic_="(n_documents, n_components)",
    )

    n_components: Topics = 10
    _: KW_ONLY
    max_iter: Positive[int] = 200
    tol: NonNegative[float] = 1e-3
    min_df: Positive[int] = 1
    tokenizer: Tokenizer = WordTokenizer()
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the topics.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches, Dask bag, or matrix of counts
            The documents; or a matrix with one row a document and one column a word, dense, sparse
            or a data frame. Their counts are held in memory.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights; an integer weight is a repeated document.

        Returns
        -------
        PLSA
            The model itself.
        """
        corpus = self._learn_words(X, sample_weight)
        if corpus.weight is not None and corpus.weight.min() < 1e-200 * corpus.weight.max():
            raise ValueError(
                f"sample_weight is from {corpus.weight.min():g} to {corpus.weight.max():g}, too "
                "wide for the floats: words of the lightest documents would have no probability; "
                "leave these documents out"
            )
        (n, n_words), k = corpus.counts.shape, self.n_components
        words = generator(self.random_state).dirichlet(np.ones(n_words), k).T
        start = np.ascontiguousarray(words), np.full((n, k), 1 / k)
        words, shares = expectation_maximisation(
            self,
            _blocks(corpus),
            start,
            expect=lambda at, X, y, weight: TopicCounts.of(X, y, weight, *at),
            maximise=lambda at, seen: _laws(seen),
            max_iter=self.max_iter,
            tol=self.tol,
            attributes=lambda at: self._attributes(corpus, *at),
        )
        for name, value in self._attributes(corpus, words, shares).items():
            setattr(self, name, value)
        return self

    @staticmethod
    def _attributes(corpus: Corpus, words: np.ndarray, shares: np.ndarray) -> dict[str, Any]:
        tokens = np.asarray(corpus.counts.sum(axis=1)).ravel()
        tokens = tokens if corpus.weight is None else tokens * corpus.weight
        components = np.ascontiguousarray(words.T)
        weights = tokens @ shares / tokens.sum()
        return {"components_": components, "doc_topic_": shares, "weights_": weights}

    def transform(self, X: Any) -> np.ndarray:
        """Give the shares of the topics in new documents, folded in.

        Parameters
        ----------
        X : iterable of str or of list of str, or matrix of counts
            The documents. Words that the model does not know are left out; without any all shares
            are equal.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
        """
        return self._shares(self._new(X))

    def _shares(self, corpus: Corpus) -> np.ndarray:
        counts, k = corpus.counts, len(self.components_)
        shares = np.full((counts.shape[0], k), 1 / k)
        words = np.ascontiguousarray(self.components_.T)
        fold_in_shares(counts.indptr, counts.indices, counts.data, words, 1000, 1e-6, shares)
        return shares

    def _log_likelihood(self, X: Any) -> tuple[float, Corpus]:
        corpus = self._new(X)
        words = np.ascontiguousarray(self.components_.T)
        seen = TopicCounts.of(corpus.counts, 0, None, words, self._shares(corpus))
        return seen.log_likelihood, corpus

    def score(self, X: Any, y: Any = None) -> float:
        """Give the mean log-likelihood of new documents with folded-in shares.

        Parameters
        ----------
        X : iterable of str or of list of str, or matrix of counts
            The documents.
        y : object, default=None
            Ignored.

        Returns
        -------
        float
        """
        value, corpus = self._log_likelihood(X)
        return value / corpus.counts.shape[0]

    def perplexity(self, X: Any) -> float:
        """Give the perplexity of new documents with folded-in shares.

        Parameters
        ----------
        X : iterable of str or of list of str, or matrix of counts
            The documents. Words that the model does not know are left out.

        Returns
        -------
        float
        """
        value, corpus = self._log_likelihood(X)
        if not corpus.counts.nnz:
            raise ValueError("no document has a word that the model knows: no perplexity")
        return float(np.exp(-value / corpus.counts.sum()))


def _blocks(corpus: Corpus) -> StreamRows:
    """Documents in blocks, so large that adding up is cheap; y is the number of the first."""
    n, n_words = corpus.counts.shape
    step, blocks = max(256, n_words), []
    for start in range(0, n, step):
        part = slice(start, start + step)
        weight = None if corpus.weight is None else corpus.weight[part]
        blocks.append(Block(corpus.counts[part], start, weight))
    return StreamRows(Batches(lambda: blocks), blocks[0], iter(()), lambda block: block)


def _laws(seen: TopicCounts) -> tuple[np.ndarray, np.ndarray]:
    """Expected counts as P(w | k) and P(k | d); a document without words has equal shares."""
    words = seen.words / np.maximum(seen.words.sum(axis=0), np.finfo(float).tiny)
    total = seen.documents.sum(axis=1, keepdims=True)
    equal = np.full_like(seen.documents, 1 / seen.documents.shape[1])
    return words, np.divide(seen.documents, total, out=equal, where=total > 0)
