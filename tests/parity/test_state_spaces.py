"""Mamba beside the transformers package and mambapy, on random weights."""

import os

import numpy as np
import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers")
mambapy = pytest.importorskip("mambapy.mamba")

from panlearn.statespace import Mamba, MambaConfig  # noqa: E402
from panlearn.statespace._mamba import Mixer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
PEERS = {
    "plain": {},
    "biased": {"use_bias": True, "use_conv_bias": False, "tie_word_embeddings": False},
    "small filter": {"conv_kernel": 2, "expand": 3, "state_size": 5, "time_step_rank": 4},
}


@pytest.fixture(scope="module", params=PEERS.values(), ids=PEERS)
def peer(request):
    sizes = {"vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 2, "state_size": 8}
    marks = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    config = transformers.MambaConfig(**{**sizes, **marks, **request.param})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.MambaForCausalLM(config).eval()
        for name, parameter in model.named_parameters():
            if "A_log" not in name:
                parameter.data += 0.2 * torch.randn_like(parameter)
    return model


@torch.inference_mode()
def scores(model, ids):
    found = model(torch.from_numpy(ids))
    return getattr(found, "logits", found).numpy()


@pytest.mark.parametrize("size", ["5GB", "20KB"])
def test_their_files_give_their_scores_and_tokens(peer, size, tmp_path, rng):
    peer.save_pretrained(tmp_path, max_shard_size=size)
    model = Mamba.from_pretrained(tmp_path)
    ids = rng.integers(60, size=(2, 30))
    np.testing.assert_allclose(scores(model.module_, ids), scores(peer, ids), rtol=0, atol=1e-4)
    prompts = [rng.integers(2, 60, size=n) for n in (4, 11)]
    for prompt, found in zip(prompts, model.generate(prompts, max_tokens=12), strict=True):
        rows = torch.from_numpy(prompt)[None]
        mask = torch.ones_like(rows)
        out = peer.generate(rows, attention_mask=mask, max_new_tokens=12, do_sample=False)
        expected = out[0, len(prompt) :].tolist()
        assert found == expected[: expected.index(1) if 1 in expected else 12]


@pytest.mark.parametrize(
    "config",
    [
        MambaConfig(2, 16, state_size=4),
        MambaConfig(1, 16, bias=True, conv_bias=False, tied=False, expand=3, step_rank=2),
    ],
)
def test_our_files_give_our_scores(config, tmp_path, rng):
    model = Mamba(config, window=8, max_steps=1, random_state=0)
    model.fit(["the ship on the sea", "the wind and the sail"])
    model.weights_ = {  # none of the parts is near zero
        k: v + rng.normal(scale=0.2, size=v.shape).astype(np.float32)
        for k, v in model.weights_.items()
    }
    model.save_pretrained(tmp_path)
    peer = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    ids = rng.integers(257, size=(2, 30))
    np.testing.assert_allclose(scores(peer, ids), scores(model.module_, ids), rtol=0, atol=1e-4)


@pytest.mark.parametrize("length", [1, 16, 37])
def test_a_block_of_mambapy_has_the_same_outputs_and_gradients(length, rng):
    config = mambapy.MambaConfig(d_model=12, n_layers=1, d_state=6)
    ours = Mixer(MambaConfig(1, 12, state_size=6))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        theirs = mambapy.MambaBlock(config)
    pairs = {
        "project.weight": "in_proj.weight",
        "filter_bias": "conv1d.bias",
        "select.weight": "x_proj.weight",
        "step.weight": "dt_proj.weight",
        "step.bias": "dt_proj.bias",
        "log_rate": "A_log",
        "D": "D",
        "output.weight": "out_proj.weight",
    }
    weights = theirs.state_dict()
    copied = {name: weights[other] for name, other in pairs.items()}
    ours.load_state_dict({**copied, "filter": weights["conv1d.weight"][:, 0]})
    x = torch.from_numpy(rng.normal(size=(2, length, 12)).astype(np.float32))
    pulled = torch.from_numpy(rng.normal(size=(2, length, 12)).astype(np.float32))
    found, expected = ours(x)[0], theirs(x)
    np.testing.assert_allclose(found.detach(), expected.detach(), rtol=0, atol=1e-5)
    (found * pulled).sum().backward()
    (expected * pulled).sum().backward()
    gradients = {name: p.grad.numpy() for name, p in theirs.named_parameters()}
    for name, parameter in ours.named_parameters():
        other = gradients[pairs.get(name, "conv1d.weight")].reshape(parameter.shape)
        scale = max(np.abs(other).max(), 1e-3)
        np.testing.assert_allclose(parameter.grad / scale, other / scale, rtol=0, atol=1e-4)
