"""Prefill and generation at 12 layers x 768, and a layer of experts, beside transformers.

Both sides have the same weights at random. The quality of generation is the share of tokens that
the two give alike, that of the others the largest difference. No token for one prompt takes less
than to read all weights once from memory, which is measured in the same run. A token by itself is
timed as one of a few that follow each other, as they do in a text.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
import torch

from benchmarks.harness import Workload
from panlearn.transformer import GPT, ExpertsConfig, MixtureOfExperts
from panlearn.transformer._generation import Choice, Generation

os.environ.setdefault("HF_HUB_OFFLINE", "1")

N_TOKENS, CONTEXT, NEW = 8000, 512, 24
ROW = 8  # tokens that follow each other


def build():
    import transformers

    transformers.logging.set_verbosity_error()
    shape = {"n_positions": CONTEXT, "n_embd": 768, "n_layer": 12, "n_head": 12}
    ends = {"bos_token_id": 0, "eos_token_id": None, "pad_token_id": 0}
    config = transformers.GPT2Config(vocab_size=N_TOKENS, **shape, **ends)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        peer = transformers.GPT2LMHeadModel(config).eval()
    with tempfile.TemporaryDirectory() as folder:
        peer.save_pretrained(folder)
        ours = GPT.from_pretrained(folder)
    rng = np.random.default_rng(1)
    prompts = rng.integers(N_TOKENS, size=(8, 128))
    return {"ours": ours, "peer": peer, "prompts": prompts}


def prefill_ours(data, n_prompts):
    with torch.inference_mode():
        module = data["ours"].module_
        cache = module.cache([0] * n_prompts, 128)
        state = module.last(torch.from_numpy(data["prompts"][:n_prompts]), cache)
        return (state @ module.projection.T).numpy()


def prefill_peer(data, n_prompts):
    with torch.inference_mode():
        ids = torch.from_numpy(data["prompts"][:n_prompts])
        return data["peer"](ids, use_cache=True, logits_to_keep=1).logits[:, -1].numpy()


def prefill(n_prompts: int) -> Workload:
    def quality(data, found):
        return {"difference": np.abs(found - prefill_peer(data, n_prompts)).max()}

    return Workload(
        f"prefill of {n_prompts} x 128 tokens at 12 x 768",
        "transformer.GPT",
        build,
        {
            "panlearn": lambda data: prefill_ours(data, n_prompts),
            "transformers": lambda data: prefill_peer(data, n_prompts),
        },
        quality,
        bar=1.0,
    )


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


def read_weights(data):
    """Read every weight once a token: none takes less."""
    arrays = list(data["ours"].weights_.values())
    return [float(array.max()) for _ in range(ROW) for array in arrays]


def some_tokens(run):
    return [run.step().tolist() for _ in range(ROW)]


def started(model, prompt):
    """A generation after its first token."""
    settings = {"choice": Choice(), "generators": [np.random.default_rng(0)], "ahead": ROW}
    run = Generation(model.module_, [prompt], max_tokens=CONTEXT - len(prompt), **settings)
    run.step()
    return run


def build_run():
    data = build()
    data["run"] = started(data["ours"], data["prompts"][0])
    return data


def build_halves():
    data = build_run()
    with tempfile.TemporaryDirectory() as folder:
        data["peer"].save_pretrained(folder)
        halves = GPT.from_pretrained(folder, dtype="bfloat16")
    data["halves"] = started(halves, data["prompts"][0])
    return data


def generation(n_prompts: int) -> Workload:
    reference: list = []

    def build_fresh():
        data = build()
        reference.append(np.array(generate_peer(data, n_prompts)))
        return data

    def generate_ours(data):
        return data["ours"].generate(list(data["prompts"][:n_prompts]), max_tokens=NEW)

    what = "one prompt" if n_prompts == 1 else f"{n_prompts} prompts"
    return Workload(
        f"greedy generation of {NEW} tokens at 12 x 768, {what}",
        "transformer.GPT",
        build_fresh,
        {
            "panlearn": generate_ours,
            "transformers": lambda data: generate_peer(data, n_prompts),
        },
        lambda data, texts: {"alike": np.mean(np.array(texts) == reference[0])},
        bar=1.0,
    )


def build_experts():
    from transformers import DeepseekV3Config
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE

    config = DeepseekV3Config(
        hidden_size=512,
        moe_intermediate_size=512,
        n_routed_experts=8,
        num_experts_per_tok=2,
        n_shared_experts=1,
        n_group=2,
        topk_group=1,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        peer = DeepseekV3MoE(config).eval()
        for parameter in peer.parameters():
            parameter.data.normal_(std=0.02)
    groups = {"n_groups": 2, "n_chosen_groups": 1}
    shape = ExpertsConfig(8, 2, 512, n_shared=1, gate="sigmoid", scale=2.5, **groups)
    ours = MixtureOfExperts(512, shape).eval()
    shared = peer.shared_experts
    with torch.no_grad():
        ours.router.weight.copy_(peer.gate.weight)
        ours.experts_up.copy_(peer.experts.gate_up_proj)
        ours.experts_down.copy_(peer.experts.down_proj)
        ours.shared.up.weight.copy_(torch.cat([shared.gate_proj.weight, shared.up_proj.weight]))
        ours.shared.down.weight.copy_(shared.down_proj.weight)
    x = torch.randn(4, 256, 512, generator=torch.Generator().manual_seed(1))
    return {"ours": ours, "peer": peer, "x": x}


def experts(data, side):
    x = data["x"].clone().requires_grad_()
    found = data[side](x)
    found.square().sum().backward()
    return found.detach().numpy(), x.grad.numpy()


def experts_quality(data, found):
    reference = experts(data, "peer")
    return {"difference": max(np.abs(a - b).max() for a, b in zip(found, reference, strict=True))}


def workloads():
    return [
        prefill(1),
        prefill(8),
        generation(1),
        generation(8),
        Workload(
            f"{ROW} tokens at 12 x 768, beside reading the weights once for each",
            "transformer.GPT",
            build_run,
            {
                "panlearn": lambda data: some_tokens(data["run"]),
                "NumPy's max of all weights": read_weights,
            },
            lambda data, found: {"numbers": len(found)},
            bar=0.67,
        ),
        Workload(
            f"{ROW} tokens at 12 x 768, weights in bfloat16 beside single precision",
            "transformer.GPT",
            build_halves,
            {
                "panlearn": lambda data: some_tokens(data["halves"]),
                "panlearn in single precision": lambda data: some_tokens(data["run"]),
            },
            lambda data, found: {"numbers": len(found)},
            bar=2.0,
        ),
        Workload(
            "experts forward and backward, 8 of which 2, 1024 tokens",
            "transformer.MixtureOfExperts",
            build_experts,
            {
                "panlearn": lambda data: experts(data, "ours"),
                "transformers": lambda data: experts(data, "peer"),
            },
            experts_quality,
            bar=1.0,
        ),
    ]
