"""Classes of documents by the mean of the vectors of their words and n-grams."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from panlearn.core.estimator import fitting
from panlearn.core.interrupts import passes
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Bounds, Count, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.softmax import SoftmaxClassifier
from panlearn.text._base import TextModel
from panlearn.text._documents import Tokenizer, Tokens, WordTokenizer, collect, read_documents
from panlearn.text._fasttext_kernels import assemble, classify_epoch, hashes, subwords
from panlearn.text._words import as_objects

Length = Annotated[int, Bounds(0, 100, closed_low=True, closed_high=True)]
Order = Annotated[int, Bounds(1, 100, closed_low=True, closed_high=True)]
Buckets = Annotated[int, Bounds(1, 2**31, closed_low=True)]


@dataclass(eq=False, repr=False)
class FastTextClassifier(SoftmaxClassifier, TextModel):
    r"""A linear classifier of low rank on a bag of words and n-grams.

    .. math::
        p(y \mid \text{document}) = \operatorname{softmax}(W h)_y, \qquad
        h = \frac{1}{|F|} \sum_{f \in F} z_f, \qquad
        \min_{W, Z} \; - \sum_n \omega_n \log p(y_n \mid \text{document}_n)

    where F are the words of a document and, if wanted, the n-grams of their characters and the
    n-grams of words.

    Parameters
    ----------
    dim : int, default=100
        The length of the vectors, which bounds the rank of the classifier.
    lr : float, default=0.5
        The learning rate at the start; it falls linearly to zero.
    epoch : int, default=25
        Passes over the documents. For millions of them the 5 passes at a rate of 0.1 that fastText
        makes are enough; a thousand would not be learned.
    min_count : int, default=1
        Words that occur less often are left out; their n-grams are not.
    minn : int, default=0
        The shortest n-grams of characters.
    maxn : int, default=0
        The longest n-grams of characters, of a word between the marks < and >; 0 for none.
    word_ngrams : int, default=1
        The longest n-grams of words; 1 for words alone, whose order is then of no matter.
    bucket : int, default=2000000
        The number of values that n-grams are hashed to; only those that occur need memory.
    tokenizer : WordTokenizer or callable, default=WordTokenizer()
        How a text is cut into words.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the first vectors and the order of the documents.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    words_ : ndarray of shape (n_words,)
        The words that have a vector, the most frequent first.
    buckets_ : ndarray of shape (n_buckets,)
        The hashes of n-grams that have a vector, sorted.
    vectors_ : ndarray of shape (n_words + n_buckets, dim)
        The vectors z of words, then of n-grams, in float32.
    class_vectors_ : ndarray of shape (n_classes, dim)
        The matrix W.
    history_ : dict
        ``loss`` of each epoch: the weighted mean of minus the logarithms of the probabilities, as
        met before each step, summed in float64.

    Notes
    -----
    Stochastic gradient steps, one a document, in :math:`O((|F| + C) d)` for C classes, on one
    thread. Documents that are the same, with the same label, are one document with the sum of their
    weights, which takes that many steps, relative to the mean; the order of the steps is drawn for
    the sorted documents. So neither the order of the documents nor the source matters, and an
    integer weight is a repeated document. n-grams are hashed as fastText hashes them. One that was
    not met in training is left out of the mean, where fastText would take a random vector. A
    document without any known feature has even probabilities.

    References
    ----------
    A. Joulin, E. Grave, P. Bojanowski and T. Mikolov (2017). Bag of tricks for efficient text
    classification. EACL. arXiv:1607.01759

    P. Bojanowski, E. Grave, A. Joulin and T. Mikolov (2017). Enriching word vectors with subword
    information. TACL 5. doi:10.1162/tacl_a_00051

    Examples
    --------
    >>> from panlearn.text import FastTextClassifier
    >>> texts = ["wind and waves", "the ship sails", "leaves and roots", "a tall tree"]
    >>> model = FastTextClassifier(10, lr=1.0, epoch=50, minn=3, maxn=5, random_state=0)
    >>> model.fit(texts, ["sea", "sea", "wood", "wood"]).predict(["sailing ships", "treetops"])
    array(['sea', 'wood'], dtype='<U4')
    """

    learned = shapes(
        words_="(n_words,)",
        buckets_="(n_buckets,)",
        vectors_="(n_words + n_buckets, dim)",
        class_vectors_="(n_classes, dim)",
    )

    dim: Count = 100
    _: KW_ONLY
    lr: Positive[float] = 0.5
    epoch: Count = 25
    min_count: Positive[int] = 1
    minn: Length = 0
    maxn: Length = 0
    word_ngrams: Order = 1
    bucket: Buckets = 2_000_000
    tokenizer: Tokenizer = WordTokenizer()
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents and their labels.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            Documents, texts or lists of tokens; of a stream or a bag, their numbers are gathered.
        y : array-like of shape (n_documents,)
            The label of each: strings, numbers or booleans.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights; an integer weight is a repeated document.

        Returns
        -------
        FastTextClassifier
            The model itself.
        """
        if 0 < self.maxn < self.minn:
            raise ValueError(f"minn={self.minn} is above maxn={self.maxn}")
        rows = read_documents(self, X, y, sample_weight, tokenizer=self.tokenizer)
        tokens, labels, weight = collect(rows)
        if not len(tokens):
            raise ValueError("there is no document, so nothing to learn from")
        if labels is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but y is None")
        labels = column_or_1d(np.array(labels) if len(labels) else np.zeros(0))
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class only, {self.classes_.tolist()}: nothing to tell")
        weight = np.ones(len(tokens)) if weight is None else weight.astype(float)
        self._learn_features(tokens, weight)
        self._learn(*_distinct(*self._features(tokens), codes, weight))
        return self

    def _learn_features(self, tokens: Tokens, weight: np.ndarray) -> None:
        """Which words are frequent enough, and which buckets occur at all."""
        each = np.repeat(weight, tokens.lengths)
        counts = np.bincount(tokens.ids, each, minlength=len(tokens.words)).tolist()
        known = sorted((-n, w) for n, w in zip(counts, tokens.words, strict=True))
        self.words_ = as_objects([word for n, word in known if -n >= self.min_count])
        raw = self._hashed(tokens)[0]
        self.buckets_ = np.unique(raw[raw >= len(self.words_)]) - len(self.words_)
        if not len(self.words_) and not len(self.buckets_):
            raise ValueError(
                f"nothing to learn from: no word occurs {self.min_count} times; lower min_count "
                "or give a tokenizer that finds more words: the usual one wants two letters"
            )

    def _hashed(self, tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
        """The features of documents: the numbers of words, then all buckets."""
        encoded = [f"<{word}>".encode("utf-8", "surrogatepass") for word in tokens.words]
        text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        ends = np.concatenate([[0], np.cumsum([len(e) for e in encoded], dtype=np.int64)])
        minn = max(self.minn, 1)
        parts, part_ends = subwords(text, ends, minn, self.maxn, self.bucket)
        index = {word: i for i, word in enumerate(self.words_)}
        number = np.array([index.get(word, -1) for word in tokens.words], dtype=np.int64)
        return assemble(
            tokens.ids,
            tokens.offsets,
            number,
            parts,
            part_ends,
            hashes(text, ends),
            self.word_ngrams,
            self.bucket,
            len(self.words_),
        )

    def _features(self, tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the vectors of each document, and offsets; what has no vector is left out."""
        raw, offsets = self._hashed(tokens)
        n_words = len(self.words_)
        place = np.searchsorted(self.buckets_, raw - n_words)
        there = np.append(self.buckets_, -1)[place] == raw - n_words
        row = np.where(raw < n_words, raw, np.where(there, n_words + place, -1))
        kept = np.concatenate([[0], np.cumsum(row >= 0)])
        return row[row >= 0].astype(np.uint32), kept[offsets]

    def _learn(
        self, features: np.ndarray, offsets: np.ndarray, codes: np.ndarray, weight: np.ndarray
    ) -> None:
        shape = (len(self.words_) + len(self.buckets_), self.dim)
        require_memory(shape, "the matrix of vectors", "lower bucket or raise min_count", 4)
        rng, losses = generator(self.random_state), []
        vectors = (rng.random(shape, dtype=np.float32) - np.float32(0.5)) * np.float32(2 / self.dim)
        outputs = np.zeros((len(self.classes_), self.dim), dtype=np.float32)
        memory = np.empty_like(vectors[0]), np.empty_like(vectors[0]), np.empty(len(outputs))
        weight = weight * (len(weight) / weight.sum())
        for e in passes(self, self.epoch):
            order = rng.permutation(len(codes))
            done = (np.cumsum(weight[order]) - weight[order]) / len(weight)
            rates = self.lr * (1 - (e + done) / self.epoch)
            total = classify_epoch(
                *(features, offsets, codes, weight, order, rates, vectors, outputs, *memory)
            )
            losses.append(total / len(weight))
            if not np.isfinite(losses[-1]):
                raise ValueError("the vectors grew beyond the floats; lower lr")
        self.vectors_, self.class_vectors_ = vectors, outputs
        self.history_ = {"loss": losses}

    def _scores(self, X: Any) -> np.ndarray:
        features, offsets = self._features(self._read(X))
        shape = (len(offsets) - 1, len(self.vectors_))
        bags = sparse.csr_array((np.ones(len(features)), features, offsets), shape=shape)
        means = (bags @ self.vectors_) / np.maximum(np.diff(offsets), 1)[:, None]
        return means @ self.class_vectors_.T.astype(float)


def _distinct(
    features: np.ndarray, offsets: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The different pairs of a document and its label, sorted, with the sums of their weights."""
    total: dict[tuple[bytes, int], float] = {}
    for i, code in enumerate(codes.tolist()):
        key = features[offsets[i] : offsets[i + 1]].tobytes(), code
        total[key] = total.get(key, 0.0) + float(weight[i])
    keys = sorted(total)
    documents = [np.frombuffer(ids, dtype=np.uint32) for ids, _ in keys]
    ends = np.concatenate([[0], np.cumsum([len(d) for d in documents], dtype=np.int64)])
    labels = np.array([code for _, code in keys], dtype=np.int64)
    return np.concatenate(documents), ends, labels, np.array([total[k] for k in keys])
