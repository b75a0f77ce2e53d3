"""The decoder beside the transformers package, on random weights, both ways."""

import os

import numpy as np
import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers")

from panlearn.text import BPETokenizer  # noqa: E402
from panlearn.transformer import GPT, GPTConfig  # noqa: E402

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
PEERS = {
    "gpt2": ("GPT2", {"vocab_size": 100, "n_positions": 64, "n_embd": 32, "n_layer": 2}),
    "gpt2 untied": ("GPT2", {"vocab_size": 100, "n_embd": 32, "tie_word_embeddings": False}),
    "llama": ("Llama", {**LLAMA, "num_key_value_heads": 2, "rope_theta": 500.0, "head_dim": 12}),
    "llama tied": ("Llama", {**LLAMA, "tie_word_embeddings": True, "num_key_value_heads": 1}),
    "llama biased": ("Llama", {**LLAMA, "attention_bias": True, "mlp_bias": True}),
}


@pytest.fixture(scope="module", params=PEERS.values(), ids=PEERS)
def peer(request):
    kind, settings = request.param
    if kind == "GPT2":
        settings = {"n_head": 4, "n_layer": 1, "n_positions": 48, **settings}
        settings |= {"bos_token_id": 0, "eos_token_id": 0}
    config = getattr(transformers, f"{kind}Config")(**settings)
    kinds = {"GPT2": "GPT2LMHeadModel", "Llama": "LlamaForCausalLM"}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = getattr(transformers, kinds[kind])(config).eval()
        for parameter in model.parameters():
            parameter.data.normal_(std=0.3)
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


@pytest.mark.parametrize(
    "config",
    [
        GPTConfig(2, 16, 2, 32),
        GPTConfig(1, 16, 2, 32, activation="relu", hidden=20, tied=False),
        GPTConfig.llama(n_layers=2, width=16, n_heads=4, n_key_heads=2, context=32, head_width=6),
        GPTConfig.llama(n_layers=1, width=16, n_heads=2, context=32, bias=True, rotary_base=99.0),
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
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    expected = tokenizer.encode("the sea", add_special_tokens=False)
    assert model.tokenizer_.encode("the sea") == expected
