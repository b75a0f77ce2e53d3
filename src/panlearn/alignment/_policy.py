"""A language model as a policy: where it comes from, what it says of texts, how it is handed back.

The policy is any fitted decoder. It is tuned as a copy: the model that was given stays as it is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.frozen import FrozenEstimator
from torch import Tensor, nn

from panlearn.alignment._prompts import Sequences
from panlearn.core.persistence import load
from panlearn.neural._run import Run
from panlearn.neural.train import train
from panlearn.transformer import GPT
from panlearn.transformer._arrays import to_array
from panlearn.transformer._decoder_model import DecoderModel
from panlearn.transformer._head import linear_cross_entropy

Policy = DecoderModel | FrozenEstimator | str | PathLike
M = TypeVar("M", bound=DecoderModel)

_SCORES = 1 << 24  # entries of a table of scores that are kept for the way back


def as_policy(given: Any, name: str = "model") -> DecoderModel:
    """The fitted model that is meant: itself, one that is frozen, a file or a folder of one."""
    if isinstance(given, FrozenEstimator):
        given = given.estimator
    if isinstance(given, str | PathLike):
        if not fspath(given) or not Path(given).exists():
            raise ValueError(f"{name}={given!r} is no file and no folder; give one, or a GPT")
        given = GPT.from_pretrained(given) if Path(given).is_dir() else load(given)
    if not isinstance(given, DecoderModel):
        raise ValueError(
            f"{name} must be a GPT, or the folder or file of one; got a {type(given).__name__}"
        )
    if not given.__sklearn_is_fitted__():
        raise ValueError(
            f"{name} is a {type(given).__name__} that is not fitted. Cross-validation and clone "
            "make such a copy: give its folder or file, or FrozenEstimator(model)"
        )
    return given


def untrained(rng: np.random.Generator) -> GPT:
    """A small policy with random weights and bytes as tokens."""
    model = GPT()
    model._tokens(["-"])
    return with_weights(model, model._initial(rng))


def trainable(model: DecoderModel) -> Any:
    """A copy of the module of a model, to train; the module itself is the frozen reference."""
    return model._with_weights().requires_grad_(True)


def with_weights(model: M, module: nn.Module, **attributes: Any) -> M:
    """A fitted model like another, with the weights of a module."""
    made = copy.copy(model)
    for name in {"adapters_", "lora_"} & vars(made).keys():  # those of an earlier run
        delattr(made, name)
    made.weights_ = {k: to_array(v.detach().cpu()) for k, v in module.state_dict().items()}
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def tuned(model: M, objective: Any, data: Any, validation: Any, settings: dict[str, Any]) -> M:
    """A model like another, trained further by `neural.train`."""
    module = trainable(model)
    run = train(module, objective, data, validation=validation, **settings)
    return with_weights(
        model,
        module,
        history_=run.history,
        n_iter_=len(run.history.get("loss", ())),
        converged_=run.stopped != "interrupted",
        **additions(run),
    )


def additions(run: Run) -> dict[str, Any]:
    """What LoRA added to the weights in a run, if it did, as attributes of a model."""
    found = next(iter(run.players.values())).adapters
    arrays = {name: tensor.cpu().numpy() for name, tensor in found.items()}
    return {"adapters_": arrays, "lora_": run.settings.lora} if found else {}


def token_log_probabilities(
    module: Any,
    ids: Tensor,
    mask: Tensor,
    documents: Tensor | None = None,
    *,
    alike: bool = False,
) -> Tensor:
    r"""Log-probabilities of the tokens that a mask marks, given those before them.

    .. math:: m_t \log p_\theta(x_t \mid x_1, \dots, x_{t-1}), \qquad t = 2, \dots, T

    Parameters
    ----------
    module : Decoder
        May learn: the result has a gradient.
    ids, mask : tensor of shape (n, T)
        Tokens, and which of them count. What follows the last that counts has no influence.
    documents : tensor of shape (n, T), default=None
        The number of the text that each token is of, if several stand in a row.
    alike : bool, default=False
        Whether all will have the same part in the loss, so that their gradient can be made ready.

    Returns
    -------
    tensor of shape (n, T - 1)
        Zero where the mask is not set. Only what counts is scored.
    """
    there = mask[:, 1:]
    rows, targets = predicting_states(module, ids, mask, documents), ids[:, 1:][there]
    if not alike and len(rows) * len(module.projection) <= _SCORES:
        scores = F.linear(rows, module.projection).float()
        losses = F.cross_entropy(scores, targets, reduction="none")
    else:
        losses = linear_cross_entropy(rows, module.projection, targets)
    return torch.zeros(there.shape, dtype=losses.dtype, device=ids.device).masked_scatter(
        there, -losses
    )


def predicting_states(
    module: Any, ids: Tensor, mask: Tensor, documents: Tensor | None = None
) -> Tensor:
    """What the head sees where a token that counts is predicted, shape (n_counted, width)."""
    seen = None if documents is None else documents[:, :-1]
    return module.states(ids[:, :-1], seen)[mask[:, 1:]]


def score_sequences(module: Any, sequences: Sequences, batch_size: int) -> list[np.ndarray]:
    """Log-probabilities of the tokens that count, of each sequence, without gradient."""
    score = partial(token_log_probabilities, module)
    return by_sequence(score, sequences, batch_size, module.projection.device)


@torch.no_grad()
def by_sequence(
    function: Callable[[Tensor, Tensor], Tensor], sequences: Sequences, batch_size: int, device: Any
) -> list[np.ndarray]:
    """What a function of ids and masks gives for the tokens that count, of each sequence."""
    found: list[Any] = [None] * len(sequences)
    for part in sequences.by_length(batch_size):
        ids, mask = sequences.padded(part, device)
        values = function(ids, mask)
        for number, row, there in zip(part, values.cpu(), mask[:, 1:].cpu(), strict=True):
            found[number] = row[there].numpy()
    return found
