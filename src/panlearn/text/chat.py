"""A conversation as one text, in the template that a language model was taught with."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

from panlearn.core.errors import did_you_mean
from panlearn.text import _jinja
from panlearn.text._jinja_names import TemplateError

STYLES = {
    "chatml": (
        "{% for message in messages %}"
        "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
        "{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
    ),
    "llama": (
        "{{ bos_token }}"
        "{% for message in messages %}"
        "{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' }}"
        "{{ message.content | trim + '<|eot_id|>' }}"
        "{% endfor %}"
        "{% if add_generation_prompt %}"
        "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"
        "{% endif %}"
    ),
}
"""Templates by name: that of ChatML, as in Qwen, and that of Llama 3."""

_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token")


_OPEN, _CLOSE = "\ue000", "\ue001"  # of a private area, which no text has
_HELD = re.compile(f"( ?){_OPEN}([0-9]+){_CLOSE}( ?)")


class _Piece(NamedTuple):
    """A part of a conversation: of the template or of a message, of the assistant or not."""

    text: str
    mark: bool
    said: bool


@dataclass(frozen=True)
class ChatTemplate:
    r"""How a conversation is written for a language model.

    .. math::
        x = b\; o(r_1)\, c_1\, e \; o(r_2)\, c_2\, e \;\cdots\; o(\text{assistant})

    for contents :math:`c_i` of roles :math:`r_i`, in most templates: a token b that begins,
    headings o, and ends e.

    Parameters
    ----------
    template : str, default="chatml"
        The name of a style, ``"chatml"`` or ``"llama"``, or the text of a template in Jinja.
    tokens : dict of {str: str}, default=None
        What the template calls its tokens, such as ``{"bos_token": "<s>"}``.

    Notes
    -----
    Jinja parses the text; an interpreter walks what was parsed, and compiles and runs nothing of
    it. A template can compare, join, slice and loop over the messages; tests, filters and methods
    are a closed list, and what is beyond it (imports, products and formats of text, lists of
    lists, loops that recurse) is refused by name when a rendering comes to it. The text that it
    makes and the steps that it takes have a limit. The clock is not known: a template that asks
    whether there is one takes the date that it has for such a case, and others are refused unless
    `render` is given the function ``strftime_now``.

    References
    ----------
    Chat templates. Documentation of the package transformers, Hugging Face.

    Examples
    --------
    >>> from panlearn.text import ChatTemplate
    >>> messages = [{"role": "user", "content": "Who are you?"}]
    >>> print(ChatTemplate("chatml").render(messages, add_generation_prompt=True))
    <|im_start|>user
    Who are you?<|im_end|>
    <|im_start|>assistant
    <BLANKLINE>
    """

    template: str = "chatml"
    tokens: Mapping[str, str] | None = None

    @cached_property
    def _parsed(self) -> Any:
        text = STYLES.get(self.template, self.template)
        if text is self.template and "{" not in text:
            raise TemplateError(
                f"there is no style {self.template!r}; {did_you_mean(self.template, list(STYLES))}"
            )
        return _jinja.parse(text)

    @classmethod
    def from_pretrained(cls, folder: str | PathLike[str]) -> Self:
        """Read the template of a folder of Hugging Face.

        Parameters
        ----------
        folder : path
            A folder with ``chat_template.jinja``, or with ``tokenizer_config.json`` that holds a
            template. Of several templates it is the one with the name ``"default"``.

        Returns
        -------
        ChatTemplate
            The template, with the names of its tokens.
        """
        config, text = _read_config(Path(folder) / "tokenizer_config.json"), None
        if (file := Path(folder) / "chat_template.jinja").is_file():
            text = file.read_text("utf-8")
        elif isinstance(text := config.get("chat_template"), list):
            text = {row["name"]: row["template"] for row in text}.get("default")
        if not isinstance(text, str):
            raise TemplateError(f"{folder} holds no chat template")
        return cls(text, {name: token for name in _TOKENS if (token := _token(config, name))})

    @property
    def end_of_turn(self) -> str:
        """What the template writes behind an answer of the assistant; may be empty."""
        mark = "\ue000answer\ue000"
        said = [{"role": "user", "content": "?"}, {"role": "assistant", "content": mark}]
        return self.render(said).partition(mark)[2].strip()

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        add_generation_prompt: bool = False,
        **variables: Any,
    ) -> str:
        """Write a conversation as one text.

        Parameters
        ----------
        messages : list of dict
            What was said, in order, each with a ``"role"``, such as ``"user"``, and ``"content"``.
        add_generation_prompt : bool, default=False
            Whether to end with what precedes an answer of the assistant.
        **variables : object
            What else the template is to know, such as ``tools``.

        Returns
        -------
        str
            The text. Its special tokens are written out, the first one of all too.
        """
        for message in messages:
            if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
                raise TemplateError(
                    f"a message is a dict with a role and a content; got {message!r:.80}"
                )
        known = {"messages": list(messages), "add_generation_prompt": add_generation_prompt}
        given = {"tools": None, "documents": None} | dict(self.tokens or {}) | known | variables
        return _jinja.render(self._parsed, given)

    def encode(
        self,
        tokenizer: Any,
        messages: Sequence[Mapping[str, str]],
        add_generation_prompt: bool = False,
    ) -> tuple[list[int], list[bool]]:
        """Write a conversation as tokens.

        The names of special tokens are tokens where the template has them, and letters where a
        message has them: no message can pretend to be another.

        Parameters
        ----------
        tokenizer : BPETokenizer
            Has the tokens.
        messages : list of dict
            What was said, in order, each with a ``"role"`` and ``"content"``.
        add_generation_prompt : bool, default=False
            Whether to end with what precedes an answer of the assistant.

        Returns
        -------
        tuple of list
            Ids; and whether each is of what the assistant said, the end of its turn included.
        """
        ids: list[int] = []
        said: list[bool] = []
        for piece in self._pieces(messages, add_generation_prompt):
            special = "atomic" if piece.mark else "text"
            (found,) = tokenizer.encode_batch([piece.text], special=special)
            ids += [int(i) for i in found]
            said += [piece.said] * len(found)
        return ids, said

    def _pieces(self, messages: Sequence[Mapping[str, str]], asks: bool) -> list[_Piece]:
        """Cut what is rendered at the contents, for which others stand while it is rendered."""
        held = [{**m, "content": f" {_OPEN}{i}{_CLOSE} "} for i, m in enumerate(messages)]
        text = self.render(held, asks)
        places = list(_HELD.finditer(text))
        pieces, last = [], 0
        for i, (place, message) in enumerate(zip(places, messages, strict=False)):
            pieces += [_Piece(text[last : place.start()], True, False)]
            content, last = message["content"], place.end()
            content = content if place[1] else content.lstrip()
            content = content if place[3] else content.rstrip()
            speaks = message["role"] == "assistant"
            pieces += [_Piece(content, False, speaks)]
            if speaks:  # how the turn ends is what stands there if it is the last
                alone = self.render(held[: i + 1])
                end = alone[[*_HELD.finditer(alone)][-1].end() :]
                while not text.startswith(end, last):  # it may end otherwise where more follows
                    end = end[:-1]
                pieces += [_Piece(end, True, True)]
                last += len(end)
        pieces += [_Piece(text[last:], True, False)]
        whole = [int(place[2]) for place in places] == list(range(len(messages)))
        if not whole or "".join(p.text for p in pieces) != self.render(messages, asks):
            raise TemplateError(
                "the template does more with what is said than to write it, so that its tokens "
                "cannot be told from those of the messages; give another one"
            )
        return [piece for piece in pieces if piece.text]


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        config = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise TemplateError(f"{path} is no JSON: {error}") from None
    if not isinstance(config, dict):
        raise TemplateError(f"{path} holds no object")
    return config


def _token(config: dict[str, Any], name: str) -> str | None:
    """A token is written as it is, or with how it is stripped."""
    token = config.get(name)
    token = token.get("content") if isinstance(token, dict) else token
    return token if isinstance(token, str) else None
