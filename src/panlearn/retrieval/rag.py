"""Answers with their sources: passages are found, and a language model answers from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.derived import derived
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.parameters import Count
from panlearn.retrieval._answers import (
    BY_VECTORS,
    BY_WORDS,
    GRAMMAR,
    NOT_FOUND,
    Cosines,
    Stems,
    Words,
    beginning,
    cited,
    extract,
    prompt_of,
    within,
    without_unknown,
)
from panlearn.retrieval._labels import ranks
from panlearn.retrieval.bm25 import BM25
from panlearn.retrieval.evaluation import faithfulness, ranking_metrics
from panlearn.retrieval.hybrid_retriever import gather
from panlearn.text import WordTokenizer
from panlearn.text._base import TextModel
from panlearn.text._documents import Tokenizer, as_list

WORDS = WordTokenizer(
    pattern=r"(?u)\b\w+\b",
    stop_words=(*GRAMMAR, *"and or not with from for as than about into has have had".split()),
)


@dataclass(frozen=True)
class Answer:
    r"""An answer and the passages that it may cite: [i] is the i-th of them.

    .. math::
        \text{text} = s_1\,[i_1]\ s_2\,[i_2] \cdots, \qquad 1 \le i_j \le n

    Parameters
    ----------
    question : str
        What was asked.
    text : str
        The answer; "not in the documents" if nothing was near.
    ids : list of labels
        The ids of the passages.
    passages : list of str
        The passages that the answer was made from, the first is [1].
    unknown : tuple of int, default=()
        Numbers that a generator cited and that do not exist; they were taken out of the text.

    References
    ----------
    P. Lewis et al. (2020). Retrieval-augmented generation for knowledge-intensive NLP tasks.
    NeurIPS. arXiv:2005.11401

    Examples
    --------
    >>> from panlearn.retrieval import Answer
    >>> print(Answer("Rust?", "Iron rusts [1].", ["metals.txt"], ["Iron rusts. Gold does not."]))
    Iron rusts [1].
    [1] metals.txt
    """

    question: str
    text: str
    ids: list
    passages: list
    unknown: tuple = ()

    @property
    def found(self) -> bool:
        """Whether the documents say something."""
        return bool(self.passages) and self.text != NOT_FOUND

    @property
    def citations(self) -> dict[int, Any]:
        """The ids of the passages that the text cites, by their numbers."""
        return {i: self.ids[i - 1] for i in cited(self.text) if 1 <= i <= len(self.ids)}

    def __str__(self) -> str:
        return "\n".join([self.text, *(f"[{i}] {label}" for i, label in self.citations.items())])


@dataclass(eq=False, repr=False)
class RAG(TextModel):
    r"""Answer questions from documents, and say which passage says so.

    .. math::
        p(\text{answer} \mid q) = p_{\text{generator}}(\text{answer} \mid q, z_1, \dots, z_m),
        \qquad z_1, \dots, z_m = \text{the nearest passages within the budget}

    Parameters
    ----------
    retriever : retriever or None, default=None
        Finds passages: anything with ``fit(X, ids=...)`` and ``search(question, k)``, such as
        `BM25` or `HybridRetriever`; ``BM25`` on the words of `tokenizer`, without their commonest
        endings, if None.
    generator : GPT, callable or None, default=None
        Answers: a fitted `transformer.GPT`, or a function from a prompt to a text. A GPT that
        `clone` shall not forget goes in as ``FrozenEstimator(gpt)``. None gives the sentence that
        is nearest to the question.
    k : int, default=5
        How many passages are looked for.
    token_budget : int, default=1024
        The most tokens of passages that a generator is shown: its own tokens if it is a GPT, whose
        context is kept to as well, and else words.
    relevance : transformer or None, default=None
        Says how near a passage is to a question: the cosine of their vectors that this makes, such
        as a `SentenceEncoder`; or the share of the words of the question that the passage has,
        without their commonest endings, weighted by their rarity, if None.
    min_relevance : float, default=None
        A passage that is less near is left out. If all are, the answer is "not in the documents".
        None is half of the words, or a cosine of a half.
    max_tokens : int, default=200
        The most tokens of an answer of a GPT.
    tokenizer : WordTokenizer or callable, default=WORDS
        Cuts texts into the words that `relevance` compares; without those of grammar.

    Attributes
    ----------
    retriever_ : retriever
        The fitted retriever.
    ids_ : ndarray of shape (n_passages,)
        The ids of the passages, ascending.
    passages_ : list of str
        The passages, in the order of their ids.

    Notes
    -----
    Each document is a passage. A passage that does not fit into what is left of the budget is
    passed over; of one that is too long by itself the first sentences are shown. What a generator
    writes is not believed: a citation of a passage that does not exist is taken out and kept in
    ``unknown``. That a sentence cites a passage does not prove that the passage says so.

    What counts as near was chosen on 828 questions, first sentences of docstrings of Python's
    standard library, with the rest of the docstrings as passages, of which those of every second
    module or so were indexed. By words, 0.5 answers 68 percent of the questions that have a passage
    and 21 percent of those that have none; the difference is within 0.02 of its largest from 0.45
    to 0.55. By the cosines of all-MiniLM-L6-v2, 0.5 answers 80 and 17 percent, and 0.45, 90 and 33.
    All were about one subject: where questions are of other subjects than the documents, fewer of
    them are near by accident. Another encoder has another scale of cosines. An answer costs a
    search, :math:`O(n d)` by vectors, and what the generator takes to read the budget.

    References
    ----------
    P. Lewis et al. (2020). Retrieval-augmented generation for knowledge-intensive NLP tasks.
    NeurIPS. arXiv:2005.11401

    T. Gao, H. Yen, J. Yu and D. Chen (2023). Enabling large language models to generate text with
    citations. EMNLP. doi:10.18653/v1/2023.emnlp-main.398

    Examples
    --------
    >>> from panlearn.retrieval import RAG
    >>> texts = ["Iron rusts in damp air. It is heavy.", "Gold is soft and does not rust."]
    >>> model = RAG().fit(texts, ids=["iron", "gold"])
    >>> print(model.ask("Does gold rust?"))
    Gold is soft and does not rust. [1]
    [1] gold
    >>> model.ask("Who painted the ceiling?").text
    'not in the documents'
    """

    capabilities = Capabilities(sources=ANYWHERE)

    retriever: Any = None
    generator: Any = None
    _: KW_ONLY
    k: Count = 5
    token_budget: Count = 1024
    relevance: Any = None
    min_relevance: float | None = None
    max_tokens: Count = 200
    tokenizer: Tokenizer = WORDS

    @fitting
    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Index passages.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            Passages; the tokens of one that is a list are shown with spaces between them.
        y : object, default=None
            Ignored.
        ids : sequence of labels, default=None
            One label a passage, each different; 0, 1, ... if not given.

        Returns
        -------
        RAG
            The model itself.
        """
        if self.retriever is not None and not hasattr(self.retriever, "search"):
            raise ValueError(f"retriever must have a method search; got {self.retriever!r}")
        if self.relevance is not None and not hasattr(self.relevance, "transform"):
            raise ValueError(f"relevance must have a method transform; got {self.relevance!r}")
        self._writer()
        documents, labels = gather(self, X, ids)
        labels = np.arange(len(documents)) if labels is None else labels
        blank = BM25(tokenizer=Stems(self.tokenizer))
        self.retriever_ = blank if self.retriever is None else clone(self.retriever, safe=False)
        texts = [_text(i, document) for i, document in enumerate(documents)]
        self.retriever_.fit(texts, ids=labels)
        order = ranks(labels)
        self.ids_ = labels[order]
        self.passages_ = [texts[i] for i in order.tolist()]
        return self

    def ask(self, questions: Any) -> Any:
        """Answer one question or several.

        Parameters
        ----------
        questions : str or iterable of str
            What to answer.

        Returns
        -------
        Answer or list of Answer
            With the passages that it was made from.
        """
        self._require_fitted()
        single = isinstance(questions, str)
        asked = as_list([questions] if single else questions)
        if wrong := [i for i, question in enumerate(asked) if not isinstance(question, str)]:
            raise ValueError(f"question {wrong[0]} must be a text; got {asked[wrong[0]]!r:.60}")
        found = self.retriever_.search(asked, self.k) if asked else []
        answers = [
            answer(
                question,
                *self._texts(hits.ids.tolist()),
                relevance=self._nearness,
                writer=self._writer(),
                min_relevance=self._least,
                token_budget=self.token_budget,
            )
            for question, hits in zip(asked, found, strict=True)
        ]
        return answers[0] if single else answers

    def evaluate(self, questions: Sequence[str], relevant: Sequence[Any]) -> dict:
        """Measure what is found and how answers name their sources.

        Parameters
        ----------
        questions : sequence of str
            What to ask.
        relevant : sequence of collections of ids, or of mappings from ids to gains
            The passages that should be found for each.

        Returns
        -------
        dict of {str: float}
            ``recall``, ``mrr`` and ``ndcg`` of the first k passages, see
            `evaluation.ranking_metrics`; ``faithfulness``, the share of sentences that cite a
            passage; ``answered``, that of questions to which something was found.
        """
        self._require_fitted()
        asked = as_list(questions)
        measured = ranking_metrics(self.retriever_.search(asked, self.k), relevant, self.k)
        answers = self.ask(asked)
        measured["faithfulness"] = faithfulness(answers)
        measured["answered"] = float(np.mean([answer.found for answer in answers]))
        return measured

    def _texts(self, labels: list[Any]) -> tuple[list[Any], list[str]]:
        return labels, [self.passages_[self._places[label]] for label in labels]

    @derived("ids_")
    def _places(self) -> dict[Any, int]:
        return {label: i for i, label in enumerate(self.ids_.tolist())}

    @property
    def _nearness(self) -> Callable[[str, Sequence[str]], np.ndarray]:
        return self._words if self.relevance is None else Cosines(self.relevance)

    @property
    def _least(self) -> float:
        if self.min_relevance is not None:
            return self.min_relevance
        return BY_WORDS if self.relevance is None else BY_VECTORS

    @derived("passages_", "tokenizer")
    def _words(self) -> Words:
        return Words.of(self.passages_, Stems(self.tokenizer))

    def _writer(self) -> Writer | None:
        return writer_of(self.generator, self.max_tokens)


