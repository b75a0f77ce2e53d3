"""A layer that follows a differential equation."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from panlearn.generative.odeint import odeint


class ODELayer(nn.Module):
    r"""A residual network with a continuum of layers: inputs flow along a field for a while.

    .. math:: h(0) = x, \qquad \frac{dh}{dt} = f(h), \qquad \text{output } h(T)

    Parameters
    ----------
    field : torch.nn.Module
        :math:`f`, from states to their velocities, of the same shape.
    end : float, default=1.0
        :math:`T`.
    **solver
        Options of `odeint`: ``method``, ``step_size``, ``rtol``, ``atol``, ``gradient`` and so on.

    Notes
    -----
    With ``method="euler"`` and no ``step_size`` it is one residual layer, :math:`x + T f(x)`. Paths
    do not cross, so that what lies inside stays inside; columns of zeros beside the inputs, or a
    layer before that widens them, give paths room to go round each other. A row costs :math:`O(s)`
    passes of the field for s evaluations of the solver.

    References
    ----------
    Chen, Rubanova, Bettencourt, Duvenaud (2018). Neural ordinary differential equations. NeurIPS.
    arXiv:1806.07366

    Dupont, Doucet, Teh (2019). Augmented neural ODEs. NeurIPS. arXiv:1904.01681

    Examples
    --------
    >>> import torch
    >>> from panlearn.generative import ODELayer
    >>> layer = ODELayer(torch.nn.Linear(2, 2), method="rk4", step_size=0.1)
    >>> layer(torch.zeros(5, 2)).shape
    torch.Size([5, 2])
    """

    def __init__(self, field: nn.Module, end: float = 1.0, **solver: Any) -> None:
        super().__init__()
        self.field, self.end, self.solver = field, end, solver

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Follow the field."""
        options = {"parameters": self.field.parameters(), **self.solver}
        return odeint(lambda _, h: self.field(h), x, [0.0, self.end], **options).y[-1]
