"""A small GPT-2 beside the transformers package: training steps, greedy generation from a cache.

Both have the same weights: 6 layers, 256 wide, 8 heads, context 256, 8000 tokens. The quality of
training is the loss after the steps; that of generation is the share of tokens that the two give
alike (ties and rounding may part them late in a text) and the length.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.harness import Workload
from panlearn.neural import train
from panlearn.transformer import GPT
from panlearn.transformer._language import next_token_losses

os.environ.setdefault("HF_HUB_OFFLINE", "1")

N_TOKENS, CONTEXT, N_STEPS, NEW = 8000, 256, 4, 200


def build():
    import transformers

    transformers.logging.set_verbosity_error()
    shape = {"n_positions": CONTEXT, "n_embd": 256, "n_layer": 6, "n_head": 8}
    quiet = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    ends = {"bos_token_id": 0, "eos_token_id": None, "pad_token_id": 0}
    config = transformers.GPT2Config(vocab_size=N_TOKENS, **shape, **quiet, **ends)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        peer = transformers.GPT2LMHeadModel(config)
    with tempfile.TemporaryDirectory() as folder:
        peer.save_pretrained(folder)
        ours = GPT.from_pretrained(folder)
    rng = np.random.default_rng(1)
    return {
        "ours": ours,
        "module": ours._with_weights(),
        "peer": peer,
        "start": {k: v.clone() for k, v in peer.state_dict().items()},
        "ids": torch.from_numpy(rng.integers(N_TOKENS, size=(8, CONTEXT + 1))),
        "prompts": rng.integers(N_TOKENS, size=(8, 16)),
    }


def train_ours(data):
    weights = data["ours"].weights_.items()
    data["module"].load_state_dict({name: torch.from_numpy(w) for name, w in weights})
    run = train(
        data["module"],
        next_token_losses,
        [(data["ids"],)],
        max_epochs=N_STEPS,
        learning_rate=3e-4,
        weight_decay=0.01,
        random_state=0,
    )
    return run.history["loss"][-1]


def train_peer(data):
    model, ids = data["peer"], data["ids"]
    model.load_state_dict(data["start"])
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(N_STEPS):
        optimiser.zero_grad(set_to_none=True)
        scores = model(input_ids=ids[:, :-1]).logits
        loss = F.cross_entropy(scores.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimiser.step()
    return float(loss.detach())


def generate_ours(data, n_prompts):
    return data["ours"].generate(list(data["prompts"][:n_prompts]), max_tokens=NEW)


def generate_peer(data, n_prompts):
    model = data["peer"].eval()
    ids = torch.from_numpy(data["prompts"][:n_prompts])
    with torch.no_grad():
        found = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=NEW,
            min_new_tokens=NEW,
            do_sample=False,
            use_cache=True,
        )
    return found[:, ids.shape[1] :].tolist()


def generation(n_prompts: int) -> Workload:
    reference: list = []

    def build_fresh():
        data = build()
        reference.append(np.array(generate_peer(data, n_prompts)))
        return data

    def quality(data, texts):
        return {"tokens": np.size(texts), "alike": np.mean(np.array(texts) == reference[0])}

    what = "one prompt" if n_prompts == 1 else f"{n_prompts} prompts"
    return Workload(
        f"greedy generation of {NEW} tokens from a cache, {what}",
        "transformer.GPT",
        build_fresh,
        {
            "panlearn": lambda data: generate_ours(data, n_prompts),
            "transformers": lambda data: generate_peer(data, n_prompts),
        },
        quality,
        bar=2.0,
    )


def workloads():
    return [
        Workload(
            f"GPT training, {N_STEPS} steps of 8 x {CONTEXT} tokens",
            "transformer.GPT",
            build,
            {"panlearn": train_ours, "transformers": train_peer},
            lambda data, loss: {"loss": loss},
            bar=1.2,
        ),
        generation(1),
        generation(8),
    ]
