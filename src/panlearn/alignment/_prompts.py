"""Reading what models are tuned on: prompts, completions and conversations, as tokens.

Bad data are named with the number of their row.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from panlearn.core.errors import did_you_mean
from panlearn.text import ChatTemplate

ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True)
class Sequences:
    """Texts as tokens, of any lengths, and which of the tokens count: those of completions.

    ``index`` arrays of any shape choose among them, so that pairs or groups of texts are a row of
    a batch.
    """

    ids: list[np.ndarray]
    masks: list[np.ndarray]

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, prompts: Sequence[np.ndarray], completions: Sequence[np.ndarray]) -> Sequences:
        """Completions after their prompts."""
        pairs = list(zip(prompts, completions, strict=True))
        ids = [np.concatenate([before, after]).astype(np.int64) for before, after in pairs]
        return cls(ids, [np.arange(len(x)) >= len(b) for x, (b, _) in zip(ids, pairs, strict=True)])

    def joined(self, other: Sequences) -> Sequences:
        """These, and then others."""
        return Sequences(self.ids + other.ids, self.masks + other.masks)

    def padded(self, index: Any, device: Any = "cpu") -> tuple[Tensor, Tensor]:
        """Ids and masks of some of them, of shape (*index.shape, longest); zeros fill the ends."""
        places = np.asarray(index)
        chosen = [self.ids[i] for i in places.ravel()]
        longest = max(2, *(len(ids) for ids in chosen))
        ids = np.zeros((len(chosen), longest), dtype=np.int64)
        mask = np.zeros(ids.shape, dtype=bool)
        for row, number in enumerate(places.ravel()):
            length = len(self.ids[number])
            ids[row, :length], mask[row, :length] = self.ids[number], self.masks[number]
        shape = (*places.shape, longest)
        return tuple(torch.from_numpy(a).view(shape).to(device) for a in (ids, mask))  # type: ignore[return-value]

    def by_length(self, size: int) -> Iterator[np.ndarray]:
        """Places of so many at a time that are of like length, so that little is padding."""
        order = np.argsort([len(ids) for ids in self.ids], kind="stable")
        for low in range(0, len(order), size):
            yield order[low : low + size]

    def marks(self) -> np.ndarray:
        """A number of each that tells it from others: what a run that is resumed compares."""
        return np.array(
            [
                zlib.crc32(mask.tobytes(), zlib.crc32(ids.tobytes()))
                for ids, mask in zip(self.ids, self.masks, strict=True)
            ],
            dtype=np.int64,
        )


def as_template(template: ChatTemplate | str | None) -> ChatTemplate:
    """The template of a name, or the one that is given; ChatML if none is."""
    if template is None or isinstance(template, ChatTemplate):
        return template or ChatTemplate()
    known = {
        "chatml": ChatTemplate(),
        "llama": ChatTemplate("llama", {"bos_token": "<|begin_of_text|>"}),
    }
    if template not in known:
        raise ValueError(
            f"template={template!r} is no ChatTemplate nor the name of one; "
            + did_you_mean(str(template), list(known))
        )
    return known[template]


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


def read_conversation(
    model: Any, messages: Any, template: ChatTemplate | str | None = None, *, asks: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Tokens of a conversation, and which of them the assistant said, the end of its turn included.

    If asked they end where the assistant is to speak, unless it has spoken last.
    """
    check_messages(messages)
    if model.tokenizer_ is None:
        raise ValueError("the model has no tokenizer to write a conversation with")
    asks = asks and messages[-1]["role"] != "assistant"
    ids, said = as_template(template).encode(model.tokenizer_, messages, asks)
    return np.array(ids, dtype=np.int64), np.array(said, dtype=bool)


def read_prompts(
    model: Any, prompts: Any, template: ChatTemplate | str | None = None
) -> list[np.ndarray]:
    """Tokens of prompts: texts, token ids, or conversations that the assistant is to go on with.

    They are those that ``model.generate`` begins with. One that leaves no room in the context is
    refused.
    """
    given = list(prompts)
    for i, prompt in enumerate(given):
        if is_conversation(prompt):
            with in_row(i):
                given[i], _ = read_conversation(model, prompt, template, asks=True)
    return [answer.prompt for answer in model._answers(given, ())]


