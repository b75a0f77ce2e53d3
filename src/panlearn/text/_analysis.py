"""From documents to what is counted: words, runs of them, or runs of characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    strip_accents_ascii,
    strip_accents_unicode,
)

from panlearn.text._documents import RUNS, Tokenizer, Tokens, WordTokenizer, number_words, tokenize

Analyzer = Literal["word", "char", "char_wb"] | Callable[[Any], Iterable[str]]
Accents = Literal["ascii", "unicode"] | Callable[[str], str] | None
StopWords = Literal["english"] | list | tuple | set | frozenset | None
_ACCENTS = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}
_BLANKS = re.compile(r"\s\s+")


@dataclass(frozen=True)
class Analysis:
    """How a document is cut into terms, by scikit-learn's parameters of the same names.

    Attributes
    ----------
    analyzer : {"word", "char", "char_wb"} or callable
    tokenizer : WordTokenizer or callable
        Cuts a text into words, of which stop words are left out already.
    prepare : callable or None
        Applied to a text before it is cut.
    ngram_range : tuple of int
        The least and the most words, or characters, of a term.
    """

    analyzer: Analyzer
    tokenizer: Tokenizer
    prepare: Callable[[str], str] | None
    ngram_range: tuple[int, int]

    @classmethod
    def of(cls, parameters: Any) -> Self:
        """Read the fields of an estimator."""
        given, lowercase = parameters.tokenizer, parameters.lowercase
        stop_words = _stop_words(parameters.stop_words)
        prepare = parameters.preprocessor
        if prepare is None and parameters.strip_accents is not None:
            strip = _ACCENTS.get(parameters.strip_accents, parameters.strip_accents)
            prepare = _Chain((str.lower, strip) if lowercase else (strip,))
        if isinstance(given, WordTokenizer):
            given = replace(given, stop_words=(*given.stop_words, *stop_words))
        elif given is not None:
            given = _Without(given, frozenset(stop_words))
        if prepare is None and lowercase and (given is not None or parameters.analyzer != "word"):
            prepare = None if isinstance(given, WordTokenizer) else str.lower
        if given is None:
            if parameters.token_pattern is None and parameters.analyzer == "word":
                raise ValueError("token_pattern is None: give a pattern, or a tokenizer")
            pattern = parameters.token_pattern or r"(?u)\b\w\w+\b"
            given = WordTokenizer(lowercase and prepare is None, pattern, stop_words)
        return cls(parameters.analyzer, given, prepare, parameters.ngram_range)

    @property
    def span(self) -> tuple[int, int]:
        """The least and the most tokens that are joined to a term."""
        return self.ngram_range if self.analyzer == "char" or self._compiled else (1, 1)

    @property
    def between(self) -> str:
        """What stands between the tokens of a term."""
        return "" if self.analyzer == "char" else " "

    @property
    def _compiled(self) -> bool:
        """Whether words hold no blank for sure, so that a run of words is told by its string."""
        known = isinstance(self.tokenizer, WordTokenizer) and self.tokenizer.pattern in RUNS
        return self.analyzer == "word" and (known or self.ngram_range[1] == 1)

    def split(self, term: str) -> list[str]:
        """The tokens of a term."""
        if self.analyzer == "char":
            return list(term)
        return term.split(" ") if self.span[1] > 1 else [term]

    def tokens(self, documents: list[Any]) -> Tokens:
        """Cut documents into tokens, of which terms are `span` in a row."""
        if callable(self.analyzer):
            return tokenize([list(self.analyzer(item)) for item in documents])
        texts = [self._prepared(i, item) for i, item in enumerate(documents)]
        if self.analyzer == "char":
            return _characters(texts)
        if self.analyzer == "char_wb":
            return _padded(texts, *self.ngram_range)
        tokens = tokenize(texts, self.tokenizer)
        return tokens if self._compiled else _joined(tokens, *self.ngram_range)

    def _prepared(self, i: int, item: Any) -> Any:
        if not isinstance(item, str):
            if self.analyzer != "word":
                raise ValueError(
                    f"document {i} is a list of tokens, and analyzer={self.analyzer!r} takes texts"
                )
            return item
        text = item if self.prepare is None else self.prepare(item)
        if not isinstance(text, str):
            raise ValueError(f"preprocessor must give a str; it gave {text!r:.40} for document {i}")
        return text


@dataclass(frozen=True)
class _Chain:
    """One function after the other."""

    functions: tuple[Callable[[str], str], ...]

    def __call__(self, text: str) -> str:
        for function in self.functions:
            text = function(text)
        return text


@dataclass(frozen=True)
class _Without:
    """A tokenizer whose stop words are left out."""

    tokenizer: Callable[[str], list[str]]
    stop_words: frozenset[str]

    def __call__(self, text: str) -> Any:
        words = self.tokenizer(text)
        if not self.stop_words or not isinstance(words, list | tuple):
            return words
        return [word for word in words if word not in self.stop_words]


def _stop_words(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    words = tuple(ENGLISH_STOP_WORDS) if given == "english" else tuple(given)
    if not all(isinstance(word, str) for word in words):
        raise ValueError(f"stop_words must be 'english' or a list of words; got {given!r:.60}")
    return words


def _characters(texts: list[str]) -> Tokens:
    """Each character a token; several blanks are one."""
    texts = [_BLANKS.sub(" ", text) for text in texts]
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    known, ids = np.unique(codes, return_inverse=True)
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return Tokens(ids.astype(np.int32), offsets, [chr(code) for code in known.tolist()])


def _padded(texts: list[str], shortest: int, longest: int) -> Tokens:
    """Runs of characters of words with a blank at either end; each distinct word is cut once."""
    words = number_words(text.split() for text in texts)
    runs = number_words(_runs(f" {word} ", shortest, longest) for word in words.words)
    lengths = runs.lengths[words.ids]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    place = np.arange(ends[-1]) + np.repeat(runs.offsets[words.ids] - ends[:-1], lengths)
    return Tokens(runs.ids[place], ends[words.offsets], runs.words)


def _runs(word: str, shortest: int, longest: int) -> list[str]:
    """Runs of each length up to the word's own; one that is shorter than all counts once."""
    last = max(shortest, min(longest, len(word)))
    return [
        word[i : i + n] for n in range(shortest, last + 1) for i in range(max(1, len(word) - n + 1))
    ]


def _joined(tokens: Tokens, shortest: int, longest: int) -> Tokens:
    """Runs of words as strings, for words that may hold blanks themselves."""
    return number_words(
        [
            " ".join(words[i : i + n])
            for n in range(shortest, longest + 1)
            for i in range(len(words) - n + 1)
        ]
        for words in tokens.documents()
    )
