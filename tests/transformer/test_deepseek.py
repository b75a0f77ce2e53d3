"""DeepSeek: prediction ahead, its loss, and generation that reads what it proposed."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from panlearn.transformer import DeepSeek, ExpertsConfig, GPTConfig, MultiTokenPrediction
from panlearn.transformer._cache import Cache
from panlearn.transformer._decoder import Decoder
from panlearn.transformer._drafts import Drafts
from panlearn.transformer._generation import Choice, Generation

SMALL = {"n_layers": 2, "width": 16, "n_heads": 2, "context": 24}
CONFIGS = {
    "deepseek": GPTConfig.deepseek(**SMALL),
    "two ahead": GPTConfig.deepseek(**SMALL, n_ahead=2),
    "gpt2": GPTConfig(2, 16, 2, 24, n_ahead=1),
    "experts": GPTConfig.llama(**SMALL, hidden=24, experts=ExpertsConfig(4, 2, 8), n_ahead=1),
}


def make(config, scale=8.0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        decoder = Decoder(config, 11).eval()
    for parameter in decoder.parameters():
        parameter.data *= scale if parameter.dim() > 1 else 1
    return decoder.requires_grad_(False)


def run(decoder, prompt, n, choice, *, scored=False):
    made = Generation(
        decoder,
        [prompt],
        max_tokens=n,
        choice=choice,
        generators=[np.random.default_rng(3)],
        scored=scored,
    )
    tokens, log_probs = [], []
    for _ in range(n):
        tokens.append(int(made.step()))
        log_probs.append(float(made.log_probs[0]))
    return tokens, np.array(log_probs)


@pytest.mark.parametrize("choice", [Choice(), Choice(0.7, top_k=6)], ids=["greedy", "drawn"])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("drafts", ["own", "always wrong", "always right"])
def test_proposals_change_no_token(config, choice, drafts, monkeypatch):
    """Whether proposals are right or wrong, tokens are those of the decoder alone, past the
    context too, where it reads its last half again.
    """
    decoder, prompt = make(config), np.array([1, 5, 2])
    alone = make(config)
    alone.config = replace(config, n_ahead=0)
    expected, expected_probs = run(alone, prompt, 40, choice, scored=True)
    if drafts != "own":
        places = [*prompt, *expected]

        def after(self, states, following):
            right = places[self._cache.end + following.shape[1] + 1]
            self._cache.end += following.shape[1]
            return torch.tensor([[right if drafts == "always right" else (right + 1) % 11]])

        monkeypatch.setattr(Drafts, "after", after)
    found, found_probs = run(decoder, prompt, 40, choice, scored=True)
    assert found == expected
    np.testing.assert_allclose(found_probs, expected_probs, atol=1e-4)


def test_right_proposals_halve_the_passes(monkeypatch):
    decoder, prompt = make(CONFIGS["deepseek"]), np.array([1, 5, 2])
    passes = []
    plain = Decoder.go_on
    monkeypatch.setattr(Decoder, "go_on", lambda *a: passes.append(a[1].shape[1]) or plain(*a))
    expected, _ = run(decoder, prompt, 12, Choice())
    places = [*prompt, *expected, 0, 0]

    def after(self, states, following):
        self._cache.end += following.shape[1]
        return torch.tensor([[places[self._cache.end + 1]]])

    monkeypatch.setattr(Drafts, "after", after)
    passes.clear()
    assert run(decoder, prompt, 12, Choice())[0] == expected
    assert passes == [3, *[2] * 5, 1]  # the last token needs no proposal


@pytest.mark.parametrize("choice", [Choice(), Choice(0.7, top_k=6)], ids=["greedy", "drawn"])
@pytest.mark.parametrize("drafts", ["own", "one wrong", "all right"])
def test_several_prompts_go_on_as_each_alone(choice, drafts, monkeypatch):
    """Prompts of several lengths; a proposal of one row that is wrong holds all back."""
    config = CONFIGS["deepseek"]
    decoder, prompts = make(config), [np.array([1, 5, 2]), np.array([7]), np.array([3, 3, 9, 4])]
    alone = make(config)
    alone.config = replace(config, n_ahead=0)
    expected = [run(alone, prompt, 30, choice)[0] for prompt in prompts]
    columns = [[0] * (4 - len(p)) + [*p, *e, 0] for p, e in zip(prompts, expected, strict=True)]
    passes, plain = [], Decoder.go_on
    monkeypatch.setattr(Decoder, "go_on", lambda *a: passes.append(a[1].shape[1]) or plain(*a))
    if drafts != "own":

        def after(self, states, following):
            self._cache.end += following.shape[1]
            right = torch.tensor([[row[self._cache.end + 1]] for row in columns])
            right[1] += drafts == "one wrong"
            return right % 11

        monkeypatch.setattr(Drafts, "after", after)
    made = Generation(
        decoder,
        prompts,
        max_tokens=30,
        choice=choice,
        generators=[np.random.default_rng(3) for _ in prompts],
    )
    found = np.array([made.step().tolist() for _ in range(30)]).T
    assert found.tolist() == expected
    if drafts == "all right":  # within the context of 24 columns
        assert passes[:10] == [4, *[2] * 9]


def test_the_draft_is_what_the_depth_predicts_of_the_whole_text():
    """Pieces from the cache against one pass: t_1..t_n and t_2..t_(n+1) give t_(n+2)."""
    decoder = make(CONFIGS["deepseek"])
    ids = torch.randint(11, (1, 9), generator=torch.Generator().manual_seed(1))
    states = decoder.states(ids[:, :8])
    rotation = decoder.rotation(torch.arange(8), states)
    depth = decoder.ahead[0]
    whole = depth.norm(depth(states, decoder.tokens(ids[:, 1:9]), rotation=rotation))
    expected = F.linear(whole, decoder.projection).argmax(dim=-1)
    drafts, at = Drafts(decoder, [0], 9), 0
    for n in (3, 1, 2, 2):
        part = slice(at, at + n)
        found = drafts.after(states[:, part], ids[:, at + 1 : at + n + 1])
        at += n
        assert int(found) == int(expected[0, at - 1])


@pytest.mark.parametrize("n_ahead", [1, 3])
def test_the_loss_is_the_formula(n_ahead):
    """Token by token, by hand: depth k sees t_(i+k) and predicts t_(i+k+1)."""
    config = GPTConfig.deepseek(**SMALL, n_ahead=n_ahead, ahead_weight=0.6)
    decoder = make(config).double()
    ids = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(2))
    inputs, targets, n = ids[:, :-1], ids[:, 1:], 7
    states = decoder.states(inputs)
    scores = states @ decoder.projection.T
    expected = F.cross_entropy(scores.flatten(0, 1), targets.flatten())
    for k, depth in enumerate(decoder.ahead, 1):
        rotation = decoder.rotation(torch.arange(n - k), states)
        states = depth(states[:, : n - k], decoder.tokens(ids[:, k:n]), rotation=rotation)
        scores = depth.norm(states) @ decoder.projection.T
        wanted = ids[:, k + 1 : n + 1]
        loss = F.cross_entropy(scores.flatten(0, 1), wanted.flatten())
        expected = expected + 0.6 / n_ahead * loss
    found = decoder.losses_ahead(inputs, targets).mean()
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=0)
    plain = decoder.losses(inputs, targets).mean()
    assert abs(float(found - plain)) > 0.01


def test_windows_shorter_than_the_depth():
    decoder = make(GPTConfig.deepseek(**SMALL, n_ahead=3))
    ids = torch.tensor([[1, 2]])
    found = decoder.losses_ahead(ids[:, :1], ids[:, 1:])
    torch.testing.assert_close(found, decoder.losses(ids[:, :1], ids[:, 1:]))


def test_the_estimator_learns_balances_and_is_saved(tmp_path):
    import panlearn

    texts = ["the sea and the wind " * 3, "a tree has leaves " * 4]
    config = GPTConfig.deepseek(n_layers=2, width=16, n_heads=2, context=32)
    model = DeepSeek(config, max_epochs=3, learning_rate=3e-3, batch_size=2, random_state=0)
    model.fit(texts)
    assert model.history_["loss"][-1] < model.history_["loss"][0]
    balance = model.weights_["blocks.1.feed_forward.balance"]
    steps = balance / 1e-3
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-3)  # each step is up or down by one
    assert np.abs(steps).max() >= 1
    again = DeepSeek(config, max_epochs=3, learning_rate=3e-3, batch_size=2, random_state=0)
    for name, value in again.fit(texts).weights_.items():
        np.testing.assert_array_equal(value, model.weights_[name])
    panlearn.save(model, tmp_path / "model.pl")
    loaded = panlearn.load(tmp_path / "model.pl")
    np.testing.assert_array_equal(loaded.score_samples(texts), model.score_samples(texts))
    assert loaded.generate("the ", max_tokens=8) == model.generate("the ", max_tokens=8)
    assert model.attention_maps("the").shape == (2, 2, 3, 3)


def test_pieces_of_a_batch_balance_experts_together():
    """The biases move by the loads of the whole batch, once a step, however it is cut."""
    config = GPTConfig.deepseek(n_layers=2, width=16, n_heads=2, context=16)
    how = {"max_epochs": 2, "batch_size": 6, "random_state": 0, "optimizer": "sgd"}
    ids = np.random.default_rng(0).integers(50, size=300)
    whole, cut = (DeepSeek(config, accumulate=n, **how).fit(ids).weights_ for n in (1, 3))
    moved = 0.0
    for name, value in whole.items():
        np.testing.assert_allclose(cut[name], value, rtol=0, atol=1e-6, err_msg=name)
        moved += np.abs(value).sum() if name.endswith("balance") else 0.0
    assert moved > 0


def test_a_depth_keeps_as_much_as_a_block():
    config = CONFIGS["deepseek"]
    depth = MultiTokenPrediction(config)
    latent = config.latent
    assert Cache(depth, [0], 5).memory.numel() == 5 * (latent.rank + latent.rotary_width)


def test_a_padded_row_is_proposed_what_it_is_alone():
    decoder, starts = make(CONFIGS["deepseek"]), [0, *range(1, 7), *range(1, 7)]
    ids = torch.randint(11, (13, 9), generator=torch.Generator().manual_seed(2))
    states = decoder.norm(decoder.go_on(ids[:, :8], decoder.cache(starts, 9)))
    together = Drafts(decoder, starts, 9).after(states, ids[:, 1:])
    for row, start in enumerate(starts):
        alone = decoder.states(ids[row : row + 1, start:8])
        found = Drafts(decoder, [0], 9).after(alone, ids[row : row + 1, start + 1 :])
        assert int(found) == int(together[row])
