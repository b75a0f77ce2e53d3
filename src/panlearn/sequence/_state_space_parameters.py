"""The parameters of a state space by name: reading, checking, guessing and freeing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from panlearn.core.sources import Sequences
from panlearn.sequence._state_space import StateSpace

FIELDS = {
    "transition": "F",
    "control": "B",
    "transition_covariance": "Q",
    "observation": "H",
    "observation_offset": "d",
    "observation_covariance": "R",
    "initial_mean": "mean",
    "initial_covariance": "covariance",
}
VARYING = (
    "transition",
    "control",
    "transition_covariance",
    "observation",
    "observation_covariance",
)
MOVE = ("transition", "control", "transition_covariance")
SHOW = ("observation", "observation_offset", "observation_covariance")
COVARIANCES = ("transition_covariance", "observation_covariance", "initial_covariance")


def read(given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The parameters that are given, as arrays."""
    return {name: _numbers(name, value) for name, value in given.items() if value is not None}


def _numbers(name: str, given: Any) -> np.ndarray:
    try:
        array = np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers")
    return array


def dimension(given: Mapping[str, np.ndarray], n_states: int | None) -> int | None:
    """The dimension of the state, as far as it is told."""
    found = {int(n_states)} if n_states else set()
    for name in ("transition", "observation", "transition_covariance", "initial_covariance"):
        if name in given and given[name].ndim:
            found.add(given[name].shape[-1])
    if len(found) > 1:
        raise ValueError(
            "n_states, transition, observation and the covariances have states of different "
            f"dimensions: {sorted(found)}"
        )
    return found.pop() if found else None


STARTS = ("known", "stationary", "diffuse")


def _starts(start: str | tuple[str, ...] | list[str], n: int) -> str | tuple[str, ...]:
    """How the states start: all alike, or one word for each."""
    if isinstance(start, str):
        return start
    words = tuple(start)
    if len(words) != n or any(word not in STARTS for word in words):
        raise ValueError(
            f"start must be one of {STARTS}, or one of them for each of the {n} states; got {start}"
        )
    return words


def state_space(
    values: Mapping[str, np.ndarray],
    start: str | tuple[str, ...] | list[str],
    trusted: bool = False,
) -> StateSpace:
    """A model of all parameters; unless they are trusted, shapes and covariances are checked."""
    for name in ("transition", "observation", "control"):
        if values[name].ndim < 2:
            raise ValueError(f"{name} must be a matrix; got the shape {values[name].shape}")
    n, m = values["transition"].shape[-1], values["observation"].shape[-2]
    p = values["control"].shape[-1]
    shapes = {
        "transition": (n, n),
        "control": (n, p),
        "transition_covariance": (n, n),
        "observation": (m, n),
        "observation_offset": (m,),
        "observation_covariance": (m, m),
        "initial_mean": (n,),
        "initial_covariance": (n, n),
    }
    arrays = {}
    for name, field in FIELDS.items():
        value, shape = values[name], shapes[name]
        timed = value.ndim == len(shape) + 1 and name in VARYING
        if value.shape[timed:] != shape or (timed and not len(value)):
            raise ValueError(f"{name} must have the shape {shape}; got {value.shape}")
        if name in COVARIANCES and not trusted:
            require_covariance(name, value)
        value = value.astype(float, copy=False)
        arrays[field] = value if timed or name not in VARYING else value[None]
    return StateSpace(start=_starts(start, n), **arrays)


def attributes(model: StateSpace, dtype: Any = float) -> dict[str, np.ndarray]:
    """The parameters as fitted attributes; what does not vary has no axis of time."""
    found = {}
    for name, field in FIELDS.items():
        with np.errstate(over="ignore", under="ignore"):
            value = getattr(model, field).astype(dtype, copy=False)
        if not np.isfinite(value).all():
            raise ValueError(f"{name} is beyond {np.dtype(dtype)}; rescale the columns of X")
        found[name + "_"] = value[0] if name in VARYING and len(value) == 1 else value
    return found


def require_covariance(name: str, value: np.ndarray) -> None:
    """Refuse what is not symmetric and positive semidefinite, to rounding."""
    scale = np.abs(value).max(initial=0.0)
    if not np.allclose(value, np.swapaxes(value, -1, -2), rtol=0, atol=1e-8 * scale):
        raise ValueError(f"{name} must be symmetric")
    if np.linalg.eigvalsh(value).min(initial=0.0) < -1e-8 * scale:
        raise ValueError(f"{name} must be positive semidefinite")


