"""Fine-tuning: the loss is that of completions alone, and what is packed does not leak."""

import itertools

import numpy as np
import pytest
import torch

import panlearn
from panlearn.alignment import supervised_finetune
from panlearn.alignment._policy import untrained
from panlearn.alignment._prompts import Sequences
from panlearn.alignment.supervised_finetune import completion_losses, packed, read_examples
from panlearn.neural import LoRA
from panlearn.text import BPETokenizer, ChatTemplate
from panlearn.transformer import GPT, DeepSeek, GPTConfig

DATA = [("one", " two"), ("two", " three"), ("a longer prompt", "!"), ("x", " and a long answer")]


@pytest.fixture(scope="module")
def model():
    return untrained(np.random.default_rng(0))


def _by_hand(model, rows, prompt_too=False):
    """The mean loss of a token of completions, text by text, by a plain forward pass."""
    losses = []
    for prompt, completion in rows:
        before, after = (model.tokenizer_.encode(t) for t in (prompt, completion))
        row = torch.tensor([[*before, *after, model.end_token_]])
        with torch.no_grad():
            logs = model.module_(row)[0].log_softmax(-1)
        first = 1 if prompt_too else len(before)
        losses += [-float(logs[t - 1, row[0, t]]) for t in range(first, row.shape[1])]
    return np.mean(losses)


@pytest.mark.parametrize("packing", [False, True])
def test_the_loss_is_that_of_completions_alone(model, packing):
    expected = _by_hand(model, DATA)
    tuned = supervised_finetune(
        model, DATA, packing=packing, validation=DATA[:2], max_epochs=1, learning_rate=1e-8
    )
    assert tuned.history_["loss"][0] == pytest.approx(expected, abs=1e-5)
    assert abs(expected - _by_hand(model, DATA, prompt_too=True)) > 1e-3
    assert tuned.history_["validation_loss"][0] == pytest.approx(
        _by_hand(model, DATA[:2]), abs=1e-4
    )


def test_it_learns_to_answer_and_to_end_and_leaves_the_model(model):
    before = {name: w.copy() for name, w in model.weights_.items()}
    tuned = supervised_finetune(model, DATA[:3], max_epochs=60, learning_rate=1e-2, random_state=0)
    assert tuned.generate([p for p, _ in DATA[:3]]) == [c for _, c in DATA[:3]]
    assert type(tuned) is GPT
    for name, w in model.weights_.items():
        np.testing.assert_array_equal(w, before[name])


def test_packed_texts_see_nothing_of_each_other(model):
    """No token's loss has a slope in the embedding of another text of its row."""
    sequences, _ = read_examples(model, DATA)
    ids, mask, documents = (torch.from_numpy(a) for a in packed(sequences, 65))
    assert len(ids) < len(DATA)
    module = model._with_weights()
    table = module.tokens(ids).detach().requires_grad_(True)
    module.tokens.forward = lambda _: table[:, : ids.shape[1] - 1]
    losses = completion_losses(module, ids, mask, documents)
    owners = documents[:, 1:][mask[:, 1:]]
    rows = torch.arange(len(ids))[:, None].expand(ids.shape)[:, 1:][mask[:, 1:]]
    for row, owner in {(int(r), int(o)) for r, o in zip(rows, owners, strict=True)}:
        (slope,) = torch.autograd.grad(
            losses[(rows == row) & (owners == owner)].sum(), table, retain_graph=True
        )
        moved = slope.abs().sum(-1) > 0
        inside = (documents == owner) & (torch.arange(len(ids)) == row)[:, None]
        assert moved[inside].any()
        assert not moved[~inside].any()


def test_packing_keeps_every_text_whole():
    lengths = [5, 3, 7, 2, 9, 1, 4]
    sequences = Sequences(
        [np.arange(n) + 10 * n for n in lengths], [np.arange(n) % 2 == 1 for n in lengths]
    )
    ids, mask, documents = packed(sequences, 10)
    found = []
    for row, marks, owners in zip(ids, mask, documents, strict=True):
        for _, group in itertools.groupby(range(len(row)), key=lambda t, o=owners: o[t]):
            span = list(group)
            if owners[span[0]]:
                found.append((row[span].tolist(), marks[span].tolist()))
            else:
                assert not marks[span].any()
    expected = [
        (i.tolist(), m.tolist()) for i, m in zip(sequences.ids, sequences.masks, strict=True)
    ]
    assert sorted(found) == sorted(expected)
    assert ids.shape == (4, 10)


