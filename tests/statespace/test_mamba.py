import numpy as np
import pytest
import torch

import panlearn
from panlearn.neural import Hook
from panlearn.statespace import Mamba, MambaConfig
from panlearn.statespace._mamba import MambaDecoder
from panlearn.statespace._mamba_checkpoint import shapes
from panlearn.statespace._mamba_generation import _PIECE, MambaGeneration
from panlearn.statespace._mamba_plain import PlainMamba
from panlearn.transformer._generation import Choice

TEXTS = ["the sea and the wind and the sea", "a tree has leaves and roots"]
SHAPES = {
    "plain": MambaConfig(2, 12, state_size=5, conv_size=3),
    "biased": MambaConfig(1, 12, bias=True, conv_bias=False, tied=False, expand=3),
    "one tap": MambaConfig(1, 8, conv_size=1, step_rank=3),
}


@pytest.fixture(scope="module")
def model():
    return Mamba(MambaConfig(2, 16), window=16, max_epochs=2, random_state=0).fit(TEXTS)


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def decoder(request):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = MambaDecoder(request.param, 20).eval()
        for parameter in made.parameters():
            parameter.data += 0.2 * torch.randn_like(parameter)
    return made


def run(decoder, prompts, n_tokens):
    how = {"choice": Choice(), "generators": [None] * len(prompts)}
    generation = MambaGeneration(decoder, prompts, **how)
    return torch.stack([generation.step() for _ in range(n_tokens)], 1).numpy(), generation


@torch.inference_mode()
def without_memory(decoder, prompt, n_tokens):
    """Greedy tokens, each time with all that came before read anew."""
    ids = list(prompt)
    for _ in range(n_tokens):
        ids.append(int(decoder(torch.tensor([ids]))[0, -1].argmax()))
    return ids[len(prompt) :]


@pytest.mark.parametrize("plain", [True, False], ids=["loops", "tensors"])
def test_memory_changes_nothing_nor_do_other_rows(decoder, plain, monkeypatch, rng):
    monkeypatch.setattr(PlainMamba, "suits", lambda *_: plain)
    prompts = [rng.integers(20, size=n) for n in (9, 1, 4)]
    found, _ = run(decoder, prompts, 8)
    for row, prompt in zip(found, prompts, strict=True):
        assert row.tolist() == without_memory(decoder, prompt, 8)


@torch.inference_mode()
def test_scores_from_memory_are_those_of_the_whole(decoder, rng):
    ids = torch.from_numpy(rng.integers(20, size=(3, 30)))
    expected = decoder(ids)
    seen, memory = decoder.go_on(ids[:, :20], None)
    plain = PlainMamba(decoder, memory)
    for t in range(20, 30):
        scores = torch.nn.functional.linear(seen, decoder.projection)
        np.testing.assert_allclose(scores, expected[:, t - 1], rtol=0, atol=1e-5)
        seen, memory = decoder.go_on(ids[:, t : t + 1], memory)
        found = plain.scores(ids[:, t].numpy())
        np.testing.assert_allclose(found, expected[:, t], rtol=0, atol=1e-5)


def test_what_is_kept_does_not_grow(decoder, monkeypatch, rng):
    monkeypatch.setattr(PlainMamba, "suits", lambda *_: False)

    def numbers(generation):
        return sum(part.numel() for kept in generation.memory for part in kept)

    config, prompt = decoder.config, rng.integers(20, size=2)
    formula = config.n_layers * config.channels * (config.state_size + config.conv_size - 1)
    for n_tokens in (2, 40):
        assert numbers(run(decoder, [prompt], n_tokens)[1]) == formula


@torch.inference_mode()
def test_long_prompts_are_read_in_pieces(rng):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        decoder = MambaDecoder(MambaConfig(1, 8), 20).eval()
    prompts = [rng.integers(20, size=n) for n in (_PIECE + 5, _PIECE, 3, _PIECE + 1)]
    _, generation = run(decoder, prompts, 1)
    for prompt, scores in zip(prompts, generation._scores, strict=True):
        expected = decoder(torch.from_numpy(prompt)[None])[0, -1]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)