def guess(
    given: Mapping[str, np.ndarray], rows: np.ndarray, n: int, p: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Fill in what is not given: slow states, seen in the main directions of some observations."""
    m = rows.shape[1]
    covariance = rows.T @ rows / len(rows)
    variance = np.maximum(np.diag(covariance), 1e-12 * max(np.trace(covariance), 1e-300))
    values, vectors = np.linalg.eigh(covariance)
    main = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :n]
    loading = 0.1 * np.sqrt(variance)[:, None] * rng.standard_normal((m, n))
    loading[:, : main.shape[1]] += main
    decay = np.linspace(0.9, 0.5, n)
    return {
        "transition": np.diag(decay),
        "control": np.zeros((n, p)),
        "transition_covariance": np.diag(1 - decay**2),
        "observation": loading,
        "observation_offset": np.zeros(m),
        "observation_covariance": np.diag(variance) / 2,
        "initial_mean": np.zeros(n),
        "initial_covariance": np.eye(n),
    } | dict(given)


def asked_for(learn: Any, given: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What is learned, by name a mask or True; by default all of what is not given."""
    if learn is None:
        varying = any(given[name].ndim > 2 for name in SHOW if name in given)
        unlearnable = ["observation_offset"] if varying else []
        learn = [name for name in FIELDS if name not in given and name not in unlearnable]
    asked = dict(learn) if isinstance(learn, dict) else dict.fromkeys(learn, True)
    if unknown := [name for name in asked if name not in FIELDS]:
        raise ValueError(f"learn names {unknown}; what can be learned is {', '.join(FIELDS)}")
    return asked


def free_entries(
    model: StateSpace, asked: Mapping[str, Any], given: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """For each parameter, which of its entries are learned."""
    if model.start != "known":
        asked = {name: mask for name, mask in asked.items() if not name.startswith("initial")}
    free = {}
    for name, field in FIELDS.items():
        value = getattr(model, field)
        shape = value.shape[1:] if name in VARYING else value.shape
        try:
            mask = np.broadcast_to(np.asarray(asked.get(name, False), dtype=bool), shape)
        except ValueError:
            raise ValueError(f"the mask of {name} must have the shape {shape}") from None
        if mask.any() and name in COVARIANCES:
            _require_block(name, mask, value[0] if name in VARYING else value)
        free[name] = mask
    for group in (MOVE, SHOW):  # one regression each
        varying = [n for n in group if n in VARYING and len(getattr(model, FIELDS[n])) > 1]
        learned = [name for name in group if free[name].any()]
        if varying and learned:
            raise ValueError(f"{varying[0]} varies with time, so {learned[0]} cannot be learned")
    for name in ("transition", "observation", "transition_covariance", "observation_covariance"):
        if name not in given and not free[name].any():
            raise ValueError(f"{name} is neither given nor learned: give it, or name it in learn")
    return free


def _require_block(name: str, mask: np.ndarray, value: np.ndarray) -> None:
    """A learned part of a covariance is its diagonal, or a block that is alone."""
    chosen = np.diag(mask)
    block = np.outer(chosen, chosen)
    alone = np.array_equal(mask, block) and not value[np.outer(chosen, ~chosen)].any()
    diagonal = (
        np.array_equal(mask, np.diag(chosen)) and not value[~np.eye(len(mask), dtype=bool)].any()
    )
    if not (alone or diagonal):
        raise ValueError(
            f"of {name}, all can be learned, or its diagonal with zeros elsewhere, or a block that "
            "is not correlated with the rest"
        )


def controls(given: Any, X: Sequences) -> np.ndarray:
    """The inputs of every step, one below the other, as X has them."""
    parts = [np.asarray(given, dtype=float)] if len(X) == 1 and np.ndim(given) == 2 else None
    parts = [np.asarray(part, dtype=float) for part in given] if parts is None else parts
    lengths = [len(part) for part in parts]
    if lengths != X.lengths.tolist() or any(part.ndim != 2 for part in parts):
        raise ValueError(
            f"control must have the steps of X, (T, n_controls) each: lengths {X.lengths.tolist()};"
            f" got shapes {[part.shape for part in parts]}"
        )
    values = np.concatenate(parts)
    if not np.isfinite(values).all():
        raise ValueError("control must hold finite numbers")
    return values
