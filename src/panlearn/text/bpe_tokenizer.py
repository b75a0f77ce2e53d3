"""Byte pair encoding: a vocabulary of frequent byte strings, and text as ids of it."""

from __future__ import annotations

import functools
import json
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from panlearn.core.estimator import fitting
from panlearn.core.files import write_file
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import NonNegative, Positive
from panlearn.core.sources import Batches, is_dask
from panlearn.text import _bpe_files as files
from panlearn.text._bpe_characters import BYTES, Normal
from panlearn.text._bpe_codec import BYTE_ORDER, blocks, spell, spellings_of
from panlearn.text._bpe_training import FORBIDDEN, learn_merges
from panlearn.text._byte_level import ByteLevelTokenizer
from panlearn.text._documents import as_list, read_texts
from panlearn.text._piece_counts import PieceCounts, Texts
from panlearn.text._pretokenize import PATTERNS, WHOLE
from panlearn.text._word_table import empty_table, insert_words


@dataclass(eq=False, repr=False)
class BPETokenizer(ByteLevelTokenizer):
    r"""Byte pair encoding: the most frequent pair of neighbours becomes a token, again and again.

    .. math::
        (a, b)^\ast = \arg\max_{(a, b)} \sum_{p} c_p \, \#\{i : p_i = a,\ p_{i+1} = b\}, \qquad
        a\, b \;\to\; ab \ \text{in every piece } p

    where :math:`c_p` counts the pieces that the pattern cuts the text into, first of all written
    as bytes. Every byte is a token, so that every text can be encoded and is decoded to itself.

    Parameters
    ----------
    vocab_size : int, default=30000
        How many tokens to learn at most; special ones and the 256 bytes are among them.
    min_frequency : int, default=0
        A pair that is rarer is not merged.
    special_tokens : tuple of str, default=()
        Tokens with an id of their own that no merge makes, such as ``"<|endoftext|>"``. They have
        the first ids.
    pattern : {"gpt2", "llama3", "qwen2", "digits"}, default="gpt2"
        How a text is cut into pieces, which merges do not cross: by the pattern of GPT-2; of
        Llama 3 and GPT-4, which cuts numbers after three digits; of Qwen 2, which cuts them after
        each; or by that of GPT-2 with each digit apart, as in SmolLM. With an alphabet of
        characters words are cut at spaces while merges are learned, and not at all afterwards.
    ignore_merges : bool, default=False
        Whether a piece that is a token is taken as it is, whatever the merges say; some files ask
        for it.
    alphabet : {"bytes", "characters"}, default="bytes"
        What merges begin with. Of characters, as in Llama 2, a space is the symbol ``"▁"``, and
        what has no token is spelt in bytes such as ``"<0x0A>"``.
    prefix : {"prepend", "always", "first", "never"}, default="prepend"
        Of characters, where a space is put before a text, so that its first word is as others:
        before every part between special tokens; before those that do not begin with one; before
        the first of these; nowhere. It is taken away when a text is decoded.
    normalize : {"NFC", "NFD", "NFKC", "NFKD"}, default=None
        The normal form of Unicode that texts are brought to first; a text is then decoded to that.

    Attributes
    ----------
    vocab_ : dict of {str: int}
        The id of each token. Bytes that are no printable ASCII are written as GPT-2 does, a space
        as ``"Ġ"``; tokens of characters stand as they are.
    merges_ : list of (str, str)
        The pairs that are merged, in order.
    special_tokens_ : dict of {str: int}
        The ids of the special tokens.
    start_token_ : int or None
        What the file that a tokenizer was read from puts before a text. `encode` does not.

    Notes
    -----
    Among pairs of equal count the one with the smallest ids is merged, as in the package
    tokenizers: the same text gives the same merges. Only the distinct pieces and their counts are
    kept while it learns, in floats, which are exact up to :math:`2^{53}`; a merge costs what it
    changes. A text is encoded piece by piece in :math:`O(n \log n)`, and pieces that were seen are
    looked up. Letters, numbers and spaces are those of Python's Unicode tables. Unless asked for,
    text is not normalised: what looks the same may have several encodings. A string may hold
    surrogates that stand alone; they are encoded in three bytes each.

    A tokenizer of characters takes the symbol ``"▁"`` in a text for a space, and merges over the
    whole of it, as SentencePiece does.

    References
    ----------
    R. Sennrich, B. Haddow and A. Birch (2016). Neural machine translation of rare words with
    subword units. ACL 54. doi:10.18653/v1/P16-1162

    A. Radford, J. Wu, R. Child, D. Luan, D. Amodei and I. Sutskever (2019). Language models are
    unsupervised multitask learners. OpenAI.

    Examples
    --------
    >>> from panlearn.text import BPETokenizer
    >>> texts = ["low lower lowest", "new newer newest"]
    >>> tokenizer = BPETokenizer(vocab_size=262, special_tokens=("<|end|>",)).fit(texts)
    >>> tokenizer.merges_
    [('w', 'e'), ('l', 'o'), ('n', 'e'), ('s', 't'), ('Ġ', 'lo')]
    >>> ids = tokenizer.encode("a newer low")
    >>> tokenizer.tokens(ids)
    ['a', 'Ġ', 'ne', 'we', 'r', 'Ġlo', 'w']
    >>> tokenizer.decode(ids)
    'a newer low'
    """

    vocab_size: Positive[int] = 30_000
    _: KW_ONLY
    min_frequency: NonNegative[int] = 0
    special_tokens: tuple | list = ()
    pattern: Literal["gpt2", "llama3", "qwen2", "digits"] = "gpt2"
    ignore_merges: bool = False
    alphabet: Literal["bytes", "characters"] = "bytes"
    prefix: Literal["prepend", "always", "first", "never"] = "prepend"
    normalize: Literal["NFC", "NFD", "NFKC", "NFKD"] | None = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn merges from texts.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            Documents; merges do not cross the tokens of one that is a list.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights; an integer weight is a repeated document.

        Returns
        -------
        BPETokenizer
            The tokenizer itself.
        """
        special = self._check_special()
        if self.vocab_size < 256 + len(special):
            raise ValueError(
                f"vocab_size={self.vocab_size} is too small: 256 bytes and {len(special)} special "
                "tokens come first"
            )
        self.special_tokens_ = {token: number for number, token in enumerate(special)}
        spelt = BYTES if self.alphabet == "characters" else [spell(bytes([b])) for b in BYTE_ORDER]
        self.vocab_ = {token: len(special) + i for i, token in enumerate(spelt)}
        self.start_token_ = None
        self.merges_: list[tuple[str, str]] = []
        self._check_names(special)
        return self._learn(X, sample_weight)

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn further merges from further texts; the ids that there are remain.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            Documents. New merges are learned from these alone, up to `vocab_size` tokens.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights; an integer weight is a repeated document.

        Returns
        -------
        BPETokenizer
            The tokenizer itself.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight)
        new = [token for token in self._check_special() if token not in self.special_tokens_]
        self._check_names(new)
        first = self.n_tokens
        self.special_tokens_ = self.special_tokens_ | {t: first + i for i, t in enumerate(new)}
        return self._learn(X, sample_weight)

    def _check_special(self) -> list[str]:
        tokens = list(self.special_tokens)
        if not all(isinstance(t, str) and t for t in tokens) or len(set(tokens)) != len(tokens):
            raise ValueError(f"special_tokens must be different, non-empty str; got {tokens!r}")
        return tokens

    def _check_names(self, special: list[str]) -> None:
        """A name in a file is of one token."""
        if taken := [token for token in special if token in self.vocab_]:
            raise ValueError(
                f"the special token {taken[0]!r} is the name of an ordinary token already; choose "
                f"another, such as '<|{taken[0]}|>'"
            )

    def _learn(self, X: Any, sample_weight: Any) -> Self:
        normal = Normal(self.normalize, self.alphabet, self.prefix)
        convert = functools.partial(_texts, normal)
        rows = read_texts(self, *_in_blocks(X, sample_weight), convert=convert)
        pattern = "spaces" if self.alphabet == "characters" else self.pattern
        counted = map_reduce(functools.partial(_count, pattern=PATTERNS[pattern]), rows)
        if self.alphabet == "characters":
            self._add_characters(counted.letters)
        if len(counted.letters) >= 2**31:
            raise ValueError("the distinct pieces of the text have over 2 ** 31 bytes")
        codec = self._codec()
        pieces = Texts(counted.letters, counted.offsets, np.arange(len(counted.offsets)))
        symbols, ends = codec.encode_strings(pieces, WHOLE)
        # no merge may spell a special token or its name; what is a token already comes last: it is
        forbidden = [s for token in self.special_tokens_ for s in spellings_of(token)]
        spellings = [*forbidden, *codec.tokens.values()]
        numbers = [*(FORBIDDEN for _ in forbidden), *codec.tokens]
        table = insert_words(
            empty_table(),
            np.frombuffer(b"".join(spellings), dtype=np.uint8),
            np.cumsum([0, *map(len, spellings)], dtype=np.int64),
            np.array(numbers, dtype=np.int64),
        )
        first = self.n_tokens  # and no merge leaves as many symbols as there were
        limit = min(max(first, self.vocab_size), first + len(symbols))
        rare = float(min(self.min_frequency, 2**62))
        merges = learn_merges(symbols, ends, counted.count, table, first, limit, rare)
        spelt = {number: token for token, number in self.vocab_.items()}
        vocab, pairs = dict(self.vocab_), list(self.merges_)
        for left, right, new in merges.tolist():
            spelt[new] = spelt[left] + spelt[right]
            vocab[spelt[new]] = new
            pairs.append((spelt[left], spelt[right]))
        self.vocab_, self.merges_ = vocab, pairs
        return self

    def _add_characters(self, letters: np.ndarray) -> None:
        """Give every character of the text an id, in the order of Unicode."""
        found = sorted(set(letters.tobytes().decode("utf-8", "surrogatepass")))
        new = [c for c in found if c not in self.vocab_ and c not in self.special_tokens_]
        first = self.n_tokens
        self.vocab_ = self.vocab_ | {c: first + i for i, c in enumerate(new)}

    @classmethod
    def from_huggingface(cls, path: str | PathLike[str]) -> Self:
        """Read a ``tokenizer.json`` of BPE.

        Parameters
        ----------
        path : path
            The file, such as those of GPT-2, Llama 2 and 3, TinyLlama, SmolLM and Qwen. The token
            that it puts before a text is `start_token_`.

        Returns
        -------
        BPETokenizer
            As if it were fitted.
        """
        return cls._of(files.from_huggingface(json.loads(Path(path).read_text("utf-8"))))

    def to_huggingface(self, path: str | PathLike[str]) -> None:
        """Write a ``tokenizer.json``, which the packages tokenizers and transformers read.

        Parameters
        ----------
        path : path
            Where to.
        """
        write_file(path, json.dumps(files.to_huggingface(self._state())).encode())

    @classmethod
    def from_gpt2(cls, vocab: str | PathLike[str], merges: str | PathLike[str]) -> Self:
        """Read a vocabulary and merges in the files of GPT-2.

        Parameters
        ----------
        vocab : path
            The file ``vocab.json``. What no merge makes is a special token.
        merges : path
            The file ``merges.txt``.

        Returns
        -------
        BPETokenizer
            As if it were fitted.
        """
        texts = [Path(path).read_text("utf-8") for path in (vocab, merges)]
        return cls._of(files.from_gpt2(*texts))

    def to_gpt2(self, vocab: str | PathLike[str], merges: str | PathLike[str]) -> None:
        """Write a vocabulary and merges in the files of GPT-2.

        Parameters
        ----------
        vocab : path
            Where to, the ids as JSON.
        merges : path
            Where to, one merge a line.
        """
        for path, content in zip((vocab, merges), files.to_gpt2(self._state()), strict=True):
            write_file(path, content.encode())

    @classmethod
    def _of(cls, state: files.State) -> Self:
        special, n_tokens = state["special_tokens"], len(state["vocab"])
        made = cls(
            n_tokens + len(special),
            special_tokens=tuple(sorted(special, key=special.__getitem__)),
            **{name: state[name] for name in files.STYLE},
        )
        made.vocab_, made.merges_ = state["vocab"], state["merges"]
        made.special_tokens_, made.start_token_ = special, state["start_token"]
        return made

    def _state(self) -> files.State:
        self._require_fitted()
        learned: files.State = {"vocab": self.vocab_, "merges": self.merges_}
        learned |= {"special_tokens": self.special_tokens_, "start_token": self.start_token_}
        return learned | {name: getattr(self, name) for name in files.STYLE}


def _texts(normal: Normal, documents: Any) -> Texts:
    return Texts.of([normal.document(document) for document in documents])


def _count(X: Texts, y: None, weight: np.ndarray | None, pattern: int) -> PieceCounts:
    return PieceCounts.of(X, weight, pattern=pattern)


def _in_blocks(X: Any, sample_weight: Any) -> tuple[Any, None, Any]:
    """Make a stream of a list, so that threads share it and little is encoded at a time."""
    if isinstance(X, Batches) or is_dask(X):
        return X, None, sample_weight
    documents = as_list(X)
    cut = list(blocks(documents))
    if len(cut) < 2:
        return documents, None, sample_weight
    if sample_weight is None:
        return Batches(cut), None, None
    weight = _check_sample_weight(
        sample_weight, np.empty((len(documents), 1)), ensure_non_negative=True
    )
    ends = np.cumsum([0, *map(len, cut)])
    parts = [(documents[a:b], None, weight[a:b]) for a, b in pairwise(ends.tolist())]
    return Batches(parts), None, None
