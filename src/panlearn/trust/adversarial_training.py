"""Training on the worst rows near those that are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from panlearn.core.extras import require


@dataclass(frozen=True)
class AdversarialTraining:
    r"""Turn an objective of `panlearn.neural.train` into its worst case within a ball.

    .. math:: \min_\theta \frac1n \sum_i \max_{\|\delta_i\| \le \epsilon}
        \ell\bigl(f_\theta(x_i + \delta_i), y_i\bigr)

    Parameters
    ----------
    eps : float
        The radius of the ball, in the units of what the module is given.
    norm : {"linf", "l2"}, default="linf"
        Its norm.
    steps : int, default=7
        Steps of projected gradient ascent for each batch.
    step : float, default=None
        Their length; 2.5 eps / steps by default.
    random_start : bool, default=True
        Whether the ascent starts at random in the ball.
    bounds : tuple (low, high), default=None
        The box that rows stay in.

    Attributes
    ----------
    passes : int
        Forward and backward passes for each batch: one a step, and one that learns.

    Notes
    -----
    The first part of a batch is the rows that are moved, the rest goes to the objective as it is.
    The ascent sees the module in evaluation mode and leaves the gradients of its parameters alone;
    then the perturbation is held fixed, and the gradient in the parameters is taken at the rows it
    leads to, which is that of the inner maximum. Validation data are measured as they are. Starts
    are drawn from the seed and the step. `fast` is the variant of one long step. The history of
    the run tells the ``passes``.

    References
    ----------
    A. Madry, A. Makelov, L. Schmidt, D. Tsipras and A. Vladu (2018). Towards deep learning models
    resistant to adversarial attacks. arXiv:1706.06083

    E. Wong, L. Rice and J. Z. Kolter (2020). Fast is better than free: revisiting adversarial
    training. arXiv:2001.03994

    Examples
    --------
    >>> import numpy as np, torch
    >>> from panlearn.neural import train
    >>> from panlearn.trust import AdversarialTraining
    >>> def loss(module, batch):
    ...     return torch.nn.functional.cross_entropy(module(batch[0]), batch[1], reduction="none")
    >>> X = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    >>> robust = AdversarialTraining(0.1, steps=3)
    >>> run = train(torch.nn.Linear(2, 2), robust(loss), (X, (X[:, 0] > 0).astype(int)),
    ...             max_epochs=2, random_state=0)
    >>> robust.passes, run.history["passes"]
    (4, [4.0, 4.0])
    """

    eps: float
    norm: Literal["linf", "l2"] = "linf"
    steps: int = 7
    step: float | None = None
    random_start: bool = True
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.eps) and self.eps >= 0):
            raise ValueError(f"eps={self.eps!r} must be a finite number, zero or more")
        if self.norm not in ("linf", "l2"):
            raise ValueError(f"norm={self.norm!r} must be 'linf' or 'l2'")
        if self.steps < 0:
            raise ValueError(f"steps={self.steps!r} must be zero or more")

    @classmethod
    def fast(cls, eps: float, **options: Any) -> Self:
        """One step of 1.25 eps from a random start: two passes a batch."""
        return cls(eps, steps=1, step=1.25 * eps, **options)

    @property
    def passes(self) -> int:
        """Forward and backward passes for each batch."""
        return self.steps + 1

    def __call__(self, objective: Callable[..., Any]) -> Callable[[Any, Any, Any], Any]:
        """The objective at the worst rows that the ascent finds, of module, batch and step."""
        takes_step = len(inspect.signature(objective).parameters) > 2

        def robust(module: Any, batch: Any, step: Any) -> Any:
            more = (step,) if takes_step else ()
            if not step.training:
                return objective(module, batch, *more)
            rows, *rest = batch
            step.note(passes=float(self.passes))
            worst = self._ascend(lambda x: objective(module, (x, *rest), *more), module, rows, step)
            return objective(module, (worst, *rest), *more)

        return robust

    def _ascend(self, loss: Callable[[Any], Any], module: Any, rows: Any, step: Any) -> Any:
        torch = require("torch")
        low, high = (None, None) if self.bounds is None else self.bounds
        length = 2.5 * self.eps / max(self.steps, 1) if self.step is None else self.step
        delta = torch.zeros_like(rows)
        if self.random_start and self.eps:
            delta = self._start(step, rows)
        training = module.training
        module.eval()
        try:
            for _ in range(self.steps):
                here = _within(rows + delta, low, high).detach().requires_grad_()
                with torch.enable_grad():
                    found = loss(here)
                    total = (found[0] if isinstance(found, tuple) else found).sum()
                    (slope,) = torch.autograd.grad(total, here)
                moved = here.detach() - rows + length * _steepest(slope, self.norm)
                delta = _project(moved, self.eps, self.norm)
        finally:
            module.train(training)
        return _within(rows + delta, low, high).detach()

    def _start(self, step: Any, rows: Any) -> Any:
        shape = tuple(rows.shape[1:])
        if self.norm == "linf":
            return self.eps * (2 * step.uniform(*shape).to(rows) - 1)
        d = int(np.prod(shape))
        direction = _steepest(step.normal(*shape).to(rows), "l2")
        radius = self.eps * step.uniform(1).to(rows) ** (1 / d)
        return direction * radius.reshape(-1, *[1] * len(shape))


def _within(rows: Any, low: Any, high: Any) -> Any:
    return rows if low is None else rows.clamp(low, high)


def _lengths(rows: Any) -> Any:
    return rows.flatten(1).norm(dim=1).reshape(-1, *[1] * (rows.ndim - 1))


def _steepest(slope: Any, norm: str) -> Any:
    return slope.sign() if norm == "linf" else slope / _lengths(slope).clamp(min=1e-30)


def _project(delta: Any, eps: float, norm: str) -> Any:
    if norm == "linf":
        return delta.clamp(-eps, eps)
    return delta * (eps / _lengths(delta).clamp(min=1e-30)).clamp(max=1.0)
