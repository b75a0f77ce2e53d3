"""What deep estimators share: weights as arrays, the module made from them, training, prediction.

A class derives from `DeepEstimator`, writes the settings of `neural.train` that it offers as fields
under the same names, and says in ``_build`` which module goes with its hyper-parameters and with
what it learned about shapes. ``fit`` then reads::

    rng = generator(self.random_state)
    self._learn(self._initial(rng), objective, (X, y), rng, rows=rows)

after which ``weights_`` holds the weights by name, as arrays. They are all that is saved, pickled
or copied: ``module_`` makes the module from them when it is asked for.
"""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import nn

from panlearn.core.estimator import Estimator
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.sources import Rows
from panlearn.neural._random import draw_seed, seeded
from panlearn.neural._run import Objective, Run
from panlearn.neural._threads import is_small, one_thread

# The settings of `train` that an estimator may have as fields.
SETTINGS = (
    *("batch_size", "max_epochs", "max_steps", "optimizer", "learning_rate", "schedule"),
    *("weight_decay", "clip_norm", "accumulate", "ema_decay", "precision", "patience"),
    *("checkpoint", "checkpoint_every", "resume", "verbose", "strategy"),
)
_MODULES: WeakKeyDictionary[DeepEstimator, tuple[dict, nn.Module]] = WeakKeyDictionary()


class DeepEstimator(Iterative, Estimator):
    """An estimator whose knowledge is the weights of a `torch.nn.Module`; abstract."""

    weights_: dict[str, np.ndarray]

    @abstractmethod
    def _build(self) -> nn.Module:
        """Make the module that fits the hyper-parameters and what is known of the data."""

    @property
    def module_(self) -> nn.Module:
        """The network, in evaluation mode; it shares its memory with ``weights_``."""
        self._require_fitted()
        weights, module = _MODULES.get(self, (None, None))
        if module is None or weights is not self.weights_:
            module = self._with_weights(share=True)
            _MODULES[self] = self.weights_, module
        return module

    def _initial(self, rng: np.random.Generator) -> nn.Module:
        """A module whose initial weights come from `rng`, on the device."""
        with seeded(draw_seed(rng)):
            return self._place(self._build())

    def _with_weights(self, share: bool = False) -> nn.Module:
        """The module with the learned weights: a copy of them, or the arrays themselves."""
        with seeded(0):
            module = self._build()
        arrays = self.weights_.items()
        tensors = {
            k: torch.from_numpy(v if share and v.flags.writeable else v.copy()) for k, v in arrays
        }
        module.load_state_dict(tensors, assign=share)
        return self._place(module).eval()

    def _place(self, module: nn.Module) -> nn.Module:
        device = getattr(self, "device", "cpu")
        try:
            return module.to(device)
        except (RuntimeError, AssertionError) as error:  # a name that is none, or not built in
            raise ValueError(f"device={device!r} cannot be used: {error}") from error

    def _learn(
        self,
        module: nn.Module,
        objective: Objective,
        data: Any,
        rng: np.random.Generator,
        *,
        rows: Rows | None = None,
        **settings: Any,
    ) -> Run:
        """Train the module by the fields of this estimator and keep what it learned.

        Sets ``weights_``, ``n_iter_`` (epochs), ``converged_`` and ``history_``; `settings` go to
        `neural.train` before the fields. Training for the epochs that were asked for, or until
        patience is at its end, is convergence; only being interrupted is not.
        """
        own = {name: getattr(self, name) for name in SETTINGS if hasattr(self, name)}
        if settings.get("validation") is None:
            own.pop("patience", None)
        run = Run(module, objective, data, random_state=rng, **{**own, **settings})
        epochs = -(-run.total_steps // len(run.batches))
        loop = Iterations(self, max_iter=epochs, tol=0.0, rows=rows, remedy="fit it again")
        weights = functools.partial(_copied, module)
        with loop:
            previous, known = 0.0, len(run.history.get("loss", ()))
            past = ({name: values[i] for name, values in run.history.items()} for i in range(known))
            walk = itertools.chain(past, run.epochs())  # one that is taken up tells of those first
            for i, (_, row) in enumerate(zip(loop, walk, strict=False)):
                change, previous = abs(previous - row["loss"]), row["loss"]
                loop.record(change=change, attributes=self._so_far(weights), **row)
                if run.stopped and i + 1 >= known:
                    loop.converged = True
                    break
        if not loop.converged:  # the step may have been cut short: the last whole state is on disk
            run.checkpoint = None
        run.finish()
        self.weights_ = {k: v.detach().cpu().numpy() for k, v in module.state_dict().items()}
        _MODULES[self] = self.weights_, module
        return run

    def _so_far(self, weights: Callable[[], dict[str, np.ndarray]]) -> Callable[[], dict[str, Any]]:
        """For callbacks: what a model of this moment would have learned."""

        def attributes() -> dict[str, Any]:
            learned = {k: v for k, v in vars(self).items() if k.endswith("_") and k[0] != "_"}
            return {**learned, "weights_": weights()}

        return attributes

    def _outputs(self, *arrays: np.ndarray, size: int = 4096) -> np.ndarray:
        """What the network gives for rows, computed `size` rows at a time."""
        module = self.module_
        device = next(module.parameters()).device
        parts = []
        for low in range(0, len(arrays[0]), size):
            rows = tuple(torch.tensor(a[low : low + size]).to(device) for a in arrays)
            with torch.inference_mode(), one_thread(is_small(module, rows)):
                parts.append(module(*rows).cpu())
        return torch.cat(parts).numpy() if len(parts) > 1 else parts[0].numpy()


def _copied(module: nn.Module) -> dict[str, np.ndarray]:
    return {k: v.detach().cpu().numpy().copy() for k, v in module.state_dict().items()}


def to_arrays(state: Any) -> Any:
    """The state of an optimiser with arrays in place of tensors, as a model file can hold it."""
    if isinstance(state, torch.Tensor):
        return state.detach().cpu().numpy().copy()
    if isinstance(state, dict):
        return {k: to_arrays(v) for k, v in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(to_arrays(v) for v in state)
    return state


def to_tensors(state: Any) -> Any:
    """The inverse of `to_arrays`."""
    if isinstance(state, np.ndarray | np.generic):
        return torch.tensor(state)
    if isinstance(state, dict):
        return {k: to_tensors(v) for k, v in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(to_tensors(v) for v in state)
    return state
