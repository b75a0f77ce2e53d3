"""Tokens that loops choose one after the other, beside those of one step at a time."""

import copy

import numpy as np
import pytest
import torch

from panlearn.core.jit import jit
from panlearn.transformer import GPTConfig, _tokens
from panlearn.transformer._cache import Cache
from panlearn.transformer._decoder import Decoder
from panlearn.transformer._generation import Choice, Generation
from panlearn.transformer._plain import PlainDecoder

SHAPES = {
    "odd": {"n_key_heads": 1, "window": 5, "hidden": 13},  # heads of five numbers
    "rotary": {"positions": "rotary", "head_width": 6, "norm": "rms", "activation": "swiglu"},
}
PROMPTS = [np.array(ids) for ids in ([3, 1, 4], [1, 5, 9, 2, 6, 5], [8])]


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def decoder(request):
    """Weights are large enough to matter."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = Decoder(GPTConfig(2, 15, 3, 12, **request.param), 11).eval()
    for parameter in made.parameters():
        parameter.data *= 10 if parameter.dim() > 1 else 1
    return made.requires_grad_(False)


def generation(decoder, **how):
    settings = {"choice": Choice(), "max_tokens": 20, "ahead": 64} | how
    generators = [np.random.default_rng(len(prompt)) for prompt in PROMPTS]
    return Generation(decoder, PROMPTS, generators=generators, **settings)


def given(run, n=20):
    """Tokens and their log-probabilities."""
    steps = [(run.step().numpy(), run.log_probs) for _ in range(n)]
    return np.array(steps).transpose(1, 2, 0)


@jit
def highest(scores):
    return _tokens.highest(scores)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("choice", "scored"),
    [(Choice(), False), (Choice(1.0), True), (Choice(0.7), False)],
    ids=["greedy", "scored", "drawn"],
)
def test_a_run_gives_the_bits_of_single_steps(decoder, dtype, choice, scored):
    """Also where rows have filled the context, are read again and move."""
    decoder.to(dtype)
    one, many = (
        given(generation(decoder, choice=choice, scored=scored, ahead=ahead)) for ahead in (1, 64)
    )
    np.testing.assert_array_equal(many, one)
    assert np.isfinite(many[1]).all() == scored


@pytest.mark.parametrize(
    ("choice", "scored"), [(Choice(1.0, top_k=3), False), (Choice(), True), (Choice(0.5), True)]
)
def test_what_loops_do_not_choose_goes_step_by_step(decoder, choice, scored):
    run = generation(decoder, choice=choice, scored=scored)
    for n_known in range(7, 10):
        run.step()
        assert run._known == n_known


def test_a_run_chooses_as_many_as_are_wanted(decoder):
    run = generation(decoder, max_tokens=5)
    run.step()  # of the prompts
    run.step()
    assert (run._known, run.cache.end) == (11, 10)


def test_a_run_ends_when_each_row_has_had_an_end(decoder):
    tokens = given(generation(decoder, ahead=1), 6)[0].astype(int)
    ends = set(tokens[:, 3].tolist())
    last = np.isin(tokens, list(ends)).argmax(axis=1).max()  # 0 is of the prompts
    run = generation(decoder, ends=tuple(ends))
    for _ in range(2):
        run.step()
    assert run._known == 6 + max(last, 1) + 1
    np.testing.assert_array_equal(run._table[:, 6 : run._known], tokens[:, : run._known - 6])


@pytest.mark.parametrize(
    "scores",
    [
        [1, 3, 2, 3],
        [-np.inf, -np.inf],
        [1, np.nan, 2, np.nan],
        [np.nan, 7],
        [0.0, -0.0],
        [np.inf, np.inf],
    ],
)
def test_the_highest_score_is_that_of_numpy(scores):
    scores = np.array(scores, dtype=np.float32)
    assert highest(scores) == scores.argmax()


@pytest.mark.parametrize("n_rows", [1, 5])
def test_halves_of_odd_shapes_give_the_scores_of_tensors(decoder, n_rows):
    """Those of single precision for the same weights and places, to rounding."""
    halves = copy.deepcopy(decoder).bfloat16()
    for name, weight in halves.named_parameters():
        decoder.get_parameter(name).data.copy_(weight.float())
    starts = np.arange(n_rows) % 3
    ids = np.random.default_rng(0).integers(11, size=(n_rows, 10))
    ours, theirs = (Cache(decoder, list(starts), 10) for _ in range(2))
    for cache in (ours, theirs):
        decoder.last(torch.from_numpy(ids[:, :4]), cache)
    plain = PlainDecoder(halves, n_rows, torch.float32)
    for column in range(4, 10):
        found = plain.scores(ids[:, column], ours.memory, starts, column)
        fresh = torch.from_numpy(ids[:, column : column + 1])
        wanted = decoder.last(fresh, theirs) @ decoder.projection.T
        scale = wanted.abs().max().item()
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 * scale)
