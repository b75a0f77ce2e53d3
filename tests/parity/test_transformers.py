"""The decoder beside the transformers package, on random weights, both ways."""

import os

import numpy as np
import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers")

from panlearn.text import BPETokenizer  # noqa: E402
from panlearn.transformer import (  # noqa: E402
    GPT,
    ExpertsConfig,
    GPTConfig,
    LatentConfig,
    RotaryScaling,
)

pytestmark = pytest.mark.filterwarnings("ignore")
LLAMA = {
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LINEAR = {"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0}
SLOW = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
SLOW |= {"original_max_position_embeddings": 16, "rope_theta": 500.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
YARN |= {"rope_theta": 50.0, "beta_fast": 8.0, "beta_slow": 1.0}
DEEPSEEK = {
    **{"kv_lora_rank": 8, "q_lora_rank": 12, "qk_rope_head_dim": 4, "qk_nope_head_dim": 6},
    **{"v_head_dim": 5, "n_routed_experts": 8, "num_experts_per_tok": 3, "n_group": 4},
    **{"topk_group": 2, "n_shared_experts": 2, "moe_intermediate_size": 12},
    **{"first_k_dense_replace": 1, "num_key_value_heads": 4},
}
PEERS = {
    "gpt2": ("GPT2", {"vocab_size": 100, "n_positions": 64, "n_embd": 32, "n_layer": 2}),
    "gpt2 untied": ("GPT2", {"vocab_size": 100, "n_embd": 32, "tie_word_embeddings": False}),
    "llama": ("Llama", {**LLAMA, "num_key_value_heads": 2, "rope_theta": 500.0, "head_dim": 12}),
    "llama tied": ("Llama", {**LLAMA, "tie_word_embeddings": True, "num_key_value_heads": 1}),
    "llama biased": ("Llama", {**LLAMA, "attention_bias": True, "mlp_bias": True}),
    "llama 3": ("Llama", {**LLAMA, "rope_parameters": SLOW, "tie_word_embeddings": True}),
    "llama linear": ("Llama", {**LLAMA, "rope_parameters": LINEAR}),
    "llama yarn": ("Llama", {**LLAMA, "rope_parameters": YARN}),
    "mistral": ("Mistral", {**LLAMA, "sliding_window": 6, "num_key_value_heads": 2}),
    "mistral without a window": (
        "Mistral",
        {**LLAMA, "sliding_window": None, "num_key_value_heads": 4},
    ),
    "qwen 2": ("Qwen2", {**LLAMA, "num_key_value_heads": 2, "tie_word_embeddings": True}),
    "qwen 3": ("Qwen3", {**LLAMA, "num_key_value_heads": 2, "head_dim": 10}),
    "mixtral": ("Mixtral", {**LLAMA, "num_key_value_heads": 2, "num_local_experts": 5}),
    "deepseek": ("DeepseekV3", {**LLAMA, **DEEPSEEK}),
    "deepseek plain": (
        "DeepseekV3",
        {
            **LLAMA,
            **DEEPSEEK,
            "q_lora_rank": None,
            "n_group": 1,
            "topk_group": 1,
            "rope_interleave": False,
        },
    ),
    "deepseek yarn": (
        "DeepseekV3",
        {**LLAMA, **DEEPSEEK, "rope_parameters": {**YARN, "mscale": 1.0, "mscale_all_dim": 0.7}},
    ),
}


@pytest.fixture(scope="module", params=PEERS.values(), ids=PEERS)
def peer(request):
    kind, settings = request.param
    if kind == "GPT2":
        settings = {"n_head": 4, "n_layer": 1, "n_positions": 48, **settings}
        settings |= {"bos_token_id": 0, "eos_token_id": 0}
    config = getattr(transformers, f"{kind}Config")(**settings)
    name = "GPT2LMHeadModel" if kind == "GPT2" else f"{kind}ForCausalLM"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = getattr(transformers, name)(config).eval()
        for parameter in model.parameters():
            parameter.data.normal_(std=0.3)
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.normal_(std=0.3)
    return model


def scores(model, ids):
    with torch.inference_mode():
        found = model(torch.from_numpy(ids))
    return getattr(found, "logits", found).numpy()


@pytest.mark.parametrize("size", ["5GB", "20KB"])
def test_their_files_give_their_scores(peer, size, tmp_path, rng):
    peer.save_pretrained(tmp_path, max_shard_size=size)
    model = GPT.from_pretrained(tmp_path)
    ids = rng.integers(100, size=(2, 30))
    np.testing.assert_allclose(scores(model.module_, ids), scores(peer, ids), rtol=0, atol=1e-4)
    prompts = [rng.integers(3, 100, size=n) for n in (4, 11)]
    for prompt, found in zip(prompts, model.generate(prompts, max_tokens=12), strict=True):
        rows = torch.from_numpy(prompt)[None]
        mask = torch.ones_like(rows)
        out = peer.generate(rows, attention_mask=mask, max_new_tokens=12, do_sample=False)
        expected = out[0, len(prompt) :].tolist()
        stop = [expected.index(e) for e in [peer.config.eos_token_id] if e in expected]
        assert found == expected[: (stop or [12])[0]]


SMALL = {"n_layers": 2, "width": 16, "n_heads": 2, "context": 32}


@pytest.mark.parametrize(
    "config",
    [
        GPTConfig(2, 16, 2, 32),
        GPTConfig(1, 16, 2, 32, activation="relu", hidden=20, tied=False),
        GPTConfig.llama(n_layers=2, width=16, n_heads=4, n_key_heads=2, context=32, head_width=6),
        GPTConfig.llama(n_layers=1, width=16, n_heads=2, context=32, bias=True, rotary_base=99.0),
        GPTConfig.llama(**SMALL, rotary_scaling=RotaryScaling("llama3", 4.0, 16, low=0.5)),
        GPTConfig.llama(**SMALL, rotary_scaling=RotaryScaling("linear", 2.0), tied=True),
        GPTConfig.llama(**SMALL, window=5),
        GPTConfig.llama(**SMALL, query_bias=True),
        GPTConfig.llama(**SMALL, key_norm=True, head_width=6),
        GPTConfig.llama(**SMALL, experts=ExpertsConfig(4, 2, 12)),
        GPTConfig.deepseek(**SMALL),
        GPTConfig.deepseek(
            **SMALL,
            n_ahead=0,
            latent=LatentConfig(8, None, 6, 4, 5),
            rotary_scaling=RotaryScaling("yarn", 4.0, 8, high=8.0, amplitude=1.1, sharpness=1.3),
        ),
    ],
)
def test_our_files_give_our_scores(config, tmp_path, rng):
    texts = ["the ship on the sea", "the wind and the sail"]
    model = GPT(config, BPETokenizer(265), max_epochs=1, random_state=0).fit(texts)
    model.weights_ = {  # none of the parts is near zero
        k: v + rng.normal(scale=0.2, size=v.shape).astype(np.float32)
        for k, v in model.weights_.items()
    }
    model.save_pretrained(tmp_path)
    peer = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    ids = rng.integers(265, size=(2, 30))
    np.testing.assert_allclose(scores(peer, ids), scores(model.module_, ids), rtol=0, atol=1e-4)
    again = GPT.from_pretrained(tmp_path)
    np.testing.assert_array_equal(scores(again.module_, ids), scores(model.module_, ids))
    assert again.weights_.keys() == model.weights_.keys()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    expected = tokenizer.encode("the sea", add_special_tokens=False)
    assert model.tokenizer_.encode("the sea") == expected
