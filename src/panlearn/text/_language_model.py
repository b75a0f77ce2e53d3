"""What models of the next word share: the probabilities of documents, and perplexity."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from panlearn.text._base import TextModel
from panlearn.text._documents import Tokens


class WordLanguageModel(TextModel):
    """A law of documents, word after word and with an end; abstract."""

    @abstractmethod
    def _log_scores(self, tokens: Tokens) -> np.ndarray:
        """Log p of each word and end given the words before, one document after the other."""

    def log_probabilities(self, X: Any) -> list[np.ndarray]:
        """Give the log probability of each word of each document given those before.

        Parameters
        ----------
        X : iterable of str or of list of str
            The documents.

        Returns
        -------
        list of ndarray of shape (n_tokens + 1,)
            The last one is that of the end.
        """
        tokens = self._read(X)
        scores, ends = self._log_scores(tokens), np.cumsum(tokens.lengths + 1)
        return np.split(scores, ends)[:-1]

    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log probability of each document: of its words and of its end.

        Parameters
        ----------
        X : iterable of str or of list of str
            The documents.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        tokens = self._read(X)
        if not len(tokens):
            return np.zeros(0)
        return np.add.reduceat(
            self._log_scores(tokens), tokens.offsets[:-1] + np.arange(len(tokens))
        )

    def score(self, X: Any, y: Any = None) -> float:
        """Give the mean log probability of a document.

        Parameters
        ----------
        X : iterable of str or of list of str
            The documents.
        y : object, default=None
            Ignored.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def perplexity(self, X: Any) -> float:
        r"""Give :math:`\exp(-\frac1N \sum_t \log p(w_t \mid h_t))` over all words and ends.

        Parameters
        ----------
        X : iterable of str or of list of str
            The documents.

        Returns
        -------
        float
            The number of equally probable words that would be as hard to guess.
        """
        tokens = self._read(X)
        if not len(tokens):
            raise ValueError("there is no document, so there is no perplexity")
        return float(np.exp(-self._log_scores(tokens).mean()))
