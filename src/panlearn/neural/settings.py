"""The settings of training, written once: `train` takes them, deep estimators inherit them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, Literal, TypeVar

from panlearn.core.documentation import document_keywords, inherit_documentation
from panlearn.core.parameters import (
    BelowOne,
    Count,
    NonNegative,
    Positive,
    RandomState,
    check_parameters,
)
from panlearn.neural._hooks import Hook
from panlearn.neural.lora import LoRA
from panlearn.optimize.rules import AdaGrad, Adam, Gradient, RMSProp

F = TypeVar("F", bound=Callable[..., Any])

Optimizer = str | Callable | Gradient | AdaGrad | RMSProp | Adam
"""A name of `torch.optim`, a function of the parameters, or a rule of `panlearn.optimize`."""


@dataclass(eq=False, repr=False, kw_only=True)
class Settings:
    """How a run of training goes.

    Parameters
    ----------
    batch_size : int, default=32
        Examples of a step, over all processes and pieces.
    max_epochs : int, default=None
        The most passes over the data; 10 if `max_steps` is not given either.
    max_steps : int, default=None
        The most steps.
    optimizer : str, class, callable or rule, default="adamw"
        A name of `torch.optim` in lower case; a class of it or a `functools.partial` of one; a
        function from parameter groups to an optimiser; or a rule of `panlearn.optimize.rules`.
    learning_rate : float, default=0.001
        The length of a step where the schedule is 1.
    schedule : str, callable or class, default="constant"
        The factor of the learning rate over time: "constant", "linear" or "cosine" to zero,
        "warmup_cosine"; a function of the step such as those of `panlearn.optimize.schedules`; or a
        class, or partial, of `torch.optim.lr_scheduler`, which then counts steps.
    weight_decay : float, default=0.0
        The optimiser's; it leaves out biases, norms and other vectors.
    clip_norm : float, default=None
        The largest norm of the gradient; a longer one is shortened to it.
    accumulate : int, default=1
        In how many pieces a batch is computed, to save memory; the step is the same. An objective
        that looks at its whole batch, as contrasts and balanced experts do, has one piece. Dropout
        of texts that are padded to the longest of a piece depends on the pieces.
    ema_decay : float, default=None
        The decay of an exponential moving average of the weights, which validation sees and the
        module ends with. It warms up: of step t it is at most (1 + t) / (10 + t).
    precision : {"float32", "bfloat16"}, default="float32"
        "bfloat16" computes losses under `torch.autocast`; the weights stay as they are.
    patience : int, default=None
        Stop after so many rows of the history without a lower validation loss, and go back to the
        best weights.
    evaluate_every : int, default=None
        Steps between the rows of the history, each with a measurement of the validation data; None
        for one row an epoch.
    freeze : tuple of str, default=()
        Names of parameters that do not learn, with wildcards: ``("tokens.*", "blocks.0.*")``.
    lora : LoRA, default=None
        Learn low-rank additions to weights in the place of the weights; they are added in the end.
    recompute : bool, default=False
        Whether to work blocks out again on the way back, to save the memory of what they gave.
    compile : bool, default=False
        Whether to compile the module with `torch.compile`.
    checkpoint : path, default=None
        A folder to keep the state of the run in.
    checkpoint_every : int, default=None
        Steps between checkpoints; None for one a row of the history.
    keep : int, default=1
        How many of the last checkpoints stay in the folder.
    resume : bool, default=False
        Whether to go on with the run in the folder if there is one. Without it, a folder that holds
        a run is refused.
    hooks : sequence of Hook, default=()
        Called after each step and row of the history.
    strategy : {"ddp", "fsdp"}, default="ddp"
        Under torchrun: whether every process holds all weights, or each a shard of the blocks.
    random_state : int, Generator or RandomState, default=None
        Seeds what is drawn: first weights, the order of the rows, dropout, noise.
    verbose : bool, default=False
        Whether to report on standard error: loss, steps a second, time left.
    """

    batch_size: Count = 32
    max_epochs: Count | None = None
    max_steps: Positive[int] | None = None
    optimizer: Optimizer = "adamw"
    learning_rate: Positive[float] = 1e-3
    schedule: str | Callable = "constant"
    weight_decay: NonNegative[float] = 0.0
    clip_norm: Positive[float] | None = None
    accumulate: Count = 1
    ema_decay: BelowOne | None = None
    precision: Literal["float32", "bfloat16"] = "float32"
    patience: Positive[int] | None = None
    evaluate_every: Positive[int] | None = None
    freeze: tuple | list = ()
    lora: LoRA | None = None
    recompute: bool = False
    compile: bool = False
    checkpoint: str | PathLike | None = None
    checkpoint_every: Positive[int] | None = None
    keep: Count = 1
    resume: bool = False
    hooks: Sequence[Hook] = ()
    strategy: Literal["ddp", "fsdp"] = "ddp"
    random_state: RandomState = None
    verbose: bool = False

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        inherit_documentation(cls, Settings)

    def _training(self, **changes: Any) -> Settings:
        """These settings alone, with some of them changed."""
        own = {field.name: getattr(self, field.name) for field in fields(Settings)}
        return Settings(**{**own, **changes})

    def _check(self) -> None:
        """Refuse values that no run can have, and those that contradict each other."""
        check_parameters(self)
        if self.checkpoint is not None and not str(self.checkpoint):
            raise ValueError("checkpoint='' is no folder; None keeps no state")
        if self.resume and self.checkpoint is None:
            raise ValueError("resume=True needs the folder of the checkpoint: give checkpoint")
        if not all(isinstance(name, str) for name in self.freeze):
            raise ValueError(f"freeze={self.freeze!r} must be a tuple of names of parameters")
        if not all(isinstance(hook, Hook) for hook in self.hooks):
            raise ValueError(f"hooks={self.hooks!r} must be a list of instances of neural.Hook")


# What the steps of a run depend on: a run that is taken up must have the same.
DECISIVE = (
    *("batch_size", "optimizer", "learning_rate", "schedule", "weight_decay", "clip_norm"),
    *("ema_decay", "precision", "freeze", "lora"),
)


def document_function(function: F) -> F:
    """Write the settings into the docstring and the signature of a function of ``**settings``."""
    return document_keywords(Settings)(function)
