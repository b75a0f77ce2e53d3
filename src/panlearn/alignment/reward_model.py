"""A reward learned from pairs: what people chose, and what they did not."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.utils.validation import check_array, column_or_1d
from torch import Tensor, nn

from panlearn.alignment._policy import trainable
from panlearn.alignment._preferences import PreferenceModel
from panlearn.alignment._prompts import Sequences
from panlearn.core.estimator import fitting
from panlearn.core.parameters import NonNegative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.neural._random import draw_seed, seeded


class RewardNetwork(nn.Module):
    """A decoder whose last token tells one number: the reward of the whole text."""

    def __init__(self, decoder: Any) -> None:
        super().__init__()
        self.decoder: Any = decoder
        self.reward = nn.Linear(decoder.config.width, 1, bias=False)
        nn.init.normal_(self.reward.weight, std=0.02)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Give the reward of each row at the last token that the mask marks."""
        places = torch.arange(mask.shape[1], device=mask.device)
        last = (places * mask).amax(1)
        states = self.decoder.states(ids)
        return self.reward(states[torch.arange(len(ids), device=ids.device), last])[:, 0]


def bradley_terry_losses(rewards: Tensor, margin: Tensor | float = 0.0) -> Tensor:
    r"""Give :math:`-\log\sigma(r_w - r_l - m)` of rewards of shape (n, 2)."""
    return -F.logsigmoid(rewards[:, 0] - rewards[:, 1] - margin)


@dataclass(eq=False, repr=False)
class RewardModel(PreferenceModel):
    r"""A language model whose last token tells how good a completion is.

    .. math::
        P(y_w \succ y_l \mid x) = \sigma\bigl(r_\theta(x, y_w) - r_\theta(x, y_l)\bigr), \qquad
        \min_\theta \; -\sum_i \log \sigma\bigl(r_\theta(x, y_w) - r_\theta(x, y_l) - m_i\bigr)

    Parameters
    ----------
    model : GPT, FrozenEstimator, path or None, default=None
        Where to start from: a model that is fitted, or the folder or file of one; it stays as it
        is. `clone` forgets what a model has learned, so that for cross-validation give its folder,
        or ``FrozenEstimator(model)``. None is a small one with random weights.
    center_rewards_coefficient : float, default=0.0
        How much the squared sum of the rewards of a pair adds to its loss, which keeps rewards
        near zero: pairs do not say where that is.

    Attributes
    ----------
    start_ : GPT
        The model it started from, without its weights: its tokens.
    weights_ : dict of {str: ndarray}
        Those of the decoder and of the reward.
    history_ : dict of {str: list}
        ``loss``, ``reward_margin`` and ``reward_accuracy`` of each epoch, and the rest that
        `neural.train` notes.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether training ended by itself.

    Notes
    -----
    The reward is a linear function, without a constant, of the state of the last token. Only
    differences are learned, so rewards of different prompts compare as far as the model carries
    them over. ``rewards`` is what `PPO` and `GRPO` take for a reward. A text of n tokens costs
    :math:`O(n (P + L n d))`, as in `GPT`, and a pair two of them.

    References
    ----------
    Bradley, R. A. and Terry, M. E. (1952). Rank analysis of incomplete block designs. Biometrika
    39, 324-345. doi:10.2307/2334029

    Ouyang, L. et al. (2022). Training language models to follow instructions with human feedback.
    NeurIPS. arXiv:2203.02155

    Touvron, H. et al. (2023). Llama 2: open foundation and fine-tuned chat models, section 3.2.2.
    arXiv:2307.09288

    Examples
    --------
    >>> from panlearn.alignment import RewardModel
    >>> pairs = [("a", "yes", "no"), ("b", "yes", "no")]
    >>> model = RewardModel(learning_rate=1e-2, random_state=0).fit(pairs)
    >>> model.score(pairs)
    1.0
    >>> good, bad = model.rewards(["c", "c"], ["yes", "no"])
    >>> bool(good > bad)
    True
    """

    _: KW_ONLY
    center_rewards_coefficient: NonNegative[float] = 0.0

    def _build(self) -> nn.Module:
        return RewardNetwork(self.start_._build())

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from pairs of completions.

        Parameters
        ----------
        X : list of (prompt, chosen, rejected), or of dicts with these names
            Prompts and completions are texts, token ids or conversations. To completions that are
            texts the token that ends a text is added. In a dict without a prompt, it is what both
            texts, or both conversations, begin with.
        y : array-like of shape (n_pairs,), default=None
            Margins m: by how much the chosen one is better at least. Zero if None.
        sample_weight : array-like of shape (n_pairs,), default=None
            Weights of the pairs.

        Returns
        -------
        RewardModel
            The model itself.
        """
        rng = generator(self.random_state)
        self._begin(rng)
        pairs = self._pairs(X, sample_weight)
        margin = _margins(y, len(pairs.index))
        seed = draw_seed(rng)
        if self._goes_on:
            module: Any = self._with_weights()
        else:
            with seeded(seed):
                module = self._place(RewardNetwork(trainable(self.start_)))
            self.start_.weights_ = {}
        sequences, centre = pairs.sequences, self.center_rewards_coefficient

        def objective(module: Any, batch: tuple[Tensor, ...], step: Any) -> Any:
            index, _, weight, least = batch
            ids, mask = sequences.padded(index.cpu(), index.device)
            rewards = module(ids.flatten(0, 1), mask.flatten(0, 1)).view(index.shape)
            difference = (rewards[:, 0] - rewards[:, 1]).detach()
            step.note(reward_margin=difference, reward_accuracy=(difference > 0).float())
            losses = bradley_terry_losses(rewards, least)
            return losses + centre * rewards.sum(1).square(), weight

        rows = ArrayRows(X, None, None)
        self._learn(module, objective, pairs.data(margin), rng, rows=rows)
        return self

    @torch.no_grad()
    def _rewards(self, sequences: Sequences) -> np.ndarray:
        module: Any = self.module_
        device = module.reward.weight.device
        found = np.empty(len(sequences), dtype=np.float32)
        for part in sequences.by_length(self.batch_size):
            found[part] = module(*sequences.padded(part, device)).cpu().numpy()
        return found


def _margins(y: Any, n: int) -> np.ndarray:
    if y is None:
        return np.zeros(n, dtype=np.float32)
    margins = check_array(
        column_or_1d(np.asarray(y), warn=True),
        ensure_2d=False,
        dtype=np.float32,
        ensure_all_finite=False,
    )
    if len(margins) != n:
        raise ValueError(f"there are {n} pairs and {len(margins)} margins")
    if not np.isfinite(margins).all():
        row = int(np.flatnonzero(~np.isfinite(margins))[0])
        raise ValueError(f"row {row}: the margin is {margins[row]}; it must be a number")
    return margins
