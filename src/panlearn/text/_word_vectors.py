"""What models of words as vectors share: neighbours, analogies, documents, and the text format."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from panlearn.core.learned import shapes
from panlearn.text._base import TextModel
from panlearn.text._documents import Tokens
from panlearn.text._vector_files import read_vectors, write_vectors
from panlearn.text._words import as_objects


class WordVectors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, TextModel):
    """A vector for each word.

    A subclass has the field ``vector_size``, and its fit sets ``words_`` and ``vectors_``.
    """

    learned = shapes(
        words_="(n_words,)",
        counts_="(n_words,)",
        vectors_="(n_words, vector_size)",
        context_vectors_="(n_words, vector_size)",
        word_factors_="(n_words, vector_size + 1)",
        context_factors_="(n_words, vector_size + 1)",
        eigenvalues_="(vector_size,)",
        signs_="(vector_size,)",
    )

    vector_size: int
    words_: np.ndarray
    vectors_: np.ndarray

    def vectors(self, words: Iterable[str]) -> np.ndarray:
        """Give the vectors of words.

        Parameters
        ----------
        words : iterable of str
            Words that were learned.

        Returns
        -------
        ndarray of shape (n_words, vector_size)
        """
        places = self._places(words)  # first: it says so if there is no vector yet
        return self.vectors_[places]

    def similarity(self, one: str, other: str) -> float:
        """Give the cosine of the angle between the vectors of two words.

        Parameters
        ----------
        one, other : str
            Words that were learned.

        Returns
        -------
        float
            From -1 to 1.
        """
        a, b = _unit(self.vectors([one, other]))
        return float(a @ b)

    def most_similar(
        self,
        positive: str | Iterable[str] = (),
        negative: str | Iterable[str] = (),
        topn: int = 10,
    ) -> list[tuple[str, float]]:
        """Find the words whose vectors point most nearly where a sum of vectors does.

        Parameters
        ----------
        positive : str or iterable of str, default=()
            Words whose vectors, of length one each, are added.
        negative : str or iterable of str, default=()
            Words whose vectors, of length one each, are subtracted.
        topn : int, default=10
            How many words to give.

        Returns
        -------
        list of (str, float)
            Words and cosines, the largest first; none of those that were given.
        """
        self._require_fitted()
        plus, minus = ([w] if isinstance(w, str) else list(w) for w in (positive, negative))
        if not plus and not minus:
            raise ValueError("give at least one word")
        given, unit = self._places([*plus, *minus]), _unit(self.vectors_)
        sign = np.repeat([1.0, -1.0], [len(plus), len(minus)])
        cosines = unit @ _unit((sign @ unit[given])[None].astype(unit.dtype))[0]
        cosines[given] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: max(0, min(topn, len(unit) - len(set(given))))]
        return [(self.words_[i], float(cosines[i])) for i in best]

    def analogy(self, a: str, b: str, c: str, topn: int = 1) -> list[tuple[str, float]]:
        """Answer what is to c as b is to a.

        Parameters
        ----------
        a, b, c : str
            Words that were learned.
        topn : int, default=1
            How many answers to give.

        Returns
        -------
        list of (str, float)
            Words and cosines to b - a + c, the largest first; none of the three.
        """
        return self.most_similar(positive=[b, c], negative=[a], topn=topn)

    def transform(self, X: Any) -> np.ndarray:
        """Give the mean of the vectors of the words of each document.

        Parameters
        ----------
        X : iterable of str or of list of str
            Documents. Words that were not learned are left out.

        Returns
        -------
        ndarray of shape (n_documents, vector_size)
            Zeros for a document without any word that was learned.
        """
        tokens = self._read(X)
        ids, offsets = renumbered(tokens, self._index())
        ones = np.ones(len(ids), dtype=self.vectors_.dtype)
        shape = (len(tokens), len(self.vectors_))
        sums = sparse.csr_array((ones, ids, offsets), shape=shape) @ self.vectors_
        return sums / np.maximum(np.diff(offsets), 1)[:, None].astype(sums.dtype)

    def save_word2vec_format(
        self,
        path: str | os.PathLike[str],
        *,
        binary: bool = False,
        write_header: bool = True,
    ) -> None:
        """Write the vectors as word2vec does: their number and length, then words and numbers.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced at the end; one that ends in .gz is compressed.
        binary : bool, default=False
            Whether numbers are written as floats of four bytes, and not as text.
        write_header : bool, default=True
            Whether the first line is written. GloVe's files have none.
        """
        self._require_fitted()
        write_vectors(path, self.words_, self.vectors_, binary=binary, header=write_header)

    @classmethod
    def load_word2vec_format(
        cls,
        path: str | os.PathLike[str],
        *,
        binary: bool = False,
        no_header: bool = False,
        limit: int | None = None,
    ) -> Self:
        """Read vectors of a file that this library or another wrote.

        Parameters
        ----------
        path : str or path-like
            The file; one that ends in .gz is compressed.
        binary : bool, default=False
            Whether it is word2vec's binary format.
        no_header : bool, default=False
            Whether the first line is a word already, as in GloVe's files.
        limit : int or None, default=None
            How many words to read; None for all.

        Returns
        -------
        WordVectors
            As if it were fitted: with words and vectors, and nothing else that `fit` learns.
        """
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be 1 at least, or None; got {limit}")
        words, vectors = read_vectors(path, binary=binary, header=not no_header, limit=limit)
        model: Any = cls(vectors.shape[1])
        model.words_, model.vectors_ = as_objects(words), vectors
        return model

    def _index(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words_)}

    def _places(self, words: Iterable[str]) -> list[int]:
        self._require_fitted()
        index = self._index()
        words = list(words)
        if unknown := [w for w in words if w not in index]:
            raise ValueError(
                f"{unknown[0]!r} was not learned: it did not occur, or too rarely; the words are "
                "in words_"
            )
        return [index[word] for word in words]

    @property
    def _n_features_out(self) -> int:
        return self.vectors_.shape[1]


def renumbered(tokens: Tokens, index: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """The documents by the numbers of an index, and their offsets; other words are left out."""
    numbers = np.array([index.get(word, -1) for word in tokens.words], dtype=np.int64)
    ids = numbers[tokens.ids] if len(numbers) else np.zeros(0, dtype=np.int64)
    kept = np.concatenate([[0], np.cumsum(ids >= 0)])
    return ids[ids >= 0].astype(np.uint32), kept[tokens.offsets]


@dataclass(frozen=True)
class Corpus:
    """Documents as numbers of their frequent words, and these, the most frequent first."""

    ids: np.ndarray
    offsets: np.ndarray
    words: np.ndarray
    counts: np.ndarray

    @staticmethod
    def of(tokens: Tokens, min_count: int) -> Corpus:
        """Number the words that occur `min_count` times; ties in the order of the alphabet."""
        counted = np.bincount(tokens.ids, minlength=len(tokens.words)).tolist()
        frequent = [(-n, w) for n, w in zip(counted, tokens.words, strict=True) if n >= min_count]
        if not frequent:
            raise ValueError(
                f"nothing to learn from: no word occurs {min_count} times; lower min_count, give "
                "more documents, or a tokenizer that finds more words"
            )
        frequent.sort()
        words = [word for _, word in frequent]
        ids, offsets = renumbered(tokens, {word: i for i, word in enumerate(words)})
        return Corpus(ids, offsets, as_objects(words), np.array([-n for n, _ in frequent]))


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length one; a vector of zeros stays."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)
