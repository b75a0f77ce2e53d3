"""Layers of flows: log determinants against autograd, inverses, peers with copied weights."""

import math

import pytest
import torch

from panlearn.generative import AffineTransform, SplineTransform
from panlearn.generative._flow_layers import (
    ActNorm,
    Autoregressive,
    Coupling,
    Flow,
    MonotoneNetwork,
    Permutation,
)
from panlearn.generative._univariate import SumOfSquaresTransform
from panlearn.neural._random import seeded

D, CONTEXT = 4, 2
UNIVARIATES = {
    "affine": AffineTransform(),
    "spline": SplineTransform(bins=5, bound=3.0),
    "squares": SumOfSquaresTransform(bound=3.0),
    "network": None,
}


def univariate(name, features):
    return UNIVARIATES[name] or MonotoneNetwork(features, 5, (8, 6))


def layers(context=0):
    """Every kind of layer, with first weights large enough to bend."""
    order = torch.tensor([2, 0, 3, 1])
    for name in UNIVARIATES:
        yield (
            f"autoregressive {name}",
            Autoregressive(order, context, univariate(name, D), (12, 9), "tanh"),
        )
    for name in ("affine", "spline", "squares"):
        for kept in (slice(0, 1), slice(1, D), slice(0, D - 1)):
            layer = Coupling(D, context, kept, UNIVARIATES[name], (10,), "relu")
            yield f"coupling {name} {kept.start}-{kept.stop}", layer
    yield "permutation", Permutation(order)
    yield "actnorm", ActNorm(D)


def made(name, context=0, spread=0.3):
    with seeded(3):
        found = dict(layers(context))[name].double()
        for p in found.parameters():
            p.data.add_(spread * torch.randn_like(p))
    return found.requires_grad_(False)


def rows(n=6, scale=1.0, context=0):
    made = torch.Generator().manual_seed(5)
    x = scale * torch.randn(n, D, generator=made, dtype=torch.float64)
    return x, (torch.randn(n, context, generator=made, dtype=torch.float64) if context else None)


@pytest.mark.parametrize("context", [0, CONTEXT])
@pytest.mark.parametrize("name", [name for name, _ in layers()])
def test_log_determinant_is_that_of_the_jacobian(name, context):
    layer, (x, c) = made(name, context), rows(scale=2.0, context=context)
    _, found = layer(x, c)
    for i in range(len(x)):
        seen = None if c is None else c[i : i + 1]
        jacobian = torch.autograd.functional.jacobian(
            lambda r, seen=seen: layer(r[None], seen)[0][0], x[i]
        )
        expected = torch.linalg.slogdet(jacobian).logabsdet
        torch.testing.assert_close(found.expand(len(x))[i], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scale", [1.0, 50.0])
@pytest.mark.parametrize("name", [name for name, _ in layers()])
def test_inverse_gives_rows_back(name, scale):
    layer, (x, c) = made(name, CONTEXT), rows(scale=scale, context=CONTEXT)
    back = layer.inverse(layer(x, c)[0], c)
    torch.testing.assert_close(back, x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name, _ in layers()])
def test_float32_round_trip_far_out(name):
    """At |x| = 50, with the weights that training starts from, four digits stay."""
    layer, (x, _) = made(name, spread=0.0).float(), rows(scale=1.0)
    x = (50 * x / x.abs().amax(dim=1, keepdim=True)).float()
    z, _ = layer(x)
    assert z.dtype == torch.float32
    torch.testing.assert_close(layer.inverse(z), x, rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("name", ["affine", "spline", "squares", "network"])
def test_jacobian_of_an_autoregressive_layer_is_triangular_in_its_order(name):
    layer, (x, c) = made(f"autoregressive {name}", CONTEXT), rows(1, context=CONTEXT)
    jacobian = torch.autograd.functional.jacobian(lambda r: layer(r[None], c)[0][0], x[0])
    first_to_last = layer.order.argsort()
    ordered = jacobian[first_to_last][:, first_to_last]
    assert (ordered.triu(1) == 0).all()
    assert (ordered.tril(-1)[torch.ones(D, D).tril(-1) > 0] != 0).all()
    assert (ordered.diagonal() > 0).all()


def test_coupling_of_one_column_maps_it_the_same_way_in_all_rows():
    layer = Coupling(1, 0, slice(0, 0), AffineTransform(), (4,), "relu")
    z, log_slope = layer(torch.tensor([[0.0], [1.0], [3.0]]))
    torch.testing.assert_close(z[2] - z[0], 3 * (z[1] - z[0]))
    torch.testing.assert_close(log_slope.exp(), (z[1] - z[0]).expand(3))


def test_spline_is_the_identity_outside_its_bound_and_smooth_inside():
    spline = SplineTransform(bins=4, bound=2.0)
    parameters = torch.randn(
        1, spline.n_parameters, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    x = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    z, log_slope = spline.forward(x, 2 * parameters.expand(len(x), -1))
    outside = x.abs() >= 2
    assert (z[outside] == x[outside]).all()
    assert (log_slope[outside] == 0).all()
    assert (z.diff() > 0).all()
    up_to = torch.cumulative_trapezoid(log_slope.exp(), x)
    torch.testing.assert_close(z[0] + up_to, z[1:], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("x", [0.7, -2.5, 9.99])
def test_sum_of_squares_is_the_integral(x):
    """Against a fine sum over the interval."""
    transform = SumOfSquaresTransform(polynomials=2, degree=3)
    parameters = torch.randn(
        transform.n_parameters, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    u = torch.linspace(0, x, 200001, dtype=torch.float64)
    a = parameters[:-1].reshape(2, 4)
    polynomials = 1 + (a[:, :, None] * (u / 10) ** torch.arange(4)[:, None]).sum(dim=1)
    slope = polynomials.square().mean(dim=0) + 1e-3
    z, log_slope = transform.forward(torch.tensor([x], dtype=torch.float64), parameters[None])
    torch.testing.assert_close(
        z[0], torch.trapezoid(slope, u) + parameters[-1], rtol=1e-9, atol=1e-9
    )
    torch.testing.assert_close(log_slope[0], slope[-1].log())


def test_actnorm_starts_by_standardising_what_arrives():
    x = 5 + 3 * rows(200)[0]
    flow = Flow([ActNorm(D), Permutation(torch.tensor([1, 0, 2, 3])), ActNorm(D)]).double()
    flow.begin(x)
    z, log_determinant = flow(x)
    torch.testing.assert_close(z.mean(dim=0), torch.zeros(D).double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(z.std(dim=0, correction=0), torch.ones(D).double())
    torch.testing.assert_close(log_determinant[0], -x.std(dim=0, correction=0).log().sum())


@pytest.mark.parametrize("given", [{"bins": 0}, {"bound": 0.0}, {"slope": 1.0}, {"slope": 0.0}])
def test_splines_that_are_none_are_refused(given):
    with pytest.raises(ValueError, match=r"bins|slope"):
        SplineTransform(**given)


def test_standard_normal_at_the_end():
    flow, (x, _) = Flow([Permutation(torch.tensor([1, 0, 2, 3]))]), rows()
    expected = torch.distributions.Normal(0, 1).log_prob(x).sum(dim=1)
    torch.testing.assert_close(flow.log_density(x), expected)
    assert math.isfinite(float(flow.log_density(1e3 * x).sum()))
