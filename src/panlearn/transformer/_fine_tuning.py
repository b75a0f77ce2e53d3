"""What fine-tuned encoders share: where they start from, labelled texts, training, outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import _check_sample_weight
from torch import Tensor, nn

from panlearn.core.parameters import Count, NonNegative, Positive
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.neural._estimator import DeepEstimator
from panlearn.text import WordPieceTokenizer
from panlearn.transformer._bert import BERTConfig, HeadedEncoder
from panlearn.transformer._bert_texts import Rows, by_length, frame, read_pairs
from panlearn.transformer.bert import BERT, fit_tokenizer


class _Learned:
    """What `fit` sets; here, and not among the fields."""

    config_: BERTConfig
    tokenizer_: WordPieceTokenizer
    n_tokens_: int
    n_outputs_: int


@dataclass(eq=False, repr=False)
class FineTuned(_Learned, DeepEstimator):
    """An encoder with a linear layer on it, trained as a whole; abstract.

    Parameters
    ----------
    encoder : BERT, FrozenEstimator, path or None, default=None
        Where to start from: a BERT that is fitted, or the folder of one. `clone` forgets what a
        BERT has learned, so that for cross-validation give the folder, or
        ``FrozenEstimator(encoder)``. None starts from nothing.
    config : BERTConfig, default=None
        The shape of the encoder if there is none to start from.
    schedule : str, callable or class, default="warmup_cosine"
        The factor of the learning rate over time, see `neural.train`.

    Attributes
    ----------
    config_ : BERTConfig
        The shape of the encoder.
    tokenizer_ : WordPieceTokenizer
        Text to tokens.
    n_tokens_ : int
        Size of the vocabulary.
    """

    encoder: BERT | FrozenEstimator | str | PathLike | None = None
    _: KW_ONLY
    config: BERTConfig | None = None
    batch_size: Count = 32
    schedule: str | Callable = "warmup_cosine"
    weight_decay: NonNegative[float] = 0.01
    clip_norm: Positive[float] | None = 1.0

    @property
    def _each(self) -> bool:
        """Whether every token has outputs."""
        return False

    def _build(self) -> nn.Module:
        return HeadedEncoder(self.config_, self.n_tokens_, self.n_outputs_, each=self._each)

    def _begin(self, documents: list[Any]) -> dict[str, np.ndarray]:
        """Learn the shape and the tokens; the weights to start from, if there are any."""
        if self.warm_start and "weights_" in vars(self):
            return {}
        start = self._pretrained()
        if start is None:
            self.config_ = self.config or BERTConfig()
            self.tokenizer_ = fit_tokenizer(None, documents)
            self.n_tokens_ = self.tokenizer_.n_tokens
            return {}
        self.config_, self.tokenizer_ = start.config_, start.tokenizer_
        self.n_tokens_ = start.n_tokens_
        left_out = ("pooler.",) if "pooler" in start.lacking_ else ()
        return {k: v for k, v in start.weights_.items() if not k.startswith(left_out or "-")}

    def _pretrained(self) -> BERT | None:
        given = self.encoder
        if isinstance(given, FrozenEstimator):
            given = given.estimator
        if isinstance(given, str | PathLike):
            if not str(given) or not Path(given).is_dir():
                raise ValueError(f"encoder={given!r} is no folder; give one, or a BERT")
            return BERT.from_pretrained(given)
        if given is None:
            return None
        if not isinstance(given, BERT):
            raise ValueError(f"encoder must be a BERT or a folder; got a {type(given).__name__}")
        if not given.__sklearn_is_fitted__():
            raise ValueError(
                "encoder is a BERT that is not fitted. Cross-validation and clone make such a copy:"
                " give the folder that save_pretrained wrote, or FrozenEstimator(encoder)"
            )
        return given

    def _train(
        self,
        rows: Rows,
        start: dict[str, np.ndarray],
        losses: Callable[[Tensor, Any], Any],
        rng: np.random.Generator,
        seen: ArrayRows | None = None,
        strata: np.ndarray | None = None,
    ) -> None:
        """Minimise what `losses` makes of outputs and the numbers of texts.

        Callbacks are told of the texts and targets in `seen`.
        """
        module = self._initial(rng)
        known = module.state_dict()
        tensors = {k: torch.tensor(v) for k, v in start.items() if k in known}
        module.load_state_dict(known | tensors)

        def objective(module: nn.Module, batch: Any, step: Any) -> Any:
            (index,) = batch
            return losses(module(*rows.batch(index.cpu(), index.device, step)), index)

        data = (np.arange(len(rows)),)
        self._learn(module, objective, data, rng, rows=seen, strata=strata)

    def _train_texts(
        self,
        documents: list[Any],
        start: dict[str, np.ndarray],
        loss: Callable[[Tensor, Tensor], Tensor],
        aims: np.ndarray,
        seen: ArrayRows,
        strata: np.ndarray | None = None,
    ) -> None:
        """Minimise the loss of the outputs of whole texts against what is aimed at."""
        rows = frame(self.tokenizer_, documents, self.config_.context)
        wanted, weights = torch.from_numpy(aims), torch.from_numpy(seen.weight)

        def losses(outputs: Tensor, index: Tensor) -> Any:
            aim, share = (t[index.cpu()].to(outputs.device) for t in (wanted, weights))
            return loss(outputs, aim), share

        self._train(rows, start, losses, generator(self.random_state), seen, strata)

    def _text_outputs(self, X: Any) -> np.ndarray:
        """What the network gives for each text, (n_documents, n_outputs)."""
        self._require_fitted()
        rows = frame(self.tokenizer_, read_pairs(X), self.config_.context)
        return self._computed(rows, (len(rows), self.n_outputs_))

    def _computed(self, rows: Rows, shape: tuple[int, ...]) -> np.ndarray:
        """The outputs of each text, computed with those of like length."""
        module = self.module_
        device, made = next(module.parameters()).device, np.empty(shape, dtype=np.float32)
        for index, found in by_length(rows, module, device):
            made[index] = found.cpu().numpy()
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


def read_labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[list[Any], list[Any], np.ndarray]:
    """Documents, their targets and weights; those of weight zero are left out."""
    documents = read_pairs(X)
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    targets = list(y)
    if len(targets) != len(documents):
        raise ValueError(f"X holds {len(documents)} documents and y {len(targets)} targets")
    if documents:
        weight = _check_sample_weight(
            *(sample_weight, np.empty((len(documents), 1))),
            dtype=np.float32,
            ensure_non_negative=True,
            allow_all_zero_weights=True,
        )
        kept = np.flatnonzero(weight).tolist()
        if kept:
            return [documents[i] for i in kept], [targets[i] for i in kept], weight[kept]
    raise ValueError("there is no document (of a weight above zero), so nothing to learn from")