def test_shapes_are_those_of_the_module(decoder):
    expected = {name: tuple(p.shape) for name, p in decoder.named_parameters()}
    assert shapes(decoder.config, 20) == expected


def test_the_number_of_parameters_is_that_of_the_formula():
    c, V = MambaConfig(3, 20, state_size=6, expand=3, conv_size=5), 30
    L, d, E, N, K, R = c.n_layers, c.width, c.channels, c.state_size, c.conv_size, c.rank
    formula = L * (3 * E * d + E * (3 * N + 2 * R + K + 3) + d) + V * d + d
    assert sum(p.numel() for p in MambaDecoder(c, V).parameters()) == formula


def test_it_learns_and_tells_how_sure_it_is():
    model = Mamba(MambaConfig(1, 16), window=16, learning_rate=2e-2, max_epochs=60, random_state=0)
    model.fit(["ab" * 50])
    assert model.generate("a", max_tokens=6) == "bababa"
    assert "".join(model.stream("a", max_tokens=6)) == "bababa"
    assert model.perplexity(["abab"]) < 10 < model.perplexity(["zzzz"])
    assert model.generate(["ab", "b"], max_tokens=3) == ["aba", "aba"]


def test_a_document_is_read_from_its_start(model):
    """Its tokens have the probabilities that follow from all before, whatever the window was."""
    text = "the wind and the sea " * 5
    ids = model.tokenizer_.encode(text)
    rows = torch.tensor([[model.start_token_, *ids, model.end_token_]])
    with torch.inference_mode():
        law = model.module_(rows[:, :-1]).double().log_softmax(-1)
    expected = law[0].gather(-1, rows[0, 1:, None]).sum().item()
    np.testing.assert_allclose(model.score_samples([text, "a"])[0], expected, rtol=1e-5)


def test_draws_depend_on_the_seed_and_the_prompt_alone(model):
    how = {"temperature": 1.0, "max_tokens": 12, "random_state": 3}
    alone = model.generate("the ", **how)
    assert model.generate(["a", "the ", "tree"], **how)[1] == alone
    assert model.generate("the ", **how) == alone
    assert model.generate("the ", **{**how, "random_state": 4}) != alone
    (completion,) = model.complete("the ", n_samples=1, **how)[0]
    found = model.log_probabilities([model.tokenizer_.encode("the ")], [completion.tokens])[0]
    np.testing.assert_allclose(completion.log_probs, found, atol=1e-4)


def test_there_are_no_attention_maps_to_look_at(model):
    assert not hasattr(model, "attention_maps")


def test_saved_and_loaded_it_is_the_same(model, tmp_path):
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.score_samples(TEXTS), model.score_samples(TEXTS))
    assert loaded.generate("the ", max_tokens=9) == model.generate("the ", max_tokens=9)


class Breaker(Hook):
    """Ends a run in the middle, as a crash does."""

    def on_step(self, run):
        if run.step == 5:
            raise OSError("the lights went out")


def test_a_run_that_broke_off_goes_on_to_the_same_weights(tmp_path):
    options = {"window": 8, "max_steps": 9, "batch_size": 2, "random_state": 0}
    kept = {**options, "checkpoint": tmp_path, "checkpoint_every": 2, "resume": True}
    with pytest.raises(OSError, match="lights"):
        Mamba(MambaConfig(1, 8), hooks=[Breaker()], **kept).fit(["ab" * 30])
    resumed = Mamba(MambaConfig(1, 8), **kept).fit(["ab" * 30])
    whole = Mamba(MambaConfig(1, 8), **options).fit(["ab" * 30])
    for name, weight in whole.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], weight)


def test_it_trains_in_half_precision(rng):
    tokens = rng.integers(10, size=40)
    options = {"window": 8, "max_steps": 2, "random_state": 0}
    half = Mamba(MambaConfig(1, 8), precision="bfloat16", **options).fit(tokens)
    full = Mamba(MambaConfig(1, 8), **options).fit(tokens)
    assert all(w.dtype == np.float32 for w in half.weights_.values())
    np.testing.assert_allclose(half.history_["loss"], full.history_["loss"], rtol=0.05)
