"""Group relative policy optimisation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

from panlearn.alignment._episodes import Episodes
from panlearn.alignment._games import GroupGame
from panlearn.alignment._online import OnlineTuner
from panlearn.core.estimator import fitting
from panlearn.core.parameters import Count, NonNegative, Positive


@dataclass(eq=False, repr=False)
class GRPO(OnlineTuner):
    r"""Tune a language model by rewards: completions of a prompt are compared with each other.

    .. math::
        \max_\theta \; E \Bigl[ \frac1G \sum_{i=1}^{G} \frac{1}{|y_i|} \sum_t
        \min\bigl(\rho_{it} A_i, \operatorname{clip}(\rho_{it}, 1 - \epsilon, 1 + \epsilon) A_i
        \bigr) - \beta\, \widehat{KL}_{it} \Bigr], \qquad
        A_i = \frac{r_i - \bar r}{s}, \qquad
        \rho_{it} = \frac{\pi_\theta(y_{it} \mid x, y_{i,<t})}{\pi_{old}(y_{it} \mid x, y_{i,<t})}

    Parameters
    ----------
    model : GPT, FrozenEstimator, path or None, default=None
        The policy to start from, which is also the reference that it is held near to: a fitted
        model, its file or folder, or a small one with random weights. It stays as it is.
    num_generations : int, default=8
        G, completions of each prompt. A batch is `batch_size` prompts.
    num_iterations : int, default=1
        Moves of the policy on each batch of completions.
    beta : float, default=0.0
        The weight of the divergence from the reference.
    epsilon : float, default=0.2
        How far the ratio may fall below one, and rise above it.
    epsilon_high : float, default=None
        How far it may rise above one, if not as far as it may fall.
    deviation : {"sample", "population", "none"}, default="sample"
        s, the deviation of the group with G - 1 in the denominator or with G; "none" does not
        divide, so that easy and hard prompts do not count more than others.
    loss_type : {"grpo", "dapo", "dr_grpo"}, default="grpo"
        How tokens are averaged: the mean of each completion's mean; the mean over all tokens; or
        the mean of each completion's sum in units of `max_tokens`, so that what a token counts does
        not depend on how long its completion is.
    kl : {"unbiased", "k3"}, default="unbiased"
        The estimate of the divergence: "k3" is :math:`e^{-d} + d - 1` of the difference d of
        log-probabilities, as in the paper; "unbiased" is that times the ratio.

    Attributes
    ----------
    model_ : GPT
        The tuned policy.
    start_ : GPT
        The reference.
    weights_ : dict of {str: ndarray}
        Those of the policy.
    n_iter_ : int
        Rows of the history.
    converged_ : bool
        Whether training ended by itself.
    history_ : dict of {str: list}
        Losses and, of the completions that were drawn: ``reward`` and that of each rule,
        ``length``, ``ended`` (the share that came to its end), ``equal_rewards`` (the share of
        prompts all of whose rewards are equal, from which nothing is learned), ``kl``, ``ratio``
        and ``clipped``.

    Notes
    -----
    Completions are drawn at temperature one by the policy as it is, in one batch, inside the step;
    each has a random stream of its own. No dropout is applied, so that in the first move on a
    batch all ratios are one. With one move a batch the loss is then minus the mean advantage, which
    is zero: the gradient is what counts, and the reward what to watch.

    With ``deviation="none"``, ``loss_type="dr_grpo"`` it is Dr. GRPO; its gradient is that of the
    mean reward times (G - 1) / G, for a completion is part of the mean that it is compared with.
    As it stands in the paper, the estimate k3 has the gradient of the divergence of the policy from
    the reference's point of view, :math:`KL(\pi_{ref} \| \pi)`; times the ratio it has that of
    :math:`KL(\pi \| \pi_{ref})`, whose best policy is :math:`\pi_{ref} e^{r / \beta}`, normalised.
    A token costs :math:`O(P + L n d)` when it is drawn, with n before it, and as much in each move.

    References
    ----------
    Shao, Z. et al. (2024). DeepSeekMath: pushing the limits of mathematical reasoning in open
    language models. https://arxiv.org/abs/2402.03300

    Liu, Z. et al. (2025). Understanding R1-Zero-like training: a critical perspective.
    https://arxiv.org/abs/2503.20783

    Yu, Q. et al. (2025). DAPO: an open-source LLM reinforcement learning system at scale.
    https://arxiv.org/abs/2503.14476

    Schulman, J. (2020). Approximating KL divergence. http://joschu.net/blog/kl-approx.html

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.alignment import GRPO
    >>> from panlearn.transformer import GPT, GPTConfig
    >>> model = GPT(GPTConfig(1, 16, 2, 8), max_epochs=5, random_state=0).fit(["abcd" * 9])
    >>> def vowels(prompts, completions, answers):
    ...     return [text.count("a") for text in completions]
    >>> tuning = GRPO(model, vowels, max_tokens=3, max_steps=20, learning_rate=0.02, random_state=0)
    >>> rewards = tuning.fit(["b", "c"]).history_["reward"]
    >>> bool(np.mean(rewards[-3:]) > np.mean(rewards[:3]))
    True
    """

    _: KW_ONLY
    num_generations: Count = 8
    num_iterations: Count = 1
    beta: NonNegative[float] = 0.0
    epsilon: Positive[float] = 0.2
    epsilon_high: Positive[float] | None = None
    deviation: Literal["sample", "population", "none"] = "sample"
    loss_type: Literal["grpo", "dapo", "dr_grpo"] = "grpo"
    kl: Literal["unbiased", "k3"] = "unbiased"

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rewards of completions of prompts.

        Parameters
        ----------
        X : list of str, of lists of token ids, or of conversations
            Prompts.
        y : list, default=None
            The right answers, which the reward is told.

        Returns
        -------
        GRPO
            The model itself.
        """
        self._tune(X, y, self._game)
        return self

    def _game(self, episodes: Episodes) -> GroupGame:
        if self.num_generations < 2:
            raise ValueError(
                f"num_generations={self.num_generations}: a completion is compared with others of "
                "its prompt, so that 2 are needed"
            )
        return GroupGame(
            episodes=episodes,
            reference=self.start_.module_,
            n_samples=self.num_generations,
            n_moves=self.num_iterations,
            beta=self.beta,
            low=self.epsilon,
            high=self.epsilon if self.epsilon_high is None else self.epsilon_high,
            deviation=self.deviation,
            kl=self.kl,
            average=self.loss_type,
        )
