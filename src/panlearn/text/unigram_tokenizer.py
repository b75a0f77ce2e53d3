"""Unigram models: text cut into its most probable pieces, as T5 and SentencePiece do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from panlearn.core.files import write_file
from panlearn.core.value import Value
from panlearn.text import _unigram_files as files
from panlearn.text._bpe_characters import BYTES, SPACE
from panlearn.text._documents import as_list
from panlearn.text._normalizers import SPACES, Step, normalizer
from panlearn.text._unigram import Lattice

_WORDS = re.compile(f"{SPACE}[^{SPACE}]*|[^{SPACE}]+")
_BYTE = {token: byte for byte, token in enumerate(BYTES)}
Special = Literal["text", "atomic", "refuse"]


@dataclass(frozen=True, eq=False)
class UnigramTokenizer(Value):
    r"""Text cut into the pieces whose probabilities have the highest product.

    .. math::
        (x_1, \ldots, x_m)^\ast = \arg\max_{x_1 \cdots x_m = w,\ x_i \in V}
        \sum_{i=1}^{m} \log p(x_i)

    It does not learn: it is read from a file, by `from_huggingface`, or made of a vocabulary.

    Parameters
    ----------
    vocab : dict of {str: float}
        The logarithms of the probabilities of the pieces, in the order of their ids. A space is
        written ``"▁"``.
    unk_id : int, default=0
        Which of them stands for what is unknown.
    byte_fallback : bool, default=False
        Whether what is unknown is spelt in bytes such as ``"<0x0A>"``, if these are pieces.
    special_tokens : dict of {str: int}
        The ids of tokens that stand for no text, none by default; they may be among the pieces,
        which then no text has.
    normalizer : dict, default=None
        What is done to a text first, as ``tokenizer.json`` has it: normal forms, a table of
        SentencePiece, case, accents, spaces.
    prefix : {"always", "first", "never"}, default="always"
        Where a space is put before a text, if it does not begin with one: before every part of it
        between special tokens, and every word if it is cut at white space; before the first part;
        nowhere.
    split : bool, default=True
        Whether each word is cut for itself, with the space before it.
    words : bool, default=True
        Whether a text is cut at white space first, of which then nothing else remains.
    lstrip, rstrip : tuple of str, default=()
        The special tokens that take the white space on their left, or right, with them.
    before, after : tuple of int, default=()
        What ``add_special_tokens`` puts before and after a text.

    Attributes
    ----------
    n_tokens : int
        How many ids there are: one above the largest.

    Notes
    -----
    The best way to cut a word of n characters is found in :math:`O(n\, l)` look-ups, l the length
    of the longest piece, and remembered. An unknown character counts ten nats less than the least
    probable piece, and neighbours that are unknown become one token, as in SentencePiece. A step of
    a normaliser that is not known is refused by its name.

    References
    ----------
    T. Kudo (2018). Subword regularization: improving neural network translation models with
    multiple subword candidates. ACL. doi:10.18653/v1/P18-1007

    T. Kudo and J. Richardson (2018). SentencePiece: a simple and language independent subword
    tokenizer and detokenizer for neural text processing. EMNLP. doi:10.18653/v1/D18-2012

    Examples
    --------
    >>> from panlearn.text import UnigramTokenizer
    >>> pieces = {"<unk>": 0.0, "▁": -2.0, "▁low": -3.0, "l": -4.0, "o": -4.0, "w": -4.0,
    ...           "er": -4.0, "▁lo": -5.0}
    >>> tokenizer = UnigramTokenizer(pieces, special_tokens={"<unk>": 0})
    >>> ids = tokenizer.encode("lower  low")
    >>> tokenizer.tokens(ids)
    ['▁low', 'er', '▁low']
    >>> tokenizer.decode(ids)
    'lower low'
    """

    vocab: Mapping[str, float]
    unk_id: int = 0
    _: KW_ONLY
    byte_fallback: bool = False
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    normalizer: Mapping[str, Any] | None = None
    prefix: Literal["always", "first", "never"] = "always"
    split: bool = True
    words: bool = True
    lstrip: tuple[str, ...] = ()
    rstrip: tuple[str, ...] = ()
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        n_pieces, ids = len(self.vocab), list(self.special_tokens.values())
        if not isinstance(self.unk_id, int) or not 0 <= self.unk_id < n_pieces:
            raise ValueError(
                f"unk_id={self.unk_id!r} must name one of {n_pieces} pieces: what is unknown has "
                "to have a token"
            )
        if self.prefix not in ("always", "first", "never"):
            raise ValueError(f"prefix={self.prefix!r} must be 'always', 'first' or 'never'")
        if self.prefix == "first" and self.words:
            raise ValueError("prefix='first' needs words=False: only the text begins with a space")
        for token, number in self.special_tokens.items():
            place = self._places.get(token)
            if number != place and (place is not None or not n_pieces <= number < 2**31):
                raise ValueError(f"the special token {token!r} cannot have the id {number}")
        if len(set(ids)) < len(ids):
            raise ValueError("special tokens must have different ids")
        known = {*self.lstrip, *self.rstrip} <= self.special_tokens.keys()
        if not known or not {*self.before, *self.after} <= set(ids):
            raise ValueError("lstrip, rstrip, before and after must name special tokens")
        assert self._normalise is not None  # a step that is not known is refused at once

    @cached_property
    def _places(self) -> dict[str, int]:
        """The id of each piece."""
        return {piece: number for number, piece in enumerate(self.vocab)}

    @cached_property
    def _normalise(self) -> Step:
        return normalizer(self.normalizer)

    @cached_property
    def _lattice(self) -> Lattice:
        scores = self.vocab.items()
        pieces = {
            piece: (i, float(score))
            for i, (piece, score) in enumerate(scores)
            if piece not in self.special_tokens and i != self.unk_id
        }
        return Lattice(pieces, min(self.vocab.values()), self.unk_id, self.byte_fallback)

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        """What finds special tokens: the longest, and the white space that they take along."""
        found = []
        for token in sorted(self.special_tokens, key=len, reverse=True):
            left, right = (f"{SPACES}*" * (token in side) for side in (self.lstrip, self.rstrip))
            found.append(f"{left}({re.escape(token)}){right}")
        return re.compile("|".join(found) or r"(?!)")

    @property
    def n_tokens(self) -> int:
        """How many ids there are: one above the largest."""
        return max(len(self.vocab), 1 + max(self.special_tokens.values(), default=-1))

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        """Give the ids of one text.

        Parameters
        ----------
        text : str
            Any text.
        special : {"text", "atomic", "refuse"}, default="text"
            What a special token in the text is: letters like others, so that no text can smuggle
            one in; the special token; or an error.
        add_special_tokens : bool, default=False
            Whether to put `before` and `after` around it.

        Returns
        -------
        list of int
        """
        if not isinstance(text, str):
            raise ValueError(f"text must be a str; got a {type(text).__name__}")
        (ids,) = self.encode_batch([text], special=special, add_special_tokens=add_special_tokens)
        return ids

    def encode_batch(
        self, texts: Any, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[list[int]]:
        """Give the ids of several texts.

        Parameters
        ----------
        texts : iterable of str or of list of str
            Documents; of one that is a list, the ids of its tokens, each cut for itself.
        special : {"text", "atomic", "refuse"}, default="text"
            What a special token in a text is; see `encode`.
        add_special_tokens : bool, default=False
            Whether to put `before` and `after` around each.

        Returns
        -------
        list of list of int
        """
        if special not in ("text", "atomic", "refuse"):
            raise ValueError(f"special must be 'text', 'atomic' or 'refuse'; got {special!r}")
        made = []
        for document in as_list(texts):
            ids: list[int] = []
            for text in [document] if isinstance(document, str) else document:
                ids += self._encoded(text, special)
            made.append([*self.before, *ids, *self.after] if add_special_tokens else ids)
        return made

    def _encoded(self, text: str, special: Special) -> list[int]:
        if special == "text":
            return self._lattice.of(self._words(text, first=True))
        ids: list[int] = []
        last = 0
        for found in self._marks.finditer(text):
            token = found[found.lastindex or 0]
            if special == "refuse":
                raise ValueError(
                    f"a text holds the special token {token!r}; special='atomic' gives its id, "
                    "special='text' encodes its letters"
                )
            ids += self._lattice.of(self._words(text[last : found.start()], first=not last))
            ids.append(self.special_tokens[token])
            last = found.end()
        return ids + self._lattice.of(self._words(text[last:], first=not last))

    def _words(self, text: str, first: bool) -> list[str]:
        """What is cut for itself; `first` says whether the text begins with it."""
        text = self._normalise(text)
        if not text:
            return []
        parts = [part for part in re.split(f"{SPACES}+", text) if part] if self.words else [text]
        parts = [part.replace(" ", SPACE) for part in parts] if self._spaced else parts
        if self.prefix == "always" or (self.prefix == "first" and first):
            parts = [part if part.startswith(SPACE) else SPACE + part for part in parts]
        if not self.split:
            return parts
        return [word for part in parts for word in _WORDS.findall(part)]

    @property
    def _spaced(self) -> bool:
        """Whether spaces are written as a symbol here, and not by the normaliser or not at all."""
        return self.words or self.split or self.prefix != "never"

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """Give the text of ids.

        Parameters
        ----------
        ids : iterable of int
            As `encode` gives them, or some of them.
        skip_special_tokens : bool, default=False
            Whether special tokens are left out.

        Returns
        -------
        str
            With a mark in the place of each byte that is no text.
        """
        text, held = "", b""
        for token in self.tokens(ids):
            if skip_special_tokens and token in self.special_tokens:
                continue
            if token in _BYTE:
                held += bytes([_BYTE[token]])
                continue
            text, held = text + _read(held) + token.replace(SPACE, " "), b""
        text += _read(held)
        return text if self.prefix == "never" else text.removeprefix(" ")

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Give the tokens of ids, as they stand in `vocab` or `special_tokens`.

        Parameters
        ----------
        ids : iterable of int
            Any ids.

        Returns
        -------
        list of str
        """
        names = self._names
        try:
            return [names[int(number)] for number in ids]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{error} is no id of this tokenizer, which has {len(names)}"
            ) from None

    @cached_property
    def _names(self) -> dict[int, str]:
        pairs = (self._places | dict(self.special_tokens)).items()
        return {number: token for token, number in pairs}

    @classmethod
    def from_huggingface(cls, path: str | PathLike[str]) -> Self:
        """Read a ``tokenizer.json`` of a unigram model.

        Parameters
        ----------
        path : path
            The file, such as those of T5, ALBERT and XLM-R, or of what was made by SentencePiece.

        Returns
        -------
        UnigramTokenizer
        """
        return cls(**files.from_huggingface(json.loads(Path(path).read_text("utf-8"))))

    def to_huggingface(self, path: str | PathLike[str]) -> None:
        """Write a ``tokenizer.json``, which the packages tokenizers and transformers read.

        Parameters
        ----------
        path : path
            Where to.
        """
        state = {part.name: getattr(self, part.name) for part in fields(self)}
        write_file(path, json.dumps(files.to_huggingface(state)).encode())


def _read(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:  # as the package tokenizers: a mark for each byte of the run
        return "\ufffd" * len(content)