@dataclass(frozen=True)
class Writer:
    """Who writes an answer, how its tokens are counted, and how many there is room for."""

    write: Callable[[str], Any]
    count: Callable[[str], int]
    room: int | None = None


def writer_of(generator: Any, max_tokens: int) -> Writer | None:
    """Take a language model, a function, or none."""
    if isinstance(generator, FrozenEstimator):
        generator = generator.estimator
    if generator is None:
        return None
    if not hasattr(generator, "generate"):
        if not callable(generator):
            raise ValueError(f"generator must be a GPT or a function; got {generator!r}")
        return Writer(generator, lambda text: len(re.findall(r"\w+|[^\w\s]", text)))
    if isinstance(generator, Estimator) and not generator.__sklearn_is_fitted__():
        raise ValueError(
            "generator is a model that is not fitted. clone makes such a copy: give "
            "FrozenEstimator(generator)"
        )
    tokenizer = generator.tokenizer_
    if tokenizer is None:
        raise ValueError("generator has no tokenizer, so that it cannot read a question")

    def write(prompt: str) -> str:
        return generator.generate(prompt, max_tokens=max_tokens, stop=("\nQuestion:", "\n\n"))

    room = generator.config_.context - max_tokens - 1  # a token may come before the text
    return Writer(write, lambda text: len(tokenizer.encode(text)), room)


