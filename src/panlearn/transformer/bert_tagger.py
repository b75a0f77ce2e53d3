"""BERT fine-tuned to tell a tag for each word of a text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.random import generator
from panlearn.text import WordPieceTokenizer
from panlearn.transformer._bert_texts import Rows, by_length, read_pairs
from panlearn.transformer._fine_tuning import FineTuned, read_labelled


@dataclass(eq=False, repr=False)
class BERTTagger(FineTuned):
    r"""A BERT that tells a tag for each word, from the states of their first pieces.

    .. math::
        p(y_t \mid x_1, \ldots, x_T) = \operatorname{softmax}(V h_{s(t)} + c)

    where :math:`s(t)` is the place of the first piece of word t.

    Attributes
    ----------
    tags_ : ndarray of shape (n_tags,)
        The tags.
    n_outputs_ : int
        Scores of the network, one a tag.

    Notes
    -----
    A document is a list of words, or a text whose words stand between spaces. One that is longer
    than the context is tagged in stretches of as many words as there is room for. The loss is the
    mean over the words of a batch. Tags are told one by one: which may follow which is not learned.
    A text of n tokens costs :math:`O(n (P + L n d))` for L blocks of width d with P weights in all,
    as in `BERT`.

    References
    ----------
    J. Devlin, M.-W. Chang, K. Lee and K. Toutanova (2019). BERT: pre-training of deep bidirectional
    transformers for language understanding. NAACL. doi:10.18653/v1/N19-1423

    Examples
    --------
    >>> from panlearn.transformer import BERTTagger
    >>> texts = ["they can fish", "a can of fish"] * 10
    >>> tags = [["N", "V", "V"], ["D", "N", "P", "N"]] * 10
    >>> model = BERTTagger(learning_rate=1e-2, max_epochs=30, random_state=0).fit(texts, tags)
    >>> [found.tolist() for found in model.predict(["they can fish", "a can"])]
    [['N', 'V', 'V'], ['D', 'N']]
    """

    @property
    def _each(self) -> bool:
        return True

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from tagged texts.

        Parameters
        ----------
        X : iterable of list of str or of str
            The documents.
        y : iterable of list of str
            A tag for each word.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.

        Returns
        -------
        BERTTagger
            The model itself.
        """
        documents, labels, weight = read_labelled(self, X, y, sample_weight)
        words = [_words(document) for document in documents]
        tags = _flat(words, labels)
        if not len(tags):
            raise ValueError("no document has a word, so there is nothing to learn from")
        self.tags_, codes = np.unique(tags, return_inverse=True)
        self.n_outputs_ = len(self.tags_)
        start = self._begin(documents)
        rows, places, owners = _stretches(self.tokenizer_, words, self.config_.context)
        bounds = torch.from_numpy(np.cumsum([0, *map(len, places)]))
        wanted, shares = torch.from_numpy(codes), torch.from_numpy(weight[owners])

        def losses(scores: Tensor, index: Tensor) -> Any:
            chosen, aims, each = [], [], []
            for row, text in enumerate(index.tolist()):
                chosen.append(scores[row, places[text]])
                aims.append(wanted[bounds[text] : bounds[text + 1]])
                each.append(shares[text].expand(len(places[text])))
            found, aim = torch.cat(chosen), torch.cat(aims).to(scores.device)
            return F.cross_entropy(found, aim, reduction="none"), torch.cat(each).to(found)

        self._train(rows, start, losses, generator(self.random_state))
        return self

    def _scores(self, X: Any) -> tuple[np.ndarray, list[int]]:
        """The scores of the tags of all words, and how many words each document has."""
        self._require_fitted()
        words = [_words(document) for document in read_pairs(X)]
        rows, places, _ = _stretches(self.tokenizer_, words, self.config_.context)
        module = self.module_
        made: list[Any] = [None] * len(rows)
        for index, found in by_length(rows, module, next(module.parameters()).device):
            for row, text in enumerate(index.tolist()):
                made[text] = found[row, places[text]].cpu().numpy()
        empty = np.empty((0, self.n_outputs_), dtype=np.float32)
        return np.concatenate([empty, *made]), [len(document) for document in words]

    def predict(self, X: Any) -> list[np.ndarray]:
        """Give the most probable tags.

        Parameters
        ----------
        X : iterable of list of str or of str
            The documents.

        Returns
        -------
        list of ndarray of shape (n_words,)
            The tags of each document.
        """
        scores, lengths = self._scores(X)
        tags = self.tags_[scores.argmax(axis=1)]
        return [tags[a:b] for a, b in pairwise(np.cumsum([0, *lengths]).tolist())]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of words whose tag is right.

        Parameters
        ----------
        X : iterable of list of str or of str
            The documents.
        y : iterable of list of str
            Their tags.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.

        Returns
        -------
        float
        """
        self._require_fitted()
        documents, labels, weight = read_labelled(self, X, y, sample_weight)
        words = [_words(document) for document in documents]
        right = np.concatenate(self.predict(words)) == _flat(words, labels)
        if not len(right):
            raise ValueError("no document has a word, so there is no share of them")
        return float(np.average(right, weights=np.repeat(weight, [len(w) for w in words])))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


def _words(document: Any) -> list[str]:
    return document.split() if isinstance(document, str) else list(document)


def _flat(words: list[list[str]], labels: list[Any]) -> np.ndarray:
    """The tags of all words."""
    found = []
    for i, (document, tags) in enumerate(zip(words, labels, strict=True)):
        if isinstance(tags, str) or not hasattr(tags, "__len__") or len(tags) != len(document):
            size = len(tags) if hasattr(tags, "__len__") and not isinstance(tags, str) else tags
            raise ValueError(
                f"document {i} has {len(document)} words and y[{i}] {size!r} tags; give a list "
                "with one tag a word"
            )
        found += list(tags)
    return np.array(found)


def _stretches(
    tokenizer: WordPieceTokenizer, documents: list[list[str]], context: int
) -> tuple[Rows, list[list[int]], np.ndarray]:
    """Rows of tokens, the places of the first pieces of their words, and whose rows they are."""
    special = tokenizer.special_tokens_
    unknown, room = [tokenizer.vocab_[tokenizer.unk_token]], context - 2
    texts, places, owners = [], [], []
    for number, words in enumerate(documents):
        ids: list[int] = []
        starts: list[int] = []
        for found in tokenizer.encode_batch([[word] for word in words]):
            pieces = (found or unknown)[:room]
            if len(ids) + len(pieces) > room:
                texts.append(ids)
                places.append(starts)
                owners.append(number)
                ids, starts = [], []
            starts.append(1 + len(ids))
            ids = ids + pieces
        if starts:
            texts.append(ids)
            places.append(starts)
            owners.append(number)
    framed = [([special["[CLS]"], *ids, special["[SEP]"]], len(ids) + 2) for ids in texts]
    return Rows.of(framed), places, np.array(owners, dtype=np.int64)
