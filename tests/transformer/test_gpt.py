import copy
import json
import math

import numpy as np
import pytest
import torch
from sklearn.base import clone

import panlearn
from panlearn.text import BPETokenizer
from panlearn.transformer import GPT, GPTConfig
from panlearn.transformer._language import completion_log_probabilities

TEXTS = ["the ship on the sea", "the wind and the sail", "über die Küste", "sea wind"]
LONG = "the ship on the sea, the wind in the sail; " * 5


@pytest.fixture(scope="module")
def model():
    config = GPTConfig(2, 32, 4, 16, positions="rotary", n_key_heads=2)
    return GPT(config, learning_rate=1e-2, max_epochs=30, random_state=0).fit([LONG, *TEXTS])


def test_it_learns_a_cycle():
    model = GPT(GPTConfig(1, 32, 2, 8), learning_rate=1e-2, max_epochs=80, random_state=0)
    model.fit(["abc" * 40])
    assert model.generate("abca", max_tokens=6) == "bcabca"
    assert model.perplexity(["abc" * 40]) < 1.5
    assert model.history_["loss"][-1] < 0.2


def test_scores_are_sums_of_log_probabilities(model):
    text = "the sail"
    ids = [model.end_token_, *model.tokenizer_.encode(text), model.end_token_]
    with torch.inference_mode():
        laws = model.module_(torch.tensor([ids[:-1]]))[0].log_softmax(dim=1)
    expected = sum(float(laws[t, token]) for t, token in enumerate(ids[1:]))
    # single precision
    assert model.score_samples([text])[0] == pytest.approx(expected, rel=1e-5)
    found = model.score_samples([text, "sea"])
    assert model.score([text, "sea"]) == pytest.approx(found.mean())
    n = len(text) + len("sea") + 2
    assert model.perplexity([text, "sea"]) == pytest.approx(math.exp(-found.sum() / n))


def test_a_document_longer_than_the_context_is_read_in_halves(model):
    text = "the sea and the wind on the ship in the sail of the sea"
    ids = [model.end_token_, *model.tokenizer_.encode(text), model.end_token_]
    expected, context = 0.0, 16
    for t in range(1, len(ids)):
        # the first window is whole; later ones begin at multiples of half a context
        low = 0 if t <= context else (t - 1 - context) // 8 * 8 + 8
        with torch.inference_mode():
            law = model.module_(torch.tensor([ids[low:t]]))[0, -1].log_softmax(dim=0)
        expected += float(law[ids[t]])
    assert model.score_samples([text])[0] == pytest.approx(expected, rel=1e-5)


def test_a_model_that_knows_nothing_has_the_perplexity_of_its_vocabulary():
    model = GPT(GPTConfig(1, 8, 2, 8), max_epochs=1, random_state=0).fit(TEXTS)
    model.weights_ = {k: np.zeros_like(v) for k, v in model.weights_.items()}
    assert model.perplexity(TEXTS) == pytest.approx(257, rel=1e-6)


def test_rows_do_not_depend_on_the_batch(model):
    prompts = ["the ", "", "sea", "the wind an", "the "]
    settings = {"max_tokens": 40, "temperature": 1.5, "top_k": 30, "random_state": 5}
    together = model.generate(prompts, **settings)
    assert [model.generate(p, **settings) for p in prompts[:4]] == together[:4]
    assert model.generate(prompts[::-1], **settings)[1:4] == together[::-1][1:4]
    assert together[0] != together[4], "a prompt that comes again is drawn anew"
    other = model.generate(prompts, **{**settings, "random_state": 6})
    assert other != together


