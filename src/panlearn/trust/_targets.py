"""What an attack sees of a model: scores of rows, and how a loss changes with the rows.

A target has the classes, a count of the rows it was asked about, ``scores(X)`` and
``loss_and_gradient(X, codes)``. Which one a model gets hangs on what the model can tell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from scipy.special import logsumexp, softmax

from panlearn.core.extras import require
from panlearn.trust._kernel_slopes import Machine, machine_of, votes_of_pairs

Gradient = Literal["auto", "exact", "differences", "random"]


class Target(Protocol):
    """A model under attack."""

    classes: np.ndarray
    queries: int

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of the classes, of which differences count, for each row."""
        ...

    def loss_and_gradient(self, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The scores, and the gradient in X of the `log_odds` of each row."""
        ...


def log_odds(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The logarithm of the odds of any other class: the cross-entropy is its softplus.

    Its gradient in the scores points where that of the cross-entropy does, and does not vanish
    where a model is so sure that probabilities round to 0 and 1.
    """
    others = scores.copy()
    own = np.arange(len(codes)), codes
    others[own] = -np.inf
    return logsumexp(others, axis=1) - scores[own]


def _two_columns(scores: np.ndarray) -> np.ndarray:
    """One score of two classes as a score for each."""
    scores = scores[:, None] if scores.ndim == 1 else scores
    return (
        np.concatenate([np.zeros_like(scores), scores], axis=1) if scores.shape[1] == 1 else scores
    )


@dataclass
class LinearTarget:
    """A model with ``coef_`` and ``intercept_``: its gradients are exact."""

    classes: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    queries: int = 0

    def scores(self, X: np.ndarray) -> np.ndarray:
        """X W' + b."""
        self.queries += len(X)
        return _two_columns(X @ self.coef.T + self.intercept)

    def loss_and_gradient(self, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The softmax of the other classes less the own, times W."""
        scores = self.scores(X)
        own, others = (np.arange(len(codes)), codes), scores.copy()
        others[own] = -np.inf
        weights = softmax(others, axis=1)
        weights[own] = -1
        rows = (
            np.vstack([np.zeros_like(self.coef), self.coef]) if len(self.coef) == 1 else self.coef
        )
        return scores, (weights @ rows).astype(X.dtype)


@dataclass
class KernelTarget:
    """A kernel machine of two classes, by the slopes of its kernel."""

    classes: np.ndarray
    machine: Machine
    queries: int = 0

    def scores(self, X: np.ndarray) -> np.ndarray:
        """The sum over the centres."""
        self.queries += len(X)
        return _two_columns(self.machine.score(X.astype(float)))

    def loss_and_gradient(self, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Up the score of the second class for rows of the first, down for the others."""
        slope = self.machine.slope(X.astype(float)) * np.where(codes == 0, 1.0, -1.0)[:, None]
        return self.scores(X), slope.astype(X.dtype)


@dataclass
class TorchTarget:
    """A module, or an estimator around one, differentiated in its inputs alone."""

    classes: np.ndarray
    forward: Callable[[Any], Any]
    device: Any
    batch_size: int = 256
    queries: int = 0

    def scores(self, X: np.ndarray) -> np.ndarray:
        """The module's outputs."""
        torch = require("torch")
        self.queries += len(X)
        with torch.no_grad():
            parts = [self.forward(x).cpu().numpy() for x in self._batches(X)]
        return _two_columns(np.concatenate(parts))

    def loss_and_gradient(self, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By back-propagation to the inputs; gradients of parameters are not touched."""
        torch = require("torch")
        self.queries += len(X)
        labels, scores, slopes = torch.from_numpy(codes).to(self.device), [], []
        for i, x in enumerate(self._batches(X)):
            x.requires_grad_()
            logits = self.forward(x)
            logits = logits[:, None] if logits.ndim == 1 else logits
            if logits.shape[1] == 1:
                logits = torch.cat([torch.zeros_like(logits), logits], dim=1)
            own = labels[i * self.batch_size : i * self.batch_size + len(x)]
            mask = torch.nn.functional.one_hot(own, logits.shape[1]).bool()
            others = logits.masked_fill(mask, -torch.inf).logsumexp(dim=1)
            (slope,) = torch.autograd.grad((others - logits[mask]).sum(), x)
            scores.append(logits.detach().cpu().numpy())
            slopes.append(slope.cpu().numpy())
        return np.concatenate(scores), np.concatenate(slopes)

    def _batches(self, X: np.ndarray) -> Any:
        torch = require("torch")
        for i in range(0, len(X), self.batch_size):
            yield torch.tensor(X[i : i + self.batch_size], device=self.device)


@dataclass
class ScoreTarget:
    """A model that tells scores only: gradients by differences of them."""

    classes: np.ndarray
    ask: Callable[[np.ndarray], np.ndarray]
    kind: str = "differences"
    step: float = 1e-4
    n_directions: int = 50
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    queries: int = 0

    def scores(self, X: np.ndarray) -> np.ndarray:
        """What the model answers."""
        self.queries += len(X)
        return _two_columns(np.asarray(self.ask(X), dtype=float))

    def loss_and_gradient(self, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One question a coordinate, or a direction, and row."""
        scores = self.scores(X)
        base = log_odds(scores, codes)
        d = int(np.prod(X.shape[1:]))
        slope = np.zeros((len(X), d))
        if self.kind == "differences":
            directions = np.eye(d)
        else:
            normal = self.rng.normal(size=(self.n_directions, d))
            directions = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        for direction in directions:
            moved = X + (self.step * direction).reshape(X.shape[1:]).astype(X.dtype)
            change = (log_odds(self.scores(moved), codes) - base) / self.step
            slope += change[:, None] * direction
        slope *= d / len(directions)  # of d coordinates this is 1
        return scores, slope.reshape(X.shape).astype(X.dtype)


def target_of(
    model: Any,
    gradient: Gradient = "auto",
    step: float = 1e-4,
    rng: np.random.Generator | None = None,
) -> Target:
    """What an attack may know of a model; "auto" takes the exact gradient where there is one."""
    if gradient not in ("auto", "exact", "differences", "random"):
        raise ValueError(
            f"gradient={gradient!r} must be auto, exact, differences or random directions"
        )
    exact = _exact(model) if gradient in ("auto", "exact") else None
    if exact is not None:
        return exact
    if gradient == "exact":
        raise ValueError(
            f"{type(model).__name__} has no gradient that is known; give gradient='differences'"
        )
    kind = "random" if gradient == "random" else "differences"
    fresh = np.random.default_rng(0) if rng is None else rng
    return ScoreTarget(np.asarray(model.classes_), _asker(model), kind, step, rng=fresh)


def _exact(model: Any) -> Target | None:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        device = next((p.device for p in model.parameters()), "cpu")
        return _module_target(model, model, device)
    if hasattr(model, "_predicts_as"):  # a wrapper whose scores are those of what it wraps
        return _exact(model._predicts_as)
    if hasattr(model, "weights_") and hasattr(model, "module_"):
        return _deep_target(model)
    machine = machine_of(model)
    if machine is not None:
        return KernelTarget(model.classes_, machine)
    if votes_of_pairs(model):
        return None
    if isinstance(getattr(model, "coef_", None), np.ndarray) and hasattr(model, "classes_"):
        coef = np.atleast_2d(model.coef_)
        if coef.dtype.kind == "f" and hasattr(model, "decision_function"):
            return LinearTarget(model.classes_, coef, np.atleast_1d(model.intercept_))
    return None


def _module_target(module: Any, forward: Any, device: Any) -> TorchTarget:
    return TorchTarget(np.empty(0), forward, device)


def _deep_target(model: Any) -> TorchTarget | None:
    """An estimator of `panlearn.neural`: its scaling, then its module."""
    torch, module = require("torch"), model.module_
    if not hasattr(model, "mean_") or getattr(model, "multilabel_", False):
        return None
    weight = next(module.parameters())
    mean, scale = (torch.tensor(v, device=weight.device) for v in (model.mean_, model.scale_))
    shape = getattr(model, "image_shape_", None)

    def forward(x: Any) -> Any:
        if shape is None:
            scaled = (x - mean) / scale
        else:
            pixels = x.reshape(len(x), *shape)
            scaled = (pixels - mean[:, None, None]) / scale[:, None, None]
        return module(scaled.to(weight.dtype))

    return TorchTarget(model.classes_, forward, weight.device)


def _asker(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    if hasattr(model, "predict_proba"):
        return lambda X: np.log(np.clip(model.predict_proba(X), 1e-12, None))
    if hasattr(model, "decision_function"):
        return model.decision_function
    raise ValueError(
        f"{type(model).__name__} tells no scores; use attacks.boundary, which asks for labels alone"
    )
