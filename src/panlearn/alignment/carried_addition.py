"""A task with a known truth: sums of numbers whose carried digits are written out."""

from __future__ import annotations

from dataclasses import dataclass

from panlearn.alignment.rewards import Arithmetic, ExactAnswer, Format, Reward
from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.core.value import Value


@dataclass(frozen=True)
class CarriedAddition(Value):
    r"""Sums of two numbers, worked out digit by digit from the right with what is carried.

    .. math:: a_k + b_k + c_k = 10\, c_{k+1} + s_k, \qquad c_0 = 0

    Parameters
    ----------
    n_digits : int, default=2
        Digits of each number; the first may be zero.

    Notes
    -----
    A sum of k digits costs :math:`O(k)`.

    References
    ----------
    Nye, M. et al. (2021). Show your work: scratchpads for intermediate computation with language
    models. https://arxiv.org/abs/2112.00114

    Examples
    --------
    >>> from panlearn.alignment import CarriedAddition
    >>> task = CarriedAddition()
    >>> print(task.solution("47+85="))
    <think>7+5=12 4+8+1=13</think><answer>132</answer>
    >>> task.answer("47+85=")
    '132'
    >>> task.reward(["47+85="], [task.solution("47+85=")], ["132"])
    array([1.5])
    """

    n_digits: int = 2

    def __post_init__(self) -> None:
        if not 1 <= self.n_digits <= 9:
            raise ValueError(f"n_digits={self.n_digits} must be 1 to 9")

    def prompts(self, n: int, random_state: RandomState = None) -> list[str]:
        """Draw different questions.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.

        Returns
        -------
        list of str
        """
        high = 10**self.n_digits
        if not 0 < n <= high**2:
            raise ValueError(f"n={n}: there are {high**2} sums of {self.n_digits} digits")
        chosen = generator(random_state).choice(high**2, size=n, replace=False)
        width = self.n_digits
        return [f"{pair // high:0{width}d}+{pair % high:0{width}d}=" for pair in chosen.tolist()]

    def solution(self, prompt: str) -> str:
        """Work a question out.

        Parameters
        ----------
        prompt : str
            As `prompts` gives it.

        Returns
        -------
        str
        """
        one, _, other = prompt.rstrip("=").partition("+")
        carry, steps = 0, []
        for a, b in zip(reversed(one), reversed(other), strict=True):
            total = int(a) + int(b) + carry
            steps.append(f"{a}+{b}{'+1' if carry else ''}={total}")
            carry = total // 10
        return f"<think>{' '.join(steps)}</think><answer>{self.answer(prompt)}</answer>"

    def answer(self, prompt: str) -> str:
        """Give the right answer of a question.

        Parameters
        ----------
        prompt : str
            As `prompts` gives it.

        Returns
        -------
        str
        """
        one, _, other = prompt.rstrip("=").partition("+")
        return str(int(one) + int(other))

    @property
    def reward(self) -> Reward:
        """The right answer, and a little for the form and for steps that are true."""
        return ExactAnswer() + 0.2 * Format() + 0.3 * Arithmetic()

    @property
    def longest(self) -> int:
        """Characters of the longest solution."""
        nines = "9" * self.n_digits
        return len(self.solution(f"{nines}+{nines}="))
