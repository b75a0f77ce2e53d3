"""What a decoder's outputs say of an example: densities of its entries given the latent variables.

A likelihood maps the outputs of a decoder to a log probability, a mean, and draws. Examples come as
rows (n, d).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from panlearn.neural._draws import Draws

_LOG_TWO_PI = math.log(2 * math.pi)


class Likelihood(ABC):
    """The distribution of the d entries of an example, which are independent; abstract."""

    standardizes = False

    def __init__(self, size: int) -> None:
        self.size = size  # d

    @property
    def n_inputs(self) -> int:
        """How many numbers an encoder sees of an example."""
        return self.size

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """How many numbers a decoder gives."""

    def seen(self, x: torch.Tensor) -> torch.Tensor:
        """Rows as an encoder sees them."""
        return x

    @abstractmethod
    def log_prob(self, outputs: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The log probability of rows: of shape (...,) for outputs of shape (..., n_outputs)."""

    @abstractmethod
    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """The mean of each entry, or the most probable category."""

    @abstractmethod
    def draw(self, outputs: torch.Tensor, draws: Draws) -> torch.Tensor:
        """Draw an example for each row of outputs."""

    @staticmethod
    @abstractmethod
    def check(X: np.ndarray) -> None:
        """Refuse values that have no probability."""


class Gaussian(Likelihood):
    r""":math:`x_j \sim N(\mu_j, \sigma_j^2)`; decoders give :math:`\mu` and :math:`\log \sigma`.

    :math:`\log \sigma` is held between -5 and 5, in units of the standardised columns: a density of
    rows that lie in a subspace has no upper bound.
    """

    standardizes = True

    @property
    def n_outputs(self) -> int:
        """Two for each entry."""
        return 2 * self.size

    def log_prob(self, outputs: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The log density."""
        mean, log_scale = self._parts(outputs)
        return gaussian_log_density(x, mean, log_scale)

    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """The means."""
        return self._parts(outputs)[0]

    def draw(self, outputs: torch.Tensor, draws: Draws) -> torch.Tensor:
        """The means and noise."""
        mean, log_scale = self._parts(outputs)
        return mean + log_scale.exp() * draws.normal(self.size, dtype=mean.dtype)

    @staticmethod
    def _parts(outputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log_scale = outputs.chunk(2, dim=-1)
        return mean, log_scale.clamp(-5, 5)

    @staticmethod
    def check(X: np.ndarray) -> None:
        """Any number has a density."""


class Bernoulli(Likelihood):
    r""":math:`x_j = 1` with probability :math:`\operatorname{sigmoid}(\eta_j)`.

    Entries between 0 and 1 are taken as probabilities, and the log probability is the mean over
    them.
    """

    @property
    def n_outputs(self) -> int:
        """One for each entry."""
        return self.size

    def log_prob(self, outputs: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Minus the cross-entropy."""
        return (x * F.logsigmoid(outputs) + (1 - x) * F.logsigmoid(-outputs)).sum(-1)

    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """The probabilities of one."""
        return outputs.sigmoid()

    def draw(self, outputs: torch.Tensor, draws: Draws) -> torch.Tensor:
        """Zeros and ones."""
        uniform = draws.uniform(self.size, dtype=outputs.dtype)
        return (uniform < outputs.sigmoid()).to(outputs.dtype)

    @staticmethod
    def check(X: np.ndarray) -> None:
        """Refuse what is no probability."""
        if X.min() < 0 or X.max() > 1:
            raise ValueError(
                f"X goes from {X.min():g} to {X.max():g}, and a Bernoulli likelihood is of entries "
                "from 0 to 1; divide by the largest, or take likelihood='gaussian'"
            )


class Categorical(Likelihood):
    r""":math:`x_j \in \{0, \ldots, K_j - 1\}`, with a softmax over its categories.

    Parameters
    ----------
    counts : ndarray of shape (d,)
        The number of categories of each entry.
    """

    def __init__(self, counts: np.ndarray) -> None:
        super().__init__(len(counts))
        self.most = int(max(counts))
        self._impossible = torch.arange(self.most) >= torch.as_tensor(np.array(counts))[:, None]

    @property
    def n_inputs(self) -> int:
        """An indicator for each category."""
        return self.n_outputs

    @property
    def n_outputs(self) -> int:
        """As many for each entry as the most categories."""
        return self.size * self.most

    def seen(self, x: torch.Tensor) -> torch.Tensor:
        """Indicators."""
        codes = x.long().clamp(0, self.most - 1)
        return F.one_hot(codes, self.most).to(x.dtype).flatten(-2)

    def log_prob(self, outputs: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The sum of the log probabilities of the categories."""
        logs = self._logs(outputs)
        codes = x.long().expand(logs.shape[:-1])[..., None]
        return logs.gather(-1, codes)[..., 0].sum(-1)

    def mean(self, outputs: torch.Tensor) -> torch.Tensor:
        """The most probable categories."""
        return self._logs(outputs).argmax(-1).to(outputs.dtype)

    def draw(self, outputs: torch.Tensor, draws: Draws) -> torch.Tensor:
        """Categories, by inverting the distribution function."""
        edges = self._logs(outputs).exp().cumsum(-1)
        uniform = draws.uniform(self.size, 1, dtype=outputs.dtype) * edges[..., -1:]
        return (edges <= uniform).sum(-1).to(outputs.dtype)

    def _logs(self, outputs: torch.Tensor) -> torch.Tensor:
        scores = outputs.unflatten(-1, (self.size, self.most))
        return scores.masked_fill(self._impossible.to(scores.device), -math.inf).log_softmax(-1)

    @staticmethod
    def check(X: np.ndarray) -> None:
        """Refuse what is no category."""
        if X.min() < 0 or (X != np.floor(X)).any() or X.max() > 10_000:
            raise ValueError(
                "a categorical likelihood is of whole numbers from 0, one a category; encode X "
                "with sklearn.preprocessing.OrdinalEncoder, or take likelihood='gaussian'"
            )


_KINDS: dict[str, type[Any]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
}


def likelihood_class(name: str) -> type[Any]:
    """Give the class of a likelihood by its name."""
    return _KINDS[name]


def gaussian_log_density(
    x: torch.Tensor, mean: torch.Tensor, log_scale: torch.Tensor
) -> torch.Tensor:
    r""":math:`\sum_j \log N(x_j; \mu_j, \sigma_j^2)`."""
    away = (x - mean) * (-log_scale).exp()
    return -(away.square() / 2 + log_scale + _LOG_TWO_PI / 2).sum(-1)


def kl_to_standard(mean: torch.Tensor, log_scale: torch.Tensor) -> torch.Tensor:
    r""":math:`\frac12 \sum_j (\mu_j^2 + \sigma_j^2 - 1 - \log \sigma_j^2)`, KL to N(0, I)."""
    return (mean.square() + (2 * log_scale).exp() - 1 - 2 * log_scale).sum(-1) / 2
