"""Proximal policy optimisation of a language model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from panlearn.alignment._episodes import Episodes
from panlearn.alignment._games import ActorCriticGame, critic_of, expected
from panlearn.alignment._online import OnlineTuner
from panlearn.alignment._policy import by_sequence
from panlearn.alignment._prompts import read_sequences
from panlearn.core.derived import derived
from panlearn.core.estimator import fitting
from panlearn.core.parameters import Count, Fraction, NonNegative, Positive
from panlearn.neural import Player
from panlearn.neural._estimator import to_tensors
from panlearn.neural._step import Step
from panlearn.transformer._language import check_tokens
from panlearn.transformer._texts import encode_corpus


class _Learned:
    """What `fit` sets; here, and not among the fields."""

    critic_weights_: dict[str, np.ndarray]


@dataclass(eq=False, repr=False)
class PPO(_Learned, OnlineTuner):
    r"""Tune a language model by rewards: a network of values says what was to be expected.

    .. math::
        \max_\theta \; E \Bigl[ \sum_t \min\bigl(\rho_t A_t,
        \operatorname{clip}(\rho_t, 1 - \epsilon, 1 + \epsilon) A_t \bigr) \Bigr]
        + \gamma_{ptx}\, E \log \pi_\theta(z), \qquad
        A_t = \sum_l (\gamma\lambda)^l \bigl(r_{t+l} + \gamma V_{t+l+1} - V_{t+l}\bigr), \qquad
        r_t = [t = T]\, r(x, y) - \beta \log \frac{\pi_{old}(y_t \mid \cdot)}
        {\pi_{ref}(y_t \mid \cdot)}

    Parameters
    ----------
    model : GPT, FrozenEstimator, path or None, default=None
        The policy to start from, which is also the reference that it is held near to, and where
        the network of values starts from: a fitted model, its file or folder, or a small one with
        random weights. It stays as it is.
    num_ppo_epochs : int, default=4
        Moves of the policy, and of the values, on each batch of completions.
    kl_coef : float, default=0.05
        :math:`\beta`, what it costs to leave the reference.
    cliprange : float, default=0.2
        :math:`\epsilon`, how far the ratio may be from one.
    cliprange_value : float, default=0.2
        How far a value may move on one batch; None for as far as it likes.
    gamma : float, default=1.0
        What a reward that comes one token later is worth.
    lam : float, default=0.95
        :math:`\lambda`: zero trusts the values, one the rewards.
    missing_eos_penalty : float, default=0.0
        Taken from the reward of a completion that does not come to its end.
    ptx_coef : float, default=0.0
        :math:`\gamma_{ptx}`, the weight of texts that `fit` is given to go on learning from.
    value_learning_rate : float, default=None
        Of the network of values; that of the policy if None.

    Attributes
    ----------
    model_ : GPT
        The tuned policy.
    start_ : GPT
        The reference.
    weights_ : dict of {str: ndarray}
        Those of the policy.
    critic_weights_ : dict of {str: ndarray}
        Those of the network of values, from which a warm start goes on.
    n_iter_ : int
        Rows of the history.
    converged_ : bool
        Whether training ended by itself.
    history_ : dict of {str: list}
        ``policy_loss``, ``value_loss`` and, of the completions that were drawn: ``reward`` and that
        of each rule, ``length``, ``ended`` (the share that came to its end), ``kl``, ``ratio`` and
        ``clipped``.

    Notes
    -----
    Policy and values are two players of `neural.train`. The network of values is a decoder of its
    own with one output, which is zero at first. Advantages are brought to mean zero and deviation
    one over the batch; losses are means over tokens. A completion that runs out of tokens counts as
    ended there: nothing is expected after it. Completions are drawn at temperature one and without
    dropout, so that in the first move on a batch all ratios are one.

    Without the clip the best policy is :math:`\pi_{ref} e^{r / \beta}`, normalised. A token costs
    :math:`O(P + L n d)` when it is drawn, with n before it, and twice as much in each move.

    References
    ----------
    Schulman, J., Wolski, F., Dhariwal, P., Radford, A. and Klimov, O. (2017). Proximal policy
    optimization algorithms. https://arxiv.org/abs/1707.06347

    Schulman, J., Moritz, P., Levine, S., Jordan, M. and Abbeel, P. (2016). High-dimensional
    continuous control using generalized advantage estimation. ICLR.
    https://arxiv.org/abs/1506.02438

    Ouyang, L. et al. (2022). Training language models to follow instructions with human feedback.
    NeurIPS. https://arxiv.org/abs/2203.02155

    Examples
    --------
    >>> from panlearn.alignment import PPO
    >>> from panlearn.transformer import GPT, GPTConfig
    >>> model = GPT(GPTConfig(1, 16, 2, 8), max_epochs=5, random_state=0).fit(["abcd" * 9])
    >>> def letters(prompts, completions, answers):
    ...     return [sum(c.isascii() and c.isalpha() for c in text) for text in completions]
    >>> how = {"max_tokens": 3, "max_steps": 15, "batch_size": 32, "learning_rate": 0.01}
    >>> rewards = PPO(model, letters, **how, random_state=0).fit(["b", "c"] * 16).history_["reward"]
    >>> bool(rewards[-1] > rewards[0] + 0.5)
    True
    """

    _: KW_ONLY
    num_ppo_epochs: Count = 4
    kl_coef: NonNegative[float] = 0.05
    cliprange: Positive[float] = 0.2
    cliprange_value: Positive[float] | None = 0.2
    gamma: Fraction[float] = 1.0
    lam: Fraction[float] = 0.95
    missing_eos_penalty: NonNegative[float] = 0.0
    ptx_coef: NonNegative[float] = 0.0
    value_learning_rate: Positive[float] | None = None

    @fitting
    def fit(self, X: Any, y: Any = None, texts: Any = None) -> Self:
        """Learn from rewards of completions of prompts.

        Parameters
        ----------
        X : list of str, of lists of token ids, or of conversations
            Prompts.
        y : list, default=None
            The right answers, which the reward is told.
        texts : list of str, or array of token ids, default=None
            What is to go on being learned, with the weight `ptx_coef`.

        Returns
        -------
        PPO
            The model itself.
        """
        if bool(self.ptx_coef) != (texts is not None):
            raise ValueError(
                f"ptx_coef={self.ptx_coef} and texts go together: give both, or 0.0 and None"
            )
        run = self._tune(X, y, partial(self._game, texts=texts), self._players)
        state = run.players["value"].given.state_dict()
        self.critic_weights_ = {k: v.detach().cpu().numpy() for k, v in state.items()}
        return self

    def values(self, prompts: Any, completions: Any) -> list[np.ndarray]:
        """Give the reward that is expected before each token of completions.

        Parameters
        ----------
        prompts : list of str, of lists of token ids, or of conversations
            What was asked.
        completions : list of str, of lists of token ids, or of conversations
            What was answered to each.

        Returns
        -------
        list of ndarray of shape (n_tokens,)
            In units of the reward, what leaving the reference costs included.
        """
        self._require_fitted()
        given = list(prompts), list(completions)
        sequences = read_sequences(self.start_, *given, self.template)
        critic = self._critic

        def score(ids: Tensor, mask: Tensor) -> Tensor:
            return expected(critic, ids)

        return by_sequence(score, sequences, self.batch_size, critic.projection.device)

    @derived("critic_weights_")
    def _critic(self) -> Any:
        made = self._place(critic_of(self._build()))
        made.load_state_dict(to_tensors(self.critic_weights_))
        return made.eval()

    def _players(self, module: Any) -> dict[str, Player]:
        critic = critic_of(module)
        if self._goes_on and "critic_weights_" in vars(self):
            critic.load_state_dict(to_tensors(self.critic_weights_))
        values = Player(critic, learning_rate=self.value_learning_rate)
        return {"policy": Player(module), "value": values}

    def _game(self, episodes: Episodes, texts: Any) -> Callable:
        return ActorCriticGame(
            episodes=episodes,
            reference=self.start_.module_,
            n_moves=self.num_ppo_epochs,
            beta=self.kl_coef,
            clip=self.cliprange,
            clip_value=self.cliprange_value,
            gamma=self.gamma,
            lam=self.lam,
            unfinished=self.missing_eos_penalty,
            pretraining=None if texts is None else _window_losses(self.start_, texts),
            pretraining_weight=self.ptx_coef,
        )


def _window_losses(model: Any, texts: Any) -> Callable[[Any, Step], Tensor]:
    """A function that gives the loss of a window of texts for each row of a batch."""
    if getattr(texts, "dtype", None) is None:
        if model.tokenizer_ is None:
            raise ValueError("this model has no tokenizer; give texts as an array of token ids")
        texts = encode_corpus(model, texts, lambda _: model.tokenizer_)[1]
    tokens = torch.from_numpy(check_tokens(texts, model.n_tokens_).astype("int64"))
    window = min(model.config_.context, len(tokens) - 1)
    inside = torch.arange(window + 1)

    def losses(module: Any, step: Step) -> Tensor:
        starts = step.integers(len(tokens) - window, 1).cpu()
        ids = tokens[starts + inside].to(module.projection.device)
        return module.losses(ids[:, :-1], ids[:, 1:]).mean(dim=1)

    return losses