def test_no_global_generator_is_used(model):
    state = torch.random.get_rng_state()
    model.generate("the ", temperature=1.0, random_state=0, max_tokens=3)
    GPT(GPTConfig(1, 8, 2, 8, dropout=0.5), max_epochs=1, random_state=0).fit(TEXTS)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_stream_joins_to_the_text(model):
    for settings in (
        {"temperature": 0.0},
        {"temperature": 2.0, "random_state": 1},
        {"temperature": 0.7, "random_state": 2, "stop": ["e ", "wind"]},
    ):
        pieces = list(model.stream("the ", max_tokens=60, **settings))
        assert "".join(pieces) == model.generate("the ", max_tokens=60, **settings)
        assert all(pieces)
        ids = model.tokenizer_.encode("the ")
        assert list(model.stream(ids, max_tokens=60, **settings)) == pieces


def test_text_ends_before_a_stop_string_or_at_the_end(model):
    whole = model.generate("the ", max_tokens=30)
    stop = whole[2:4]
    assert model.generate("the ", max_tokens=30, stop=stop) == whole[: whole.index(stop)]
    assert stop not in model.generate("the ", max_tokens=30, stop=[stop, "zzz"])
    quiet = clone(model)
    for name, value in vars(model).items():
        setattr(quiet, name, value)
    quiet.end_tokens_ = (model.tokenizer_.encode(whole[3])[0],)
    assert quiet.generate("the ", max_tokens=30) == whole[: whole.index(whole[3])]


def test_the_same_seed_gives_the_same_bits():
    one, other = (
        GPT(GPTConfig(1, 16, 2, 8, dropout=0.1), max_epochs=2, random_state=3).fit(TEXTS)
        for _ in range(2)
    )
    for name, value in one.weights_.items():
        np.testing.assert_array_equal(other.weights_[name], value)


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    def make(**settings):
        return GPT(GPTConfig(1, 16, 2, 8), schedule="constant", random_state=3, **settings)

    whole = make(max_epochs=4).fit(TEXTS)
    make(max_epochs=2, checkpoint=tmp_path / "run").fit(TEXTS)
    longer = make(max_epochs=4, checkpoint=tmp_path / "run", resume=True)
    resumed, again = longer.fit(TEXTS), clone(longer).fit(TEXTS)
    for taken_up in (resumed, again):  # in the middle, and at its end
        assert taken_up.history_ == whole.history_
        assert taken_up.n_iter_ == 4
        for name, value in whole.weights_.items():
            np.testing.assert_array_equal(taken_up.weights_[name], value)


def test_tokenizers(tmp_path):
    config = GPTConfig(1, 16, 2, 8)
    fresh = BPETokenizer(270)
    model = GPT(config, fresh, max_epochs=1, random_state=0).fit(TEXTS)
    assert model.n_tokens_ == 270
    assert list(model.tokenizer_.special_tokens_) == ["<|endoftext|>"]
    assert not fresh.__sklearn_is_fitted__()
    ready = BPETokenizer(265, special_tokens=("<end>",)).fit(TEXTS)
    assert GPT(config, ready, max_epochs=1, random_state=0).fit(TEXTS[:1]).tokenizer_ is ready
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.score_samples(TEXTS), model.score_samples(TEXTS))
    with pytest.raises(ValueError, match="special token"):
        GPT(config, BPETokenizer(260).fit(TEXTS)).fit(TEXTS)


def test_validation_and_patience():
    model = GPT(GPTConfig(1, 16, 2, 8), validation_fraction=0.3, patience=2, random_state=0)
    model.set_params(learning_rate=0.05, schedule="constant", max_epochs=60).fit(TEXTS)
    losses = model.history_["validation_loss"]
    assert len(losses) == model.n_iter_ < 60
    assert min(losses) < losses[-1]
    with pytest.raises(ValueError, match="validation_fraction"):
        model.set_params(validation_fraction=0.01).fit(["ab"])


