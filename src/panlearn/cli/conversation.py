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
        for piece in self._model.stream(self._prompt(), stop=self._stop, **sampling):
            said.append(piece)
            yield piece
        self.messages.append({"role": "assistant", "content": "".join(said)})

    def _prompt(self) -> list[int]:
        """What was said as tokens; the oldest exchanges go if there is no room for all."""
        while True:
            ids = self._tokens()
            if len(self.messages) < self._kept + 3 or len(ids) < self._model.config_.context:
                return ids
            del self.messages[self._kept : self._kept + 2]

    def _tokens(self) -> list[int]:
        """What was said as tokens; special ones are the template's, whatever a message spells."""
        tokenizer = self._model.tokenizer_
        if tokenizer is None:
            raise ValueError("the model has no tokenizer to write a conversation with")
        try:
            return self._template.encode(tokenizer, self.messages, add_generation_prompt=True)[0]
        except ValueError:  # a template that cuts or rewrites what is said: harmless if no message
            said = "".join(message["content"] for message in self.messages)
            if any(name in said for name in tokenizer.special_tokens_):  # spells a token
                raise
        text = self._template.render(self.messages, add_generation_prompt=True)
        (ids,) = tokenizer.encode_batch([text], special="atomic")
        return [int(i) for i in ids]
