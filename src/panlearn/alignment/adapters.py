"""LoRA's additions in the layout of the peft package: written, and read into a model."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as to_safetensors

from panlearn.alignment._policy import Policy, as_policy, with_weights
from panlearn.core.files import write_file
from panlearn.transformer._checkpoint import _entries, _family
from panlearn.transformer._decoder_model import DecoderModel
from panlearn.transformer._folder import CheckpointError, read_json

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PREFIX = "base_model.model."
# what would change the numbers, and the only value that is read
_ONLY: dict[str, Any] = {
    "peft_type": "LORA",
    "bias": "none",
    "use_dora": False,
    "rank_pattern": {},
    "alpha_pattern": {},
    "modules_to_save": None,
}


def save_adapter(
    model: DecoderModel, folder: str | os.PathLike[str], *, base: str | None = None
) -> None:
    r"""Write what LoRA added to a model as a folder that the peft package reads.

    .. math:: W' = W + \frac{\alpha}{r} B A

    Parameters
    ----------
    model : GPT
        What `supervised_finetune` or another method returned that was told `lora`.
    folder : path
        Is made if need be; gets ``adapter_config.json`` and ``adapter_model.safetensors``.
    base : str, default=None
        The name or folder of the model that was tuned, which peft may look for.

    Notes
    -----
    Queries, keys and values are one matrix here and three there; they share A, and each has its
    rows of B. A matrix of m by n costs :math:`O(r (m + n))` numbers.

    References
    ----------
    Hu, E. et al. (2022). LoRA: low-rank adaptation of large language models. ICLR.
    arXiv:2106.09685

    Examples
    --------
    >>> import tempfile
    >>> from panlearn.alignment import load_adapter, save_adapter, supervised_finetune
    >>> from panlearn.neural import LoRA
    >>> from panlearn.transformer import GPT
    >>> model = GPT(max_epochs=1, random_state=0).fit(["one two three"])
    >>> tuned = supervised_finetune(model, [("one", " two")], lora=LoRA(rank=2), random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_adapter(tuned, folder)
    ...     again = load_adapter(model, folder)
    >>> bool(abs(again.score(["one two"]) - tuned.score(["one two"])) < 1e-5)
    True
    """
    if "adapters_" not in vars(model):
        raise ValueError("the model has no additions of LoRA; tune it with lora=LoRA()")
    added, lora = model.adapters_, model.lora_
    tensors: dict[str, torch.Tensor] = {}
    family = _family(model.config_)
    for entry in _entries(family, model.config_, model.n_tokens_):
        if f"{entry.ours}.A" not in added:
            continue
        if entry.swapped or entry.ours == "tokens.weight":
            raise ValueError(f"peft has no place for an addition to {entry.ours}")
        down, up = (torch.tensor(added[f"{entry.ours}.{part}"]) for part in "AB")
        sizes = [shape[0] for shape in entry.parts]
        for name, rows in zip(entry.theirs[0], up.split(sizes), strict=True):
            module = _PREFIX + name.removesuffix(".weight")
            tensors[f"{module}.lora_A.weight"] = down.clone()
            tensors[f"{module}.lora_B.weight"] = rows.contiguous()
    targets = {name.removeprefix(_PREFIX).rsplit(".lora_", 1)[0] for name in tensors}
    content = {
        **_ONLY,
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": 0.0,
        "target_modules": sorted(targets),
        "fan_in_fan_out": family.transposed,
        "inference_mode": True,
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / WEIGHTS, to_safetensors(tensors, {"format": "pt"}))
    write_file(folder / CONFIG, json.dumps(content, indent=2).encode())


def load_adapter(model: Policy, folder: str | os.PathLike[str]) -> DecoderModel:
    r"""Add what LoRA learned, in a folder of the peft package, to the weights of a model.

    .. math:: W' = W + \frac{\alpha}{r} B A

    Parameters
    ----------
    model : GPT, FrozenEstimator or path
        The model that the additions are to. It stays as it is.
    folder : path
        Holds ``adapter_config.json`` and ``adapter_model.safetensors``.

    Returns
    -------
    GPT
        A fitted model of the same kind with the additions in its weights.

    Notes
    -----
    Plain LoRA is read, with or without its scale by the root of the rank; what else would change
    the numbers is refused by name. A matrix of m by n costs :math:`O(r m n)`.

    References
    ----------
    Hu, E. et al. (2022). LoRA: low-rank adaptation of large language models. ICLR.
    arXiv:2106.09685

    Examples
    --------
    >>> import tempfile
    >>> from panlearn.alignment import DPO, load_adapter, save_adapter
    >>> from panlearn.neural import LoRA
    >>> from panlearn.transformer import GPT
    >>> model = GPT(max_epochs=1, random_state=0).fit(["one two three"])
    >>> tuner = DPO(model, lora=LoRA(rank=2), random_state=0).fit([("one", " two", " three")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_adapter(tuner.model_, folder)
    ...     again = load_adapter(model, folder)
    >>> bool(abs(again.score(["one two"]) - tuner.model_.score(["one two"])) < 1e-4)
    True
    """
    policy, folder = as_policy(model), Path(folder)
    facts = read_json(folder / CONFIG)
    for name, value in _ONLY.items():
        if facts.get(name, value) not in (value, None):
            raise CheckpointError(f"{folder}/{CONFIG}: {name}={facts[name]!r} is not supported")
    try:
        rank, alpha = int(facts["r"]), float(facts["lora_alpha"])
        tensors = load_file(folder / WEIGHTS)
    except (KeyError, TypeError, ValueError, OSError, SafetensorError) as error:
        raise CheckpointError(f"{folder} holds no additions that can be read: {error}") from None
    scale = alpha / (math.sqrt(rank) if facts.get("use_rslora") else rank)
    module: Any = policy._with_weights()
    weights = module.state_dict()
    for entry in _entries(_family(policy.config_), policy.config_, policy.n_tokens_):
        if entry.stacked or entry.swapped or len(entry.parts[0]) != 2:
            continue
        low = 0
        for name, (n_rows, n_in) in zip(entry.theirs[0], entry.parts, strict=True):
            key = f"{_PREFIX}{name.removesuffix('.weight')}.lora_"
            down, up = (tensors.pop(f"{key}{part}.weight", None) for part in "AB")
            if down is not None and up is not None:
                if (tuple(down.shape), tuple(up.shape)) != ((rank, n_in), (n_rows, rank)):
                    raise CheckpointError(
                        f"{folder}: the addition to {name} does not fit: {tuple(up.shape)} times "
                        f"{tuple(down.shape)} for a matrix of {(n_rows, n_in)}"
                    )
                weights[entry.ours][low : low + n_rows] += scale * (up.float() @ down.float())
            low += n_rows
    if tensors:
        more = ", ".join(sorted(tensors)[:3])
        raise CheckpointError(f"{folder} holds what this model has no place for: {more}")
    return with_weights(policy, module)