def read_completions(
    model: Any, completions: Any, template: ChatTemplate | str | None = None
) -> list[np.ndarray]:
    """Tokens of completions: texts, to which the token that ends one is added; ids as they are.

    A conversation is one message of the assistant, with the mark after it.
    """
    end = [] if model.end_token_ is None else [model.end_token_]
    found = []
    for i, completion in enumerate(completions):
        with in_row(i):
            if is_conversation(completion):
                ids, said = read_conversation(model, completion, template)
                if not all(m["role"] == "assistant" for m in completion) or len(completion) != 1:
                    raise ValueError("a completion is one message of the assistant")
                ids = ids[said]
            elif isinstance(completion, str):
                if not completion:
                    raise ValueError("the completion is empty; leave the row out")
                (ids,) = model._ids([completion], "completion")
                ids = np.concatenate([ids, end]).astype(np.int64)
            else:
                (ids,) = model._ids([completion], "completion")
            if not len(ids):
                raise ValueError("the completion is empty; leave the row out")
            found.append(ids)
    return found


def read_sequences(
    model: Any, prompts: list[Any], completions: list[Any], template: ChatTemplate | str | None
) -> Sequences:
    """Prompts with their completions, as many of the ones as of the others."""
    if len(prompts) != len(completions):
        raise ValueError(f"there are {len(prompts)} prompts and {len(completions)} completions")
    before = read_prompts(model, prompts, template)
    after = read_completions(model, completions, template)
    return fit_in(model, Sequences.of(before, after))


def fit_in(model: Any, sequences: Sequences) -> Sequences:
    """Refuse a prompt and completion that do not fit into the context and one token more."""
    room = model.config_.context + 1
    for i, ids in enumerate(sequences.ids):
        if len(ids) > room:
            raise ValueError(
                f"row {i}: prompt and completion have {len(ids)} tokens; the context has room for "
                f"{room - 1} and predicts one more: shorten them, or leave the row out"
            )
        if not sequences.masks[i][1:].any():
            raise ValueError(f"row {i} has no token to learn; leave the row out")
    return sequences


def as_rows(rows: Any, names: tuple[str, ...], what: str) -> list[Any]:
    """Rows as a list, one at least."""
    if isinstance(rows, str | bytes | Mapping) or not hasattr(rows, "__iter__"):
        raise ValueError(
            f"{what} must be a list of rows ({', '.join(names)}); got a {type(rows).__name__}"
        )
    rows = list(rows)
    if not rows:
        raise ValueError(f"{what} has no rows")
    return rows


def columns(rows: Any, names: tuple[str, ...], what: str) -> list[list[Any]]:
    """The columns of rows that are dicts with these names, or tuples in this order."""
    found: list[list[Any]] = [[] for _ in names]
    for i, row in enumerate(as_rows(rows, names, what)):
        if isinstance(row, Mapping):
            if missing := [name for name in names if name not in row]:
                raise ValueError(f"row {i} lacks {missing[0]!r}; it has {sorted(map(str, row))}")
            values = [row[name] for name in names]
        elif isinstance(row, list | tuple) and len(row) == len(names):
            values = list(row)
        else:
            raise ValueError(f"row {i} is {row!r:.60}; it must be a dict or tuple of {names}")
        for column, value in zip(found, values, strict=True):
            column.append(value)
    return found


def with_prompts(rows: Any, what: str) -> list[Any]:
    """Pairs as they are, but for those without a prompt: it is what both begin with.

    Of conversations these are the first messages, of texts all before the word in which they part.
    A prompt that is a text beside conversations only says again what they begin with.
    """
    made = as_rows(rows, ("prompt", "chosen", "rejected"), what)
    for i, row in enumerate(made):
        if not isinstance(row, Mapping) or not {"chosen", "rejected"} <= row.keys():
            continue
        again = isinstance(row.get("prompt"), str) and is_conversation(row["chosen"])
        if "prompt" not in row or again:
            with in_row(i):
                made[i] = _parted(row["chosen"], row["rejected"])
    return made


def _parted(chosen: Any, rejected: Any) -> tuple[Any, Any, Any]:
    """What two completions begin with, and how each goes on."""
    kinds = {str if isinstance(x, str) else is_conversation(x) for x in (chosen, rejected)}
    if kinds not in ({str}, {True}):
        raise ValueError(
            "there is no prompt, and chosen and rejected are not two texts or two conversations"
        )
    n = next((k for k, (a, b) in enumerate(zip(chosen, rejected, strict=False)) if a != b), None)
    n = min(len(chosen), len(rejected)) if n is None else n
    if kinds == {str}:  # a blank is the beginning of the word after it
        n = max((k for k in range(n) if chosen[k].isspace()), default=0)
    elif n == min(len(chosen), len(rejected)):
        n -= 1
    if not n:
        raise ValueError(
            "there is no prompt, and chosen and rejected do not begin alike; give a prompt"
        )
    return chosen[:n], chosen[n:], rejected[n:]


@contextmanager
def in_row(number: int) -> Iterator[None]:
    """Name the row in what is raised inside."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"row {number}: {error}") from None
