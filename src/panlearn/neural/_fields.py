"""Types of the fields that estimators of this family share."""

from __future__ import annotations

from collections.abc import Callable

from panlearn.optimize.rules import AdaGrad, Adam, Gradient, RMSProp

Optimizer = str | Callable | Gradient | AdaGrad | RMSProp | Adam
"""A name of `torch.optim`, a function of the parameters, or a rule of `panlearn.optimize`."""
Schedule = str | Callable
"""A name, or a function of the step that gives a factor."""
