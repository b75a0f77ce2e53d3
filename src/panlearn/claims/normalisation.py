"""Batch and layer normalisation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.extras import require

torch = require("torch")

from panlearn.neural import MLPClassifier  # noqa: E402
from panlearn.neural._layers import MLP  # noqa: E402
from panlearn.neural._random import seeded  # noqa: E402

TINY = 1e-300  # stands for an epsilon of zero, which PyTorch does not take


def batch_norm(features: int, eps: float = 1e-5) -> Any:
    """The layer that `MLPClassifier` has for normalization="batch", with a given epsilon."""
    with seeded(0):
        layer: Any = MLP((2, features, 1), normalization="batch").double().layers[1]
    layer.eps = eps
    return layer


def rows(n: int = 64, d: int = 3, seed: int = 0) -> Any:
    """Rows whose columns have different means and scales."""
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.standard_normal((n, d)) * [0.5, 2.0, 7.0][:d] + [3.0, -1.0, 0.2][:d])


@claim("A106")
def batch_norm_standardises_each_feature() -> Iterator[Evidence]:
    """Outputs have mean 0 and variance s^2 / (s^2 + eps), s^2 the biased variance of the batch."""
    z, layer = rows(), batch_norm(3, 1e-2)
    out = layer(z).detach()
    biased = z.var(0, correction=0)
    yield equal("means", out.mean(0), np.zeros(3), 1e-6)
    yield equal("variances", out.var(0, correction=0), biased / (biased + 1e-2), 1e-6)


@claim("A107")
def the_affine_part_can_undo_it() -> Iterator[Evidence]:
    """With gamma = sqrt(s^2 + eps) and beta = mu the layer gives back its input."""
    z, layer = rows(), batch_norm(3)
    layer.weight.data = torch.sqrt(z.var(0, correction=0) + layer.eps)
    layer.bias.data = z.mean(0)
    yield equal("output and input", layer(z).detach(), z, 1e-6)


@claim("A108")
def batch_norm_ignores_scale_and_shift() -> Iterator[Evidence]:
    """BN(a (z + b)) = BN(z) for a > 0 with eps = 0; a < 0 flips the sign.

    The text leaves out both conditions: with eps > 0 a small scale is seen.
    """
    z, exact = rows(), batch_norm(3, TINY)
    reference = exact(z).detach()
    yield equal("a = 3, b = 5", exact(3 * (z + 5)).detach(), reference, 1e-12)
    yield equal("a = -3", exact(-3 * z).detach(), -reference, 1e-12)
    unit = (z - z.mean(0)) / z.std(0, correction=0)
    deviation = (batch_norm(3)(0.01 * unit) - reference).detach().abs().max()
    yield at_least("deviation at a = 0.01, eps = 1e-5", deviation, 0.05)


@claim("A109")
def weight_decay_before_batch_norm_changes_no_function() -> Iterator[Evidence]:
    """BN(Wx) = BN(a W x): shrinking W leaves the function; the gradient is orthogonal to W.

    And the gradient at aW is the one at W divided by a, so decay works through the step size.
    """
    x, layer = rows(d=3), batch_norm(4, TINY)
    target = torch.tensor(np.random.default_rng(1).standard_normal((64, 4)))

    def loss_and_gradient(W: Any) -> tuple[Any, Any]:
        W = W.clone().requires_grad_()
        loss = ((layer(x @ W.T) - target) ** 2).mean()
        return loss.item(), torch.autograd.grad(loss, W)[0]

    W = torch.tensor(np.random.default_rng(2).standard_normal((4, 3)))
    loss, gradient = loss_and_gradient(W)
    scaled_loss, scaled = loss_and_gradient(5 * W)
    yield equal("loss of W and 5 W", scaled_loss, loss, 1e-12)
    yield equal(
        "inner product of gradient and each row of W", (gradient * W).sum(1), np.zeros(4), 1e-8
    )
    yield equal("gradient at 5 W", 5 * scaled, gradient, 1e-7)


@claim("A110")
def inference_uses_running_estimates() -> Iterator[Evidence]:
    """In evaluation a row's output does not depend on its batch; in training it does.

    The running estimates are averages of mean and variance (PyTorch averages the unbiased variance
    and normalises training batches with the biased one).
    """
    z, layer = rows(), batch_norm(3)
    layer(z)
    other = torch.cat([z[:1], rows(seed=1)[1:]])
    trained = (layer(z)[0] - layer(other)[0]).detach().abs().max()
    layer.eval()
    yield equal(
        "row 0 in two batches, evaluation", layer(z)[0].detach(), layer(other)[0].detach(), 1e-15
    )
    yield at_least("row 0 in two batches, training", trained, 1e-3)
    once = batch_norm(3)
    once(z)
    yield equal("running mean", once.running_mean, 0.1 * z.mean(0), 1e-12)
    yield equal("running variance", once.running_var, 0.9 + 0.1 * z.var(0), 1e-12)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    model = MLPClassifier(8, normalization="batch", max_epochs=5, random_state=0)
    model.fit(X, (X[:, 0] > 0).astype(int))
    alone = np.concatenate([model.predict_proba(x[None]) for x in X[:3]])
    yield equal("a classifier's rows alone and together", alone, model.predict_proba(X)[:3], 1e-12)


@claim("A111")
def batch_norm_removes_a_shift_of_the_inputs() -> Iterator[Evidence]:
    """A sign classifier after batch normalisation gives the same labels for x and x + c.

    What the text calls covariance shift is covariate shift.
    """
    z, layer = rows(), batch_norm(3)
    w = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    labels, shifted = (torch.sign(layer(x) @ w).detach() for x in (z, z + 10.0))
    yield equal("labels", shifted, labels)


@claim("A112")
def layer_norm_looks_at_one_row() -> Iterator[Evidence]:
    """Layer normalisation standardises each row over its features, in training as in evaluation.

    LN(a x + c) = LN(x) for a > 0 with eps = 0.
    """
    x = rows(d=3)
    with seeded(0):
        layer: Any = MLP((2, 3, 1), normalization="layer").double().layers[1]
    layer.eps = 0.0
    out = layer(x).detach()
    yield equal("mean of each row", out.mean(1), np.zeros(64), 1e-6)
    yield equal("variance of each row", out.var(1, correction=0), np.ones(64), 1e-6)
    yield equal("a row alone", layer(x[:1]).detach(), out[:1], 1e-12)
    yield equal("evaluation", layer.eval()(x).detach(), out)
    yield equal("LN(3 x + 2)", layer(3 * x + 2).detach(), out, 1e-6)
    yield true("rows, not columns", out.mean(0).abs().max() > 0.01)


@claim("B119")
def normalised_batches_have_unit_variance() -> Iterator[Evidence]:
    """Batch norm gives each feature mean 0 and variance 1 in training, whatever shift and scale.

    Layer norm does it for each sample.
    """
    z, layer = rows(), batch_norm(3)
    for name, values in (("as they are", z), ("moved and stretched", 40 * z - 7)):
        out = layer(values).detach()
        yield at_most(f"largest mean, {name}", out.mean(0).abs().max(), 1e-5)
        yield at_most(
            f"largest error of variance, {name}", (out.var(0, correction=0) - 1).abs().max(), 1e-4
        )
