"""How a conversation is written as one text, so that a language model can go on with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.value import Value

ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True)
class ChatTemplate(Value):
    r"""Writes messages one after the other, each between two marks.

    .. math::
        \text{begin} \; \prod_{m} \text{before}(\text{role}_m) \; \text{content}_m \; \text{after}

    Parameters
    ----------
    begin : str, default=""
        What stands before the first message.
    before : str, default="<|im_start|>{role}\\n"
        What stands before each; ``{role}`` is who speaks.
    after : str, default="<|im_end|>\\n"
        What stands after each.
    trim : bool, default=False
        Whether white space around a content is taken away.

    Notes
    -----
    The default is ChatML, the form of Qwen and of many others; `ChatTemplate.llama3` is that of
    Llama 3. A template is marks alone, and runs nothing: those that are programs, as files of
    tokenizers may hold, are not read. The names of special tokens are tokens where the template has
    them and letters where a content has them, so that no message can pretend to be another.

    References
    ----------
    Dubey, A. et al. (2024). The Llama 3 herd of models. arXiv:2407.21783

    Examples
    --------
    >>> from panlearn.alignment import ChatTemplate
    >>> print(ChatTemplate().render([{"role": "user", "content": "Hello"}]))
    <|im_start|>user
    Hello<|im_end|>
    <|im_start|>assistant
    <BLANKLINE>
    """

    begin: str = ""
    before: str = "<|im_start|>{role}\n"
    after: str = "<|im_end|>\n"
    trim: bool = False

    def __post_init__(self) -> None:
        for name in ("begin", "before", "after"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a str; got {getattr(self, name)!r}")
        if "{role}" not in self.before:
            raise ValueError(f"before={self.before!r} must say where the role stands: '{{role}}'")

    @classmethod
    def llama3(cls) -> Self:
        """Give the form of Llama 3 and its successors.

        Returns
        -------
        ChatTemplate
        """
        before = "<|start_header_id|>{role}<|end_header_id|>\n\n"
        return cls("<|begin_of_text|>", before, "<|eot_id|>", trim=True)

    def render(self, messages: Sequence[Mapping[str, str]], *, answer: bool = True) -> str:
        """Write a conversation as a text.

        Parameters
        ----------
        messages : list of {"role": str, "content": str}
            Who says what.
        answer : bool, default=True
            Whether the text ends where the assistant is to speak, if it has not spoken last.

        Returns
        -------
        str
        """
        return "".join(text for text, _, _ in self._pieces(messages, answer))

    def encode(
        self, model: Any, messages: Sequence[Mapping[str, str]], *, answer: bool = True
    ) -> np.ndarray:
        """Give the tokens of a conversation, which ``model.generate`` goes on with.

        Parameters
        ----------
        model : GPT
            Whose tokenizer is used.
        messages : list of {"role": str, "content": str}
            Who says what.
        answer : bool, default=True
            Whether the tokens end where the assistant is to speak, if it has not spoken last.

        Returns
        -------
        ndarray of shape (n_tokens,)
        """
        return self.tokens(model, messages, answer=answer)[0]

    def tokens(
        self, model: Any, messages: Sequence[Mapping[str, str]], *, answer: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Give the tokens of a conversation, and which of them the assistant said.

        Parameters
        ----------
        model : GPT
            Whose tokenizer is used.
        messages : list of {"role": str, "content": str}
            Who says what.
        answer : bool, default=False
            Whether the tokens end where the assistant is to speak, if it has not spoken last.

        Returns
        -------
        tuple of ndarray of shape (n_tokens,)
            Ids, and whether each is of what the assistant said, the mark after it included.
        """
        tokenizer = model.tokenizer_
        if tokenizer is None:
            raise ValueError("the model has no tokenizer to write a conversation with")
        ids: list[int] = []
        said: list[bool] = []
        for text, mark, speaks in self._pieces(messages, answer):
            (found,) = tokenizer.encode_batch([text], special="atomic" if mark else "text")
            ids += list(found)
            said += [speaks] * len(found)
        return np.array(ids, dtype=np.int64), np.array(said, dtype=bool)

    def _pieces(
        self, messages: Sequence[Mapping[str, str]], answer: bool
    ) -> list[tuple[str, bool, bool]]:
        """Texts in their order, whether each is a mark, and whether the assistant said it."""
        check_messages(messages)
        pieces = [(self.begin, True, False)]
        for message in messages:
            speaks = message["role"] == "assistant"
            content = message["content"].strip() if self.trim else message["content"]
            pieces.append((self.before.replace("{role}", message["role"]), True, False))
            pieces += [(content, False, speaks), (self.after, True, speaks)]
        if answer and messages[-1]["role"] != "assistant":
            pieces.append((self.before.replace("{role}", "assistant"), True, False))
        return [piece for piece in pieces if piece[0]]


def is_conversation(item: Any) -> bool:
    """Whether it is a list of messages."""
    return isinstance(item, list | tuple) and any(isinstance(m, Mapping) for m in item)


def check_messages(messages: Any) -> None:
    """Refuse what is no list of messages."""
    if not isinstance(messages, list | tuple) or not messages:
        raise ValueError(f"a conversation is a list of messages; got {messages!r:.60}")
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or not {"role", "content"} <= message.keys():
            raise ValueError(
                f"message {number} is {message!r:.60}; it must be a dict with role and content"
            )
        if message["role"] not in ROLES:
            raise ValueError(
                f"message {number} has the role {message['role']!r}; roles are {', '.join(ROLES)}"
            )
        if not isinstance(message["content"], str):
            raise ValueError(
                f"message {number} has the content {message['content']!r:.60}; it must be a str"
            )
