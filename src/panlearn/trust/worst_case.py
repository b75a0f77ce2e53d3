"""Objectives at the worst rows near those that are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from panlearn.core.extras import require


@dataclass(frozen=True)
class WorstCase:
    r"""Turn an objective of `panlearn.neural.train` into its worst case within a ball.

    .. math:: \min_\theta \frac1n \sum_i \max_{\|\delta_i\| \le \epsilon}
        \ell\bigl(f_\theta(x_i + \delta_i), y_i\bigr)

    Parameters
    ----------
    eps : float
        The radius of the ball.
    norm : {"linf", "l2"}, default="linf"
        Its norm.
    steps : int, default=7
        Steps of projected gradient ascent for each batch.
    step : float, default=None
        Their length; 2.5 eps / steps by default, eps if the weights learn at each.
    random_start : bool, default=True
        Whether the ascent starts at random in the ball.
    bounds : tuple (low, high), default=None
        The box that rows stay in.
    replay : bool, default=False
        Whether the weights learn at each step of the ascent, from the same pass.

    Attributes
    ----------
    passes : int
        Forward and backward passes for each batch: one a step, and one that learns unless each
        does.

    Notes
    -----
    The first part of a batch is the rows that are moved, the rest goes to the objective as it is.
    The ascent sees the module in evaluation mode and leaves the gradients of its parameters alone;
    then the perturbation is held fixed, and the gradient in the parameters is taken at the rows it
    leads to, which is that of the inner maximum. What an objective draws, as augmentation does, is
    the same in each step. Validation data are measured as they are. Starts are drawn from the seed
    and the step. The history of a run tells the ``passes``.

    `fast` is the variant of one long step; `free` replays each batch, and one pass gives the
    gradients of weights and rows. There the paper carries the perturbation of one batch over to
    the next, of other rows; here each batch starts at random. A step costs :math:`O(s)` passes more
    for s moves of the rows.

    References
    ----------
    A. Madry, A. Makelov, L. Schmidt, D. Tsipras and A. Vladu (2018). Towards deep learning models
    resistant to adversarial attacks. arXiv:1706.06083

    A. Shafahi, M. Najibi, A. Ghiasi, Z. Xu, J. Dickerson, C. Studer, L. S. Davis, G. Taylor and
    T. Goldstein (2019). Adversarial training for free! arXiv:1904.12843

    E. Wong, L. Rice and J. Z. Kolter (2020). Fast is better than free: revisiting adversarial
    training. arXiv:2001.03994

    Examples
    --------
    >>> import numpy as np, torch
    >>> from panlearn.neural import train
    >>> from panlearn.trust import WorstCase
    >>> def loss(module, batch):
    ...     return torch.nn.functional.cross_entropy(module(batch[0]), batch[1], reduction="none")
    >>> X = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    >>> robust = WorstCase(0.1, steps=3)
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
    replay: bool = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.eps) and self.eps >= 0):
            raise ValueError(f"eps={self.eps!r} must be a finite number, zero or more")
        if self.norm not in ("linf", "l2"):
            raise ValueError(f"norm={self.norm!r} must be 'linf' or 'l2'")
        if self.steps < self.replay:
            least = "one or more, to learn at" if self.replay else "zero or more"
            raise ValueError(f"steps={self.steps!r} must be {least}")
        if self.bounds is not None and not (
            len(self.bounds) == 2 and self.bounds[0] < self.bounds[1]
        ):
            raise ValueError(f"bounds={self.bounds!r} must be a lower and a higher number")

    @classmethod
    def fast(cls, eps: float, **options: Any) -> Self:
        """One step of 1.25 eps from a random start: two passes a batch."""
        return cls(eps, steps=1, step=1.25 * eps, **options)

    @classmethod
    def free(cls, eps: float, replays: int = 4, **options: Any) -> Self:
        """As many steps of eps as a batch is replayed, all of which learn: a pass for each."""
        return cls(eps, steps=replays, replay=True, **options)

    @property
    def passes(self) -> int:
        """Forward and backward passes for each batch."""
        return self.steps + (not self.replay)

    @property
    def _length(self) -> float:
        if self.step is not None:
            return self.step
        return self.eps if self.replay else 2.5 * self.eps / max(self.steps, 1)

    def __call__(
        self, objective: Callable[..., Any], mean: Any = 0.0, scale: Any = 1.0
    ) -> Callable[..., Any]:
        """The objective at the worst rows that the ascent finds, of module, batch and step.

        Parameters
        ----------
        objective : callable
            As `neural.train` takes it: of module and batch, or of module, batch and step.
        mean, scale : float or array-like that broadcasts with the rows
            If a batch holds (x - mean) / scale: ball, step and box are then those of x.

        Returns
        -------
        callable
            An objective of module, batch and step.
        """
        takes_step = len(inspect.signature(objective).parameters) > 2

        def loss(module: Any, batch: Any, step: Any) -> Any:
            return objective(module, batch, *((step,) if takes_step else ()))

        def robust(module: Any, batch: Any, step: Any) -> Any:
            if not step.training:
                return loss(module, batch, step)
            step.note(passes=float(self.passes))
            ball = _Ball(self, batch[0], mean, scale)
            rows = self._ascend(lambda x: loss(module, (x, *batch[1:]), step), module, ball, step)
            return loss(module, (rows, *batch[1:]), step)

        def replayed(module: Any, batch: Any, step: Any) -> Iterator[Any]:
            if not step.training:
                yield module, *_parts(loss(module, batch, step))
                return
            step.note(passes=float(self.passes))
            ball = _Ball(self, batch[0], mean, scale)
            rows = ball.start(step)
            draws = step.draws
            for _ in range(self.steps):
                rows = rows.requires_grad_()
                with step.again(draws):
                    found = _parts(loss(module, (rows, *batch[1:]), step))
                yield module, *found
                rows = ball.climb(rows.detach(), rows.grad)  # the loop has gone back to the rows

        return replayed if self.replay else robust

    def _ascend(self, loss: Callable[[Any], Any], module: Any, ball: _Ball, step: Any) -> Any:
        torch = require("torch")
        rows = ball.start(step)
        draws, training = step.draws, module.training
        module.eval()
        try:
            for _ in range(self.steps):
                rows = rows.requires_grad_()
                with torch.enable_grad(), step.again(draws):
                    (slope,) = torch.autograd.grad(_parts(loss(rows))[0].sum(), rows)
                rows = ball.climb(rows.detach(), slope)
        finally:
            module.train(training)
        return rows


