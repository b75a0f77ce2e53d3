"""Optimisers and schedules: PyTorch's by name or class, and the rules of `panlearn.optimize`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from panlearn.optimize.schedules import warmup_cosine

_NAMES: dict[str, Any] = {
    name.lower(): cls
    for name, cls in vars(torch.optim).items()
    if isinstance(cls, type) and issubclass(cls, torch.optim.Optimizer)
}
_NAMES.pop("optimizer", None)
_FUSED = ("adam", "adamw", "sgd", "adagrad")
_NORMS = (
    *(nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.modules.batchnorm._BatchNorm),
    nn.modules.instancenorm._InstanceNorm,
)
SCHEDULES = ("constant", "linear", "cosine", "warmup_cosine")


def decay_groups(module: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices decay; biases, the scales and shifts of norms, and other vectors do not."""
    if not weight_decay:
        every = [p for p in module.parameters() if p.requires_grad]
        return [{"params": every, "weight_decay": 0.0}]  # AdamW would decay by 0.01
    norms = {id(p) for m in module.modules() if isinstance(m, _NORMS) for p in m.parameters()}
    decayed: list[nn.Parameter] = []
    spared: list[nn.Parameter] = []
    for p in module.parameters():
        if p.requires_grad:
            (spared if p.ndim < 2 or id(p) in norms else decayed).append(p)
    groups = ((decayed, weight_decay), (spared, 0.0))
    return [{"params": params, "weight_decay": decay} for params, decay in groups if params]


