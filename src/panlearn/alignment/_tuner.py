"""What estimators that tune a language model share: where they start, and what they end with."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from torch import nn

from panlearn.alignment._policy import (
    Policy,
    additions,
    as_policy,
    trainable,
    untrained,
    with_weights,
)
from panlearn.core.derived import derived
from panlearn.core.parameters import Positive
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._run import Run
from panlearn.text import ChatTemplate
from panlearn.transformer._decoder_model import DecoderModel


class _Learned:
    """What `fit` sets; here, and not among the fields."""

    start_: DecoderModel


@dataclass(eq=False, repr=False)
class Tuner(_Learned, DeepEstimator):
    """A deep estimator that starts from a language model; abstract.

    Parameters
    ----------
    model : GPT, FrozenEstimator, path or None, default=None
        Where to start from: a model that is fitted, or the folder or file of one; it stays as it
        is. `clone` forgets what a model has learned, so that for cross-validation give its folder,
        or ``FrozenEstimator(model)``. None is a small one with random weights.
    template : ChatTemplate or {"chatml", "llama"}, default=None
        How conversations are written; as ChatML if None.
    learning_rate : float, default=0.0001
        The length of a step where the schedule is 1.
    clip_norm : float, default=1.0
        The largest norm of the gradient; a longer one is shortened to it.
    """

    model: Policy | None = None
    _: KW_ONLY
    template: ChatTemplate | str | None = None
    learning_rate: Positive[float] = 1e-4
    clip_norm: Positive[float] | None = 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @property
    def _goes_on(self) -> bool:
        """Whether a warm start takes up weights that are there."""
        return self.warm_start and "weights_" in vars(self)

    def _begin(self, rng: np.random.Generator) -> None:
        """Learn where to start from, unless that is known from before."""
        if not self._goes_on:
            given = untrained(rng) if self.model is None else as_policy(self.model)
            self.start_ = copy.copy(given)


@dataclass(eq=False, repr=False)
class PolicyTuner(Tuner):
    """A tuner whose weights are those of the policy; abstract."""

    def _build(self) -> nn.Module:
        return self.start_._build()

    def _trainable(self) -> nn.Module:
        """The module to train: a copy of where it starts from, or goes on from."""
        return self._with_weights() if self._goes_on else self._place(trainable(self.start_))

    @property
    def model_(self) -> DecoderModel:
        """The tuned model, fitted: it generates, scores and is saved like the one it came from."""
        self._require_fitted()
        return self._tuned

    @derived("weights_")
    def _tuned(self) -> DecoderModel:
        names = ("history_", "n_iter_", "converged_", "adapters_", "lora_")
        known = {name: vars(self)[name] for name in names if name in vars(self)}
        return with_weights(self.start_, self.module_, **known)

    def _keep_additions(self, run: Run) -> None:
        """Keep what LoRA added to the weights, if it did."""
        for name, value in additions(run).items():
            setattr(self, name, value)