class _Ball:
    """The ball around the rows of a batch, and the box, in the units that they had once."""

    def __init__(self, case: WorstCase, centre: Any, mean: Any, scale: Any) -> None:
        self.case, self.centre = case, centre
        self.scale = _like(scale, centre)
        self.low: Any = None
        self.high: Any = None
        if case.bounds is not None:
            low, high = (_like(b, centre) - _like(mean, centre) for b in case.bounds)
            self.low, self.high = low / self.scale, high / self.scale

    def start(self, step: Any) -> Any:
        """Rows that an ascent starts at."""
        eps, shape = self.case.eps, tuple(self.centre.shape[1:])
        if not (self.case.random_start and eps):
            return self._at(self.centre.new_zeros(()))
        if self.case.norm == "linf":
            return self._at(eps * (2 * step.uniform(*shape).to(self.centre) - 1))
        direction = _steepest(step.normal(*shape).to(self.centre), "l2")
        radius = eps * step.uniform(1).to(self.centre) ** (1 / int(np.prod(shape)))
        return self._at(direction * radius.reshape(-1, *[1] * len(shape)))

    def climb(self, rows: Any, slope: Any) -> Any:
        """Rows after a step along the slope of the loss, back in the ball."""
        steepest = _steepest(slope / self.scale, self.case.norm)
        moved = (rows - self.centre) * self.scale + self.case._length * steepest
        return self._at(_project(moved, self.case.eps, self.case.norm))

    def _at(self, delta: Any) -> Any:
        rows = self.centre + delta / self.scale
        return (rows if self.low is None else rows.clamp(self.low, self.high)).detach()


def _like(value: Any, rows: Any) -> Any:
    return require("torch").as_tensor(np.asarray(value)).to(rows)


def _parts(found: Any) -> tuple[Any, ...]:
    """The losses of rows, and their weights if there are any."""
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def _lengths(rows: Any) -> Any:
    return rows.flatten(1).norm(dim=1).reshape(-1, *[1] * (rows.ndim - 1))


def _steepest(slope: Any, norm: str) -> Any:
    return slope.sign() if norm == "linf" else slope / _lengths(slope).clamp(min=1e-30)


def _project(delta: Any, eps: float, norm: str) -> Any:
    if norm == "linf":
        return delta.clamp(-eps, eps)
    return delta * (eps / _lengths(delta).clamp(min=1e-30)).clamp(max=1.0)
