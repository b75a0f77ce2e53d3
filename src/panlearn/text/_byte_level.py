"""Text to ids and back, by tokens of bytes that were learned or read from a file."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
from sklearn.base import TransformerMixin

from panlearn.core.derived import derived
from panlearn.text._base import TextModel
from panlearn.text._bpe_characters import SPACE, Normal
from panlearn.text._bpe_codec import Codec, decode_bytes, lenient
from panlearn.text._documents import as_list
from panlearn.text._piece_counts import to_utf8

Special = Literal["text", "atomic", "refuse"]


class ByteLevelTokenizer(TransformerMixin, TextModel):
    """The abstract base of tokenizers that merge bytes: how they encode and decode."""

    pattern: str
    ignore_merges: bool
    alphabet: str
    prefix: str
    normalize: str | None
    vocab_: dict[str, int]
    merges_: list[tuple[str, str]]
    special_tokens_: dict[str, int]
    start_token_: int | None = None

    @property
    def n_tokens(self) -> int:
        """How many ids there are: one above the largest."""
        self._require_fitted()
        return 1 + max(itertools.chain(self.vocab_.values(), self.special_tokens_.values()))

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
        return self.encode_batch([_one(text)], special=special)[0]

    def encode_batch(self, texts: Any, *, special: Special = "text") -> list[list[int]]:
        """Give the ids of several texts, on all cores.

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
        return [ids.tolist() for ids in self._encode(texts, special)]

    def encode_offsets(
        self, text: str, *, special: Special = "text"
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Give the ids of one text, and which characters each is of.

        Parameters
        ----------
        text : str
            Any text.
        special : {"text", "atomic", "refuse"}, default="text"
            What a special token in the text is; see `encode`.

        Returns
        -------
        ids : list of int
        offsets : list of (int, int)
            Where each token starts and ends in the text, after its normalisation if there is one.
            Tokens that are parts of one character have the place of that character.
        """
        codec = self._codec()
        if not codec.normal.idle and special == "atomic":
            raise ValueError("offsets of a normalised text with special tokens are not known")
        ids = self._encode([_one(text)], special)[0]
        sizes = [len(codec.texts[i]) for i in ids.tolist()]
        normal = codec.normal(text).replace(SPACE, " ") if not codec.normal.idle else text
        if codec.normal.prefixes(text):  # a space that does not stand in the text
            normal, sizes[0] = normal[1:], sizes[0] - 1
        if not normal:
            return ids.tolist(), [(0, 0)] * len(ids)
        ends = np.cumsum(sizes, dtype=np.int64)
        heads = (np.frombuffer(to_utf8(normal), dtype=np.uint8) & 0xC0) != 0x80
        character = np.cumsum(heads) - 1  # that each byte belongs to
        starts = character[np.concatenate([[0], ends[:-1]])]
        stops = np.where(ends > 0, character[ends - 1] + 1, 0)
        return ids.tolist(), list(zip(starts.tolist(), stops.tolist(), strict=True))

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
        return self._encode(X, "text")

    def decode(
        self,
        ids: Iterable[int],
        *,
        skip_special_tokens: bool = False,
        errors: str = "replace",
        continued: bool = False,
    ) -> str:
        """Give the text of ids.

        Parameters
        ----------
        ids : iterable of int
            As `encode` gives them, or some of them.
        skip_special_tokens : bool, default=False
            Whether special tokens are left out.
        errors : str, default="replace"
            What to do about bytes that are no text, such as the first half of a character:
            ``"replace"``, ``"ignore"``, ``"strict"`` or what else `bytes.decode` knows.
        continued : bool, default=False
            Whether the ids go on with a text, so that a space before the first word stays, which
            some tokenizers put there themselves.

        Returns
        -------
        str
        """
        text = decode_bytes(b"".join(self._decode(ids, skip_special_tokens)), errors)
        return text if continued or not self._is_prefixed else text.removeprefix(" ")

    def decode_bytes(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> bytes:
        """Give the bytes of ids, whether they are text or not.

        Parameters
        ----------
        ids : iterable of int
            Any ids.
        skip_special_tokens : bool, default=False
            Whether special tokens are left out.

        Returns
        -------
        bytes
        """
        return b"".join(self._decode(ids, skip_special_tokens))

    def decode_stream(
        self, ids: Iterable[int], *, skip_special_tokens: bool = False, errors: str = "replace"
    ) -> Iterator[str]:
        """Give the text of ids as they come, whole characters only.

        Parameters
        ----------
        ids : iterable of int
            Such as a model that generates text yields.
        skip_special_tokens : bool, default=False
            Whether special tokens are left out.
        errors : str, default="replace"
            What to do about bytes that are no text; see `decode`.

        Yields
        ------
        str
            What an id adds to the text; a character that several make comes with the last.
        """
        decoder = codecs.getincrementaldecoder("utf-8")(lenient(errors))
        begins = self._is_prefixed
        for content in self._decode(ids, skip_special_tokens):
            if text := decoder.decode(content):
                text, begins = text.removeprefix(" ") if begins else text, False
                if text:
                    yield text
        if text := decoder.decode(b"", final=True):
            yield text

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
        ids = list(ids)
        list(self._decode(ids, False))  # refuses what is no id
        named = {i: token for token, i in (self.vocab_ | self.special_tokens_).items()}
        return [named[i] for i in ids]

    def _encode(self, texts: Any, special: str) -> list[np.ndarray]:
        codec, documents = self._codec(), as_list(texts)
        if special not in ("text", "atomic", "refuse"):
            raise ValueError(f"special must be 'text', 'atomic' or 'refuse'; got {special!r}")
        return codec.encode(documents, special)

    def _decode(self, ids: Iterable[int], skip_special_tokens: bool) -> Iterator[bytes]:
        return self._codec().decode(ids, skip_special_tokens)

    @property
    def _is_prefixed(self) -> bool:
        """Whether texts may begin with a space that was put there."""
        return self.alphabet == "characters" and self.prefix != "never"

    def _codec(self) -> Codec:
        """The compiled tables of what was learned."""
        self._require_fitted()
        return self._tables

    @derived(
        *("vocab_", "merges_", "special_tokens_", "pattern", "ignore_merges"),
        *("alphabet", "prefix", "normalize"),
    )
    def _tables(self) -> Codec:
        learned = (self.vocab_, self.merges_, self.special_tokens_)
        normal = Normal(self.normalize, self.alphabet, self.prefix)
        return Codec(*learned, self.pattern, self.ignore_merges, self.alphabet, normal)


def _one(text: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"text must be a str; got a {type(text).__name__}")
    return text
