"""Optimisers of the course, each a method of `scipy.optimize.minimize` that records its path.

`gradient_descent` (momentum, Nesterov, normalised, projected), `adagrad`, `rmsprop` and `adam` are
one loop with different update rules; `newton` brings the curvature; `stochastic_gradient_descent`
sees a few rows at a time; `continuation` follows a minimiser from an easy problem to a hard one.
Beside them stand the parts that they are made of: `projections` onto convex sets, `schedules` of
the step, and update `rules`. Each result has the ``fun_values``, ``gradient_norms`` and ``path`` of
its run, so that a rate can be measured and drawn.

Reading order: `rules`, `_first_order`, `_loop`, then the rest.
"""

from panlearn.optimize import projections, rules, schedules
from panlearn.optimize._continuation import continuation
from panlearn.optimize._first_order import adagrad, adam, gradient_descent, rmsprop
from panlearn.optimize._newton import newton
from panlearn.optimize._stochastic import stochastic_gradient_descent

__all__ = [
    "adagrad",
    "adam",
    "continuation",
    "gradient_descent",
    "newton",
    "projections",
    "rmsprop",
    "rules",
    "schedules",
    "stochastic_gradient_descent",
]
