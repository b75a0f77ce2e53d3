"""What all methods of the family stand on: rows as tokens, log-probabilities, a copy to tune."""

import numpy as np
import pytest
import torch
from sklearn.frozen import FrozenEstimator

import panlearn
from panlearn.alignment._policy import (
    as_policy,
    score_sequences,
    token_log_probabilities,
    trainable,
    untrained,
    with_weights,
)
from panlearn.alignment._prompts import (
    Sequences,
    columns,
    fit_in,
    read_completions,
    read_prompts,
)
from panlearn.transformer import GPT


@pytest.fixture(scope="module")
def model():
    return untrained(np.random.default_rng(0))


def test_log_probabilities_are_those_of_a_plain_forward_pass(model):
    prompts = read_prompts(model, ["ab", "a longer prompt", "c"])
    completions = read_completions(model, ["x", "yz", "longer"])
    sequences = fit_in(model, Sequences.of(prompts, completions))
    found = score_sequences(model.module_, sequences, 2)
    for before, after, values in zip(prompts, completions, found, strict=True):
        row = torch.from_numpy(np.concatenate([before, after]))[None]
        with torch.no_grad():
            logs = model.module_(row)[0].log_softmax(-1)
        expected = [float(logs[t - 1, row[0, t]]) for t in range(len(before), row.shape[1])]
        np.testing.assert_allclose(values, expected, atol=1e-5)
        assert after[-1] == model.end_token_
    again = model.log_probabilities(["ab", "a longer prompt", "c"], completions)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_table_of_scores_that_is_too_large_gives_the_same_gradient(model, monkeypatch):
    sequences = Sequences.of(read_prompts(model, ["ab", "c"]), read_completions(model, ["d", "ef"]))
    ids, mask = sequences.padded([0, 1])
    slopes = []
    for limit in (1 << 24, 0):
        monkeypatch.setattr("panlearn.alignment._policy._SCORES", limit)
        module = trainable(model)
        values = token_log_probabilities(module, ids, mask).sum(1)
        (values * torch.tensor([1.0, -0.3])).sum().backward()
        slopes.append(module.projection.grad)
    torch.testing.assert_close(*slopes, atol=1e-6, rtol=1e-4)


def test_a_tuned_copy_leaves_the_model_as_it_was(model):
    before = {name: w.copy() for name, w in model.weights_.items()}
    module = trainable(model)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(1.0)
    made = with_weights(model, module, history_={"loss": [1.0]})
    assert type(made) is GPT
    assert made.history_ == {"loss": [1.0]}
    for name, w in model.weights_.items():
        np.testing.assert_array_equal(w, before[name])
        np.testing.assert_array_equal(made.weights_[name], before[name] + 1.0)
    assert made.module_ is not model.module_
    assert "history_" not in vars(model)


def test_a_policy_is_a_model_a_frozen_one_a_file_or_a_folder(model, tmp_path):
    model.save_pretrained(tmp_path / "folder")
    panlearn.save(model, tmp_path / "file")
    places = [FrozenEstimator(model), tmp_path / "folder", str(tmp_path / "file")]
    for given in places:
        found = as_policy(given)
        np.testing.assert_array_equal(found.weights_["norm.weight"], model.weights_["norm.weight"])
    for wrong, says in [("", "no file"), (GPT(), "not fitted"), (3, "must be a GPT")]:
        with pytest.raises(ValueError, match=says):
            as_policy(wrong)


def test_bad_rows_are_named(model):
    with pytest.raises(ValueError, match="row 1: the completion is empty"):
        read_completions(model, ["a", ""])
    with pytest.raises(ValueError, match="row 1: the completion is empty"):
        read_completions(model, [[3], []])
    with pytest.raises(ValueError, match="prompt 1 has 100 tokens, the context has room for 64"):
        read_prompts(model, ["a", "b" * 100])
    long = Sequences.of(
        read_prompts(model, ["a", "b" * 60]), read_completions(model, ["c", "ddddd"])
    )
    with pytest.raises(ValueError, match="row 1: prompt and completion have 66 tokens"):
        fit_in(model, long)
    with pytest.raises(ValueError, match="row 1 lacks 'completion'; it has"):
        columns([("a", "b"), {"prompt": "a"}], ("prompt", "completion"), "data")
    with pytest.raises(ValueError, match="row 0 is 'text'"):
        columns(["text"], ("prompt", "completion"), "data")
    for empty in ([], "text", {"prompt": "a"}, None):
        with pytest.raises(ValueError, match="data"):
            columns(empty, ("prompt", "completion"), "data")


def test_sequences_pad_rows_of_any_shape_and_tell_data_apart():
    one = Sequences.of([np.array([1, 2]), np.array([3])], [np.array([4]), np.array([5, 6, 7])])
    ids, mask = one.padded([[0, 1], [1, 0]])
    assert ids.tolist() == [[[1, 2, 4, 0], [3, 5, 6, 7]], [[3, 5, 6, 7], [1, 2, 4, 0]]]
    assert mask[0].tolist() == [[False, False, True, False], [False, True, True, True]]
    other = Sequences.of([np.array([1]), np.array([3])], [np.array([2, 4]), np.array([5, 6, 7])])
    assert one.marks()[0] != other.marks()[0]
    assert one.marks()[1] == other.marks()[1]
