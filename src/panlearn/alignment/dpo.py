"""Direct preference optimisation: a policy that learns from pairs, without a reward model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from panlearn.alignment._policy import score_sequences, token_log_probabilities
from panlearn.alignment._preferences import PreferenceModel
from panlearn.alignment._prompts import Sequences
from panlearn.alignment._tuner import PolicyTuner
from panlearn.alignment.losses import PairLoss, Sigmoid
from panlearn.core.estimator import fitting
from panlearn.core.parameters import Positive
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows


def preference_losses(
    module: Any,
    ids: Tensor,
    mask: Tensor,
    reference: Tensor,
    loss: PairLoss,
    beta: float,
    step: Any = None,
) -> Tensor:
    """The loss of each pair.

    Parameters
    ----------
    module : Decoder
        The policy.
    ids, mask : tensor of shape (n, 2, T)
        Tokens of the chosen and of the rejected text, and which are of completions.
    reference : tensor of shape (n, 2)
        Log-probabilities of the completions under the reference.
    loss : PairLoss
        What becomes of log-ratios.
    beta : float
        How dear it is to leave the reference.
    step : Step, default=None
        Notes rewards, if there is one.

    Returns
    -------
    tensor of shape (n,)
    """
    values = token_log_probabilities(module, ids.flatten(0, 1), mask.flatten(0, 1))
    ratios = values.sum(1).view(reference.shape) - reference
    if step is not None:
        rewards = beta * ratios.detach()
        margin = rewards[:, 0] - rewards[:, 1]
        step.note(
            reward_margin=margin,
            reward_accuracy=(margin > 0).float(),
            reward_chosen=rewards[:, 0],
            reward_rejected=rewards[:, 1],
        )
    return loss(ratios, mask.sum(-1).to(ratios.dtype), beta)


@dataclass(eq=False, repr=False)
class DPO(PreferenceModel, PolicyTuner):
    r"""A policy that prefers what was chosen, and stays near where it started.

    .. math::
        \min_\theta \; -\sum_i \log \sigma\Bigl(\beta \log
        \frac{\pi_\theta(y_w \mid x)}{\pi_{\text{ref}}(y_w \mid x)} - \beta \log
        \frac{\pi_\theta(y_l \mid x)}{\pi_{\text{ref}}(y_l \mid x)}\Bigr), \qquad
        r(x, y) = \beta \log \frac{\pi_\theta(y \mid x)}{\pi_{\text{ref}}(y \mid x)}

    Parameters
    ----------
    model : GPT, FrozenEstimator, path or None, default=None
        The policy to start from, which is the reference too: a model that is fitted, or the folder
        or file of one; it stays as it is. `clone` forgets what a model has learned, so that for
        cross-validation give its folder, or ``FrozenEstimator(model)``. None is a small one with
        random weights.
    beta : float, default=0.1
        How dear it is to leave the reference.
    loss : PairLoss, default=Sigmoid()
        What is made of the log-ratios of a pair: one of `alignment.losses`, ``Sigmoid()``,
        ``IPO()``, ``Robust(label_smoothing)`` or ``LengthNormalized()``.

    Attributes
    ----------
    model_ : GPT
        The tuned policy.
    start_ : GPT
        The reference.
    weights_ : dict of {str: ndarray}
        Those of the policy.
    history_ : dict of {str: list}
        ``loss``, ``reward_margin``, ``reward_accuracy``, ``reward_chosen`` and ``reward_rejected``
        of each epoch, and the rest that `neural.train` notes.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether training ended by itself.

    Notes
    -----
    The reference scores every completion once, before the first step, so that a step costs a pass
    of the policy alone. The first loss is log 2. Only tokens of completions are scored against the
    vocabulary.

    Where the data are all pairs of a finite set of answers, weighted by the chance that Bradley
    and Terry give them, the minimiser is :math:`\pi_{\text{ref}} e^{r / \beta}`, normalised: the
    optimum of reward under a penalty on the divergence from the reference. A text of n tokens costs
    :math:`O(n (P + L n d))`, as in `GPT`.

    References
    ----------
    Rafailov, R., Sharma, A., Mitchell, E., Ermon, S., Manning, C. D. and Finn, C. (2023). Direct
    preference optimization: your language model is secretly a reward model. NeurIPS.
    arXiv:2305.18290

    Examples
    --------
    >>> from panlearn.alignment import DPO
    >>> pairs = [("2+2=", "4", "5"), ("1+1=", "2", "3")]
    >>> tuner = DPO(learning_rate=1e-2, random_state=0).fit(pairs)
    >>> tuner.score(pairs)
    1.0
    >>> bool(tuner.rewards(["2+2="], ["4"]) > tuner.rewards(["2+2="], ["5"]))
    True
    """

    beta: Positive[float] = 0.1
    _: KW_ONLY
    loss: PairLoss = Sigmoid()  # noqa: RUF009  # a value never changes

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from pairs of completions.

        Parameters
        ----------
        X : list of (prompt, chosen, rejected), or of dicts with these names
            Prompts and completions are texts, token ids or conversations. To completions that are
            texts the token that ends a text is added. In a dict without a prompt, it is what both
            texts, or both conversations, begin with.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_pairs,), default=None
            Weights of the pairs.

        Returns
        -------
        DPO
            The model itself.
        """
        rng = generator(self.random_state)
        self._begin(rng)
        pairs = self._pairs(X, sample_weight)
        scores = _totals(self.start_.module_, pairs.sequences, self.batch_size)[pairs.index]
        module = self._trainable()
        run = self._learn(
            module,
            self._objective(pairs.sequences),
            pairs.data(scores),
            rng,
            rows=ArrayRows(X, None, None),
        )
        self._keep_additions(run)
        return self

    def _objective(self, sequences: Sequences) -> Callable:
        """Make the loss of pairs by their places among sequences."""

        def objective(module: Any, batch: tuple[Tensor, ...], step: Any) -> Any:
            index, _, weight, reference = batch
            ids, mask = sequences.padded(index.cpu(), index.device)
            losses = preference_losses(module, ids, mask, reference, self.loss, self.beta, step)
            return losses, weight

        return objective

    def _rewards(self, sequences: Sequences) -> np.ndarray:
        tuned, reference = (
            _totals(module, sequences, self.batch_size)
            for module in (self.module_, self.start_.module_)
        )
        return self.beta * (tuned - reference)


@torch.no_grad()
def _totals(module: Any, sequences: Sequences, batch_size: int) -> np.ndarray:
    """The log-probability of each completion."""
    found = score_sequences(module, sequences, batch_size)
    return np.array([values.sum() for values in found], dtype=np.float32)
