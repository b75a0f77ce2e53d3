"""Recurrent modules: the equations, a padded batch against its sequences, gradients in time."""

import numpy as np
import pytest
import torch

from panlearn.neural._attention import EncoderDecoder
from panlearn.neural._recurrence import Ragged, Recurrent, within

CELLS = ("elman", "lstm", "gru")
OFFSETS = np.array([0, 4, 5, 13, 20])


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


def _by_hand(cell, parameters, x):
    """The states of one layer, by the equations of each cell."""
    W, U, b, c = (p.detach().numpy() for p in parameters)
    h = memory = np.zeros(U.shape[1])
    states = []
    for step in x:
        into, back = W @ step + b, U @ h + c
        if cell == "elman":
            h = np.tanh(into + back)
        elif cell == "lstm":
            i, f, g, o = np.split(into + back, 4)
            memory = _sigmoid(f) * memory + _sigmoid(i) * np.tanh(g)
            h = _sigmoid(o) * np.tanh(memory)
        else:
            (r, z, n), (r2, z2, n2) = np.split(into, 3), np.split(back, 3)
            update = _sigmoid(z + z2)
            h = (1 - update) * np.tanh(n + _sigmoid(r + r2) * n2) + update * h
        states.append(h)
    return np.array(states)


@pytest.mark.parametrize("cell", CELLS)
def test_states_follow_the_equations(cell, rng):
    module = Recurrent(cell, 3, 4, 1, 2).double()
    x = rng.normal(size=(6, 3))
    found = module.states(torch.as_tensor(x)[None])
    expected = _by_hand(cell, list(module.layers[0].parameters()), x)
    np.testing.assert_allclose(found[0].detach().numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", CELLS)
def test_a_padded_batch_gives_what_its_sequences_give(cell, rng):
    module = Recurrent(cell, 3, 5, 2, 4).double().eval()
    sequences = Ragged(rng.normal(size=(20, 3)), OFFSETS)
    order = [2, 1, 3, 0]
    inputs, lengths = sequences(torch.tensor(order))
    assert lengths.tolist() == [8, 1, 7, 4]
    outputs, last = module(inputs), module.last(inputs, lengths)
    for i, j in enumerate(order):
        alone, length = sequences(torch.tensor([j]))
        torch.testing.assert_close(module(alone)[0], outputs[i, : lengths[i]], rtol=0, atol=1e-12)
        torch.testing.assert_close(module.last(alone, length)[0], last[i], rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", CELLS)
def test_padding_has_no_gradient(cell, rng):
    module = Recurrent(cell, 3, 5, 1, 4).double()
    inputs = torch.as_tensor(rng.normal(size=(2, 6, 3))).requires_grad_()
    lengths = torch.tensor([6, 2])
    (module(inputs) * within(lengths, 6)[..., None]).sum().backward()
    assert inputs.grad[1, 2:].abs().max() == 0
    assert (inputs.grad[1, :2].abs().max(dim=-1).values > 0).all()


@pytest.mark.parametrize("cell", CELLS)
def test_truncation_keeps_the_outputs_and_cuts_the_gradient(cell, rng):
    module = Recurrent(cell, 2, 3, 1, 1).double()
    inputs = torch.as_tensor(rng.normal(size=(1, 7, 2))).requires_grad_()
    whole = module(inputs).detach()
    module.truncation = 3
    torch.testing.assert_close(module(inputs), whole, rtol=0, atol=1e-12)
    module(inputs)[0, 4, 0].backward()  # the second step of the second stretch
    reached = inputs.grad[0].abs().max(dim=-1).values > 0
    assert reached.tolist() == [False, False, False, True, True, False, False]


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_are_finite_differences(cell, rng):
    module = EncoderDecoder(cell, 4, 3, 2, 4).double()
    source, lengths = torch.tensor([[0, 1, 2], [3, 0, 0]]), torch.tensor([3, 1])
    target = torch.tensor([[0, 1], [2, 0]])
    names, values = zip(*module.named_parameters(), strict=True)

    def output(*weights):
        given = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(module, given, (source, lengths, target))[0]

    assert torch.autograd.gradcheck(output, values, fast_mode=True)


@pytest.mark.parametrize("cell", CELLS)
def test_a_padded_batch_is_translated_as_its_sources_are(cell, rng):
    module = EncoderDecoder(cell, 6, 7, 4, 5).double().eval()
    sources = Ragged(rng.integers(0, 6, 20), OFFSETS)
    order = [2, 1, 3, 0]
    source, lengths = sources(torch.tensor(order))
    target = torch.as_tensor(rng.integers(0, 7, (4, 6)))
    outputs, looks = module(source, lengths, target)
    for i, j in enumerate(order):
        scores, weights = module(*sources(torch.tensor([j])), target[i : i + 1])
        torch.testing.assert_close(scores[0], outputs[i], rtol=0, atol=1e-12)
        torch.testing.assert_close(weights[0], looks[i, :, : lengths[i]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(looks.sum(dim=-1).detach(), 1, rtol=0, atol=1e-12)


def test_the_decoder_sees_only_targets_before_its_step(rng):
    module = EncoderDecoder("gru", 6, 7, 4, 5).double().eval()
    source, lengths = torch.tensor([[0, 1, 2]]), torch.tensor([3])
    one, other = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 2, 5, 6]])
    a, b = module(source, lengths, one)[0], module(source, lengths, other)[0]
    torch.testing.assert_close(a[:, :3], b[:, :3], rtol=0, atol=0)
    assert (a[:, 3] - b[:, 3]).abs().max() > 1e-6
