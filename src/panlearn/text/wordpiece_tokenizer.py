"""WordPiece: words cut into the longest pieces that a vocabulary has, as BERT reads text."""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import TransformerMixin

from panlearn.core.derived import derived
from panlearn.core.estimator import fitting
from panlearn.core.files import write_file
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import NonNegative, Positive
from panlearn.text import _wordpiece_files as files
from panlearn.text._base import TextModel
from panlearn.text._bpe_training import learn_merges
from panlearn.text._documents import as_list, read_texts
from panlearn.text._piece_counts import PieceCounts, Texts, to_utf8
from panlearn.text._pretokenize import WHOLE
from panlearn.text._word_table import empty_table, insert_words
from panlearn.text._wordpiece import PREFIX, Cutter, Pieces

_START = b"\xff"  # stands before a piece that begins a word: no byte of UTF-8
Special = Literal["text", "atomic", "refuse"]


@dataclass(eq=False, repr=False)
class WordPieceTokenizer(TransformerMixin, TextModel):
    r"""Words cut from the left into the longest pieces that are known.

    .. math::
        w = p_1 p_2 \cdots p_k, \qquad
        p_i = \text{the longest prefix of } w \setminus p_1 \cdots p_{i-1} \text{ in } V

    Pieces that go on with a word are marked ``##``. A word that cannot be cut so is the unknown
    token as a whole.

    Parameters
    ----------
    vocab_size : int, default=30000
        How many tokens to learn at most, special ones and single characters among them.
    min_frequency : int, default=0
        A pair of pieces that is rarer is not merged.
    limit_alphabet : int, default=1000
        How many different characters to learn at most; the rarest are left out, and words with them
        are unknown.
    special_tokens : tuple of str, default=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        Tokens with an id of their own that stand for no text; they have the first ids.
    unk_token : str, default="[UNK]"
        Which of them stands for a word that is unknown.
    max_input_chars_per_word : int, default=100
        A longer word is unknown.
    lowercase : bool, default=True
        Whether case is dropped.
    strip_accents : bool or None, default=None
        Whether accents are dropped; None does what `lowercase` says.
    clean_text : bool, default=True
        Whether control characters are dropped.
    handle_chinese_chars : bool, default=True
        Whether every Chinese ideograph is a word.

    Attributes
    ----------
    vocab_ : dict of {str: int}
        The id of each token.
    special_tokens_ : dict of {str: int}
        Those of the special tokens.

    Notes
    -----
    It learns as the package tokenizers does: the most frequent pair of neighbouring pieces becomes
    a piece, again and again, where a piece that begins a word and one that goes on with it are
    different; of equally frequent pairs the one with the smallest ids. The paper merges the pair
    that raises the likelihood most. Only distinct words and their counts are kept meanwhile.

    A text is encoded in one pass over its characters, and words that were seen are looked up; a new
    one of n characters takes :math:`O(n\, l)` look-ups, l the length of the longest piece.
    Categories are those of Python's Unicode tables; the package tokenizers has older ones, which
    differ for some signs of rare scripts. Encoding loses spaces, and case and accents if they are
    dropped: `decode` gives a text that reads alike. Nothing is put around a text; BERT adds its
    marks itself.

    References
    ----------
    M. Schuster and K. Nakajima (2012). Japanese and Korean voice search. ICASSP.
    doi:10.1109/ICASSP.2012.6289079

    J. Devlin, M.-W. Chang, K. Lee and K. Toutanova (2019). BERT: pre-training of deep bidirectional
    transformers for language understanding. NAACL. doi:10.18653/v1/N19-1423

    Examples
    --------
    >>> from panlearn.text import WordPieceTokenizer
    >>> texts = ["low lower lowest", "new newer newest"]
    >>> tokenizer = WordPieceTokenizer(vocab_size=26).fit(texts)
    >>> ids = tokenizer.encode("A Newer low")
    >>> tokenizer.tokens(ids)
    ['[UNK]', 'ne', '##wer', 'low']
    >>> tokenizer.decode(ids[1:])
    'newer low'
    """

    vocab_size: Positive[int] = 30_000
    _: KW_ONLY
    min_frequency: NonNegative[int] = 0
    limit_alphabet: Positive[int] = 1000
    special_tokens: tuple | list = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    unk_token: str = "[UNK]"
    max_input_chars_per_word: Positive[int] = 100
    lowercase: bool = True
    strip_accents: bool | None = None
    clean_text: bool = True
    handle_chinese_chars: bool = True

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn pieces from texts.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            Documents; pieces do not cross the tokens of one that is a list.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights; an integer weight is a repeated document.

        Returns
        -------
        WordPieceTokenizer
            The tokenizer itself.
        """
        special = list(self.special_tokens)
        if not all(isinstance(t, str) and t for t in special) or len(set(special)) < len(special):
            raise ValueError(f"special_tokens must be different, non-empty str; got {special!r}")
        if self.unk_token not in special:
            raise ValueError(
                f"unk_token={self.unk_token!r} must be one of special_tokens, {special!r}"
            )
        cut = functools.partial(_words, cutter=self._cutter())
        rows = read_texts(self, X, None, sample_weight, convert=cut)
        counted = map_reduce(_count, rows)
        words = [piece.decode("utf-8", "surrogatepass") for piece in counted.pieces()]
        alphabet = _alphabet(words, counted.count, self.limit_alphabet)
        letters = _letters(words, alphabet)
        spellings = [_START + to_utf8(c) for c in alphabet]
        spellings += sorted({to_utf8(c) for word in letters for c in word[1:]})
        first = len(special)
        if self.vocab_size < first + len(spellings):
            raise ValueError(
                f"vocab_size={self.vocab_size} is too small: {len(spellings)} characters and "
                f"{first} special tokens come first"
            )
        spelt = self._merge(letters, counted.count, spellings, first)
        self.special_tokens_ = {token: number for number, token in enumerate(special)}
        self.vocab_ = self.special_tokens_ | {
            _name(s): first + i for i, s in enumerate(spelt) if _name(s) not in special
        }
        return self

    def _merge(
        self, letters: list[str], counts: np.ndarray, spellings: list[bytes], first: int
    ) -> list[bytes]:
        """The spellings with those of the merges after them."""
        ids = {spelling: first + i for i, spelling in enumerate(spellings)}
        symbols = [
            ids[to_utf8(c) if i else _START + to_utf8(c)]
            for word in letters
            for i, c in enumerate(word)
        ]
        table = insert_words(
            empty_table(),
            np.frombuffer(b"".join(spellings), dtype=np.uint8),
            np.cumsum([0, *map(len, spellings)], dtype=np.int64),
            np.fromiter(ids.values(), np.int64),
        )
        ends = np.cumsum([0, *map(len, letters)], dtype=np.int64)
        limit = min(self.vocab_size, first + len(spellings) + len(symbols))
        rare = float(min(self.min_frequency, 2**62))
        merges = learn_merges(
            *(np.array(symbols, np.int32), ends, counts, table),
            *(first + len(spellings), limit, rare),
        )
        made = list(spellings)
        for left, right, new in merges.tolist():
            if new == first + len(made):
                made.append(made[left - first] + made[right - first])
        return made

    @property
    def n_tokens(self) -> int:
        """How many ids there are: one above the largest."""
        self._require_fitted()
        return 1 + max(self.vocab_.values())

    def encode(self, text: str, *, special: Special = "text") -> list[int]:
        """Give the ids of one text.

        Parameters
        ----------
        text : str
            Any text.
        special : {"text", "atomic", "refuse"}, default="text"
            What a special token in the text is: letters like others, so that no text can smuggle
            one in; the special token; or an error.

        Returns
        -------
        list of int
        """
        self._require_fitted()
        if not isinstance(text, str):
            raise ValueError(f"text must be a str; got a {type(text).__name__}")
        return self.encode_batch([text], special=special)[0]

    def encode_batch(self, texts: Any, *, special: Special = "text") -> list[list[int]]:
        """Give the ids of several texts.

        Parameters
        ----------
        texts : iterable of str or of list of str
            Documents; of one that is a list, the ids of its tokens, each cut for itself.
        special : {"text", "atomic", "refuse"}, default="text"
            What a special token in a text is; see `encode`.

        Returns
        -------
        list of list of int
        """
        cutter, pieces, marks = self._compiled_parts()
        if special not in ("text", "atomic", "refuse"):
            raise ValueError(f"special must be 'text', 'atomic' or 'refuse'; got {special!r}")
        made = []
        for document in as_list(texts):
            ids: list[int] = []
            for text in [document] if isinstance(document, str) else _strings(document):
                if special == "text":
                    ids += pieces.of(cutter(text))
                    continue
                parts = marks.split(text)
                if special == "refuse" and len(parts) > 1:
                    raise ValueError(
                        f"a text holds the special token {parts[1]!r}; special='atomic' gives its "
                        "id, special='text' encodes its letters"
                    )
                for i, part in enumerate(parts):
                    ids += [self.special_tokens_[part]] if i % 2 else pieces.of(cutter(part))
            made.append(ids)
        return made

    def transform(self, X: Any) -> list[np.ndarray]:
        """Give the ids of texts as arrays; special tokens in them are text.

        Parameters
        ----------
        X : iterable of str or of list of str
            Documents.

        Returns
        -------
        list of ndarray of int32
            One a document.
        """
        return [np.array(ids, dtype=np.int32) for ids in self.encode_batch(X)]

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """Give a text that reads as the one of these ids.

        Parameters
        ----------
        ids : iterable of int
            As `encode` gives them, or some of them.
        skip_special_tokens : bool, default=False
            Whether special tokens are left out.

        Returns
        -------
        str
            Words with spaces between them, but not before a comma or at the end of a sentence.
        """
        text = ""
        for token in self.tokens(ids):
            if skip_special_tokens and token in self.special_tokens_:
                continue
            if text and token.startswith(PREFIX):
                text += token.removeprefix(PREFIX)
            else:
                text += token if not text or token[0] in ".,?!" else f" {token}"
        return text

    def inverse_transform(self, X: Iterable[Any]) -> list[str]:
        """Give the texts of lists of ids.

        Parameters
        ----------
        X : iterable of iterables of int
            As `transform` gives them.

        Returns
        -------
        list of str
        """
        return [self.decode(ids) for ids in X]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Give the tokens of ids, as they stand in `vocab_`.

        Parameters
        ----------
        ids : iterable of int
            Any ids.

        Returns
        -------
        list of str
        """
        self._require_fitted()
        names = {number: token for token, number in self.vocab_.items()}
        try:
            return [names[int(number)] for number in ids]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{error} is no id of this tokenizer, which has {len(names)}"
            ) from None

    @classmethod
    def from_huggingface(cls, path: str | PathLike[str]) -> Self:
        """Read a ``tokenizer.json`` of WordPiece.

        Parameters
        ----------
        path : path
            The file, such as that of BERT. What it puts around a text, and to which length it
            cuts or fills one, is not taken over.

        Returns
        -------
        WordPieceTokenizer
            As if it were fitted.
        """
        state = files.from_huggingface(json.loads(Path(path).read_text("utf-8")))
        vocab, special = state.pop("vocab"), state.pop("special_tokens")
        made = cls(len(vocab), special_tokens=tuple(sorted(special, key=special.get)), **state)
        made.vocab_, made.special_tokens_ = vocab, special
        return made

    def to_huggingface(self, path: str | PathLike[str]) -> None:
        """Write a ``tokenizer.json``, which the packages tokenizers and transformers read.

        Parameters
        ----------
        path : path
            Where to.
        """
        self._require_fitted()
        fields = {name: getattr(self, name) for name in self.get_params(deep=False)}
        learned = {"vocab": self.vocab_, "special_tokens": self.special_tokens_}
        write_file(path, json.dumps(files.to_huggingface(fields | learned)).encode())

    def _cutter(self) -> Cutter:
        strip = self.lowercase if self.strip_accents is None else self.strip_accents
        return Cutter(self.clean_text, self.handle_chinese_chars, strip, self.lowercase)

    def _compiled_parts(self) -> tuple[Cutter, Pieces, re.Pattern[str]]:
        """The tables of what was learned."""
        self._require_fitted()
        return self._tables

    @derived(
        *("vocab_", "special_tokens_", "unk_token", "max_input_chars_per_word", "clean_text"),
        *("handle_chinese_chars", "strip_accents", "lowercase"),
    )
    def _tables(self) -> tuple[Cutter, Pieces, re.Pattern[str]]:
        unknown = self.vocab_[self.unk_token]
        pieces = Pieces(self.vocab_, unknown, self.max_input_chars_per_word)
        longest_first = sorted(self.special_tokens_, key=len, reverse=True)
        marks = re.compile(f"({'|'.join(map(re.escape, longest_first))})")
        return self._cutter(), pieces, marks


