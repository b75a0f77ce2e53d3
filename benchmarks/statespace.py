"""State spaces: a training step of Mamba, generation from its memory, and S4's long convolution.

Mamba stands beside mambapy (training: the same weights, batch and optimiser) and the transformers
package (greedy generation). The convolution of S4 stands beside its Fourier transforms alone: what
is above them is what the kernel costs.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.harness import Workload
from panlearn.neural import train
from panlearn.statespace import S4, Mamba, MambaConfig
from panlearn.statespace._mamba import MambaDecoder
from panlearn.statespace.s4 import convolve
from panlearn.transformer._language import next_token_losses

os.environ.setdefault("HF_HUB_OFFLINE", "1")

N_TOKENS, WIDTH, N_LAYERS, LENGTH, N_STEPS, NEW = 2000, 128, 4, 256, 2, 100
LONG = 16_384
PAIRS = {
    "project.weight": "in_proj.weight",
    "filter_bias": "conv1d.bias",
    "select.weight": "x_proj.weight",
    "step.weight": "dt_proj.weight",
    "step.bias": "dt_proj.bias",
    "log_rate": "A_log",
    "D": "D",
    "output.weight": "out_proj.weight",
}


def seeded(seed, make):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def their_weights(ours):
    """The weights by the names of mambapy."""
    found = {
        "embedding.weight": ours.tokens.weight,
        "lm_head.weight": ours.head.weight,
        "norm_f.weight": ours.norm.weight,
    }
    for i, block in enumerate(ours.blocks):
        layer = f"mamba.layers.{i}"
        found[f"{layer}.norm.weight"] = block.norm.weight
        found[f"{layer}.mixer.conv1d.weight"] = block.mixer.filter[:, None]
        for name, other in PAIRS.items():
            found[f"{layer}.mixer.{other}"] = block.mixer.get_parameter(name)
    return {name: weight.detach().clone() for name, weight in found.items()}


def build_theirs():
    """A stack of mambapy between an embedding and a head, as its own language model is."""
    from mambapy import mamba

    config = mamba.MambaConfig(d_model=WIDTH, n_layers=N_LAYERS)
    parts = {
        "embedding": torch.nn.Embedding(N_TOKENS, WIDTH),
        "mamba": mamba.Mamba(config),
        "norm_f": mamba.RMSNorm(WIDTH),
        "lm_head": torch.nn.Linear(WIDTH, N_TOKENS, bias=False),
    }
    return torch.nn.ModuleDict(parts)


def build_training():
    config = MambaConfig(N_LAYERS, WIDTH, tied=False)
    ours = seeded(0, lambda: MambaDecoder(config, N_TOKENS))
    rng = np.random.default_rng(1)
    return {
        "ours": ours,
        "our start": {k: v.clone() for k, v in ours.state_dict().items()},
        "theirs": build_theirs(),
        "their start": their_weights(ours),
        "ids": torch.from_numpy(rng.integers(N_TOKENS, size=(4, LENGTH + 1))),
    }


def train_ours(data):
    data["ours"].load_state_dict(data["our start"])
    run = train(
        data["ours"],
        next_token_losses,
        [(data["ids"],)],
        max_epochs=N_STEPS,
        learning_rate=3e-4,
        random_state=0,
    )
    return run.history["loss"][-1]


def train_theirs(data):
    model, ids = data["theirs"], data["ids"]
    model.load_state_dict(data["their start"])
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.0)
    for _ in range(N_STEPS):
        optimiser.zero_grad(set_to_none=True)
        scores = ids[:, :-1]
        for part in model.values():
            scores = part(scores)
        loss = F.cross_entropy(scores.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimiser.step()
    return float(loss.detach())


def build_generation():
    import transformers

    transformers.logging.set_verbosity_error()
    marks = {"bos_token_id": 0, "eos_token_id": None, "pad_token_id": 0}
    shape = {"vocab_size": 8000, "hidden_size": 256, "num_hidden_layers": 6}
    config = transformers.MambaConfig(**shape, **marks)
    peer = seeded(0, lambda: transformers.MambaForCausalLM(config)).eval()
    with tempfile.TemporaryDirectory() as folder:
        peer.save_pretrained(folder)
        ours = Mamba.from_pretrained(folder)
    prompts = np.random.default_rng(1).integers(8000, size=(8, 16))
    return {"ours": ours, "peer": peer, "prompts": prompts}


def generate_ours(data, n_prompts):
    return data["ours"].generate(list(data["prompts"][:n_prompts]), max_tokens=NEW)


def generate_peer(data, n_prompts):
    ids = torch.from_numpy(data["prompts"][:n_prompts])
    with torch.no_grad():
        found = data["peer"].generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=NEW,
            min_new_tokens=NEW,
            do_sample=False,
            use_cache=True,
        )
    return found[:, ids.shape[1] :].tolist()


def generation(n_prompts):
    reference = []

    def build():
        data = build_generation()
        reference.append(np.array(generate_peer(data, n_prompts)))
        return data

    def quality(data, texts):
        return {"tokens": np.size(texts), "alike": np.mean(np.array(texts) == reference[0])}

    what = "one prompt" if n_prompts == 1 else f"{n_prompts} prompts"
    return Workload(
        f"Mamba, greedy generation of {NEW} tokens, {what}",
        "statespace.Mamba",
        build,
        {
            "panlearn": lambda data: generate_ours(data, n_prompts),
            "transformers": lambda data: generate_peer(data, n_prompts),
        },
        quality,
        bar=3.0,
    )


def build_convolution(form, n_rows):
    def build():
        layer = seeded(0, lambda: S4(64, 64, form=form))
        u = torch.randn(n_rows, 64, LONG, generator=torch.Generator().manual_seed(0))
        return {"layer": layer, "u": u.transpose(1, 2), "kernel": layer.kernel(LONG).detach()}

    return build


@torch.inference_mode()
def convolve_whole(data):
    return data["layer"](data["u"])


@torch.inference_mode()
def transforms_alone(data):
    return convolve(data["u"], data["kernel"]) + data["layer"].D * data["u"]


def convolution(form, n_rows):
    return Workload(
        f"S4 ({form}), 64 channels, kernel of length {LONG:,} and its convolution, batch {n_rows}",
        "statespace.S4",
        build_convolution(form, n_rows),
        {"panlearn": convolve_whole, "its Fourier transforms": transforms_alone},
        lambda data, y: {"root mean square": y.square().mean().sqrt().item()},
        bar=0.67,  # within 1.5 times of them
    )


def workloads():
    return [
        Workload(
            f"Mamba training, {N_STEPS} steps of 4 x {LENGTH} tokens",
            "statespace.Mamba",
            build_training,
            {"panlearn": train_ours, "mambapy": train_theirs},
            lambda data, loss: {"loss": loss},
            bar=1.5,
        ),
        generation(1),
        generation(8),
        convolution("diagonal", 8),
        convolution("nplr", 8),
    ]
