"""How a text is continued: how long, by which law, until what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from panlearn.core.parameters import RandomState
from panlearn.transformer._generation import Choice
from panlearn.transformer._runs import MOST

Special = Literal["text", "atomic", "refuse"]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    r"""How texts are continued; methods that continue them take these as keywords.

    Parameters
    ----------
    max_tokens : int, default=100
        The most tokens to add. A text ends earlier at a token of ``end_tokens_``.
    temperature : float, default=0.0
        Zero takes the most probable token. Else one is drawn from
        :math:`p_i \propto \exp(s_i / \text{temperature})`.
    top_k : int, default=None
        Draw from so many most probable tokens only.
    top_p : float, default=1.0
        Draw from the fewest tokens whose probability reaches this.
    stop : str or list of str, default=()
        A text ends before the first of these.
    special : {"text", "atomic", "refuse"}, default="text"
        What the name of a special token in a prompt is: letters like others; the token; or an
        error.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the draws.
    """

    max_tokens: int = 100
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float = 1.0
    stop: str | tuple[str, ...] | list[str] = ()
    special: Special = "text"
    random_state: RandomState = None

    def __post_init__(self) -> None:
        if self.max_tokens < 0:
            raise ValueError(f"max_tokens must be zero or more; got {self.max_tokens}")
        if not all(isinstance(s, str) and s for s in self.stops):
            raise ValueError(f"stop must be non-empty strings; got {self.stops!r}")
        Choice(self.temperature, self.top_k, self.top_p)  # which refuses what is no law

    @property
    def choice(self) -> Choice:
        """How the next token is chosen."""
        return Choice(self.temperature, self.top_k, self.top_p)

    @property
    def stops(self) -> list[str]:
        """The texts to end before."""
        return [self.stop] if isinstance(self.stop, str) else list(self.stop)

    @property
    def ahead(self) -> int:
        """How many tokens may be chosen before the text is looked at: stop strings are in it."""
        return 1 if self.stops else MOST
