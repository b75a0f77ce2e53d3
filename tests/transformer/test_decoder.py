import copy

import numpy as np
import pytest
import torch

from panlearn.transformer import ExpertsConfig, GPTConfig, LatentConfig, RotaryScaling, _jobs
from panlearn.transformer._cache import Cache
from panlearn.transformer._decoder import Decoder, n_parameters, shapes
from panlearn.transformer._generation import Choice, Generation
from panlearn.transformer._plain import PlainDecoder

VARIANTS = {
    "gpt2": {},
    "sinusoidal": {"positions": "sinusoidal", "activation": "relu", "bias": False},
    "llama": {"positions": "rotary", "norm": "rms", "activation": "swiglu", "tied": False},
    "grouped": {"positions": "rotary", "n_key_heads": 2, "head_width": 6},
    "one key head": {"n_key_heads": 1, "norm": "rms"},
    "all at once": {
        **{"positions": "rotary", "norm": "rms", "activation": "swiglu", "bias": False},
        **{"key_norm": True, "query_bias": True, "window": 5, "n_key_heads": 2},
        "rotary_scaling": RotaryScaling("llama3", 4.0, 16, low=0.2, high=1.0),
    },
}
LATENT = {
    **{"positions": "rotary", "norm": "rms", "activation": "swiglu", "bias": False},
    "latent": LatentConfig(8, 12, 6, 4, 5),
    "experts": ExpertsConfig(4, 2, 8, gate="sigmoid", n_shared=1, n_dense=1),
    "rotary_scaling": RotaryScaling("yarn", 4.0, 8, high=32.0, amplitude=1.1, sharpness=1.2),
}


@pytest.fixture(params=[*VARIANTS.values(), LATENT], ids=[*VARIANTS, "latent"])
def config(request):
    return GPTConfig(2, 16, 4, 12, **request.param)


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def plain_config(request):
    """Those that the loops know."""
    return GPTConfig(2, 16, 4, 12, **request.param)


