"""Types of the fields that estimators of this family share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from panlearn.core.parameters import Bounds
from panlearn.optimize.rules import AdaGrad, Adam, Gradient, RMSProp

Count = Annotated[int, Bounds(1, 10**6, closed_low=True, closed_high=True)]
"""Units, rows of a batch, passes over the data."""
Share = Annotated[float, Bounds(0, 1, closed_low=True)]
"""From zero to below one, such as a rate of dropout."""
Optimizer = str | Callable | Gradient | AdaGrad | RMSProp | Adam
"""A name of `torch.optim`, a function of the parameters, or a rule of `panlearn.optimize`."""
Schedule = str | Callable
"""A name, or a function of the step that gives a factor."""
