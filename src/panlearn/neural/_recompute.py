"""Activation recomputation: blocks keep their inputs alone and are worked out again going back."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from torch import nn
from torch.utils.checkpoint import checkpoint

from panlearn.neural._processes import blocks
from panlearn.neural._step import current_step


@contextmanager
def recomputing(module: nn.Module, wanted: bool) -> Iterator[None]:
    """Inside the block, the members of lists and sequences of a module are worked out twice."""
    members = blocks(module) if wanted else []
    for block in members:
        block.forward = functools.partial(_twice, block.forward)
    try:
        yield
    finally:
        for block in members:
            del block.forward


def _twice(forward: Any, *inputs: Any, **more: Any) -> Any:
    return checkpoint(forward, *inputs, use_reentrant=False, context_fn=_contexts, **more)


def _contexts() -> tuple[Any, Any]:
    """What surrounds the two passes: the second draws what the first did."""
    step = current_step()
    return nullcontext(), nullcontext() if step is None else step.again(step.draws)