def make(config, n_tokens=11, scale=10):
    """A decoder whose weights are large enough to matter."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        decoder = Decoder(config, n_tokens).eval()
    for parameter in decoder.parameters():
        parameter.data *= scale if parameter.dim() > 1 else 1
    return decoder.requires_grad_(False)


def prompts_of(*lengths, n_tokens=11, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(n_tokens, size=n) for n in lengths]


GREEDY = Choice()


def generate(decoder, prompts, n, choice=GREEDY):
    generators = [np.random.default_rng(len(p)) for p in prompts]
    run = Generation(decoder, prompts, max_tokens=n, choice=choice, generators=generators)
    return np.stack([run.step().numpy() for _ in range(n)], axis=1)


def test_shapes_are_those_of_the_module(config):
    decoder = make(config)
    assert {k: tuple(v.shape) for k, v in decoder.state_dict().items()} == shapes(config, 11)
    assert n_parameters(config, 11) == sum(p.numel() for p in decoder.state_dict().values())


def test_no_score_depends_on_later_tokens(config):
    decoder = make(config)
    ids = torch.from_numpy(np.stack(prompts_of(10, 10)))
    changed = ids.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % 11
    before, after = decoder(ids)[:, :6], decoder(changed)[:, :6]
    # experts get their tokens in batches of other sizes, which are rounded otherwise
    torch.testing.assert_close(before, after, rtol=0, atol=1e-6 * before.abs().max().item())
    assert not torch.allclose(decoder(ids)[:, 6:], decoder(changed)[:, 6:])


def test_documents_in_one_row_do_not_see_each_other(config):
    """Another document may change, come or go: scores are those of each read alone."""
    decoder = make(config)
    first, second, third = map(torch.from_numpy, prompts_of(3, 5, 4))
    row = torch.cat([first, second, third])[None]
    documents = torch.tensor([[0] * 3 + [1] * 5 + [2] * 4])
    packed = decoder(row, documents)
    scale = packed.abs().max().item()
    for text, place in ((first, slice(0, 3)), (second, slice(3, 8)), (third, slice(8, 12))):
        alone = decoder(text[None])
        torch.testing.assert_close(packed[:, place], alone, rtol=0, atol=1e-5 * scale)
    changed = row.clone()
    changed[:, 3:8] = (changed[:, 3:8] + 1) % 11
    other = decoder(changed, documents)
    torch.testing.assert_close(other[:, :3], packed[:, :3], rtol=0, atol=1e-5 * scale)
    torch.testing.assert_close(other[:, 8:], packed[:, 8:], rtol=0, atol=1e-5 * scale)
    assert not torch.allclose(other[:, 3:8], packed[:, 3:8])
    assert not torch.allclose(decoder(row)[:, 8:], packed[:, 8:], atol=1e-3 * scale)
    losses = decoder.losses(row[:, :-1], row[:, 1:], documents=documents[:, :-1])
    expected = torch.nn.functional.cross_entropy(packed[0, :-1], row[0, 1:], reduction="none")
    torch.testing.assert_close(losses[0], expected, rtol=1e-4, atol=1e-4)


def test_a_window_hides_what_is_further_back():
    """With two layers of window w a token sees 2 (w - 1) back, and no further."""
    decoder = make(GPTConfig(2, 16, 4, 12, window=3))
    ids = torch.from_numpy(np.stack(prompts_of(12)))
    for place in range(8):
        changed = ids.clone()
        changed[0, place] = (changed[0, place] + 1) % 11
        moved = (decoder(changed) - decoder(ids)).abs().amax(dim=-1)[0] > 1e-6
        assert moved.nonzero().max() == min(place + 4, 11)


def test_dropout_needs_training():
    decoder = Decoder(GPTConfig(1, 8, 2, 8, dropout=0.5), 5)
    ids = torch.zeros(1, 8, dtype=torch.long)
    assert not torch.equal(decoder(ids), decoder(ids))
    assert torch.equal(decoder.eval()(ids), decoder(ids))


def test_each_branch_is_left_out_in_places():
    """What a block adds to its input has zeros where entries were left out, in either branch."""
    block = Decoder(GPTConfig(1, 64, 2, 8, dropout=0.5), 5).blocks[0]
    x = torch.randn(2, 8, 64, generator=torch.Generator().manual_seed(0))
    for silent in ("attention.output", "feed_forward.down"):
        alone = copy.deepcopy(block)
        alone.get_submodule(silent).weight.data.zero_()
        added = alone(x) - x
        assert 0.4 < float((added == 0).float().mean()) < 0.6
        assert float((alone.eval()(x) - x == 0).float().mean()) < 0.1


def test_branches_begin_small_enough_that_their_sum_has_the_variance_of_one():
    for n_layers in (1, 8):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            decoder = Decoder(GPTConfig(n_layers, 128, 4, 8), 11)
        for name, weight in decoder.named_parameters():
            if weight.dim() > 1:
                ends = name.endswith(("attention.output.weight", "feed_forward.down.weight"))
                expected = 0.02 / np.sqrt(2 * n_layers) if ends else 0.02
                assert weight.std().item() == pytest.approx(expected, rel=0.1), name


@pytest.mark.parametrize("pieces", [(1,) * 10, (4, 1, 5), (10,)])
def test_cached_scores_are_those_of_one_pass(config, pieces):
    decoder = make(config)
    ids = torch.from_numpy(np.stack(prompts_of(10, 10)))
    cache, at = Cache(decoder, [0, 0], 10), 0
    head = decoder.tokens.weight if decoder.head is None else decoder.head.weight
    whole = decoder(ids)
    scale = whole.abs().max().item()
    for size in pieces:
        found = decoder.last(ids[:, at : at + size], cache) @ head.T
        at += size
        # rounding of sums in another order
        torch.testing.assert_close(found, whole[:, at - 1], rtol=0, atol=1e-5 * scale)


def test_padded_rows_are_those_read_alone(config):
    decoder = make(config)
    prompts = prompts_of(3, 9, 1, 10)
    table = torch.zeros(4, 10, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        table[row, 10 - len(prompt) :] = torch.from_numpy(prompt)
    cache = Cache(decoder, [10 - len(p) for p in prompts], 12)
    together = decoder.last(table, cache)
    further = decoder.last(torch.full((4, 1), 5), cache)
    for row, prompt in enumerate(prompts):
        alone = Cache(decoder, [0], 12)
        ids = torch.from_numpy(prompt)[None]
        torch.testing.assert_close(together[row], decoder.last(ids, alone)[0], rtol=0, atol=1e-5)
        step = decoder.last(torch.tensor([[5]]), alone)[0]
        torch.testing.assert_close(further[row], step, rtol=0, atol=1e-5)


@pytest.mark.parametrize("choice", [Choice(), Choice(1.0, top_k=8, top_p=0.95)])
def test_a_row_does_not_depend_on_the_batch(config, choice):
    decoder, prompts = make(config), prompts_of(3, 9, 1, 12)
    # four times the context: rows fill it at different steps, and all columns move
    together = generate(decoder, prompts, 48, choice)
    alone = [generate(decoder, [prompt], 48, choice)[0] for prompt in prompts]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("plain", [True, False], ids=["loops", "tensors"])
def test_greedy_generation_is_that_without_a_cache(config, plain, monkeypatch):
    """Far beyond the context, where rows have been read again and moved."""
    if not plain:
        monkeypatch.setattr(PlainDecoder, "suits", lambda *_: False)
    decoder, (prompt,) = make(config), prompts_of(3)
    found = generate(decoder, [prompt], 40)[0]
    ids, start = list(prompt), 0
    for token in found:
        if len(ids) - start > 12:
            start = len(ids) - 1 - 6  # the last half of a full context, and the newest token
        scores = decoder(torch.tensor([ids[start:]]))[0, -1]
        assert token == int(scores.argmax())
        ids.append(int(token))


def test_a_context_of_one_token():
    decoder = make(GPTConfig(1, 8, 2, 1))
    assert generate(decoder, prompts_of(1), 5).shape == (1, 5)


@pytest.mark.parametrize(
    ("choice", "kept"),
    [
        (Choice(1.0), [0.5, 0.3, 0.15, 0.05]),
        (Choice(1.0, top_k=2), [0.625, 0.375, 0, 0]),
        (Choice(1.0, top_p=0.79), [0.625, 0.375, 0, 0]),
        (Choice(1.0, top_p=0.81), [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0]),
        (Choice(1.0, top_k=3, top_p=0.6), [0.625, 0.375, 0, 0]),
        (Choice(1.0, top_p=1e-9), [1, 0, 0, 0]),
        (Choice(0.5), np.array([0.25, 0.09, 0.0225, 0.0025]) / 0.365),
    ],
)
def test_the_law_that_tokens_are_drawn_from(choice, kept):
    scores = torch.tensor([[0.5, 0.3, 0.15, 0.05]], dtype=torch.float64).log()
    np.testing.assert_allclose(choice.probabilities(scores)[0], kept, atol=1e-12)


def test_draws_invert_the_distribution():
    scores = torch.tensor([0.5, 0.25, 0.0, 0.25], dtype=torch.float64).log().expand(5, -1)
    uniform = np.array([0.0, 0.49, 0.5, 0.75, 0.999999])
    assert Choice(1.0)(scores, lambda: uniform).tolist() == [0, 0, 1, 3, 3]
    assert Choice()(scores, lambda: uniform).tolist() == [0] * 5


@pytest.mark.parametrize(
    "choice", [Choice(), Choice(1.0), Choice(0.5), Choice(1.0, top_k=2), Choice(1.0, top_p=0.6)]
)
def test_what_is_drawn_is_told_with_the_probability_that_the_model_gives_it(choice):
    """Whatever the temperature and the cuts are; single precision, at any level of the scores."""
    law = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]])
    scores = torch.tensor(np.log(law) + np.array([[300.0], [-7.0]]), dtype=torch.float32)
    uniform = np.array([0.6, 0.2])
    chosen, told = choice.scored(scores, lambda: uniform)
    assert chosen.tolist() == choice(scores, lambda: uniform).tolist()
    np.testing.assert_allclose(np.exp(told), law[[0, 1], chosen], rtol=2e-5)


def test_draws_of_many_tokens_invert_their_distribution(rng):
    """As a sum in double precision says; a token that cannot be is never drawn."""
    scores = torch.from_numpy(rng.normal(scale=3, size=(40, 1000)).astype(np.float32))
    scores[:, ::3] = -torch.inf
    scores[:, 700:] = -torch.inf
    uniform = np.linspace(0, 1 - 1e-16, 40)
    found, told = Choice(1.0).scored(scores, lambda: uniform)
    assert (found % 3 > 0).all()
    law = scores.double().softmax(dim=1).numpy()
    above, rows = law.cumsum(axis=1), np.arange(40)
    assert (above[rows, found] > uniform - 1e-6).all()
    assert ((above - law)[rows, found] < uniform + 1e-6).all()
    np.testing.assert_allclose(told, np.log(law[rows, found]), atol=1e-5)


@pytest.mark.parametrize(
    "wrong", [{"temperature": -1.0}, {"top_k": 0}, {"top_p": 0.0}, {"temperature": float("nan")}]
)
def test_a_wrong_choice_is_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Choice(**wrong)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"width": 30, "n_heads": 4}, "multiple"),
        ({"n_heads": 4, "n_key_heads": 3}, "n_key_heads"),
        ({"positions": "rotary", "width": 6, "n_heads": 2}, "even"),
        ({"positions": "alibi"}, "positions"),
        ({"n_layers": 0}, "n_layers"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_a_wrong_config_is_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        GPTConfig(**wrong)


def test_configs_of_the_families():
    assert n_parameters(GPTConfig.gpt2(), 50257) == 124_439_808
    assert n_parameters(GPTConfig.llama(), 32000) == 6_738_415_616


@pytest.mark.parametrize("n_rows", [1, 4, 7])
def test_scores_are_those_of_the_decoder(plain_config, n_rows):
    decoder = make(plain_config)
    ids = np.stack(prompts_of(*[10] * n_rows))
    starts = np.arange(n_rows) % 3  # rows of unequal lengths
    head = decoder.tokens.weight if decoder.head is None else decoder.head.weight
    ours, theirs = (Cache(decoder, list(starts), 10) for _ in range(2))
    for cache in (ours, theirs):
        cache.memory.fill_(torch.nan)  # what is not filled must not be read
        decoder.last(torch.from_numpy(ids[:, :4]), cache)
    plain = PlainDecoder(decoder, n_rows)
    for column in range(4, 10):
        found = plain.scores(ids[:, column], ours.memory, starts, column)
        wanted = decoder.last(torch.from_numpy(ids[:, column : column + 1]), theirs) @ head.T
        scale = wanted.abs().max().item()  # rounding of sums in another order
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 * scale)
        torch.testing.assert_close(
            ours.memory[..., column, :], theirs.memory[..., column, :], rtol=0, atol=1e-4
        )


def test_parts_of_a_matrix_on_threads_change_no_bit(plain_config, monkeypatch):
    decoder = make(plain_config)
    ids, starts = np.array([3, 4, 5]), np.zeros(3, dtype=int)

    def scores():
        memory = Cache(decoder, [0] * 3, 2).memory
        return PlainDecoder(decoder, 3).scores(ids, memory, starts, 0)

    whole = scores()
    monkeypatch.setattr(_jobs, "_PART", 100)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(_jobs, "n_threads", lambda: 3)
    parts = scores()
    assert torch.equal(whole, parts)


def test_weights_are_shared_and_not_changed(plain_config):
    decoder = make(plain_config)
    before = {name: weight.clone() for name, weight in decoder.state_dict().items()}
    plain = PlainDecoder(decoder, 1)
    assert np.shares_memory(plain._tokens.numbers, decoder.tokens.weight.numpy())
    plain.scores(np.array([1]), Cache(decoder, [0], 2).memory, np.array([0]), 0)
    for name, weight in decoder.state_dict().items():
        assert torch.equal(weight, before[name])


def test_many_rows_go_by_tensors_and_give_the_same_tokens(plain_config):
    decoder = make(plain_config)
    prompts = prompts_of(*[1, 5, 9] * 22)  # sixty-six rows
    assert not PlainDecoder.suits(decoder, len(prompts))
    few = generate(decoder, prompts[:3], 20)
    np.testing.assert_array_equal(generate(decoder, prompts, 20)[:3], few)


def test_the_way_of_a_step_follows_from_the_number_of_rows():
    decoder = make(GPTConfig(1, 64, 1, 4))
    assert [PlainDecoder.suits(decoder, n) for n in (1, 64, 65)] == [True, True, False]


def test_double_precision_goes_by_tensors(plain_config):
    decoder = make(plain_config)
    assert PlainDecoder.suits(decoder, 1)
    assert not PlainDecoder.suits(decoder.double(), 1)


@pytest.mark.parametrize("n_rows", [1, 5])
def test_memory_in_halves_is_that_in_whole_numbers_rounded(plain_config, n_rows):
    """What is put into memory is rounded once; the scores are those of what is remembered."""
    decoder = make(plain_config, scale=3)
    ids, starts = np.stack(prompts_of(*[6] * n_rows)), np.ones(n_rows, dtype=int)
    whole = torch.full_like(Cache(decoder, [0] * n_rows, 6).memory, torch.nan)
    halves = whole.bfloat16()
    plain = PlainDecoder(decoder, n_rows)
    rounded = PlainDecoder(decoder, n_rows, torch.bfloat16)
    with pytest.raises(TypeError, match="bfloat16"):
        plain.scores(ids[:, 1], halves, starts, 1)
    for column in range(1, 6):
        wanted = plain.scores(ids[:, column], whole, starts, column).clone()
        written = whole[..., column, :].bfloat16()
        whole[..., column, :] = written.float()  # so that the next steps see the same
        found = rounded.scores(ids[:, column], halves, starts, column)
        if column == 1:  # before it is rounded, the first layer sees the same
            assert torch.equal(halves[0, ..., column, :], written[0])
        scale = wanted.abs().max().item()
        torch.testing.assert_close(found, wanted, rtol=0, atol=2**-6 * scale)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_halves_of_numbers_are_read_and_summed_in_whole_ones(plain_config, n_rows):
    """Loops over bfloat16 give what single precision gives for the same weights, to rounding."""
    decoder = make(plain_config)
    halves = copy.deepcopy(decoder).bfloat16()
    for name, weight in halves.named_parameters():
        decoder.get_parameter(name).data.copy_(weight.float())
    ids, starts = np.array([3, 4, 5, 1, 2])[:n_rows], np.zeros(n_rows, dtype=int)
    memory = [torch.zeros_like(Cache(decoder, [0] * n_rows, 3).memory) for _ in range(2)]
    for column in range(3):
        plain = PlainDecoder(halves, n_rows, torch.float32)
        found = plain.scores(ids, memory[0], starts, column)
        wanted = PlainDecoder(decoder, n_rows).scores(ids, memory[1], starts, column)
        scale = wanted.abs().max().item()
        # a table of sinusoids is rounded to halves by one of them
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 * scale)


def test_loops_are_for_weights_of_one_kind():
    decoder = make(GPTConfig(2, 16, 4, 12))
    assert PlainDecoder.suits(decoder, 1)
    weight = decoder.blocks[1].feed_forward.down.weight
    weight.data = weight.data.bfloat16()
    assert not PlainDecoder.suits(decoder, 1)


def test_a_text_in_halves_goes_on_by_loops_beyond_its_context():
    """Prompts are read by tensors, what follows by loops, from the same memory, for each row."""
    decoder = make(GPTConfig(2, 16, 4, 12)).bfloat16()
    prompts = prompts_of(3, 9, 12)
    assert PlainDecoder.suits(decoder, 3)
    together = generate(decoder, prompts, 40)
    alone = [generate(decoder, [prompt], 40)[0] for prompt in prompts]
    np.testing.assert_array_equal(together, alone)
