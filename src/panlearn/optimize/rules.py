r"""Update rules of the first-order methods: how a gradient and a memory make a direction.

.. math:: x_{k+1} = P\bigl(x_k - \eta_k \, d_k\bigr)

A rule is a frozen dataclass of its constants with two pure methods: ``init(x)`` gives the memory
at the start and ``update(k, gradient, memory)`` the direction :math:`d_k` with the next memory.
The constants and their defaults are those of ``torch.optim``.

An update costs :math:`O(d)` for d variables, and a memory is at most two vectors.

References
----------
Polyak (1964). Some methods of speeding up the convergence of iteration methods.
doi:10.1016/0041-5553(64)90137-5

Duchi, Hazan, Singer (2011). Adaptive subgradient methods for online learning and stochastic
optimization. JMLR 12.

Tieleman, Hinton (2012). Lecture 6.5: RMSProp. Neural Networks for Machine Learning.

Kingma, Ba (2015). Adam: a method for stochastic optimization. ICLR. arXiv:1412.6980

Examples
--------
>>> import numpy as np
>>> from panlearn.optimize.rules import Adam
>>> rule = Adam()
>>> direction, memory = rule.update(0, np.array([3.0, -0.01]), rule.init(np.zeros(2)))
>>> direction.round(4)
array([ 1., -1.])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import norm

from panlearn.optimize._problem import Vector

__all__ = ["AdaGrad", "Adam", "Gradient", "RMSProp", "Rule"]


class Rule(Protocol):
    """What the loop asks of an update rule."""

    def init(self, x: Vector) -> Any:
        """Return the memory before the first step."""
        ...

    def update(self, k: int, gradient: Vector, memory: Any) -> tuple[Vector, Any]:
        """Return the direction to step against, and the memory for the next step."""
        ...


@dataclass(frozen=True)
class Gradient:
    r"""The gradient, with momentum if asked.

    .. math:: v_k = \beta_k v_{k-1} + g_k, \qquad d_k = v_k \ \text{or}\ g_k + \beta_{k+1} v_k

    The second form is Nesterov's. `momentum` is a number in [0, 1] or a function of k, such as
    ``lambda k: (k - 1) / (k + 2)`` for the accelerated rate; `normalize` first divides g by its
    length.
    """

    momentum: float | Callable[[int], float] = 0.0
    nesterov: bool = False
    normalize: bool = False

    def __post_init__(self) -> None:
        if not callable(self.momentum):
            check_unit("momentum", self.momentum, closed=True)
            if self.nesterov and self.momentum == 0:
                raise ValueError("nesterov needs a momentum above zero, such as 0.9")

    def init(self, x: Vector) -> Vector:
        """No velocity."""
        return np.zeros_like(x)

    def update(self, k: int, gradient: Vector, memory: Vector) -> tuple[Vector, Vector]:
        """Return the velocity, or Nesterov's look ahead of it."""
        if self.normalize and (length := norm(gradient, check_finite=False)) > 0:
            gradient = gradient / length
        velocity = self._momentum(k) * memory + gradient
        ahead = gradient + self._momentum(k + 1) * velocity if self.nesterov else velocity
        return ahead, velocity

    def _momentum(self, k: int) -> float:
        return self.momentum(k) if callable(self.momentum) else self.momentum


@dataclass(frozen=True)
class AdaGrad:
    r"""Divide by the root of the sum of squares.

    .. math:: d_k = g_k / \bigl(\sqrt{\textstyle\sum_{i \le k} g_i^2} + \epsilon\bigr)
    """

    epsilon: float = 1e-10

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    def init(self, x: Vector) -> Vector:
        """Start with an empty sum."""
        return np.zeros_like(x)

    def update(self, k: int, gradient: Vector, memory: Vector) -> tuple[Vector, Vector]:
        """Return the scaled gradient."""
        total = memory + gradient**2
        return gradient / (np.sqrt(total) + self.epsilon), total


@dataclass(frozen=True)
class RMSProp:
    r"""Divide by the root of a moving average of squares.

    .. math:: s_k = \beta s_{k-1} + (1 - \beta) g_k^2, \qquad d_k = g_k / (\sqrt{s_k} + \epsilon)
    """

    beta: float = 0.99
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        check_unit("beta", self.beta)
        check_epsilon(self.epsilon)

    def init(self, x: Vector) -> Vector:
        """Start with an average of zero."""
        return np.zeros_like(x)

    def update(self, k: int, gradient: Vector, memory: Vector) -> tuple[Vector, Vector]:
        """Return the scaled gradient."""
        average = self.beta * memory + (1 - self.beta) * gradient**2
        return gradient / (np.sqrt(average) + self.epsilon), average


@dataclass(frozen=True)
class Adam:
    r"""Moving averages of the gradient and of its square, each freed of its bias to zero.

    .. math::

        m_k = \beta_1 m_{k-1} + (1 - \beta_1) g_k, \quad
        v_k = \beta_2 v_{k-1} + (1 - \beta_2) g_k^2, \quad
        d_k = \frac{m_k / (1 - \beta_1^{k+1})}{\sqrt{v_k / (1 - \beta_2^{k+1})} + \epsilon}
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        check_unit("beta1", self.beta1)
        check_unit("beta2", self.beta2)
        check_epsilon(self.epsilon)

    def init(self, x: Vector) -> tuple[Vector, Vector]:
        """Two averages of zero."""
        return np.zeros_like(x), np.zeros_like(x)

    def update(self, k: int, gradient: Vector, memory: Any) -> tuple[Vector, Any]:
        """Return the mean over the root of the mean square."""
        mean = self.beta1 * memory[0] + (1 - self.beta1) * gradient
        square = self.beta2 * memory[1] + (1 - self.beta2) * gradient**2
        root = np.sqrt(square / (1 - self.beta2 ** (k + 1)))
        return mean / (1 - self.beta1 ** (k + 1)) / (root + self.epsilon), (mean, square)


def check_unit(name: str, value: float, closed: bool = False) -> None:
    """Raise unless the value lies in [0, 1), or [0, 1] if closed."""
    if not (0 <= value < 1 or (closed and value == 1)):
        raise ValueError(f"{name}={value!r} must lie in [0, 1{']' if closed else ')'}")


def check_epsilon(epsilon: float) -> None:
    """Raise unless epsilon is above zero: it keeps a zero gradient from dividing zero by zero."""
    if not epsilon > 0:
        raise ValueError(f"epsilon={epsilon!r} must be above zero")