def test_attention_maps_are_causal_laws(model):
    maps = model.attention_maps("the sea")
    assert maps.shape == (2, 4, 7, 7)
    np.testing.assert_allclose(maps.sum(axis=-1), 1, rtol=1e-5)
    assert not np.triu(maps, 1).any()
    with pytest.raises(ValueError, match="1 to 16"):
        model.attention_maps("x" * 17)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: m.generate("x" * 17), "17 tokens, the context has room for 16"),
        (lambda m: m.generate([257]), "token 257; the vocabulary has 0 to 256"),
        (lambda m: m.generate([[1], [-1]]), "prompt 1 holds the token -1"),
        (lambda m: m.perplexity([[300]]), "document 0 holds the token 300"),
        (lambda m: m.generate([]), "no prompt"),
        (lambda m: m.generate(3), "str or a list"),
        (lambda m: m.generate([None]), "None"),
        (lambda m: m.generate("a", max_tokens=-1), "max_tokens"),
        (lambda m: m.generate("a", temperature=-1.0), "temperature"),
        (lambda m: m.generate("a", stop=""), "stop"),
        (lambda m: m.generate([[1.5]]), "token ids"),
        (lambda m: next(m.stream(["a"])), "must be a str"),
        (lambda m: m.fit(["", ""]), "empty"),
    ],
)
def test_what_cannot_be_done_is_said(model, call, says):
    with pytest.raises(ValueError, match=says):
        call(model)
    assert model.generate("the ", max_tokens=2)


def test_a_model_that_was_read_is_tuned_and_keeps_its_tokenizer(tmp_path):
    tokenizer = BPETokenizer(270).set_params(special_tokens=("<|end|>",)).fit(TEXTS)
    model = GPT(GPTConfig(1, 16, 2, 8), tokenizer, max_epochs=3, random_state=0).fit(TEXTS)
    model.save_pretrained(tmp_path)
    read = GPT.from_pretrained(tmp_path)
    read.set_params(learning_rate=1e-12, max_epochs=1, random_state=1).fit(TEXTS[:1])
    assert read.tokenizer_.n_tokens == tokenizer.n_tokens
    assert read.end_token_ == model.end_token_
    for name, value in model.weights_.items():
        np.testing.assert_allclose(read.weights_[name], value, rtol=0, atol=1e-8)
    before = read.perplexity(["xyzzy"] * 3)
    read.set_params(learning_rate=0.01, max_epochs=20).fit(["xyzzy"] * 20)
    assert read.perplexity(["xyzzy"] * 3) < before


def test_a_stream_of_tokens_on_disk_is_learned_from(tmp_path):
    path = tmp_path / "tokens.bin"
    np.tile(np.arange(5, dtype=np.uint16), 60).tofile(path)
    tokens = np.memmap(path, dtype=np.uint16, mode="r")
    settings = dict(learning_rate=1e-2, max_epochs=20, random_state=0)
    model = GPT(GPTConfig(1, 16, 2, 8), **settings).fit(tokens)
    assert model.n_tokens_ == 5
    assert model.generate([0, 1], max_tokens=6) == [2, 3, 4, 0, 1, 2]
    with pytest.raises(ValueError, match="holds the token 9; allowed are 0 to 4"):
        model.set_params(warm_start=True).fit(np.array([1, 9, 2]))
    with pytest.raises(ValueError, match="has 1 tokens"):
        GPT().fit(np.array([3]))
    with pytest.raises(ValueError, match="no tokenizer"):
        model.fit(["a text"])