def test_conversations_are_learned_with_the_mark_that_ends_them():
    marks = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    tokenizer = BPETokenizer(259, special_tokens=marks).fit(["a"])
    model = GPT(GPTConfig(context=64), tokenizer, max_steps=1, random_state=0).fit(["hello"])
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    tuned = supervised_finetune(
        model, [{"messages": talk}], max_epochs=40, learning_rate=1e-2, random_state=0
    )
    assert tokenizer.special_tokens_["<|im_end|>"] in tuned.end_tokens_
    assert model.end_tokens_ == (0,)
    prompt, _ = ChatTemplate().encode(tokenizer, talk[:1], add_generation_prompt=True)
    assert tokenizer.decode(tuned.generate(prompt)) == "Yes?"
    halves = [{"prompt": talk[:1], "completion": talk[1:]}]
    again = supervised_finetune(model, halves, max_epochs=40, learning_rate=1e-2, random_state=0)
    np.testing.assert_array_equal(again.weights_["norm.weight"], tuned.weights_["norm.weight"])


BAD = {
    "row 1: the completion is empty": [("a", "b"), ("a", "")],
    "prompt 1 has 90 tokens": [("a", "b"), ("a" * 90, "b")],
    "row 1: prompt and completion have 71": [("a", "b"), ("a" * 40, "b" * 30)],
    "row 1 lacks 'completion'": [("a", "b"), {"prompt": "a"}],
    "row 1: the assistant says nothing": [
        {"messages": [{"role": "assistant", "content": "b"}]},
        {"messages": [{"role": "user", "content": "b"}]},
    ],
    "row 1 has no messages": [
        {"messages": [{"role": "assistant", "content": "b"}]},
        ("a", "b"),
    ],
    "data has no rows": [],
    "data must be a list": "text",
}


@pytest.mark.parametrize("says", BAD)
def test_bad_data_are_named(model, says):
    with pytest.raises(ValueError, match=says):
        supervised_finetune(model, BAD[says])


def test_a_run_that_is_resumed_ends_with_the_same_bits_and_refuses_other_data(model, tmp_path):
    how = {"learning_rate": 1e-2, "random_state": 0, "batch_size": 2}
    whole = supervised_finetune(model, DATA, max_steps=6, **how)
    supervised_finetune(model, DATA, max_steps=3, checkpoint=tmp_path / "run", **how)
    goes_on = {**how, "checkpoint": tmp_path / "run", "resume": True, "max_steps": 6}
    with pytest.raises(ValueError, match="data"):
        supervised_finetune(model, [("an", "other"), *DATA[1:]], **goes_on)
    resumed = supervised_finetune(model, DATA, **goes_on)
    for name, w in whole.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], w)


def test_a_mixture_of_experts_is_tuned_too(tmp_path):
    model = DeepSeek(max_steps=1, random_state=0).fit(["one two three"])
    tuned = supervised_finetune(
        model, DATA[:2], max_epochs=30, learning_rate=1e-2, random_state=0, packing=True
    )
    assert type(tuned) is DeepSeek
    assert tuned.history_["loss"][-1] < 0.3 * tuned.history_["loss"][0]
    panlearn.save(tuned, tmp_path / "model")
    again = panlearn.load(tmp_path / "model")
    assert again.score(["one two"]) == tuned.score(["one two"])


def test_lora_leaves_everything_else_as_it_was(model):
    lora = LoRA(rank=2, targets=("blocks.*.attention.project.weight",))
    tuned = supervised_finetune(model, DATA, lora=lora, max_epochs=3, random_state=0)
    for name, w in model.weights_.items():
        moved = tuned.weights_[name] - w
        if name.endswith("attention.project.weight"):
            scale = lora.alpha / lora.rank
            added = scale * tuned.adapters_[f"{name}.B"] @ tuned.adapters_[f"{name}.A"]
            np.testing.assert_allclose(moved, added, atol=1e-6)
            assert np.abs(moved).max() > 1e-5
        else:
            np.testing.assert_array_equal(moved, 0.0, err_msg=name)
    again = supervised_finetune(tuned, DATA, max_epochs=1, random_state=0)
    assert "adapters_" not in vars(again)
