"""A conversation with a language model: what was said, and the next answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from panlearn.text import ChatTemplate
    from panlearn.transformer._language_model import LanguageModel


class Conversation:
    """What was said so far, written for a model by its template."""

    def __init__(self, model: LanguageModel, template: ChatTemplate, system: str | None) -> None:
        self._model, self._template = model, template
        self.messages = [] if system is None else [{"role": "system", "content": system}]
        self._kept = len(self.messages)  # these are never forgotten
        end = template.end_of_turn
        self._stop = (end,) if end else ()

    def answer(self, text: str, **sampling: Any) -> Iterator[str]:
        """Say something, and give the answer as it comes."""
        self.messages.append({"role": "user", "content": text})
        said = []
        how = {"stop": self._stop, "special": "atomic", **sampling}
        for piece in self._model.stream(self._prompt(), **how):
            said.append(piece)
            yield piece
        self.messages.append({"role": "assistant", "content": "".join(said)})

    def _prompt(self) -> str:
        """What was said as one text; the oldest exchanges go if there is no room for all."""
        tokenizer, context = self._model.tokenizer_, self._model.config_.context
        while True:
            text = self._template.render(self.messages, add_generation_prompt=True)
            if tokenizer is None or len(self.messages) < self._kept + 3:
                return text
            (ids,) = tokenizer.encode_batch([text], special="atomic")
            if len(ids) < context:
                return text
            del self.messages[self._kept : self._kept + 2]