def test_completions_tell_the_probability_of_their_tokens(model):
    """Against a fresh pass over prompt and completion, for prompts of several lengths."""
    prompts = ["ab", "abab", "a"]
    found = model.complete(prompts, n_samples=3, max_tokens=4, random_state=0)
    assert [len(each) for each in found] == [3, 3, 3]
    again = model.complete(prompts[1], n_samples=3, max_tokens=4, random_state=0)
    assert [c.tokens.tolist() for c in again[0]] == [c.tokens.tolist() for c in found[1]]
    assert len({tuple(c.tokens) for each in found for c in each}) > 1
    for prompt, each in zip(prompts, found, strict=True):
        ids = model.tokenizer_.transform([prompt])[0]
        for completion in each:
            whole = torch.from_numpy(np.concatenate([ids, completion.tokens])).long()
            with torch.inference_mode():
                law = model.module_(whole[None, :-1])[0].log_softmax(dim=-1)
            rows = np.arange(len(ids) - 1, len(whole) - 1)
            expected = law[rows, whole[len(ids) :]].numpy()
            np.testing.assert_allclose(completion.log_probs, expected, rtol=0, atol=1e-4)
            assert completion.text == model.tokenizer_.decode(completion.tokens.tolist())
    flat = [(p, c.tokens.tolist()) for p, each in zip(prompts, found, strict=True) for c in each]
    scored = model.log_probabilities(*map(list, zip(*flat, strict=True)))
    for values, completion in zip(scored, [c for each in found for c in each], strict=True):
        np.testing.assert_allclose(values, completion.log_probs, rtol=0, atol=1e-4)


def test_the_log_probability_of_a_completion_has_a_gradient(model):
    """By finite differences, for completions of several lengths."""
    decoder = copy.deepcopy(model.module_).double()
    prompts = [np.array([97]), np.array([97, 98, 97])]
    completions = [np.array([98, 97, 98]), np.array([98])]

    def total():
        values, there = completion_log_probabilities(decoder, prompts, completions)
        assert there.sum(dim=1).tolist() == [3, 1]
        return (values * torch.tensor([[1.0, -2.0, 0.5], [3.0, 9.0, 9.0]])).sum()

    weight = decoder.blocks[0].attention.output.weight
    (slope,) = torch.autograd.grad(total(), weight)
    with torch.no_grad():
        weight[1, 2] += 1e-6
        above = total()
        weight[1, 2] -= 2e-6
        below = total()
    assert slope[1, 2].item() == pytest.approx((above - below).item() / 2e-6, rel=1e-5)
    with pytest.raises(ValueError, match="completion 0 have 99 tokens"):
        completion_log_probabilities(decoder, prompts[:1], [np.zeros(98, dtype=int)])


def test_every_end_token_ends_a_text_and_is_written(model, tmp_path):
    several = copy.deepcopy(model)
    found = several.complete("ab", max_tokens=6, temperature=0)[0][0]
    assert not found.ended
    several.end_tokens_ = (several.end_token_, int(found.tokens[2]))
    cut = several.complete("ab", max_tokens=6, temperature=0)[0][0]
    assert cut.ended
    first = found.tokens.tolist().index(found.tokens[2])
    assert cut.tokens.tolist() == found.tokens.tolist()[: first + 1]
    assert several.generate("ab", max_tokens=6) == several.tokenizer_.decode(
        found.tokens.tolist()[:first]
    )
    small = GPT(GPTConfig(1, 16, 2, 8), max_epochs=1, random_state=0).fit(TEXTS)
    small.end_tokens_ = (small.end_token_, 98)
    small.save_pretrained(tmp_path)
    assert GPT.from_pretrained(tmp_path).end_tokens_ == (small.end_token_, 98)


def test_special_tokens_in_a_prompt_are_text_unless_asked_for(model):
    mark = next(iter(model.tokenizer_.special_tokens_))
    ids = model.tokenizer_.encode(f"the{mark}", special="atomic")
    expected = model.generate([ids], max_tokens=6)[0]
    assert model.generate(f"the{mark}", max_tokens=6, special="atomic") == model.tokenizer_.decode(
        expected
    )
    (asked,) = model._answers([f"the{mark}"], (), "atomic")
    (usual,) = model._answers([f"the{mark}"], ())
    assert asked.prompt.tolist() == ids
    assert len(usual.prompt) == len("the") + len(mark)  # its letters
    with pytest.raises(ValueError, match="special token"):
        model.generate(f"the{mark}", special="refuse")
    (found,) = model.complete(f"the{mark}", max_tokens=2, special="atomic", temperature=0.0)
    assert found[0].tokens.tolist()[: len(expected)] == expected[:2]
    assert "".join(model.stream(f"the{mark}", max_tokens=6, special="atomic")) == (
        model.generate(f"the{mark}", max_tokens=6, special="atomic")
    )


