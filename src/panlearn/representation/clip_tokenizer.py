"""The tokenizer of CLIP: byte pairs of lower-case words, whose last symbol is marked."""

from __future__ import annotations

import functools
import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from panlearn.core.derived import derived
from panlearn.core.files import write_file
from panlearn.core.value import Value
from panlearn.text._bpe_codec import BYTE_ORDER, spell, unspell
from panlearn.text._bpe_encoding import merge_symbols, merge_table
from panlearn.text._bpe_training import learn_merges
from panlearn.text._piece_counts import to_utf8
from panlearn.text._word_table import empty_table, insert_words

START, END, SUFFIX = "<|startoftext|>", "<|endoftext|>", "</w>"
_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
_MARKED = rf"{re.escape(START)}|{re.escape(END)}|{_PATTERN}"
_SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


@dataclass(frozen=True, eq=False)
class CLIPTokenizer(Value):
    r"""Text to ids as CLIP does: lower case, byte pairs within words, and two marks around.

    .. math::
        \text{text} \mapsto (\text{start}, w_{11}, \ldots, w_{1 n_1}, w_{21}, \ldots, \text{end})

    where the :math:`w_{ij}` are what merges make of the bytes of word i, whose last carries the
    suffix ``</w>``.

    Parameters
    ----------
    vocab : dict of {str: int}
        The id of each token, in GPT-2's printable characters; ``<|startoftext|>`` and
        ``<|endoftext|>`` are among them.
    merges : list of (str, str)
        The pairs that are merged, in order.

    Notes
    -----
    A word is a run of letters, a number of one digit, a run of other signs, or the end of an
    English contraction; spaces separate and are lost. Text is brought to the normal form NFC, and
    to lower case letter by letter. What has no token becomes ``<|endoftext|>``, as in the package
    transformers; a vocabulary that was learned here has one for every byte. Marks in a text are
    letters like others, so that no text can smuggle one in. A word of n letters is encoded in
    :math:`O(n \log n)`, and remembered.

    References
    ----------
    R. Sennrich, B. Haddow and A. Birch (2016). Neural machine translation of rare words with
    subword units. ACL 54. doi:10.18653/v1/P16-1162

    Examples
    --------
    >>> from panlearn.representation import CLIPTokenizer
    >>> tokenizer = CLIPTokenizer.learn(["a red fox", "a red box", "the red sea"], 520)
    >>> tokenizer.tokens(tokenizer.encode("A red  fox!"))
    ['<|startoftext|>', 'a</w>', 'red</w>', 'f', 'ox</w>', '!</w>', '<|endoftext|>']
    >>> tokenizer.decode(tokenizer.encode("A red  fox!"))
    'a red fox !'
    """

    vocab: dict[str, int] = field(repr=False)
    merges: list[Any] = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.vocab, dict) or not isinstance(self.merges, list | tuple):
            raise ValueError("a vocabulary is a dict of tokens to ids, and merges are a list")
        numbers = list(self.vocab.values())
        if not all(isinstance(n, int) and 0 <= n < 2**31 for n in numbers):
            raise ValueError("the ids of a vocabulary must be numbers from 0 to 2 ** 31 - 1")
        if len(set(numbers)) != len(numbers):
            raise ValueError("two tokens of the vocabulary have one id")
        if lacking := [mark for mark in (START, END) if mark not in self.vocab]:
            raise ValueError(f"the vocabulary has no token {lacking[0]!r}")
        for pair in self.merges:
            named = len(pair) == 2 and all(isinstance(part, str) for part in pair)
            if not named or not {*pair, "".join(pair)} <= self.vocab.keys():
                raise ValueError(f"the merge {pair!r} is not of two tokens that make a third")

    @property
    def n_tokens(self) -> int:
        """How many ids there are: one above the largest."""
        return 1 + max(self.vocab.values())

    @classmethod
    def learn(cls, texts: Iterable[str], vocab_size: int = 8000) -> Self:
        """Learn merges from texts.

        Parameters
        ----------
        texts : iterable of str
            Any texts.
        vocab_size : int, default=8000
            The most tokens; 512 symbols and the two marks are among them.

        Returns
        -------
        CLIPTokenizer
        """
        if vocab_size < 514:
            raise ValueError(f"vocab_size={vocab_size} is too small: 512 symbols and 2 marks")
        counts = Counter(piece for text in texts for piece in pieces(text))
        words = [to_utf8(word) for word in sorted(counts)]
        place = {byte: i for i, byte in enumerate(BYTE_ORDER)}
        symbols = [place[b] + 256 * (i == len(w) - 1) for w in words for i, b in enumerate(w)]
        ends = np.cumsum([0, *map(len, words)], dtype=np.int64)
        # the end of a word is spelt with a byte that UTF-8 has not
        spelt = [bytes([b]) for b in BYTE_ORDER] + [bytes([b, 0xFF]) for b in BYTE_ORDER]
        table = insert_words(
            empty_table(),
            np.frombuffer(b"".join(spelt), dtype=np.uint8),
            np.cumsum([0, *map(len, spelt)], dtype=np.int64),
            np.arange(512),
        )
        count = np.array([float(counts[word]) for word in sorted(counts)])
        limit = min(vocab_size - 2, 512 + len(symbols))
        ids = np.array(symbols, dtype=np.int32)
        merges = learn_merges(ids, ends, count, table, 512, max(limit, 512), 2.0)
        names = [spell(s[:1]) + SUFFIX * (len(s) > 1) for s in spelt]
        pairs = []
        for left, right, new in merges.tolist():
            pairs.append((names[left], names[right]))
            if new == len(names):
                names.append(names[left] + names[right])
        vocab = {name: i for i, name in enumerate([*names, START, END])}
        return cls(vocab, pairs)

    @derived("vocab", "merges")
    def _word(self) -> Any:
        """The ids of a word, kept for those that were seen."""
        vocab, unknown = self.vocab, self.vocab[END]
        ids = [[vocab[t] for t in (a, b, a + b)] for a, b in self.merges]
        table = merge_table(np.array(ids, dtype=np.int64).reshape(-1, 3), np.zeros(256))

        @functools.lru_cache(maxsize=1 << 16)
        def encode(word: str) -> list[int]:
            letters = list(spell(to_utf8(word)))
            letters[-1] += SUFFIX
            symbols = [vocab.get(letter, unknown) for letter in letters]
            made = np.array(symbols, dtype=np.int32)
            return made[: merge_symbols(made, table)].tolist()

        return encode

    def encode(self, text: str, context: int | None = None) -> list[int]:
        """Give the ids of a text between its marks.

        Parameters
        ----------
        text : str
            Any text.
        context : int, default=None
            The most ids, marks included; the end of a longer text is cut off.

        Returns
        -------
        list of int
        """
        inner = [number for word in pieces(text) for number in self._word(word)]
        inner = inner if context is None else inner[: context - 2]
        return [self.vocab[START], *inner, self.vocab[END]]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Give the tokens of ids, as they stand in the vocabulary.

        Parameters
        ----------
        ids : iterable of int
            Any ids.

        Returns
        -------
        list of str
        """
        named = {number: token for token, number in self.vocab.items()}
        try:
            return [named[int(number)] for number in ids]
        except KeyError as error:
            raise ValueError(
                f"{error} is no id of this tokenizer, which has {len(named)}"
            ) from None

    def decode(self, ids: Iterable[int]) -> str:
        """Give the text of ids: words with one space between them, without the marks.

        Parameters
        ----------
        ids : iterable of int
            As `encode` gives them.

        Returns
        -------
        str
        """
        kept = [token for token in self.tokens(ids) if token not in (START, END)]
        words = "".join(kept).split(SUFFIX)
        return " ".join(unspell(word).decode("utf-8", "replace") for word in words).strip()

    @classmethod
    def from_pretrained(cls, folder: str | PathLike[str]) -> Self:
        """Read a tokenizer from a folder of Hugging Face.

        Parameters
        ----------
        folder : path
            Holds ``tokenizer.json``, or ``vocab.json`` and ``merges.txt``.

        Returns
        -------
        CLIPTokenizer
        """
        path = Path(folder)
        if (path / "tokenizer.json").is_file():
            return cls._of(json.loads((path / "tokenizer.json").read_text("utf-8")))
        for name in ("vocab.json", "merges.txt"):
            if not (path / name).is_file():
                raise ValueError(f"{path} has neither tokenizer.json nor {name}: no tokenizer")
        lines = (path / "merges.txt").read_text("utf-8").split("\n")
        pairs = [tuple(line.split()) for line in lines if line and not line.startswith("#version")]
        return cls(json.loads((path / "vocab.json").read_text("utf-8")), pairs)

    @classmethod
    def _of(cls, document: Any) -> Self:
        """Read a ``tokenizer.json``, and refuse what it asks for besides."""
        model = document.get("model") or {}
        if model.get("end_of_word_suffix") != SUFFIX or "merges" not in model:
            raise ValueError("tokenizer.json is none of CLIP: no merges with the suffix '</w>'")
        normal = [s.get("type") for s in (document.get("normalizer") or {}).get("normalizers", [])]
        cut = (document.get("pre_tokenizer") or {}).get("pretokenizers", [{}])
        regex = cut[0].get("pattern", {}).get("Regex")
        if normal != ["NFC", "Replace", "Lowercase"] or regex not in (_PATTERN, _MARKED):
            raise ValueError(
                f"tokenizer.json normalises text by {normal} and cuts it by {regex!r}, and not as "
                "CLIP does"
            )
        pairs = [tuple(m.split(" ") if isinstance(m, str) else m) for m in model["merges"]]
        added = {t["content"]: int(t["id"]) for t in document.get("added_tokens") or []}
        return cls({**model["vocab"], **added}, pairs)

    def save_pretrained(self, folder: str | PathLike[str]) -> None:
        """Write ``vocab.json`` and ``merges.txt``, which the transformers package reads.

        Parameters
        ----------
        folder : path
            Where to.
        """
        path = Path(folder)
        lines = ["#version: 0.2", *(" ".join(pair) for pair in self.merges), ""]
        marks = {"bos_token": START, **dict.fromkeys(("eos_token", "unk_token", "pad_token"), END)}
        settings = {"tokenizer_class": "CLIPTokenizer", **marks}
        write_file(path / "vocab.json", json.dumps(self.vocab).encode())
        write_file(path / "merges.txt", "\n".join(lines).encode())
        write_file(path / "tokenizer_config.json", json.dumps(settings, indent=2).encode())


def pieces(text: str) -> Iterator[str]:
    """The words of a text, in lower case."""
    text = unicodedata.normalize("NFC", text)
    # a sigma at the end of a word is one like others: letters are lowered one by one
    lower = text.lower() if text.isascii() else "".join([letter.lower() for letter in text])
    return (found[0] for found in _words().finditer(lower))


@functools.cache
def _words() -> re.Pattern[str]:
    """The pattern of CLIP in the words of `re`, which knows no categories of Unicode."""
    codes = [c for c in range(sys.maxunicode + 1) if chr(c).isnumeric() and not chr(c).isalpha()]
    numbers = "".join(map(chr, codes))
    return re.compile(rf"'(?:s|t|re|ve|m|ll|d)|[^\W_{numbers}]+|[{numbers}]|(?:[^\w{_SPACES}]|_)+")
