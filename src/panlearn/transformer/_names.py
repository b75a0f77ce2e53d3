"""What families of checkpoints call the tensors of a decoder: ours to theirs, one table each.

Names of modules stand without ``.weight`` and ``.bias``, which are the same on both sides. A hash
stands for the number of a layer, a star for that of an expert. Where several names stand, their
rows follow each other here.
"""

from __future__ import annotations

LLAMA: dict[str, tuple[str, ...]] = {
    "tokens": ("model.embed_tokens",),
    "norm": ("model.norm",),
    "head": ("lm_head",),
    **{
        f"blocks.#.{ours}": tuple(f"model.layers.#.{name}" for name in theirs.split())
        for ours, theirs in {
            "attention_norm": "input_layernorm",
            "attention.project": "self_attn.q_proj self_attn.k_proj self_attn.v_proj",
            "attention.query_norm": "self_attn.q_norm",
            "attention.key_norm": "self_attn.k_norm",
            "attention.output": "self_attn.o_proj",
            "feed_forward_norm": "post_attention_layernorm",
            "feed_forward.up": "mlp.gate_proj mlp.up_proj",
            "feed_forward.down": "mlp.down_proj",
        }.items()
    },
}
MIXTRAL = LLAMA | {
    f"blocks.#.feed_forward.{ours}": tuple(
        f"model.layers.#.block_sparse_moe.{name}" for name in theirs.split()
    )
    for ours, theirs in {
        "router": "gate",
        "experts_up": "experts.*.w1.weight experts.*.w3.weight",
        "experts_down": "experts.*.w2.weight",
    }.items()
}
DEEPSEEK = LLAMA | {
    f"blocks.#.{ours}": tuple(f"model.layers.#.{name}" for name in theirs.split())
    for ours, theirs in {
        "attention.query": "self_attn.q_proj",
        "attention.query.0": "self_attn.q_a_proj",
        "attention.query.1": "self_attn.q_a_layernorm",
        "attention.query.2": "self_attn.q_b_proj",
        "attention.compress": "self_attn.kv_a_proj_with_mqa",
        "attention.norm": "self_attn.kv_a_layernorm",
        "attention.expand": "self_attn.kv_b_proj",
        "feed_forward.router": "mlp.gate",
        "feed_forward.balance": "mlp.gate.e_score_correction_bias",
        "feed_forward.experts_up": "mlp.experts.*.gate_proj.weight mlp.experts.*.up_proj.weight",
        "feed_forward.experts_down": "mlp.experts.*.down_proj.weight",
        "feed_forward.shared.up": "mlp.shared_experts.gate_proj mlp.shared_experts.up_proj",
        "feed_forward.shared.down": "mlp.shared_experts.down_proj",
        "state_norm": "hnorm",  # of the blocks after the last, which predict further ahead
        "token_norm": "enorm",
        "project": "eh_proj",
        "norm": "shared_head.norm",
    }.items()
}
GPT2: dict[str, tuple[str, ...]] = {
    "tokens": ("transformer.wte",),
    "positions": ("transformer.wpe",),
    "norm": ("transformer.ln_f",),
    "head": ("lm_head",),
    "blocks.#.attention_norm": ("transformer.h.#.ln_1",),
    "blocks.#.attention.project": ("transformer.h.#.attn.c_attn",),
    "blocks.#.attention.output": ("transformer.h.#.attn.c_proj",),
    "blocks.#.feed_forward_norm": ("transformer.h.#.ln_2",),
    "blocks.#.feed_forward.up": ("transformer.h.#.mlp.c_fc",),
    "blocks.#.feed_forward.down": ("transformer.h.#.mlp.c_proj",),
}
