import numpy as np
import pytest
import torch
import torch.nn.functional as F

from panlearn.transformer import ExpertsConfig, MixtureOfExperts


def make(config, width=6, seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = MixtureOfExperts(width, config).double()
        for parameter in layer.parameters():
            parameter.data.normal_(std=0.7)
        if config.gate == "sigmoid":
            layer.balance.normal_(std=0.2)
    return layer


def by_hand(layer, x):
    """Token by token, expert by expert, from the formula."""
    config, made = layer.config, []
    size = config.n_experts // config.n_groups
    for u in x.reshape(-1, x.shape[-1]):
        scores = layer.router.weight @ u
        scores = scores.softmax(0) if config.gate == "softmax" else scores.sigmoid()
        ranked = scores.detach() + (layer.balance if config.gate == "sigmoid" else 0)
        groups = [ranked[g * size : (g + 1) * size] for g in range(config.n_groups)]
        best = [float(g.sort(descending=True).values[:2].sum()) for g in groups]
        open_groups = np.argsort(best)[::-1][: config.n_chosen_groups]
        allowed = [i for i in range(config.n_experts) if i // size in open_groups]
        chosen = sorted(allowed, key=lambda i: -float(ranked[i]))[: config.n_chosen]
        total = scores[chosen].sum() if config.normalise else 1.0
        y = torch.zeros_like(u)
        for i in chosen:
            gate, value = (layer.experts_up[i] @ u).chunk(2)
            y = y + config.scale * scores[i] / total * layer.experts_down[i] @ (
                F.silu(gate) * value
            )
        if layer.shared is not None:
            gate, value = (layer.shared.up.weight @ u).chunk(2)
            y = y + layer.shared.down.weight @ (F.silu(gate) * value)
        made.append(y)
    return torch.stack(made).view(x.shape)


CONFIGS = [
    ExpertsConfig(4, 2, 5),
    ExpertsConfig(4, 1, 5, normalise=False, scale=1.5),
    ExpertsConfig(6, 2, 3, gate="sigmoid", n_shared=2, scale=2.5),
    ExpertsConfig(8, 3, 3, gate="sigmoid", n_groups=4, n_chosen_groups=2, n_shared=1),
    ExpertsConfig(4, 2, 3, gate="sigmoid", n_groups=4, n_chosen_groups=3, normalise=False),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_the_sum_and_its_gradient_are_the_formula(config):
    layer = make(config)
    x = torch.randn(2, 7, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    found, expected = layer(ours), by_hand(layer, theirs)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    assert int(layer.loads.sum()) == 14 * config.n_chosen
    weights = list(layer.parameters())
    found_gradients = torch.autograd.grad(found.square().sum(), [ours, *weights])
    expected_gradients = torch.autograd.grad(
        expected.square().sum(), [theirs, *weights], allow_unused=True
    )
    for a, b in zip(found_gradients, expected_gradients, strict=True):
        torch.testing.assert_close(a, torch.zeros_like(a) if b is None else b, rtol=1e-9, atol=1e-9)


def test_one_token_and_idle_experts():
    layer = make(ExpertsConfig(8, 2, 3))
    x = torch.randn(1, 1, 6, dtype=torch.float64)
    torch.testing.assert_close(layer(x), by_hand(layer, x))
    assert int((layer.loads > 0).sum()) == 2
    layer(x).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())


def test_the_bias_evens_loads_out():
    """Tokens whose scores all favour the same experts: without a bias two of eight do nearly all
    the work; with it none does over a quarter more than its share.
    """
    config = ExpertsConfig(8, 2, 4, gate="sigmoid", balance_rate=0.01)
    layer = make(config)
    layer.balance.zero_()
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(512, 6, dtype=torch.float64, generator=rng)
    x[:, 0] = 3.0
    layer.router.weight.data[:, 0] = torch.linspace(-1, 1, 8, dtype=torch.float64)
    layer(x)
    assert float(layer.loads.max() / layer.loads.double().mean()) > 2.5
    for _ in range(200):
        layer(x)
        layer.rebalance(layer.loads)
    assert float(layer.loads.max() / layer.loads.double().mean()) < 1.25
    assert float(layer.loads.min() / layer.loads.double().mean()) > 0.75


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"n_experts": 4, "n_groups": 3}, "n_groups"),
        ({"n_experts": 4, "n_groups": 2, "n_chosen_groups": 3}, "n_chosen_groups"),
        ({"n_experts": 4, "n_chosen": 3, "n_groups": 2}, "n_chosen"),
        ({"gate": "tanh"}, "gate"),
        ({"hidden": 0}, "hidden"),
    ],
)
def test_wrong_sizes_are_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        ExpertsConfig(**wrong)
