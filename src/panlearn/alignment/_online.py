"""What tuners share that learn from rewards of what they draw themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from panlearn.alignment._episodes import Episodes
from panlearn.alignment._rollouts import text_of
from panlearn.alignment._tuner import PolicyTuner
from panlearn.alignment.rewards import ExactAnswer, Reward
from panlearn.core.parameters import Count
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.neural._run import Run

_ANSWER = ExactAnswer()


@dataclass(eq=False, repr=False)
class OnlineTuner(PolicyTuner):
    """A policy that learns from rewards of completions that it draws; abstract.

    Parameters
    ----------
    reward : Reward, callable, or list of these, default=ExactAnswer()
        What completions are worth, see `alignment.rewards`. A function is called with prompts,
        completions and answers, and returns a number for each; of a list the sum counts.
    max_tokens : int, default=32
        The most tokens of a completion.
    batch_size : int, default=8
        Prompts of a step, over all processes and pieces.
    max_epochs : int, default=None
        The most passes over the prompts; 1 if `max_steps` is not given either.
    """

    reward: Reward | Callable | list | tuple = _ANSWER
    _: KW_ONLY
    max_tokens: Count = 32
    batch_size: Count = 8

    def _tune(
        self,
        X: Any,
        y: Any,
        objective: Callable[[Episodes], Callable],
        players: Callable[[Any], Any] | None = None,
    ) -> Run:
        """Read prompts and answers, and play the game that `objective` makes of them.

        `players` makes of the policy's module those who learn, if it is not that alone.
        """
        if self.strategy == "fsdp":
            raise ValueError(
                "strategy='fsdp' cannot draw completions, whose number of steps differs between "
                "processes; use 'ddp'"
            )
        rng = generator(self.random_state)
        self._begin(rng)
        episodes = self._episodes(X, y)
        module = self._trainable()
        run = self._learn(
            module,
            objective(episodes),
            episodes.data,
            rng,
            rows=ArrayRows(X, y, None),
            target=None if players is None else players(module),
            max_epochs=1 if self.max_epochs is self.max_steps is None else self.max_epochs,
        )
        self._keep_additions(run)
        return run

    def _episodes(self, X: Any, y: Any) -> Episodes:
        return Episodes.read(self.start_, X, y, self.reward, self.max_tokens, self.template)

    def score(self, X: Any, y: Any = None) -> float:
        """Give the mean reward of the most probable completions.

        Parameters
        ----------
        X : list of str, of lists of token ids, or of conversations
            Prompts.
        y : list, default=None
            The right answers, which the reward is told.

        Returns
        -------
        float
        """
        self._require_fitted()
        episodes = self._episodes(X, y)
        drawn = self.model_.complete(
            episodes.prompts, max_tokens=self.max_tokens, temperature=0.0, random_state=0
        )
        texts = [text_of(completion) for (completion,) in drawn]
        return float(episodes.reward(episodes.given, texts, episodes.answers).mean())
