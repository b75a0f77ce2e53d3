"""Documents as vectors: how often a term occurs here, against how often anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.preprocessing import normalize

from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.mergeable import Mergeable
from panlearn.core.parameters import Bounds, Fraction, Positive
from panlearn.core.sources import Batches, Rows, StreamRows
from panlearn.text._analysis import Accents, Analysis, Analyzer, StopWords
from panlearn.text._base import TextModel, reject_parts
from panlearn.text._documents import Tokenizer, as_list, read_texts
from panlearn.text._grams import TermCounts, Terms
from panlearn.text._term_matrix import TermFrequency, places, select, term_frequency

InverseFrequency = Literal["smooth", "plain", "probabilistic", "none"]


@dataclass(eq=False, repr=False)
class TfidfVectorizer(TransformerMixin, Mergeable, TextModel):
    r"""Documents as sparse vectors of term frequency times inverse document frequency.

    .. math::
        x_{dt} \propto \mathrm{tf}(f_{dt}) \, \mathrm{idf}(n_t), \qquad
        \mathrm{idf}(n_t) = \log \frac{1 + N}{1 + n_t} + 1

    for :math:`f_{dt}` occurrences of term t in document d, and :math:`n_t` of N documents that hold
    the term; each vector is scaled to length one.

    Parameters
    ----------
    strip_accents : {"ascii", "unicode"}, callable or None, default=None
        Whether letters lose their accents first: by a table of ASCII, which drops other letters, or
        for all letters of Unicode.
    lowercase : bool, default=True
        Whether a text is put in lower case first.
    preprocessor : callable or None, default=None
        What is done to a text first, in place of the two above.
    tokenizer : WordTokenizer, callable or None, default=None
        How a text is cut into words; None for a `WordTokenizer` of `lowercase`, `token_pattern`
        and `stop_words`. One that is given says itself what is put in lower case.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        What a term is made of: words; characters; characters of one word, with a blank at either
        end of it; or what a function gives for a document.
    stop_words : "english", list of str or None, default=None
        Words that are left out of texts: scikit-learn's list, or these.
    token_pattern : str or None, default=r"(?u)\b\w\w+\b"
        What a word is, if no tokenizer is given.
    ngram_range : tuple of int, default=(1, 1)
        The least and the most words, or characters, of a term.
    min_df : int or float, default=1
        The documents that must hold a term: their number, or their share if it is a float.
    max_df : int or float, default=1.0
        The documents that may hold a term: their number, or their share if it is a float.
    max_features : int or None, default=None
        Keep the terms that occur most; of two that occur as often, the first in order.
    vocabulary : mapping, iterable of str or None, default=None
        The terms, in the order of their columns, or with their columns. The three parameters above
        do not apply to it.
    binary : bool, default=False
        Whether a term that occurs counts once.
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
    use_idf : bool, default=True
        False is short for ``idf="none"``.
    smooth_idf : bool, default=True
        False is short for ``idf="plain"``.
    sublinear_tf : bool, default=False
        True is short for ``tf="sublinear"``.

    Attributes
    ----------
    idf_ : ndarray of shape (n_features,)
        The weight of each term.
    vocabulary_ : dict
        The column of each term.
    fixed_vocabulary_ : bool
        Whether `vocabulary` was given.
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
    the augmented form would give it one half. Documents that hold no known term become zero. A fit
    costs :math:`O(N + V \log V)` for N terms in all, V of them distinct.

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

    learned = shapes(
        idf_="(n_terms,)",
        columns_="(n_terms,)",
    )

    _: KW_ONLY
    strip_accents: Accents = None
    lowercase: bool = True
    preprocessor: Callable[[str], str] | None = None
    tokenizer: Tokenizer | None = None
    analyzer: Analyzer = "word"
    stop_words: StopWords = None
    token_pattern: str | None = r"(?u)\b\w\w+\b"
    ngram_range: tuple[int, int] = (1, 1)
    min_df: Positive[int] | Fraction[float] = 1
    max_df: Positive[int] | Fraction[float] = 1.0
    max_features: Positive[int] | None = None
    vocabulary: Mapping | Set | np.ndarray | None = None
    binary: bool = False
    tf: TermFrequency = "raw"
    idf: InverseFrequency = "smooth"
    idf_offset: Annotated[float, Bounds()] = 1.0
    base: Annotated[float, Bounds(1)] | None = None
    norm: Literal["l1", "l2"] | None = "l2"
    use_idf: bool = True
    smooth_idf: bool = True
    sublinear_tf: bool = False

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
        rows, analysis = self._read_training(X, None, None, reset=True), Analysis.of(self)
        if not isinstance(rows, StreamRows) or isinstance(X, Batches):
            raise ValueError(
                "X does not come in a list; call fit with it, then transform its parts"
            )
        terms = Terms.of(rows.first.X, *analysis.span)
        return self._take(TermCounts.of(terms), rows)._vectors(terms)

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
        self._require_fitted()
        reject_parts(X)
        analysis = Analysis.of(self)
        return self._vectors(Terms.of(analysis.tokens(as_list(X)), *analysis.span))

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
        return self.statistic_.names(self.columns_, Analysis.of(self).between)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each term."""
        return {term: i for i, term in enumerate(self.get_feature_names_out().tolist())}

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        if self.sublinear_tf and self.tf not in ("raw", "sublinear"):
            raise ValueError(f"sublinear_tf=True and tf={self.tf!r} exclude each other")
        span: Any = self.ngram_range
        whole = len(span) == 2 and all(isinstance(n, Integral) for n in span)
        if not (whole and 1 <= span[0] <= span[1]):
            raise ValueError(
                f"ngram_range must be the least and the most words of a term, such as (1, 2); got "
                f"{span}"
            )
        return read_texts(self, X, None, sample_weight, convert=Analysis.of(self).tokens)

    def _summarise(self, rows: Rows) -> TermCounts:
        least, most = Analysis.of(self).span
        return map_reduce(
            lambda X, y, weight: TermCounts.of(Terms.of(X, least, most), weight), rows
        )

    def _solve(self, statistic: TermCounts, rows: Rows) -> None:
        """Choose the terms, and weigh them by their document frequencies."""
        if self.vocabulary is not None:
            self._set_fitted(*places(statistic, self.vocabulary, Analysis.of(self)))
        else:
            self._set_fitted(statistic, self._chosen(statistic))

    def _chosen(self, seen: TermCounts) -> np.ndarray:
        """The terms that the limits on document frequencies leave."""
        frequency = seen.document_frequency
        least, most = (
            float(min(share, 1 << 62)) if isinstance(share, Integral) else share * seen.weight
            for share in (self.min_df, self.max_df)
        )
        if isinstance(self.min_df, Integral) and self.min_df == 1:
            least = 0.0  # whatever occurs, also in a document of a weight below one
        if not isinstance(self.max_df, Integral) and self.max_df == 1:
            most = np.inf  # all, whichever way the weights are rounded when they are added up
        if most < least:
            raise ValueError(f"max_df is below min_df: {most:g} documents against {least:g}")
        columns = np.flatnonzero((frequency >= least) & (frequency <= most))
        if self.max_features is not None:
            count = frequency if self.binary else seen.count
            by_count = np.argsort(-count[columns], kind="stable")
            columns = np.sort(columns[by_count[: self.max_features]])
        if not len(columns):
            raise ValueError(
                f"no term is left of {len(frequency)}: the documents hold no word that tokenizer "
                "finds, or min_df and max_df leave none"
            )
        return columns

    def _set_fitted(self, seen: TermCounts, columns: np.ndarray) -> None:
        self.statistic_ = seen
        self.columns_ = columns
        self.idf_ = self._inverse_frequency(seen.document_frequency[columns], seen.weight)
        self.fixed_vocabulary_ = self.vocabulary is not None

    def _inverse_frequency(self, n: np.ndarray, N: float) -> np.ndarray:
        form = self.idf if self.smooth_idf or self.idf != "smooth" else "plain"
        if form == "none" or not self.use_idf:
            return np.ones(len(n))
        if form == "plain" and not n.all():
            raise ValueError(
                "a term of the vocabulary is in no document, so that its inverse document "
                "frequency is infinite; set smooth_idf=True or use_idf=False"
            )
        odds = {
            "plain": lambda: N / n,
            "smooth": lambda: (1 + N) / (1 + n),
            "probabilistic": lambda: (N - n + 0.5) / (n + 0.5),
        }[form]()
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
            X = select(X, column, len(self.columns_))
        if self.binary:
            X.data[:] = 1
        form = "sublinear" if self.sublinear_tf else self.tf
        X.data = term_frequency(X, form, self._unit) * self.idf_[X.indices]
        return normalize(X, self.norm, copy=False) if self.norm and X.shape[0] else X
