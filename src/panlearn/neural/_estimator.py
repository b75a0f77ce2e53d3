"""What deep estimators share: weights as arrays, the module made from them, training, prediction.

A class derives from `DeepEstimator`, which brings the settings of `neural.train` as fields, and
says in ``_build`` which module goes with its hyper-parameters and with what it learned about
shapes. ``fit`` then reads::

    rng = generator(self.random_state)
    self._learn(self._initial(rng), objective, (X, y), rng, rows=rows)

after which ``weights_`` holds the weights by name, as arrays. They are all that is saved, pickled
or copied: ``module_`` makes the module from them when it is asked for.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from panlearn.core.derived import derived
from panlearn.core.estimator import Estimator
from panlearn.core.parameters import BelowOne
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.sources import Rows
from panlearn.neural._changes import changed
from panlearn.neural._moves import Objective
from panlearn.neural._processes import local_device
from panlearn.neural._random import draw_seed, seeded
from panlearn.neural._run import Run
from panlearn.neural._scaling import ScaledRows
from panlearn.neural._threads import is_small, one_thread
from panlearn.neural.settings import Settings

AVERAGES = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer", "sum"}
"""What the optimisers that run in one kernel remember of each weight."""


class _Learned:
    """What `fit` sets; here, and not among the fields."""

    weights_: dict[str, np.ndarray]


@dataclass(eq=False, repr=False, kw_only=True)
class DeepEstimator(Settings, _Learned, Iterative, Estimator):
    """An estimator whose knowledge is the weights of a `torch.nn.Module`; abstract.

    Parameters
    ----------
    validation_fraction : float, default=0.0
        The share of the examples that is held out and measured for each row of the history. With
        `patience` it is a tenth if nothing is said.
    warm_start : bool, default=False
        Whether `fit` goes on from the weights that are there, and not from new ones.
    device : str, default="cpu"
        Where to compute. Under torchrun, "cuda" is the GPU of the process.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights.
    history_ : dict of {str: list}
        The mean loss of each epoch, and more.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether all epochs were walked.
    """

    most_rows = 0  # PyTorch multiplies, in some builds by the BLAS of NumPy

    validation_fraction: BelowOne = 0.0
    warm_start: bool = False
    device: str = "cpu"

    @abstractmethod
    def _build(self) -> nn.Module:
        """Make the module that fits the hyper-parameters and what is known of the data."""

    @property
    def module_(self) -> nn.Module:
        """The network, in evaluation mode; it shares its memory with ``weights_``."""
        self._require_fitted()
        return self._ready

    @derived("weights_")
    def _ready(self) -> nn.Module:
        return self._with_weights(share=True)

    def _check_learned(self) -> None:
        """Refuse averages of the optimiser that have the shape of no weights; from a file."""
        known = {np.shape(value) for value in self.weights_.values()}
        for memory in getattr(self, "optimizer_state_", {}).get("state", {}).values():
            for name in AVERAGES & memory.keys():
                if np.shape(memory[name]) not in known:
                    raise ValueError(f"{name} of optimizer_state_ is not of the weights")

    def _initial(self, rng: np.random.Generator) -> nn.Module:
        """A module to start from: with first weights from `rng`, or with what is known."""
        seed = draw_seed(rng)
        if self.warm_start and "weights_" in vars(self):
            return self._with_weights()
        with seeded(seed):
            return self._place(self._build())

    def _with_weights(self, share: bool = False) -> nn.Module:
        """The module with the learned weights: a copy of them, or the arrays themselves."""
        with seeded(0):
            module = self._build()
        arrays = self.weights_.items()
        tensors = {
            k: torch.from_numpy(v if share and v.flags.writeable else v.copy()) for k, v in arrays
        }
        try:
            module.load_state_dict(tensors, assign=share)
        except RuntimeError as error:
            raise ValueError(
                "the weights that are there do not fit what is asked for now; set warm_start=False "
                f"to begin anew ({error})"
            ) from error
        return self._place(module).eval()

    def _place(self, module: nn.Module) -> nn.Module:
        try:
            return module.to(local_device(self.device))
        except (RuntimeError, AssertionError) as error:  # a name that is none, or not built in
            raise ValueError(f"device={self.device!r} cannot be used: {error}") from error

    @property
    def _held_fraction(self) -> float:
        """The share of the examples that is held out."""
        return self.validation_fraction or (0.1 if self.patience is not None else 0.0)

    def _learn(
        self,
        module: nn.Module,
        objective: Objective,
        data: Any,
        rng: np.random.Generator,
        *,
        rows: Rows | None = None,
        validation: Any = None,
        strata: np.ndarray | None = None,
        optimizer_state: dict[str, Any] | None = None,
        whole: bool = False,
        target: Any = None,
        **changes: Any,
    ) -> Run:
        """Train the module by the fields of this estimator and keep what it learned.

        The `target` is who learns, if it is not the module but players that are parts of it.

        Sets ``weights_``, ``n_iter_`` (rows of the history), ``converged_`` and ``history_``;
        `changes` go before the fields. Of a tuple of arrays a part is held out, if one is asked for
        and neither is `validation` given nor are the data to be taken `whole`. Training for the
        epochs that were asked for, or until patience is at its end, is convergence; only being
        interrupted is not.
        """
        if whole:
            changes["patience"] = None
        settings = self._training(random_state=rng, **changes)
        objective, data = changed(self, objective, data)
        if not whole and validation is None and self._held_fraction and isinstance(data, tuple):
            data, validation = hold_out(data, self._held_fraction, strata, rng)
        target = module if target is None else target
        run = Run(target, objective, data, settings, validation=validation, draws_globally=False)
        if optimizer_state is not None:
            next(iter(run.players.values())).remember(optimizer_state)
        loop = Iterations(self, max_iter=_n_rows(run), tol=0.0, rows=rows, remedy="fit it again")
        weights = functools.partial(_copied, module)
        try:
            # closed here: a walk that is left open would end when its frame is collected
            with contextlib.closing(run.rows()) as trained, loop:
                previous, known = 0.0, len(run.history.get("loss", ()))
                past = (
                    {name: values[i] for name, values in run.history.items()} for i in range(known)
                )
                walk = itertools.chain(past, trained)  # one that is taken up tells of those first
                for i, (_, row) in enumerate(zip(loop, walk, strict=False)):
                    change, previous = abs(previous - row["loss"]), row["loss"]
                    loop.record(change=change, attributes=self._so_far(weights), **row)
                    # the run says when it is over: a loss that stays the same does not
                    loop.converged = bool(run.stopped) and i + 1 >= known
                    if loop.converged:
                        break
        except BaseException:
            run.release()
            raise
        run.finish()
        module.eval()
        self.weights_ = {k: v.detach().cpu().numpy() for k, v in module.state_dict().items()}
        self._ready = module
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
        for low in range(0, arrays[0].shape[0], size):
            rows = tuple(torch.tensor(a[low : low + size]).to(device) for a in arrays)
            with torch.inference_mode(), one_thread(is_small(module, rows)):
                parts.append(module(*rows).cpu())
        return torch.cat(parts).numpy() if len(parts) > 1 else parts[0].numpy()


def _n_rows(run: Run) -> int:
    """How many rows the history of a run may have."""
    if run.settings.evaluate_every is not None and run.total_steps is not None:
        return -(-run.total_steps // run.settings.evaluate_every)
    if run.total_steps is not None and run.extent.steps_per_epoch is not None:
        return -(-run.total_steps // run.extent.steps_per_epoch)
    return run.extent.max_epochs or run.settings.max_steps or 1


def hold_out(
    data: tuple[Any, ...], fraction: float, strata: Any, rng: np.random.Generator
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Split examples in two at random, keeping the shares of classes if there are any."""
    n = data[0].shape[0]
    order = rng.permutation(n)
    if strata is not None:  # every k-th row of the classes in turn
        order = order[np.argsort(strata[order], kind="stable")]
    count = round(fraction * n)
    if not 0 < count < n:
        raise ValueError(
            f"validation_fraction={fraction} of {n} examples leaves nothing to learn from, or "
            "nothing to watch: change it, or set patience=None"
        )
    held = np.zeros(n, dtype=bool)
    held[order[((np.arange(count) + 0.5) * n / count).astype(int)]] = True
    return tuple(_only(a, ~held) for a in data), tuple(_only(a, held) for a in data)


def _only(rows: Any, chosen: np.ndarray) -> Any:
    return rows.only(chosen) if isinstance(rows, ScaledRows) else rows[chosen]


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