def make_optimizer(
    optimizer: Any, module: nn.Module, learning_rate: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Build what steps: from a name, a class, a function of the parameters, or a rule."""
    groups = decay_groups(module, weight_decay)
    if not any(group["params"] for group in groups):
        raise ValueError("the module has no parameters that require a gradient: nothing to train")
    if isinstance(optimizer, str):
        if optimizer not in _NAMES:
            raise ValueError(
                f"optimizer={optimizer!r} must be one of {', '.join(sorted(_NAMES))}, a function "
                "of the parameters, or a rule of panlearn.optimize.rules"
            )
        more = {"fused": True} if optimizer in _FUSED and _can_fuse(groups) else {}
        return _NAMES[optimizer](groups, lr=learning_rate, **more)
    if hasattr(optimizer, "init") and hasattr(optimizer, "update"):
        return RuleOptimizer(groups, optimizer, learning_rate)
    made = optimizer.func if isinstance(optimizer, functools.partial) else optimizer
    if made is not optimizer and not weight_decay:  # then the partial may say what decays
        del groups[0]["weight_decay"]
    if isinstance(made, type) and issubclass(made, torch.optim.Optimizer):
        return optimizer(groups, lr=learning_rate)
    try:
        built = optimizer(groups)
    except (TypeError, ValueError) as error:
        raise TypeError(f"optimizer={optimizer!r} failed on the parameters: {error}") from error
    if not isinstance(built, torch.optim.Optimizer):
        raise TypeError(f"optimizer must return a torch Optimizer; got a {type(built).__name__}")
    return built


def check_memory(optimizer: torch.optim.Optimizer) -> None:
    """Refuse averages that have not the shape of their weights: one kernel for all follows these.

    They may come from a file.
    """
    for group in optimizer.param_groups:
        for p in group["params"] if group.get("fused") else ():
            for name, value in optimizer.state.get(p, {}).items():
                if torch.is_tensor(value) and value.ndim and value.shape != p.shape:
                    raise ValueError(
                        f"{name} of the optimiser has the shape {tuple(value.shape)}, and its "
                        f"weights have {tuple(p.shape)}; fit the model anew"
                    )


def _can_fuse(groups: Iterable[dict[str, Any]]) -> bool:
    """One kernel for all parameters: half the time of a loop over them on small networks."""
    parameters = [p for group in groups for p in group["params"]]
    return all(type(p) is nn.Parameter and p.is_floating_point() for p in parameters) and all(
        p.device.type in ("cpu", "cuda") for p in parameters
    )


class RuleOptimizer(torch.optim.Optimizer):
    r"""A rule of `panlearn.optimize.rules` on the parameters of a module.

    .. math:: \theta \leftarrow (1 - \eta \lambda)\, \theta - \eta\, d(g)

    The rule sees all gradients as one vector, in NumPy, so it is for small networks on the CPU.
    """

    def __init__(self, groups: list[dict[str, Any]], rule: Any, learning_rate: float) -> None:
        super().__init__(groups, {"lr": learning_rate, "weight_decay": 0.0})
        self._rule = rule

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step against the direction of the rule."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        parameters = [p for group in self.param_groups for p in group["params"]]
        zero = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        gradient = torch.cat([g.detach().flatten() for g in zero]).cpu().numpy()
        # the memory lives with the first parameter, so that state_dict carries it
        state = self.state[parameters[0]]
        k = int(state.get("k", 0))
        memory = _to_numpy(state["memory"]) if k else self._rule.init(gradient)
        direction, memory = self._rule.update(k, gradient, memory)
        state["k"], state["memory"] = k + 1, _to_tensor(memory)
        position = 0
        for group in self.param_groups:
            for p in group["params"]:
                part = torch.from_numpy(direction[position : position + p.numel()]).view_as(p)
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(
                    part.to(p), alpha=float(group["lr"])
                )
                position += p.numel()
        return loss


def _to_tensor(memory: Any) -> Any:
    if isinstance(memory, tuple):
        return [_to_tensor(m) for m in memory]
    return torch.from_numpy(np.array(memory))


def _to_numpy(memory: Any) -> Any:
    return tuple(_to_numpy(m) for m in memory) if isinstance(memory, list) else memory.numpy()


class Schedule:
    """What sets the learning rate in the course of a run; a class says when it acts."""

    def before_step(self, step: int) -> None:
        """Set the rate of a step."""

    def after_step(self) -> None:
        """Count the step."""

    def after_epoch(self, loss: float) -> None:
        """Look at how a row of the history went."""

    def state_dict(self) -> dict[str, Any]:
        """Return what a run that is taken up needs."""
        return {}

    def load_state_dict(self, state: Any) -> None:
        """Take up what `state_dict` gave, after the optimiser has taken up its own."""


class ConstantSchedule(Schedule):
    """The learning rate of the settings, whatever a state that is taken up says."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._rates = [group["lr"] for group in optimizer.param_groups]

    def load_state_dict(self, state: Any) -> None:
        """Go back to the rate of the settings."""
        set_rates(self._optimizer, self._rates)


class FactorSchedule(Schedule):
    r"""The learning rate of step k is :math:`\eta_0 s(k)`; it has no memory."""

    def __init__(self, optimizer: torch.optim.Optimizer, factor: Callable[[int], Any]) -> None:
        self._optimizer, self._factor = optimizer, factor
        self._base = [group["lr"] for group in optimizer.param_groups]

    def before_step(self, step: int) -> None:
        """Set the rate of a step."""
        factor = float(self._factor(step))
        set_rates(self._optimizer, [base * factor for base in self._base])


class TorchSchedule(Schedule):
    """A scheduler of `torch.optim.lr_scheduler`: it counts steps, `ReduceLROnPlateau` epochs."""

    def __init__(self, scheduler: LRScheduler) -> None:
        self._scheduler = scheduler
        self._plateau = isinstance(scheduler, ReduceLROnPlateau)

    def after_step(self) -> None:
        """Advance the scheduler."""
        if not self._plateau:
            self._scheduler.step()

    def after_epoch(self, loss: float) -> None:
        """Tell the plateau scheduler how the epoch went."""
        if self._plateau:
            self._scheduler.step(loss)  # type: ignore[arg-type]

    def state_dict(self) -> dict[str, Any]:
        """Return the scheduler's own."""
        return self._scheduler.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Give the scheduler its own back."""
        self._scheduler.load_state_dict(state)


def set_rates(optimizer: torch.optim.Optimizer, rates: list[float]) -> None:
    """Give the groups of parameters their learning rates."""
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate


def make_schedule(
    schedule: Any, optimizer: torch.optim.Optimizer, total_steps: int | None
) -> Schedule:
    """Build what sets the learning rate: a name, a factor of the step, or a class of PyTorch."""
    if schedule == "constant":
        return ConstantSchedule(optimizer)
    if isinstance(schedule, str):
        if total_steps is None and schedule in SCHEDULES:
            raise ValueError(
                f"schedule={schedule!r} needs the number of steps, which the data do not tell: "
                "give max_steps, or batches.Stream(source, length=)"
            )
        return FactorSchedule(optimizer, _named_factor(schedule, total_steps or 1))
    made = schedule.func if isinstance(schedule, functools.partial) else schedule
    if isinstance(made, type) and issubclass(made, LRScheduler):
        return TorchSchedule(schedule(optimizer))
    if not callable(schedule):
        raise TypeError(f"schedule={schedule!r} must be a name, a function of the step, or a class")
    return FactorSchedule(optimizer, schedule)


def _named_factor(name: str, total: int) -> Callable[[int], Any]:
    if name == "linear":
        return lambda k: max(0.0, 1 - k / total)
    if name == "cosine":
        return lambda k: 0.5 + 0.5 * math.cos(math.pi * min(1.0, k / total))
    if name == "warmup_cosine":  # a twentieth of the way up, as language models are trained
        return warmup_cosine(min(-(-total // 20), total - 1), total)
    raise ValueError(
        f"schedule={name!r} must be one of {', '.join(SCHEDULES)}, a function of the step that "
        "returns a factor, or a class of torch.optim.lr_scheduler"
    )