def test_a_padded_vocabulary_works(model, tmp_path):
    """More rows than the tokenizer has tokens, as files have them for speed: those have no text."""
    padded = copy.deepcopy(model)
    table = padded.weights_["tokens.weight"]
    padded.weights_ = {**padded.weights_, "tokens.weight": np.pad(table, ((0, 7), (0, 0)))}
    padded.n_tokens_ += 7
    assert padded.perplexity(TEXTS) == pytest.approx(model.perplexity(TEXTS), rel=0.2)
    assert padded.generate("the ", max_tokens=9) == model.generate("the ", max_tokens=9)
    loud = copy.deepcopy(padded)  # a token of the padding is the most probable one everywhere
    state = loud._decoder.states(torch.tensor([loud.tokenizer_.encode("the ")]))[0, -1]
    loud.weights_["tokens.weight"][-1] = 50 * state.detach().numpy()
    assert loud.generate([loud.tokenizer_.encode("the ")], max_tokens=1) == [[loud.n_tokens_ - 1]]
    assert loud.generate("the ", max_tokens=1) == ""
    assert "".join(loud.stream("the ", max_tokens=1)) == ""
    short = copy.deepcopy(model)  # and fewer rows than tokens
    short.n_tokens_ = 100
    with pytest.raises(ValueError, match="vocabulary has 0 to 99"):
        short.generate("the ")


def test_documents_are_kept_apart_in_training():
    """The text after a mark follows from the other document alone: apart, it cannot be known."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), 6)) for _ in range(40)]
    texts = [word for word in words for _ in range(2)]  # each comes twice, one after the other
    settings = {"learning_rate": 1e-2, "max_epochs": 25, "batch_size": 8, "random_state": 0}
    config = GPTConfig(2, 32, 2, 28)
    joined, apart = (
        GPT(config, separate_documents=each, **settings).fit(texts) for each in (False, True)
    )
    assert apart.history_["loss"][-1] != joined.history_["loss"][-1]
    # a document that is read alone is what training apart saw
    assert apart.perplexity(words) < joined.perplexity(words)
    stream = np.arange(50) % 7
    with pytest.raises(ValueError, match="separate_documents"):
        GPT(config, separate_documents=True, max_epochs=1).fit(stream)


def test_the_start_token_comes_from_the_tokenizers_file(tmp_path):
    """Where it puts one before a text it is put there, whatever config.json says; else not."""
    model = GPT(GPTConfig(1, 8, 2, 8), max_epochs=1, random_state=0).fit(TEXTS)
    model.save_pretrained(tmp_path)
    mark = model.end_token_
    edited = json.loads((tmp_path / "config.json").read_text()) | {"bos_token_id": 65}
    (tmp_path / "config.json").write_text(json.dumps(edited))
    plain = GPT.from_pretrained(tmp_path)
    (answer,) = plain._answers(["the"], ())
    assert answer.prompt.tolist() == plain.tokenizer_.encode("the")
    tokenizer = copy.deepcopy(model.tokenizer_)
    tokenizer.start_token_ = mark
    tokenizer.to_huggingface(tmp_path / "tokenizer.json")
    started = GPT.from_pretrained(tmp_path)
    assert started.start_token_ == mark
    (answer,) = started._answers(["the"], ())
    assert answer.prompt.tolist() == [mark, *plain.tokenizer_.encode("the")]
    name = next(iter(tokenizer.special_tokens_))
    (once,) = started._answers([f"{name}the"], (), "atomic")
    assert once.prompt.tolist() == answer.prompt.tolist()  # not twice