def _words(documents: list[Any], cutter: Cutter) -> Texts:
    texts = [[d] if isinstance(d, str) else _strings(d) for d in documents]
    return Texts.of([word for text in strings for word in cutter(text)] for strings in texts)


def _strings(document: Any) -> list[str]:
    strings = list(document)
    for text in strings:
        if not isinstance(text, str):
            raise ValueError(f"a document holds the token {text!r:.60}, which is no str")
    return strings


def _count(X: Texts, y: None, weight: np.ndarray | None) -> PieceCounts:
    return PieceCounts.of(X, weight, pattern=WHOLE)


def _alphabet(words: list[str], counts: np.ndarray, limit: int) -> list[str]:
    """The most frequent characters, in order; of equally frequent ones the first by its number."""
    seen: dict[str, float] = {}
    for word, count in zip(words, counts.tolist(), strict=True):
        for character in word:
            seen[character] = seen.get(character, 0.0) + count
    return sorted(sorted(seen, key=lambda c: (-seen[c], c))[:limit])


def _letters(words: list[str], alphabet: list[str]) -> list[str]:
    """The words without characters that are not learned."""
    known = set(alphabet)
    if known.issuperset(itertools.chain.from_iterable(words)):
        return words
    return ["".join(c for c in word if c in known) for word in words]


def _name(spelling: bytes) -> str:
    """A piece as the vocabulary writes it."""
    begins = spelling.startswith(_START)
    text = spelling.removeprefix(_START).decode("utf-8", "surrogatepass")
    return text if begins else PREFIX + text
