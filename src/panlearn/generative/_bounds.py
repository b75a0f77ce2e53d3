"""Lower bounds of the log density of examples, and objectives that raise them."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch

from panlearn.generative._likelihoods import gaussian_log_density, kl_to_standard
from panlearn.neural._draws import Draws
from panlearn.neural._moves import Objective
from panlearn.neural._step import Step


def elbo(module: Any, batch: Any, draws: Draws, beta: float = 1.0) -> torch.Tensor:
    """Estimate the bound of rows, with beta times KL(q(z|x) || N(0, I)), from one draw of z each.

    A batch is (x,) or (x, condition); both networks see the condition.
    """
    x, *condition = batch
    mean, log_scale = module.encode(x, *condition)
    z = mean + log_scale.exp() * draws.normal(module.n_components, dtype=mean.dtype)
    outputs = module.decode(z, *condition)
    fit = module.likelihood.log_prob(outputs, x.flatten(1))
    return fit - beta * kl_to_standard(mean, log_scale)


def negative_elbo(beta: float = 1.0) -> Objective:
    """Minus the bound, for `neural.train`."""

    def objective(module: Any, batch: Any, step: Step) -> torch.Tensor:
        return -elbo(module, batch, step, beta)

    return objective


def importance_weighted(
    module: Any, x: torch.Tensor, draws: Draws, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Log weights of k draws :math:`z_k \sim q(z \mid x)` for each row, and those draws.

    .. math:: \log w_k = \log p(x \mid z_k) + \log p(z_k) - \log q(z_k \mid x)

    The log weights are of shape (n, k), the draws (n, k, n_components).
    """
    mean, log_scale = (a[:, None] for a in module.encode(x))
    z = mean + log_scale.exp() * draws.normal(k, module.n_components, dtype=mean.dtype)
    return _log_weights(module, x, z, mean, log_scale), z


def negative_importance_bound(
    k: int, gradient: Literal["reparameterized", "doubly_reparameterized"]
) -> Objective:
    r"""Minus :math:`\log \frac1K \sum_k w_k`.

    The doubly reparameterised gradient goes to the encoder through z alone, with weights
    :math:`\tilde w_k^2`, and to the decoder with weights :math:`\tilde w_k = w_k / \sum_j w_j`.
    """

    def plain(module: Any, batch: Any, step: Step) -> torch.Tensor:
        logs, _ = importance_weighted(module, batch[0], step, k)
        return math.log(k) - logs.logsumexp(1)

    def doubly(module: Any, batch: Any, step: Step) -> torch.Tensor:
        x = batch[0]
        mean, log_scale = (a[:, None] for a in module.encode(x))
        z = mean + log_scale.exp() * step.normal(k, module.n_components, dtype=mean.dtype)
        logs = _log_weights(module, x, z, mean.detach(), log_scale.detach())
        shares = logs.detach().softmax(1)
        if z.requires_grad:  # the second factor of the share, on the way back to the encoder
            z.register_hook(lambda gradient: gradient * shares[..., None])
        value = math.log(k) - logs.detach().logsumexp(1)
        surrogate = -(shares * logs).sum(1)
        return value + surrogate - surrogate.detach()

    return plain if gradient == "reparameterized" else doubly


def _log_weights(
    module: Any, x: torch.Tensor, z: torch.Tensor, mean: torch.Tensor, log_scale: torch.Tensor
) -> torch.Tensor:
    fit = module.likelihood.log_prob(module.decode(z), x.flatten(1)[:, None])
    prior = gaussian_log_density(z, torch.zeros_like(z), torch.zeros_like(z))
    return fit + prior - gaussian_log_density(z, mean, log_scale)
