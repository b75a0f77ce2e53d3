"""Documents as vectors: how often a term occurs here, against how often anywhere."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.preprocessing import normalize

from panlearn.core.estimator import fitting
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import Bounds, Fraction, Positive
from panlearn.core.sources import Batches, Rows, StreamRows
from panlearn.text._base import TextModel
from panlearn.text._documents import Tokenizer, WordTokenizer, read_documents
from panlearn.text._grams import TermCounts, Terms

TermFrequency = Literal["raw", "relative", "boolean", "log", "sublinear", "augmented"]
InverseFrequency = Literal["smooth", "plain", "probabilistic", "none"]


@dataclass(eq=False, repr=False)
class TfidfVectorizer(TransformerMixin, TextModel):
    r"""Documents as sparse vectors of term frequency times inverse document frequency.

    .. math::
        x_{dt} \propto \mathrm{tf}(f_{dt}) \, \mathrm{idf}(n_t), \qquad
        \mathrm{idf}(n_t) = \log \frac{1 + N}{1 + n_t} + 1

    for :math:`f_{dt}` occurrences of term t in document d, and :math:`n_t` of N documents that hold
    the term; each vector is scaled to length one.

    Parameters
    ----------
    tokenizer : WordTokenizer or callable, default=WordTokenizer()
        How a text is cut into words; it also says what is put in lower case and which words are
        left out.
    ngram_range : tuple of int, default=(1, 1)
        The least and the most words of a term.
    min_df : int or float, default=1
        The documents that must hold a term: their number, or their share if it is a float.
    max_df : int or float, default=1.0
        The documents that may hold a term: their number, or their share if it is a float.
    max_features : int or None, default=None
        Keep the terms that occur most; of two that occur as often, the first in order.
    tf : {"raw", "relative", "boolean", "log", "sublinear", "augmented"}, default="raw"
        The frequency of a term in a document: :math:`f`, :math:`f / \sum_s f_s`, 1 if it occurs,
        :math:`\log(1 + f)`, :math:`1 + \log f`, or :math:`\frac12 + \frac12 f / \max_s f_s`.
    idf : {"smooth", "plain", "probabilistic", "none"}, default="smooth"
        The inverse document frequency: :math:`\log \frac{1 + N}{1 + n}`, :math:`\log \frac N n`,
        :math:`\log \frac{N - n + 1/2}{n + 1/2}`, each with `idf_offset` added; or 1.
    idf_offset : float, default=1.0
        Added to the logarithm, so that a term of every document still counts. The textbook has 0.
    base : float or None, default=None
        The base of all logarithms; e if not given.
    norm : {"l1", "l2"} or None, default="l2"
        What is made one in each vector; with None they are as they come.

    Attributes
    ----------
    idf_ : ndarray of shape (n_features,)
        The weight of each term.
    columns_ : ndarray of shape (n_features,)
        The terms that are features, as places in `statistic_`.
    statistic_ : TermCounts
        How often each term was seen, and in how many documents, from which `partial_fit` goes on.

    Notes
    -----
    Document frequencies are sums over documents: those of two parts add up to those of the whole,
    so a corpus is read once, in parts, from a stream or on a cluster. The defaults give the numbers
    of scikit-learn's class of this name, in the same order of columns. A term that does not occur
    in a document has weight zero in every form, which keeps the vectors sparse; taken to the letter
    the augmented form would give it one half. Documents that hold no known term become zero.

    References
    ----------
    G. Salton and C. Buckley (1988). Term-weighting approaches in automatic text retrieval.
    Information Processing & Management 24(5). doi:10.1016/0306-4573(88)90021-0

    K. Spärck Jones (1972). A statistical interpretation of term specificity and its application in
    retrieval. Journal of Documentation 28(1). doi:10.1108/eb026526

    Examples
    --------
    >>> from panlearn.text import TfidfVectorizer
    >>> vectorizer = TfidfVectorizer(tf="relative", idf="plain", idf_offset=0.0, norm=None)
    >>> X = vectorizer.fit_transform(["red red car", "green car"])
    >>> vectorizer.get_feature_names_out().tolist()
    ['car', 'green', 'red']
    >>> X.toarray().round(3)
    array([[0.   , 0.   , 0.462],
           [0.   , 0.347, 0.   ]])
    """

    _: KW_ONLY
    tokenizer: Tokenizer = WordTokenizer()
    ngram_range: tuple[int, int] = (1, 1)
    min_df: Positive[int] | Fraction[float] = 1
    max_df: Positive[int] | Fraction[float] = 1.0
    max_features: Positive[int] | None = None
    tf: TermFrequency = "raw"
    idf: InverseFrequency = "smooth"
    idf_offset: Annotated[float, Bounds()] = 1.0
    base: Annotated[float, Bounds(1)] | None = None
    norm: Literal["l1", "l2"] | None = "l2"

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the terms and their weights.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            The documents.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights; an integer weight is a repeated document.

        Returns
        -------
        TfidfVectorizer
            The vectorizer itself.
        """
        return self._learn(0, self._rows(X, sample_weight))

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further documents, which may bring further terms.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            The documents.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights; an integer weight is a repeated document.

        Returns
        -------
        TfidfVectorizer
            The vectorizer itself.
        """
        return self._learn(getattr(self, "statistic_", 0), self._rows(X, sample_weight))

    @fitting
    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_matrix:
        """Learn the terms and give the vectors of the same documents, which are cut once.

        Parameters
        ----------
        X : iterable of str or of list of str
            The documents.
        y : object, default=None
            Ignored.

        Returns
        -------
        csr_matrix of shape (n_documents, n_features)
        """
        rows = self._rows(X)
        if not isinstance(rows, StreamRows) or isinstance(X, Batches):
            raise ValueError(
                "X does not come in a list; call fit with it, then transform its parts"
            )
        terms = Terms.of(rows.first.X, *self.ngram_range)
        return self._solve(TermCounts.of(terms))._vectors(terms)

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Give the vectors of documents.

        Parameters
        ----------
        X : iterable of str or of list of str
            The documents.

        Returns
        -------
        csr_matrix of shape (n_documents, n_features)
        """
        return self._vectors(Terms.of(self._read(X), *self.ngram_range))

    def inverse_transform(self, X: Any) -> list[np.ndarray]:
        """Give the terms that vectors have, in order of columns.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            The vectors.

        Returns
        -------
        list of ndarray of object
        """
        names = self.get_feature_names_out()
        matrix = sparse.csr_matrix(X)
        if matrix.shape[1] != len(names):
            raise ValueError(f"X has {matrix.shape[1]} columns; there are {len(names)} features")
        matrix.eliminate_zeros()
        matrix.sort_indices()
        return [names[part] for part in np.split(matrix.indices, matrix.indptr[1:])[:-1]]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Give the term of each column, the words of an n-gram with blanks between.

        Parameters
        ----------
        input_features : object, default=None
            Ignored.

        Returns
        -------
        ndarray of object, shape (n_features,)
        """
        self._require_fitted()
        return self.statistic_.names(self.columns_)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each term."""
        return {term: i for i, term in enumerate(self.get_feature_names_out().tolist())}

    def _rows(self, X: Any, sample_weight: Any = None) -> Rows:
        span: Any = self.ngram_range
        whole = len(span) == 2 and all(isinstance(n, Integral) for n in span)
        if not (whole and 1 <= span[0] <= span[1]):
            raise ValueError(
                f"ngram_range must be the least and the most words of a term, such as (1, 2); got "
                f"{span}"
            )
        return read_documents(self, X, None, sample_weight, tokenizer=self.tokenizer)

    def _learn(self, seen: Any, rows: Rows) -> Self:
        least, most = self.ngram_range
        return self._solve(
            seen
            + map_reduce(lambda X, y, weight: TermCounts.of(Terms.of(X, least, most), weight), rows)
        )

    def _solve(self, seen: TermCounts) -> Self:
        """Choose the terms, and weigh them by their document frequencies."""
        frequency = seen.document_frequency
        least, most = (
            float(min(share, 1 << 62)) if isinstance(share, Integral) else share * seen.weight
            for share in (self.min_df, self.max_df)
        )
        if most < least:
            raise ValueError(f"max_df is below min_df: {most:g} documents against {least:g}")
        columns = np.flatnonzero((frequency >= least) & (frequency <= most))
        if self.max_features is not None:
            by_count = np.argsort(-seen.count[columns], kind="stable")
            columns = np.sort(columns[by_count[: self.max_features]])
        if not len(columns):
            raise ValueError(
                f"no term is left of {len(frequency)}: the documents hold no word that tokenizer "
                "finds, or min_df and max_df leave none"
            )
        self.statistic_, self.columns_ = seen, columns
        self.idf_ = self._inverse_frequency(frequency[columns], seen.weight)
        return self

    def _inverse_frequency(self, n: np.ndarray, N: float) -> np.ndarray:
        if self.idf == "none":
            return np.ones(len(n))
        odds = {
            "plain": lambda: N / n,
            "smooth": lambda: (1 + N) / (1 + n),
            "probabilistic": lambda: (N - n + 0.5) / (n + 0.5),
        }[self.idf]()
        return np.log(odds) / self._unit + self.idf_offset

    @property
    def _unit(self) -> float:
        return 1.0 if self.base is None else float(np.log(self.base))

    def _vectors(self, terms: Terms) -> sparse.csr_matrix:
        """Weigh the terms of documents that are features."""
        seen = self.statistic_
        column = np.full(len(seen.grams) + 1, -1)
        column[self.columns_] = np.arange(len(self.columns_))
        column = column[seen.find(terms)]  # of each term of these documents; -1 if of none
        counts = terms.counts.astype(float)
        X = sparse.csr_matrix(
            (counts, terms.indices, terms.indptr), shape=(len(terms.indptr) - 1, len(column))
        )
        if not np.array_equal(column, np.arange(len(self.columns_))):
            X = _select(X, column, len(self.columns_))
        X.data = term_frequency(X, self.tf, self._unit) * self.idf_[X.indices]
        return normalize(X, self.norm, copy=False) if self.norm and X.shape[0] else X


def _select(X: sparse.csr_matrix, column: np.ndarray, n_columns: int) -> sparse.csr_matrix:
    """Take column j to the place ``column[j]``, and leave it out if that is -1."""
    indices = column[X.indices]
    kept = indices >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    return sparse.csr_matrix((X.data[kept], indices[kept], ends), shape=(X.shape[0], n_columns))


def term_frequency(counts: sparse.csr_matrix, form: TermFrequency, unit: float = 1.0) -> np.ndarray:
    r"""The frequency of each term that a document has, by one of the forms; log b is `unit`."""
    f, lengths = counts.data.astype(float), np.diff(counts.indptr)
    if form == "relative":
        return f / np.repeat(counts.sum(axis=1).A1, lengths)
    if form == "boolean":
        return np.ones(len(f))
    if form == "log":
        return np.log1p(f) / unit
    if form == "sublinear":
        return 1 + np.log(f) / unit
    if form == "augmented":
        return 0.5 + 0.5 * f / np.repeat(counts.max(axis=1).toarray().ravel(), lengths)
    return f
