"""Densities of flows against zuko and nflows, with copied weights."""

import numpy as np
import pytest
import torch

from panlearn.generative import (
    AffineTransform,
    ContinuousNormalizingFlow,
    MaskedAutoregressiveFlow,
    NeuralAutoregressiveFlow,
    RealNVP,
    SplineTransform,
    SumOfSquaresFlow,
)

zuko = pytest.importorskip("zuko")
D, CONTEXT, HIDDEN = 4, 3, (16, 12)


def network(model, context):
    """The module that an estimator would fit to D columns."""
    model.n_features_in_, model.sample_shape_ = D, (D,)
    model.mean_, model.scale_ = np.zeros(D), np.ones(D)
    model.conditions_ = type("Any", (), {"size": context})() if context else None
    return model._build()


def copy_linears(ours, theirs):
    """Weights of linear layers, in the order in which they stand."""
    theirs = [m for m in theirs.modules() if isinstance(m, torch.nn.Linear | zuko.nn.Linear)]
    ours = [m for m in ours.modules() if isinstance(m, torch.nn.Linear)]
    assert len(ours) == len(theirs) > 0
    for a, b in zip(ours, theirs, strict=True):
        assert a.weight.shape == b.weight.shape
        a.weight.data.copy_(b.weight)
        a.bias.data.copy_(b.bias)


def copy_networks(layer, mnn):
    """Weights of the monotone networks of columns."""
    theirs = [m for m in mnn.modules() if isinstance(m, zuko.nn.Linear)]
    for weight, bias, linear in zip(
        layer.univariate.weights, layer.univariate.biases, theirs, strict=True
    ):
        weight.data.copy_(linear.weight)
        bias.data.copy_(linear.bias)


def given(context, n=20):
    made = torch.Generator().manual_seed(0)
    x = 1.5 * torch.randn(n, D, generator=made, dtype=torch.float64)
    return x, torch.randn(n, context, generator=made, dtype=torch.float64) if context else None


def agree(ours, theirs, context):
    x, c = given(context)
    expected = theirs(c).log_prob(x)
    torch.testing.assert_close(ours.log_density(x, c), expected, rtol=1e-9, atol=1e-9)
    with torch.no_grad():
        torch.testing.assert_close(ours.inverse(ours(x, c)[0], c), x, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("context", [0, CONTEXT])
@pytest.mark.parametrize("univariate", [AffineTransform(), SplineTransform(bins=6)])
def test_masked_autoregressive_flow(univariate, context):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        peer = zuko.flows.MAF if isinstance(univariate, AffineTransform) else zuko.flows.NSF
        more = {} if peer is zuko.flows.MAF else {"bins": 6}
        theirs = peer(D, context, transforms=3, hidden_features=HIDDEN, **more).double()
    model = MaskedAutoregressiveFlow(univariate, hidden_layer_sizes=HIDDEN)
    ours = network(model, context)
    masks = [m.mask.bool() for m in theirs.modules() if hasattr(m, "mask")]
    found = [m.mask.bool() for layer in ours.layers for m in layer.linears]
    assert all(map(torch.equal, masks, found))
    copy_linears(ours, theirs)
    agree(ours, theirs, context)


@pytest.mark.parametrize("context", [0, CONTEXT])
def test_real_nvp(context):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = zuko.flows.NICE(D, context, transforms=3, hidden_features=HIDDEN).double()
    ours = network(RealNVP(transforms=3, hidden_layer_sizes=HIDDEN), context)
    copy_linears(ours, theirs)
    agree(ours, theirs, context)


@pytest.mark.parametrize("context", [0, CONTEXT])
def test_neural_autoregressive_flow(context):
    """Of one layer: between layers zuko squashes the numbers."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        options = {"hidden_features": HIDDEN, "network": {"hidden_features": (10, 8)}}
        theirs = zuko.flows.NAF(D, context, transforms=1, signal=5, **options).double()
    model = NeuralAutoregressiveFlow(
        5, transforms=1, hidden_layer_sizes=HIDDEN, network_layer_sizes=(10, 8)
    )
    ours = network(model, context)
    transform = theirs.transform.transforms[0]
    copy_linears(ours, transform.hyper)
    copy_networks(ours.layers[0], transform.univariate)
    agree(ours, theirs, context)


@pytest.mark.parametrize("context", [0, CONTEXT])
def test_sum_of_squares_flow(context):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = zuko.flows.SOSPF(D, context, transforms=1, hidden_features=HIDDEN).double()
    ours = network(SumOfSquaresFlow(transforms=1, hidden_layer_sizes=HIDDEN), context)
    copy_linears(ours, theirs)
    agree(ours, theirs, context)


def test_spline_of_nflows():
    """Its knots come from softmax and softplus; ours are clipped softly before."""
    splines = pytest.importorskip("nflows.transforms.splines")
    ours, made = SplineTransform(bins=6, bound=3.0), torch.Generator().manual_seed(0)
    x = 2 * torch.randn(50, generator=made, dtype=torch.float64)
    parameters = torch.randn(50, ours.n_parameters, generator=made, dtype=torch.float64)
    log_slope = -np.log(1e-3)
    sizes = parameters[:, :12] / (1 + (2 * parameters[:, :12] / log_slope).abs())
    slopes = (parameters[:, 12:] / (1 + (parameters[:, 12:] / log_slope).abs())).exp()
    expected = splines.unconstrained_rational_quadratic_spline(
        x,
        sizes[:, :6],
        sizes[:, 6:],
        slopes.expm1().log(),
        tail_bound=3.0,
        min_bin_width=0.0,
        min_bin_height=0.0,
        min_derivative=0.0,
    )
    found = ours.forward(x, parameters)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("context", [0, CONTEXT])
def test_continuous_normalizing_flow(context):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = zuko.flows.CNF(D, context, hidden_features=HIDDEN, atol=1e-8, rtol=1e-7).double()
    model = ContinuousNormalizingFlow(HIDDEN, "elu", method="dopri5", rtol=1e-7, atol=1e-8)
    ours = network(model, context)
    copy_linears(ours, theirs)
    x, c = given(context, n=5)
    expected = theirs(c).log_prob(x)
    torch.testing.assert_close(ours.log_density(x, c), expected, rtol=1e-5, atol=1e-6)