def answer(
    question: str,
    ids: Sequence[Any],
    passages: Sequence[str],
    *,
    relevance: Callable[[str, Sequence[str]], np.ndarray],
    writer: Writer | None,
    min_relevance: float,
    token_budget: int,
) -> Answer:
    """Answer a question from passages, best first."""
    near = np.flatnonzero(relevance(question, passages) >= min_relevance).tolist()
    if not near:
        return Answer(question, NOT_FOUND, [], [])
    shown, labels = [passages[i] for i in near], [ids[i] for i in near]
    if writer is None:
        return Answer(question, extract(question, shown, relevance), labels, shown)
    budget = token_budget
    if writer.room is not None:
        budget = min(budget, writer.room - writer.count(prompt_of(question, [])))
    # the number of a passage and the lines around it count, too
    kept = within([f"[99] {text}\n\n" for text in shown], budget, writer.count)
    if not kept:
        shown, kept = [beginning(shown[0], budget - writer.count("[99] \n\n"), writer.count)], [0]
        if not shown[0]:
            raise ValueError(
                f"no sentence of a passage fits into {budget} tokens; raise token_budget, lower "
                "max_tokens, or take a generator with a longer context"
            )
    shown, labels = [shown[i] for i in kept], [labels[i] for i in kept]
    text = writer.write(prompt_of(question, shown))
    if not isinstance(text, str):
        raise ValueError(f"the generator gave {text!r:.60}, which is no text")
    unknown = tuple(number for number in cited(text) if not 1 <= number <= len(shown))
    text = without_unknown(text, len(shown))
    if not text or (NOT_FOUND in text.lower() and not cited(text)):
        text = NOT_FOUND
    return Answer(question, text, labels, shown, unknown)


def _text(number: int, document: Any) -> str:
    """A document as one text, its tokens with blanks between."""
    if isinstance(document, str):
        return document
    if not all(isinstance(token, str) for token in document):
        raise ValueError(f"document {number} holds tokens that are no str: {document!r:.60}")
    return " ".join(document)
