"""What naive Bayes on counts shares: smoothing, and the logarithms of the class probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.bayes._base import log_of
from panlearn.core.warning import warn


def smoothing(model: Any) -> np.ndarray:
    """Give alpha, a number or one a feature, not below 1e-10 unless `force_alpha` says so."""
    try:
        alpha = np.asarray(model.alpha, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"alpha must hold numbers; got {model.alpha!r}") from error
    if alpha.shape not in ((), (model.n_features_in_,)):
        raise ValueError(
            f"alpha must be a number or {model.n_features_in_} of them, one a feature; got shape "
            f"{alpha.shape}"
        )
    if not np.isfinite(alpha).all() or (alpha < 0).any():
        raise ValueError(f"alpha must be finite and not negative; got {model.alpha!r}")
    if not model.force_alpha and alpha.min() < 1e-10:
        warn("alpha below 1e-10 was raised to it; force_alpha=True keeps it")
        alpha = np.maximum(alpha, 1e-10)
    return alpha


def class_log_prior(model: Any) -> np.ndarray:
    """Log-probabilities of the classes: given, uniform, or their shares of the weight."""
    uniform = np.full(len(model.classes_), 1 / len(model.classes_))
    given = uniform if model.class_prior is None and not model.fit_prior else model.class_prior
    return log_of(model._priors(given, "class_prior"))


def log_ratio(part: np.ndarray, whole: np.ndarray, choices: Any) -> np.ndarray:
    """log(part / whole), which may be -inf; of nothing at all each choice is as likely."""
    empty = np.broadcast_to(whole == 0, part.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(empty, -np.log(choices), np.log(part) - np.log(whole))
