"""Who learns: a module with its optimiser, schedule, clip and, if asked, a teacher."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

from panlearn.neural._average import Follower
from panlearn.neural._optimizers import check_memory, make_optimizer, make_schedule, set_rates
from panlearn.neural._processes import Processes, blocks
from panlearn.neural.lora import merge
from panlearn.neural.settings import Settings

_OWN = ("optimizer", "learning_rate", "schedule", "weight_decay", "clip_norm")


class Player:
    r"""A module that learns in a run, with what is its own of the settings.

    .. math:: \theta \leftarrow \theta - \eta s(t) d(\nabla_\theta L), \qquad
              \bar\theta \leftarrow \beta \bar\theta + (1 - \beta) \theta

    Calling a player calls its module. In an objective ``player.module`` is the module that learns
    and ``player.teacher`` the one that follows it.

    Parameters
    ----------
    module : torch.nn.Module
        What learns.
    optimizer, learning_rate, schedule, weight_decay, clip_norm : object, default=None
        As in `train`, whose own are taken if these are None.
    teacher : float, default=None
        The decay of a teacher: a copy of the module that follows it by an exponential moving
        average, whose decay warms up as (1 + t) / (10 + t).

    References
    ----------
    Tarvainen, Valpola (2017). Mean teachers are better role models. NeurIPS. arXiv:1703.01780

    Examples
    --------
    >>> import torch
    >>> from panlearn.neural import Player
    >>> critic = Player(torch.nn.Linear(2, 1), learning_rate=2e-4, optimizer="rmsprop")
    >>> student = Player(torch.nn.Linear(2, 8), teacher=0.996)
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        optimizer: Any = None,
        learning_rate: float | None = None,
        schedule: Any = None,
        weight_decay: float | None = None,
        clip_norm: float | None = None,
        teacher: float | None = None,
    ) -> None:
        if not isinstance(module, nn.Module):
            raise TypeError(f"a player is a torch.nn.Module; got a {type(module).__name__}")
        if teacher is not None and not 0 <= teacher < 1:
            raise ValueError(f"teacher={teacher!r} must lie in [0, 1): it is a decay")
        own = (optimizer, learning_rate, schedule, weight_decay, clip_norm)
        self.own = {k: v for k, v in zip(_OWN, own, strict=True) if v is not None}
        self.module, self._given, self._decay = module, module, teacher
        self.name = ""
        self.moves = 0
        self._teacher: Follower | None = None
        self._average: Follower | None = None
        self._adapters: dict[str, torch.Tensor] = {}

    def __call__(self, *inputs: Any, **more: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **more)

    @property
    def teacher(self) -> nn.Module:
        """The module that follows this player's."""
        if self._teacher is None:
            raise ValueError(f"player {self.name!r} has no teacher: give Player(module, teacher=)")
        return self._teacher.module

    @property
    def given(self) -> nn.Module:
        """The module as it was given, which has what was learned when the run is over."""
        return self._given

    @property
    def adapters(self) -> dict[str, torch.Tensor]:
        """What LoRA added to the weights, when the run is over."""
        return self._adapters

    def begin(self, name: str, settings: Settings, processes: Processes, total: int | None) -> None:
        """Make ready for a run."""
        self.name, self.moves, self._processes = name, 0, processes
        self.settings = settings._training(**self.own)
        self._frozen = {n: p.requires_grad for n, p in self._given.named_parameters()}
        freeze(self._given, settings.freeze)
        if settings.lora is not None:
            settings.lora.attach(self._given)
        self.module = processes.share(self._given)
        if self._decay is not None:
            self._teacher = Follower(self._given, self._decay, processes)
        if settings.ema_decay is not None:
            self._average = Follower(self._given, settings.ema_decay, processes)
        chosen = self.settings
        self.optimizer = make_optimizer(
            chosen.optimizer, self.module, chosen.learning_rate, chosen.weight_decay
        )
        self.parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        self.schedule = make_schedule(chosen.schedule, self.optimizer, total)

    def forget_gradient(self) -> None:
        """What `zero_grad` of the optimiser does, which takes a tenth of a small network's step."""
        for parameter in self.parameters:
            parameter.grad = None

    def update(self, closure: Any) -> None:
        """Make a move: the gradients are there, and `closure` gives the loss they are of."""
        self.optimizer.step(closure)
        for follower in (self._teacher, self._average):
            if follower is not None:
                follower.follow(self.module, self.moves)
        self.moves += 1

    def clip(self) -> None:
        """Shorten a gradient that is too long."""
        if self.settings.clip_norm is not None:
            self._shorten(self.settings.clip_norm)

    @torch.no_grad()
    def _shorten(self, longest: float) -> None:
        if not self._processes.sharded:
            nn.utils.clip_grad_norm_(self.parameters, longest)
            return
        gradients: list[Any] = [p.grad for p in self.parameters if p.grad is not None]
        squares = [g.norm() ** 2 for g in gradients]
        norm = math.sqrt(sum(float(getattr(s, "full_tensor", lambda s=s: s)()) for s in squares))
        if norm > longest:
            for gradient in gradients:
                gradient.mul_(longest / (norm + 1e-6))

    @property
    def rate(self) -> float:
        """The learning rate of the last step."""
        return float(self.optimizer.param_groups[0]["lr"])

    def modules(self) -> list[nn.Module]:
        """The module and those that follow it."""
        followers = [f.module for f in (self._teacher, self._average) if f is not None]
        return [self.module, *followers]

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Inside the block the player's module is its average, if there is one."""
        live = self.module
        self.module = live if self._average is None else self._average.module
        try:
            yield
        finally:
            self.module = live

    @contextmanager
    def compiled(self, wanted: bool) -> Iterator[None]:
        """Inside the block calls of the module are compiled, and of its blocks by themselves.

        An objective may call what is not ``forward``, and blocks are where the time goes.
        """
        own = [m for m in blocks(self.module) if not type(m).__module__.startswith("torch.")]
        parts = [self.module, *own] if wanted else []
        for part in parts:
            part.compile()
        try:
            yield
        finally:
            for part in parts:
                part._compiled_call_impl = None

    def state(self) -> dict[str, Any]:
        """All that a checkpoint needs, on every process."""
        weights, memory = self._processes.state(self.module, self.optimizer)
        whole = self._processes.weights
        return {
            "weights": weights,
            "memory": memory,
            "moves": self.moves,
            "schedule": self.schedule.state_dict(),
            "teacher": None if self._teacher is None else whole(self._teacher.module),
            "average": None if self._average is None else whole(self._average.module),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self._processes.load(self.module, self.optimizer, state["weights"], state["memory"])
        self.moves = state["moves"]
        self.schedule.load_state_dict(state["schedule"])
        for name, follower in (("teacher", self._teacher), ("average", self._average)):
            if (follower is None) != (state[name] is None):
                raise ValueError(f"one of the two has no {name}")
            if follower is not None:
                self._processes.load_weights(follower.module, state[name])

    def remember(self, memory: dict[str, Any]) -> None:
        """Take up what an optimiser remembered; the learning rate is that of the settings."""
        rates = [group["lr"] for group in self.optimizer.param_groups]
        self.optimizer.load_state_dict(memory)
        check_memory(self.optimizer)
        set_rates(self.optimizer, rates)

    def best(self) -> dict[str, torch.Tensor]:
        """A copy of the weights that the run would end with now."""
        with self.averaged():
            weights = self._processes.weights(self.module)
        return {name: value.detach().clone() for name, value in weights.items()}

    def end(self, weights: dict[str, torch.Tensor] | None = None) -> None:
        """Leave in the given module what was learned: `weights`, the average, or the last."""
        if weights is None and (self._average is not None or self._processes.sharded):
            with self.averaged():
                weights = self._processes.weights(self.module)
        if weights is not None:
            self._given.load_state_dict(weights)
        self.release()
        self._given.eval()

    def release(self) -> None:
        """Give the module back as it was, but for its weights."""
        self.forget_gradient()
        self._adapters = merge(self._given)
        self.module = self._given
        for name, p in self._given.named_parameters():
            p.requires_grad_(self._frozen.get(name, True))


def freeze(module: nn.Module, patterns: Any) -> None:
    """Take the gradient from parameters by name."""
    names = [name for name, _ in module.named_parameters()]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ValueError(f"freeze={pattern!r} names no parameter; there are {names[:8]}, ...")
    for name, p in module.named_parameters():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            p.requires_grad_(False)


def as_players(target: Any) -> tuple[dict[str, Player], Any]:
    """Players by name, and a function of nothing that gives what an objective is to see."""
    if isinstance(target, nn.Module):
        player = Player(target)
        return {"": player}, lambda: player.module
    if isinstance(target, Player):
        return {"": target}, lambda: target
    if isinstance(target, dict) and target:
        players = {n: p if isinstance(p, Player) else Player(p) for n, p in target.items()}
        return players, lambda: players
    raise TypeError(
        "what is trained must be a torch.nn.Module, a Player, or a dict of these; got a "
        f"{type(target).__name__}"
    )
