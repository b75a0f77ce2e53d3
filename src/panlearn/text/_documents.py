"""Reading documents: what a document is, its words, and their numbers, whatever they come in.

A document is a string or a list of tokens. Several are any iterable of them; larger than memory,
they come in a stream of lists (`panlearn.Batches`) or in a Dask bag.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from panlearn.core.extras import require
from panlearn.core.lists import delayed_blocks, open_bags, open_stream
from panlearn.core.sources import Batches, Block, DaskRows, Rows, StreamRows, is_dask
from panlearn.core.value import Value
from panlearn.text._scan import scan

# patterns that are runs of \w, and how long the shortest is: these are scanned compiled
RUNS = {r"\b\w\w+\b": 2, r"\w\w+": 2, r"\b\w+\b": 1, r"\w+": 1}
RUNS |= {f"(?u){pattern}": shortest for pattern, shortest in RUNS.items()}


@dataclass(frozen=True)
class WordTokenizer(Value):
    r"""Cuts a text into words: the matches of a regular expression, in order.

    .. math::
        \text{text} \mapsto (w_1, \ldots, w_T), \qquad w_t \text{ the } t\text{-th match of the
        pattern that is no stop word}

    Parameters
    ----------
    lowercase : bool, default=True
        Whether the text is put in lower case first.
    pattern : str, default=r"(?u)\b\w\w+\b"
        What a word is: two or more letters, digits or underscores. With one group in it, the word
        is what the group matched. ``r"\w+"`` takes words of one character too.
    stop_words : tuple of str, default=()
        Words that are left out.

    Notes
    -----
    It is the ``tokenizer`` of every estimator of texts, and means the same in all of them. For runs
    of ``\w``, as in the default, many documents are scanned at once by compiled code that finds
    what `re` finds; any other pattern goes through `re`. A document that comes as a list of tokens
    is not touched. Runs of ``\w`` cost :math:`O(n)` for n letters.

    References
    ----------
    C. D. Manning, P. Raghavan and H. Schütze (2008). Introduction to Information Retrieval,
    section 2.2. Cambridge University Press. doi:10.1017/CBO9780511809071

    Examples
    --------
    >>> from panlearn.text import WordTokenizer
    >>> WordTokenizer(stop_words=("the",))("The cat's hat: a hat.")
    ['cat', 'hat', 'hat']
    """

    lowercase: bool = True
    pattern: str = r"(?u)\b\w\w+\b"
    stop_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.lowercase, bool) or not isinstance(self.pattern, str):
            raise ValueError("lowercase must be a bool and pattern a str")
        if isinstance(self.stop_words, str) or not all(isinstance(w, str) for w in self.stop_words):
            raise ValueError(f"stop_words must be a tuple of words; got {self.stop_words!r}")
        object.__setattr__(self, "stop_words", tuple(self.stop_words))
        try:
            groups = re.compile(self.pattern).groups
        except re.error as error:
            raise ValueError(
                f"pattern {self.pattern!r} is no regular expression: {error}"
            ) from None
        if groups > 1:
            raise ValueError(
                f"pattern {self.pattern!r} has {groups} groups; one at most is allowed"
            )

    def __call__(self, text: str) -> list[str]:
        """Cut one text."""
        found = re.findall(self.pattern, text.lower() if self.lowercase else text)
        if not self.stop_words:
            return found
        stop_words = set(self.stop_words)
        return [word for word in found if word not in stop_words]


Tokenizer = WordTokenizer | Callable[[str], list[str]]
"""What the field ``tokenizer`` of an estimator may be."""


@dataclass(frozen=True)
class Tokens:
    """Documents as numbers of words: document d is ``ids[offsets[d] : offsets[d + 1]]``.

    Attributes
    ----------
    ids : ndarray of int32, shape (n_tokens,)
        Places in `words`.
    offsets : ndarray of int64, shape (n_documents + 1,)
    words : list of str
        The distinct words, in the order of their first appearance.
    """

    ids: np.ndarray
    offsets: np.ndarray
    words: list[str]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """The size of the ids."""
        return self.ids.nbytes

    @property
    def lengths(self) -> np.ndarray:
        """How many tokens each document has."""
        return np.diff(self.offsets)

    def documents(self) -> list[list[str]]:
        """Give the tokens as strings again."""
        words = [self.words[i] for i in self.ids.tolist()]
        return [words[a:b] for a, b in itertools.pairwise(self.offsets.tolist())]

    def keep(self, wanted: np.ndarray) -> Tokens:
        """Leave out the words for which `wanted` is false."""
        number = np.where(wanted, np.cumsum(wanted) - 1, -1).astype(np.int32)
        kept = np.concatenate([[0], np.cumsum(wanted[self.ids], dtype=np.int64)])
        ids = number[self.ids]
        words = [word for word, there in zip(self.words, wanted.tolist(), strict=True) if there]
        return Tokens(ids[ids >= 0], kept[self.offsets], words)

    @staticmethod
    def join(parts: Iterable[Tokens]) -> Tokens:
        """Put the documents of several parts together, numbered as if they were read at once."""
        index: dict[str, int] = {}
        ids, lengths = [np.zeros(0, dtype=np.int32)], [np.zeros(1, dtype=np.int64)]
        for part in parts:
            numbers = [index.setdefault(word, len(index)) for word in part.words]
            ids.append(np.array(numbers, dtype=np.int32)[part.ids])
            lengths.append(part.lengths)
        return Tokens(np.concatenate(ids), np.cumsum(np.concatenate(lengths)), list(index))


def tokenize(documents: Any, tokenizer: Tokenizer = WordTokenizer()) -> Tokens:
    """Cut documents into words and number these, in one pass.

    Parameters
    ----------
    documents : iterable of str or of list of str
        Texts, which `tokenizer` cuts, or lists of tokens, which stay as they are.
    tokenizer : WordTokenizer or callable, default=WordTokenizer()
        How to cut a text.

    Returns
    -------
    Tokens
    """
    items = as_list(documents)
    if isinstance(tokenizer, WordTokenizer) and all(isinstance(item, str) for item in items):
        shortest = RUNS.get(tokenizer.pattern)
        if shortest is not None:
            texts = [text.lower() for text in items] if tokenizer.lowercase else items
            tokens = Tokens(*scan(texts, shortest))
            stop_words = set(tokenizer.stop_words)
            if stop_words.isdisjoint(tokens.words):
                return tokens
            return tokens.keep(np.array([word not in stop_words for word in tokens.words]))
    return number_words(_cut(i, item, tokenizer) for i, item in enumerate(items))


def as_list(X: Any) -> list[Any]:
    """The documents as a list; each is a str, or something that holds tokens."""
    if isinstance(X, str | bytes):
        raise ValueError(f"X is a single {type(X).__name__}; give a list of documents, [X]")
    if isinstance(X, dict | set | frozenset) or not isinstance(X, Iterable):
        raise ValueError(
            f"X must be a list of documents, each a str or a list of tokens; got a "
            f"{type(X).__name__}"
        )
    if (ndim := getattr(X, "ndim", 1)) != 1:
        raise ValueError(f"X has {ndim} dimensions; documents are a list, or a column of a table")
    items = X.tolist() if isinstance(X, np.ndarray) else list(X)
    for i, item in enumerate(items):
        if not isinstance(item, str) and not _holds_tokens(item):
            raise ValueError(
                f"document {i} is {item!r:.60} of type {type(item).__name__}; a document is a str "
                "or a list of tokens" + (", so decode it first" if isinstance(item, bytes) else "")
            )
    return items


def _holds_tokens(item: Any) -> bool:
    return isinstance(item, list | tuple) or (isinstance(item, np.ndarray) and item.ndim == 1)


def _cut(i: int, item: Any, tokenizer: Tokenizer) -> Any:
    if isinstance(item, str):
        try:
            tokens = tokenizer(item)
        except (TypeError, ValueError) as error:
            raise ValueError(f"tokenizer failed on document {i}: {error}") from error
        if not isinstance(tokens, list | tuple):
            raise ValueError(
                f"tokenizer must give a list of words; it gave {tokens!r:.60} for document {i}"
            )
    else:
        tokens = item
    for token in tokens:
        if not isinstance(token, str):
            raise ValueError(f"document {i} holds the token {token!r:.60}; tokens are of type str")
    return tokens


def number_words(documents: Iterable[Iterable[str]]) -> Tokens:
    """Number the words of documents that are cut."""
    index: defaultdict[str, int] = defaultdict()
    index.default_factory = index.__len__
    ids = [[index[word] for word in document] for document in documents]
    lengths = np.cumsum([0, *map(len, ids)], dtype=np.int64)
    flat = np.fromiter(itertools.chain.from_iterable(ids), np.int32, int(lengths[-1]))
    return Tokens(flat, lengths, [str(word) for word in index])


def read_documents(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    tokenizer: Tokenizer,
    repeatable: bool = False,
) -> Rows:
    """Cut documents of any source into words.

    Parameters
    ----------
    estimator : Estimator
        Named in errors.
    X, y, sample_weight
        An iterable of documents, with a target and a weight each; `Batches` of lists of documents
        or of tuples ``(list, y, sample_weight)``; or a Dask bag of documents, with bags beside.
    tokenizer : WordTokenizer or callable
        How to cut a text.
    repeatable : bool
        Whether the documents are walked more than once.

    Returns
    -------
    Rows
        Blocks whose X is `Tokens`; a list is one block. Documents of weight zero are left out.
    """
    cut = functools.partial(tokenize, tokenizer=tokenizer)
    return read_texts(estimator, X, y, sample_weight, convert=cut, repeatable=repeatable)


def read_texts(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    convert: Callable[[list[Any]], Any],
    repeatable: bool = False,
) -> Rows:
    """Read documents as `read_documents` does; `convert` makes the X of a block from a list."""
    check = functools.partial(_check_block, convert=convert)
    if is_dask(X):
        parts = open_bags(X, y, sample_weight, of="documents")
        return DaskRows(delayed_blocks(parts, check), 1, np.dtype(np.int32), 1)
    if isinstance(X, Batches):
        stream, first, rest = open_stream(
            estimator, X, y, sample_weight, repeatable=repeatable, of="documents"
        )
        return StreamRows(stream, check(first), rest, check)
    block = check(Block(X, y, sample_weight))
    if not len(block.X):
        raise ValueError("there is no document (of a weight above zero), so nothing to learn from")
    return StreamRows(Batches([block]), block, iter([]), lambda block: block)


def collect(rows: Rows) -> Block:
    """All documents in one block, numbered as if they had come in one list."""
    blocks = require("dask").compute(*rows.parts) if isinstance(rows, DaskRows) else list(rows)
    if len(blocks) == 1:
        return blocks[0]
    X = Tokens.join(block.X for block in blocks)
    if not len(X):
        raise ValueError("there is no document (of a weight above zero), so nothing to learn from")
    y = [label for block in blocks for label in block.y] if blocks[0].y is not None else None
    if all(block.weight is None for block in blocks):
        return Block(X, y, None)
    ones = [np.ones(len(b.X)) if b.weight is None else b.weight for b in blocks]
    return Block(X, y, np.concatenate(ones))


def _check_block(block: Block, *, convert: Callable[[list[Any]], Any]) -> Block:
    items = as_list(block.X)
    y = None if block.y is None else list(block.y)
    if y is not None and len(y) != len(items):
        raise ValueError(f"X holds {len(items)} documents and y {len(y)} targets")
    weight = block.weight
    if weight is not None and items:
        weight = _check_sample_weight(
            weight, np.empty((len(items), 1)), ensure_non_negative=True, allow_all_zero_weights=True
        )
        kept = np.flatnonzero(weight).tolist()  # a weight of zero is an absent document
        items, weight = [items[i] for i in kept], weight[kept]
        y = None if y is None else [y[i] for i in kept]
    return Block(convert(items), y, weight)
