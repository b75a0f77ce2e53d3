r"""Rules that reward completions: the right answer, the asked form, a length, sums that are true.

.. math:: r(x, y) = \sum_k w_k \, r_k(x, y)

A reward is called with prompts, completions and the right answers, lists of one length, and gives a
number for each. Rewards are added and multiplied by weights: ``BoxedAnswer() + 0.2 * Format()``.
None of them runs code that stands in a completion.

A rule reads a completion of n letters once, :math:`O(n)`.

References
----------
DeepSeek-AI (2025). DeepSeek-R1: incentivizing reasoning capability in LLMs via reinforcement
learning. https://arxiv.org/abs/2501.12948

Examples
--------
>>> from panlearn.alignment import rewards
>>> reward = rewards.BoxedAnswer() + 0.5 * rewards.Arithmetic()
>>> reward(["2 + 2?"], [r"2 + 2 = 4, so \boxed{4}"], ["4"])
array([1.5])
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from panlearn.alignment._arithmetic import equations, same
from panlearn.alignment._preferences import PreferenceModel
from panlearn.core.errors import DataError
from panlearn.core.value import Value

__all__ = [
    "Arithmetic",
    "BoxedAnswer",
    "ExactAnswer",
    "Format",
    "Function",
    "Learned",
    "Length",
    "Reward",
    "Sum",
    "as_reward",
]


class Reward(Value):
    r"""A number for each completion of a prompt, :math:`r(x, y)`; abstract.

    A class gives the number of one completion; calling it gives those of several.
    """

    @abstractmethod
    def _values(self, prompts: list[Any], completions: list[Any], answers: list[Any]) -> Any:
        """Give a number for each completion."""

    @property
    def name(self) -> str:
        """What its column of a history is called."""
        return type(self).__name__

    @property
    def terms(self) -> list[tuple[float, Reward]]:
        """What it is a sum of, each with its weight."""
        return [(1.0, self)]

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        answers: Sequence[Any] | None = None,
    ) -> np.ndarray:
        """Give the reward of each completion.

        Parameters
        ----------
        prompts : list of str
            What was to be continued, one for each completion.
        completions : list of str
            What followed.
        answers : list, default=None
            The right answers, for rewards that compare with them.

        Returns
        -------
        ndarray of shape (n_completions,)
        """
        prompts, completions = list(prompts), list(completions)
        n = len(completions)
        right = [None] * n if answers is None else list(answers)
        for what, given in (("prompts", prompts), ("answers", right)):
            if len(given) != n:
                raise DataError(f"there are {n} completions and {len(given)} {what}; give as many")
        found = list(self._values(prompts, completions, right))
        if len(found) != n:
            raise DataError(f"the reward {self.name} gave {len(found)} numbers for {n} completions")
        for row, value in enumerate(found):
            try:
                fine = math.isfinite(value)
            except TypeError:
                fine = False
            if not fine:
                raise DataError(
                    f"the reward {self.name} of completion {row} is {value!r}, which is no finite "
                    f"number; its prompt is {prompts[row]!r:.60}, the completion "
                    f"{completions[row]!r:.60}"
                )
        return np.array(found, dtype=float)

    def __add__(self, other: Reward) -> Sum:
        if not isinstance(other, Reward):
            return NotImplemented
        return Sum((*self.terms, *other.terms))

    def __mul__(self, weight: float) -> Sum:
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            return NotImplemented
        return Sum(tuple((weight * w, term) for w, term in self.terms))

    __rmul__ = __mul__


@dataclass(frozen=True)
class Sum(Reward):
    r"""A weighted sum of rewards, :math:`\sum_k w_k r_k`; what ``+`` and ``*`` make.

    Parameters
    ----------
    weighted : tuple of (float, Reward)
        Weights and rewards.
    """

    weighted: tuple[tuple[float, Reward], ...]

    @property
    def terms(self) -> list[tuple[float, Reward]]:
        """What it is a sum of, each with its weight."""
        return list(self.weighted)

    def _values(self, prompts: list[Any], completions: list[Any], answers: list[Any]) -> Any:
        parts = [w * reward(prompts, completions, answers) for w, reward in self.weighted]
        return sum(parts, np.zeros(len(completions)))


@dataclass(frozen=True)
class Function(Reward):
    r"""A function of one's own as a reward, :math:`r_i = f(x, y, a)_i`.

    Parameters
    ----------
    function : callable
        ``function(prompts, completions, answers)`` returns a number for each completion.
    """

    function: Callable[[list[Any], list[Any], list[Any]], Any]

    @property
    def name(self) -> str:
        """What the function is called."""
        return getattr(self.function, "__name__", type(self.function).__name__).strip("<>")

    def _values(self, prompts: list[Any], completions: list[Any], answers: list[Any]) -> Any:
        return self.function(prompts, completions, answers)


@dataclass(frozen=True)
class Learned(Reward):
    r"""What a model of preferences has learned as a reward, :math:`r_\theta(x, y)`.

    Parameters
    ----------
    model : RewardModel or DPO
        A fitted one.
    """

    model: Any

    def _values(self, prompts: list[Any], completions: list[Any], answers: list[Any]) -> Any:
        end = [self.model.start_.end_token_]  # what an empty completion is made of
        return self.model.rewards(prompts, [c if len(c) else end for c in completions])


class _Rule(Reward):
    """A reward that looks at one text at a time; abstract."""

    @abstractmethod
    def _of(self, text: str, answer: Any) -> float:
        """Give the reward of one completion."""

    def _values(self, prompts: list[Any], completions: list[Any], answers: list[Any]) -> Any:
        for row, text in enumerate(completions):
            if not isinstance(text, str):
                raise DataError(
                    f"{self.name} looks at texts, and completion {row} is {text!r:.60}; a model "
                    "without a tokenizer needs a reward of tokens: give a function"
                )
        return [self._of(text, answer) for text, answer in zip(completions, answers, strict=True)]


class _Answer(_Rule):
    """Compares what it finds in a text with the right answer; abstract."""

    @abstractmethod
    def find(self, text: str) -> str | None:
        """Find the answer that a text gives."""

    def _values(self, prompts: list[Any], completions: list[Any], answers: list[Any]) -> Any:
        for row, answer in enumerate(answers):
            if answer is None:
                raise DataError(f"{self.name} compares with answers, and that of row {row} lacks")
        return super()._values(prompts, completions, answers)

    def _of(self, text: str, answer: Any) -> float:
        found = self.find(text)
        return float(found is not None and same(found, str(answer)))


@dataclass(frozen=True)
class ExactAnswer(_Answer):
    r"""One if the answer is the right one, :math:`r = [\hat a(y) = a]`.

    Answers are the same if their texts are, blanks aside, or if both are the same number: 0.5, .50
    with a zero before it, and 1/2.

    Parameters
    ----------
    tag : str, default="answer"
        The answer stands between ``<answer>`` and the last ``</answer>``. None takes the whole
        completion.
    """

    tag: str | None = "answer"

    def find(self, text: str) -> str | None:
        """Find the answer that a text gives."""
        if self.tag is None:
            return text
        before, closing, _ = text.rpartition(f"</{self.tag}>")
        _, opening, inside = before.rpartition(f"<{self.tag}>")
        return inside if opening and closing else None


@dataclass(frozen=True)
class BoxedAnswer(_Answer):
    r"""One if the last ``\boxed{...}`` holds the right answer, :math:`r = [\hat a(y) = a]`.

    Braces inside are matched, so that fractions of LaTeX are found whole; they are compared as
    texts, not worked out.
    """

    def find(self, text: str) -> str | None:
        """Find the answer that a text gives."""
        _, opening, rest = text.rpartition(r"\boxed{")
        if not opening:
            return None
        depth = 1
        for place, letter in enumerate(rest):
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if depth == 0:
                return rest[:place]
        return None


@dataclass(frozen=True)
class Format(_Rule):
    r"""One if the completion is made of these tags in their order, and of nothing else.

    .. math:: r = [\, y = \texttt{<think>}\ldots\texttt{</think>}\;
              \texttt{<answer>}\ldots\texttt{</answer>} \,]

    Parameters
    ----------
    tags : tuple of str, default=("think", "answer")
        Each stands once, and is closed before the next begins.
    opened : bool, default=False
        Whether the prompt has opened the first tag, so that the completion only closes it.
    """

    tags: tuple[str, ...] = ("think", "answer")
    opened: bool = False

    def _of(self, text: str, answer: Any) -> float:
        if self.opened:
            text = f"<{self.tags[0]}>" + text
        rest = text.strip()
        for tag in self.tags:
            begin, end = f"<{tag}>", f"</{tag}>"
            if text.count(begin) != 1 or text.count(end) != 1 or not rest.startswith(begin):
                return 0.0
            rest = rest.partition(end)[2].lstrip()
        return float(not rest)


@dataclass(frozen=True)
class Length(_Rule):
    r"""Zero for completions that are short enough, falling to -1 for those that are too long.

    .. math:: r = -\min\Bigl(1, \max\Bigl(0, \frac{|y| - (L - m)}{m}\Bigr)\Bigr)

    Parameters
    ----------
    longest : int
        L, from which on it is -1.
    margin : int
        m, over how many units it falls.
    unit : {"characters", "words"}, default="characters"
        What is counted.

    References
    ----------
    Yu, Q. et al. (2025). DAPO: an open-source LLM reinforcement learning system at scale.
    https://arxiv.org/abs/2503.14476
    """

    longest: int
    margin: int
    unit: str = "characters"

    def __post_init__(self) -> None:
        if not 0 < self.margin <= self.longest:
            raise ValueError(
                f"margin={self.margin} must be above 0 and at most longest={self.longest}"
            )
        if self.unit not in ("characters", "words"):
            raise ValueError(f"unit={self.unit!r} must be 'characters' or 'words'")

    def _of(self, text: str, answer: Any) -> float:
        n = len(text) if self.unit == "characters" else len(text.split())
        return -min(1.0, max(0.0, (n - self.longest + self.margin) / self.margin))


@dataclass(frozen=True)
class Arithmetic(_Rule):
    r"""The share of the equations in a completion that hold; zero if there is none.

    .. math:: r = \frac{\#\{\text{equations that hold}\}}{\#\{\text{equations}\}}

    Sums, differences, products, quotients, brackets and decimals are worked out exactly, in
    fractions; there are no powers, so that the work is bounded by the length of the text. It says
    nothing on whether the equations answer the question: add it to a reward that does.
    """

    def _of(self, text: str, answer: Any) -> float:
        found = equations(text)
        return sum(found) / len(found) if found else 0.0


def as_reward(reward: Any) -> Reward:
    """Make a reward of a function, of a fitted RewardModel, or of a list of these: their sum.

    Parameters
    ----------
    reward : Reward, callable, RewardModel, or list of these

    Returns
    -------
    Reward
    """
    if isinstance(reward, Reward):
        return reward
    if isinstance(reward, list | tuple) and reward:
        return Sum(tuple(pair for part in reward for pair in as_reward(part).terms))
    if isinstance(reward, PreferenceModel):
        return Learned(reward)
    if callable(reward) and not isinstance(reward, type):
        return Function(reward)
    raise TypeError(
        "a reward is one of alignment.rewards, a function of prompts, completions and answers, a "
        f"RewardModel, or a list of these; got {reward!r:.60}"
    )
