"""Trajectories that are looked at now and then, as solutions of a learned equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.metrics import r2_score
from torch import nn

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Count, Positive
from panlearn.core.random import generator
from panlearn.core.sources import Sequences
from panlearn.generative._flow_layers import perceptron
from panlearn.generative._sizes import Sizes, hidden_sizes
from panlearn.generative.odeint import odeint
from panlearn.neural import _sequences
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._layers import Activation
from panlearn.neural._scaling import moments


class _Learned:
    """What `fit` sets."""

    mean_: np.ndarray
    scale_: np.ndarray
    time_scale_: float
    n_features_in_: int


@dataclass(eq=False, repr=False)
class NeuralODE(DeepEstimator, _Learned):
    r"""A differential equation that is learned from trajectories seen at irregular times.

    .. math::
        \frac{dy}{dt} = f_\theta(y), \qquad
        \min_\theta \sum_s \sum_{k=1}^{w} \lVert y(t_{s+k};\ y(t_s) = y_s) - y_{s+k} \rVert^2

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(64, 64)
        Units of the hidden layers of :math:`f`.
    activation : str, default="tanh"
        Their activation, one of those of `neural.MLPClassifier`.
    window : int, default=5
        How many observations ahead, w, are predicted from each in training.
    method : {"rk4", "dopri5", "euler"}, default="rk4"
        The solver, see `odeint`.
    step_size : float, default=1.0
        The longest step of "rk4" and "euler", in mean times between observations.
    rtol : float, default=1e-5
        The relative tolerance of "dopri5".
    atol : float, default=1e-6
        The absolute one.
    gradient : {"plain", "adjoint"}, default="plain"
        Through the steps, or by the adjoint equation in less memory.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights by name.
    module_ : torch.nn.Module
        The field, of standardised states, in units of `time_scale_`.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        Mean and deviation of the states.
    time_scale_ : float
        The mean time between observations.
    history_ : dict
        ``loss`` (half the squared error of a standardised number), and more, an epoch.
    n_iter_ : int
        Epochs.
    converged_ : bool
        False if training was interrupted.
    n_features_in_ : int
        Numbers in a state.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the sequences were frames.

    Notes
    -----
    Trajectories may have any lengths and times of their own. Those of a batch are followed
    together, each in its own time: between two observations all run from 0 to 1, and the field of
    each is multiplied by the time that lies between. A longer window is harder to learn and less
    fooled by noise. The state must be all that the future depends on, and time itself does not act.
    A step of training costs :math:`O(s b P)` for s evaluations of the field, b trajectories and P
    weights.

    References
    ----------
    Chen, Rubanova, Bettencourt, Duvenaud (2018). Neural ordinary differential equations. NeurIPS.
    arXiv:1806.07366

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import NeuralODE
    >>> times = np.sort(np.random.default_rng(0).uniform(0, 6, size=40))
    >>> circle = np.column_stack([np.cos(times), np.sin(times)])
    >>> model = NeuralODE(16, window=2, max_epochs=60, learning_rate=0.03, random_state=0)
    >>> model = model.fit([circle], times=[times])
    >>> bool(model.score([circle], times=[times]) > 0.95)
    True
    """

    hidden_layer_sizes: Sizes = (64, 64)
    activation: Activation = "tanh"
    _: KW_ONLY
    window: Count = 5
    method: Literal["rk4", "dopri5", "euler"] = "rk4"
    step_size: Positive[float] = 1.0
    rtol: Positive[float] = 1e-5
    atol: Positive[float] = 1e-6
    gradient: Literal["plain", "adjoint"] = "plain"
    max_epochs: Count | None = 50
    learning_rate: Positive[float] = 5e-3
    schedule: str | Callable = "cosine"

    @fitting
    def fit(self, X: Any, y: Any = None, times: Any = None) -> Self:
        """Learn from trajectories.

        Parameters
        ----------
        X : list of array-like of shape (T, d)
            Trajectories of any lengths, two observations or more; or a single one.
        y : object, default=None
            Ignored.
        times : list of array-like of shape (T,), default=None
            When the states were seen, rising; None for 0, 1, 2 and so on.

        Returns
        -------
        NeuralODE
            The model itself.
        """
        sequences, single = _sequences.read(self, X, "vectors", reset=True)
        gaps = self._gaps(sequences, times, single)
        if sequences.lengths.max() < 2:
            raise ValueError("a change is learned, and no trajectory has two observations")
        values = sequences.values
        if not (self.warm_start and "mean_" in vars(self)):
            mean, scale = moments(values)
            self.mean_, self.scale_ = mean.astype(values.dtype), scale.astype(values.dtype)
            self.time_scale_ = float(gaps[gaps > 0].mean())
        rng = generator(self.random_state)
        self._learn(self._initial(rng), self._objective, self._windows(sequences, gaps), rng)
        return self

    def predict(self, X: Any, times: Any = None) -> Any:
        """Follow the equation from the first state of each trajectory.

        Parameters
        ----------
        X : list of array-like of shape (T, d)
            Trajectories, of which the first states count; or a single one.
        times : list of array-like of shape (T,), default=None
            When the states are asked for, the first being that of the first state.

        Returns
        -------
        list of ndarray of shape (T, d)
            The states at the times. For a single trajectory the array alone.
        """
        self._require_fitted()
        sequences, single = _sequences.read(self, X, "vectors", reset=False)
        gaps = self._gaps(sequences, times, single)
        out = np.empty_like(sequences.values)
        lengths, first = sequences.lengths, sequences.offsets[:-1]
        state, out[first] = self._scaled(sequences.values[first]), sequences.values[first]
        for k in range(1, int(lengths.max(initial=1))):  # all that are not over yet, side by side
            on = np.flatnonzero(lengths > k)
            state = state.copy()
            state[on] = self._ahead(state[on], gaps[first[on] + k])
            out[first[on] + k] = state[on] * self.scale_ + self.mean_
        return _sequences.as_given(out, sequences, single)

    def score(self, X: Any, y: Any = None, times: Any = None) -> float:
        """Give the share of the variance that the predicted trajectories explain.

        Parameters
        ----------
        X
            As in `predict`.
        y : object, default=None
            Ignored.
        times
            As in `predict`.

        Returns
        -------
        float
            The coefficient of determination over all observations but the first ones.
        """
        self._require_fitted()
        sequences, _ = _sequences.read(self, X, "vectors", reset=False)
        found = self.predict(X, times)
        found = found if isinstance(found, np.ndarray) else np.concatenate(found)
        later = np.ones(len(found), dtype=bool)
        later[sequences.offsets[:-1]] = False
        return float(r2_score(sequences.values[later], found[later]))

    def _build(self) -> nn.Module:
        d = self.n_features_in_
        field = perceptron((d, *hidden_sizes(self.hidden_layer_sizes), d), self.activation)
        return field.to(torch.float32 if self.mean_.dtype == np.float32 else torch.float64)

    def _scaled(self, states: np.ndarray) -> np.ndarray:
        return (states - self.mean_) / self.scale_

    def _gaps(self, sequences: Sequences, times: Any, single: bool) -> np.ndarray:
        """The time since the observation before, 0 for the first of a trajectory; (n_steps,)."""
        if times is None:
            gaps = np.ones(len(sequences.values))
        else:
            given = [times] if single and np.ndim(times[0]) == 0 else times
            lists = [np.asarray(t, dtype=float).reshape(-1) for t in given]
            if [len(t) for t in lists] != sequences.lengths.tolist():
                raise ValueError(
                    f"times has {[len(t) for t in lists][:10]} entries and X has trajectories of "
                    f"{sequences.lengths[:10].tolist()} states: give one time for each state"
                )
            gaps = np.diff(np.concatenate(lists), prepend=0.0)
        gaps[sequences.offsets[:-1]] = 0.0
        later = np.ones(len(gaps), dtype=bool)
        later[sequences.offsets[:-1]] = False
        if not (np.isfinite(gaps[later]).all() and (gaps[later] > 0).all()):
            raise ValueError("times must be finite and rise from each state to the next")
        return gaps

    def _windows(self, sequences: Sequences, gaps: np.ndarray) -> tuple[np.ndarray, ...]:
        """Each observation with the next ones, the times between, and which there are."""
        ends = np.repeat(sequences.offsets[1:], sequences.lengths)
        n = len(sequences.values)
        width = min(self.window, int(sequences.lengths.max()) - 1) + 1
        places = np.arange(n)[:, None] + np.arange(width)
        there = places < ends[:, None]
        places = np.minimum(places, ends[:, None] - 1)
        chosen = there[:, 1]
        floats = self.mean_.dtype
        between = (gaps[places] * there)[chosen, 1:] / self.time_scale_
        states = self._scaled(sequences.values)[places[chosen]]
        return states, between.astype(floats), there[chosen, 1:].astype(floats)

    def _objective(self, field: Any, batch: tuple[torch.Tensor, ...]) -> tuple[Any, Any]:
        """Half the mean squared error of each observation ahead, where there is one."""
        states, between, there = batch
        y, losses = states[:, 0], []
        for k in range(between.shape[1]):
            y = self._follow(field, y, between[:, k])
            losses.append((y - states[:, k + 1]).square().mean(dim=1) / 2)
        return torch.stack(losses, dim=1), there

    def _follow(self, field: Any, y: torch.Tensor, between: torch.Tensor) -> torch.Tensor:
        """States after a time of each, in units of the time scale."""
        longest = float(between.max())
        if longest == 0:
            return y
        rate = between[:, None]
        return odeint(
            lambda _, state: rate * field(state),
            y,
            [0.0, 1.0],
            method=self.method,
            step_size=min(self.step_size / longest, 1.0),
            rtol=self.rtol,
            atol=self.atol,
            gradient=self.gradient,
            parameters=field.parameters(),
        ).y[-1]

    def _ahead(self, states: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        device = next(self.module_.parameters()).device
        floats = states.dtype
        y, between = (
            torch.tensor(a, device=device)
            for a in (states, (gaps / self.time_scale_).astype(floats))
        )
        with torch.no_grad():
            return self._follow(self.module_, y, between).cpu().numpy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags
