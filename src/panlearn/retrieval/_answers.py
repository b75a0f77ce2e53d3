"""The parts of an answer: sentences, what is near a question, prompts, citations that exist."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from panlearn.core.value import Value

NOT_FOUND = "not in the documents"
BY_WORDS, BY_VECTORS = 0.5, 0.5  # the least relevance that counts as near, see RAG's notes
# Words of questions and of grammar; those that are also words of programs, as with, are not here.
GRAMMAR = tuple(
    "a an the of to in on at by be is are was were am do does did can could should would will "
    "shall may might must i you he she it we they me my your his her its our their this that "
    "these those how what which who whom whose why where when there here so very please".split()
)
_ENDINGS = [
    *(("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("ss", "ss")),
    *(("us", "us"), ("is", "is"), ("s", ""), ("ied", "y"), ("eed", "eed"), ("ed", ""), ("ing", "")),
]
_INSTRUCTION = (
    "Answer the question from the numbered passages alone. After each sentence put the number of "
    f"the passage that says it, such as [1]. If they do not say it, answer: {NOT_FOUND}.\n\n"
)
_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]*[^\W_a-z])|\n\s*\n")
_CITATION = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")
_AFTER = re.compile(r"([.!?])\s*((?:\[[\d, ]+\]\s*)+)")


def stem(word: str) -> str:
    """Cut the commonest endings of English off, so that forms of a word meet."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) > 2:
            word = word[: -len(ending)] + instead if ending else word
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]  # stopped, stop
    return word[:-1] if len(word) > 3 and word[-1] == "e" else word


@dataclass(frozen=True)
class Stems(Value):
    """Cuts a text into words, and the commonest endings off them."""

    words: Any

    def __call__(self, text: str) -> list[str]:
        """Cut one text."""
        return [stem(word) for word in self.words(text)]


def sentences(text: str) -> list[str]:
    """Cut a text after full stops, question and exclamation marks, and at empty lines.

    Citations that follow a mark belong to the sentence before them.
    """
    moved = _AFTER.sub(lambda found: f" {found[2].strip()}{found[1]} ", text)
    return [part for piece in _END.split(moved) if (part := " ".join(piece.split()))]


def cited(text: str) -> list[int]:
    """The numbers of the citations in a text, in order, each once."""
    found = (int(n) for group in _CITATION.findall(text) for n in group.split(","))
    return list(dict.fromkeys(found))


def without_unknown(text: str, n: int) -> str:
    """Take citations of passages out that do not exist: there are 1 to n."""

    def kept(found: re.Match[str]) -> str:
        real = [m for part in found[1].split(",") if 1 <= int(m := part.strip()) <= n]
        return f"[{', '.join(real)}]" if real else ""

    text = _CITATION.sub(kept, text)
    return re.sub(r" +(?=[.,;!?]|$)", "", re.sub(r"  +", " ", text)).strip()


@dataclass(frozen=True)
class Words:
    """Relevance by words: the share of a question's words that a text has, rare ones weigh more."""

    frequencies: Counter[str]
    n: int
    cut: Callable[[str], list[str]]

    @classmethod
    def of(cls, passages: Iterable[str], cut: Callable[[str], list[str]]) -> Words:
        """Count in how many passages each word stands."""
        held = [set(cut(passage)) for passage in passages]
        return cls(Counter(word for words in held for word in words), len(held), cut)

    def __call__(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """Say how near each text is to a question, from 0 to 1."""
        asked = set(self.cut(question))
        # a word that no passage has weighs as one that half of a passage had
        weight = {w: np.log1p(self.n / max(self.frequencies[w], 0.5)) for w in sorted(asked)}
        total = sum(weight.values()) or 1.0
        held = [asked & set(self.cut(text)) for text in texts]
        return np.array([sum(weight[w] for w in sorted(words)) / total for words in held])


@dataclass(frozen=True)
class Cosines:
    """Relevance by vectors: the cosine of a question and a text."""

    encoder: Any

    def __call__(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """Say how near each text is to a question, from -1 to 1."""
        if not texts:
            return np.empty(0)
        vectors = np.asarray(self.encoder.transform([question, *texts]), dtype=float)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = vectors / np.where(lengths > 0, lengths, 1)
        return unit[1:] @ unit[0]


def within(passages: Sequence[str], budget: int, count: Callable[[str], int]) -> list[int]:
    """Numbers of passages that together have no more tokens than the budget, best first.

    One that is too long is passed over, and shorter ones after it are taken.
    """
    chosen, left = [], budget
    for i, passage in enumerate(passages):
        if (cost := count(passage)) <= left:
            chosen.append(i)
            left -= cost
    return chosen


def beginning(passage: str, budget: int, count: Callable[[str], int]) -> str:
    """The first sentences of a passage that fit into a budget."""
    made = ""
    for sentence in sentences(passage):
        longer = f"{made} {sentence}".strip()
        if count(longer) > budget:
            break
        made = longer
    return made


def prompt_of(question: str, passages: Sequence[str]) -> str:
    """What a generator is to go on with."""
    shown = "".join(f"[{i}] {' '.join(p.split())}\n\n" for i, p in enumerate(passages, start=1))
    return f"{_INSTRUCTION}{shown}Question: {' '.join(question.split())}\nAnswer:"


def extract(
    question: str, passages: Sequence[str], relevance: Callable[[str, Sequence[str]], np.ndarray]
) -> str:
    """The sentence of the passages that is nearest to a question, with its source."""
    each = [(number, s) for number, p in enumerate(passages, start=1) for s in sentences(p)]
    if not each:
        return NOT_FOUND
    number, best = each[int(np.argmax(relevance(question, [s for _, s in each])))]
    return f"{without_unknown(best, 0)} [{number}]"
