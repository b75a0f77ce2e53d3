"""Answers from the passages of an index, with their files and lines."""

from __future__ import annotations

from typing import Any

from panlearn.cli.meaning import encoder_of, nearness
from panlearn.cli.passages import find
from panlearn.core.errors import DataError
from panlearn.retrieval.evaluation import faithfulness
from panlearn.retrieval.rag import answer, writer_of

PER_FILE = 3


def answer_from(
    index: Any,
    question: str,
    *,
    model: str | None = None,
    k: int = 5,
    max_tokens: int = 200,
    token_budget: int = 1024,
) -> dict[str, Any]:
    """Answer a question by a language model, or by the nearest sentence if there is none."""
    generator = None
    if model is not None:
        from panlearn.cli.language_models import load_model

        generator = load_model(model)
    encoder = encoder_of(index) if "encoder" in index.settings_ else None
    passages = find(index, question, k, PER_FILE, encoder)
    relevance, least = nearness(index, encoder)
    try:
        made = answer(
            question,
            passages,
            [passage.text for passage in passages],
            relevance=relevance,
            writer=writer_of(generator, max_tokens),
            min_relevance=least,
            token_budget=token_budget,
        )
    except ValueError as error:
        raise DataError(str(error)) from None
    sources = [
        {"number": i, "file": p.file, "line": p.line, "first": p.first, "last": p.last}
        for i, p in made.citations.items()
    ]
    share = faithfulness(made)
    return {
        "question": question,
        "text": made.text,
        "found": made.found,
        "citations": sources,
        "unknown": list(made.unknown),
        "faithfulness": share,
    }
