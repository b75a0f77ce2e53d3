"""The penalty on differences of mean scores, for networks that train in the loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def fair_objective(objective: Callable[..., Any], strength: float) -> Callable[..., Any]:
    r"""An objective with :math:`\lambda \sum_{c, a} \| \bar f_{ca} - \bar f_c \|^2` of each batch.

    Parameters
    ----------
    objective : callable
        Of module and batch, or of module, batch and step; it runs the module once.
    strength : float
        The factor of the penalty.

    Returns
    -------
    callable
        Of module, batch and step. The last two parts of a batch are, for each row, the part of the
        rows that it is compared in, or -1, and its group.
    """
    takes_step = len(inspect.signature(objective).parameters) > 2

    def fair(module: Any, batch: Any, step: Any) -> Any:
        *own, part, group = batch
        with _outputs(module) as seen:
            found = objective(module, tuple(own), *((step,) if takes_step else ()))
        if not step.training:
            return found
        losses, *weights = found if isinstance(found, tuple | list) else (found,)
        scores = seen[-1].flatten(1)
        weight = weights[0] if weights else scores.new_ones(len(scores))
        unequal = penalty(scores, weight, part, group)
        step.note(unfairness=unequal)
        return (losses + strength * unequal, *weights) if weights else losses + strength * unequal

    return fair


def penalty(scores: Any, weight: Any, part: Any, group: Any) -> Any:
    """The squared distances of the mean scores of groups from that of their part, summed."""
    total = scores.new_zeros(())
    for c in part[part >= 0].unique():
        there = part == c
        whole = _mean(scores, weight * there)
        for a in group[there].unique():
            total = total + (_mean(scores, weight * (there & (group == a))) - whole).square().sum()
    return total


def _mean(scores: Any, weight: Any) -> Any:
    return weight @ scores / weight.sum()


@contextmanager
def _outputs(module: Any) -> Iterator[list[Any]]:
    """What the module gives while the context lasts."""
    seen: list[Any] = []
    handle = module.register_forward_hook(lambda _module, _input, output: seen.append(output))
    try:
        yield seen
    finally:
        handle.remove()
