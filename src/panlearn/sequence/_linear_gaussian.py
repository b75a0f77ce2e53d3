"""What a linear Gaussian state space of known matrices can tell of series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from scipy import linalg
from scipy.special import ndtri

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.core.sequences import Kind
from panlearn.core.sources import Sequences
from panlearn.core.value import Value
from panlearn.sequence._base import SequenceModel
from panlearn.sequence._diffuse import Vague, advance, unbounded, update
from panlearn.sequence._state_space import StateSpace, Walk, alike, root, stacked
from panlearn.sequence._state_space_parameters import FIELDS, controls, state_space


@dataclass(frozen=True)
class GaussianState(Value):
    """What is known of a state: a Gaussian.

    Attributes
    ----------
    mean : ndarray of shape (n_states,)
    covariance : ndarray of shape (n_states, n_states)
        Of what is known.
    diffuse : ndarray of shape (n_states, n_directions) or None
        Directions of which nothing is known: along these the variance is infinite.
    """

    mean: np.ndarray
    covariance: np.ndarray
    diffuse: np.ndarray | None = None

    def _vague(self) -> Vague:
        mean = np.array(self.mean, dtype=float)
        B = np.zeros((len(mean), 0)) if self.diffuse is None else np.array(self.diffuse, float)
        return Vague(mean, root(np.asarray(self.covariance, dtype=float)), B)


def _state(law: Vague) -> GaussianState:
    return GaussianState(law.mean, law.S @ law.S.T, law.B if law.B.size else None)


@dataclass(frozen=True)
class Forecast:
    """The law of the observations to come.

    Attributes
    ----------
    mean : ndarray of shape (steps, n_features)
    covariance : ndarray of shape (steps, n_features, n_features)
    """

    mean: np.ndarray
    covariance: np.ndarray

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Give the ends of the intervals that hold each component with a probability.

        Parameters
        ----------
        level : float, default=0.95
            The probability.

        Returns
        -------
        low, high : ndarray of shape (steps, n_features)
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1; got {level}")
        spread = np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2)) * ndtri(0.5 + level / 2)
        return self.mean - spread, self.mean + spread


class LinearGaussianModel(SequenceModel):
    """Filter, smooth, forecast and draw with the matrices that the attributes hold."""

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, missing=True)

    start: Any
    _kind: ClassVar[Kind] = "vectors"

    def _model(self) -> StateSpace:
        self._require_fitted()
        values = {name: getattr(self, name + "_") for name in FIELDS}
        return state_space(values, self.start, trusted=True)

    def _walks(self, X: Any, control: Any, *, back: bool) -> tuple[list[Walk], bool]:
        """Filter or smooth each series; and whether there is one, by itself."""
        model, (series, single) = self._model(), self._read(X)
        p = model.B.shape[-1]
        if p and control is None:
            raise ValueError("the model has a control matrix, so it needs the inputs: control=...")
        inputs = np.zeros((len(series.values), 0)) if control is None else controls(control, series)
        if inputs.shape[1] != p:
            raise ValueError(f"control has {inputs.shape[1]} columns, and the model {p}")
        pushed, walks = Sequences(inputs, series.offsets), dict[int, Walk]()
        for members in alike(series, series.values.shape[1]):
            walk = model.walk(stacked(series, members), stacked(pushed, members), back=back)
            walks |= zip(members, walk, strict=True)
        return [walks[s] for s in range(len(series))], single

    def _laws(self, walks: list[Walk], single: bool) -> tuple[Any, Any]:
        """Means and covariances, in the type that was learned from."""
        dtype = self.transition_.dtype
        means, covariances = (
            [getattr(walk, name).astype(dtype, copy=False) for walk in walks]
            for name in ("means", "covariances")
        )
        return (means[0], covariances[0]) if single else (means, covariances)

    def filter(self, X: Any, control: Any = None) -> tuple[Any, Any]:
        """Give the states given what was seen up to each step.

        Parameters
        ----------
        X : array-like of shape (T, n_features), or list of them
            One series, or several.
        control : array-like of shape (T, n_controls), or list of them, default=None
            The inputs; that of the last step is not used.

        Returns
        -------
        means : ndarray of shape (T, n_states), or list of them
        covariances : ndarray of shape (T, n_states, n_states), or list of them
        """
        return self._laws(*self._walks(X, control, back=False))

    def smooth(self, X: Any, control: Any = None) -> tuple[Any, Any]:
        """Give the states given all of a series.

        Parameters
        ----------
        X : array-like of shape (T, n_features), or list of them
            One series, or several.
        control : array-like of shape (T, n_controls), or list of them, default=None
            The inputs; that of the last step is not used.

        Returns
        -------
        means : ndarray of shape (T, n_states), or list of them
        covariances : ndarray of shape (T, n_states, n_states), or list of them
        """
        return self._laws(*self._walks(X, control, back=True))

    @overload
    def predict(self, X: np.ndarray, control: Any = None) -> np.ndarray: ...

    @overload
    def predict(self, X: list[np.ndarray], control: Any = None) -> list[np.ndarray]: ...

    @overload
    def predict(self, X: Any, control: Any = None) -> Any: ...

    def predict(self, X: Any, control: Any = None) -> Any:
        """Give the means of the states given all of a series.

        Parameters
        ----------
        X : array-like of shape (T, n_features), or list of them
            One series, or several.
        control : array-like of shape (T, n_controls), or list of them, default=None
            The inputs.

        Returns
        -------
        ndarray of shape (T, n_states), or list of them
        """
        return self.smooth(X, control)[0]

    def score_samples(self, X: Any, control: Any = None) -> np.ndarray:
        """Give the log-likelihood of each series.

        Parameters
        ----------
        X : array-like of shape (T, n_features), or list of them
            One series, or several.
        control : array-like of shape (T, n_controls), or list of them, default=None
            The inputs.

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        return np.array([walk.log_likelihood for walk in self._walks(X, control, back=False)[0]])

    def forecast(
        self, X: Any, steps: int = 1, control: Any = None, future_control: Any = None
    ) -> Forecast:
        """Give the law of the observations that follow a series.

        Parameters
        ----------
        X : array-like of shape (T, n_features)
            One series.
        steps : int, default=1
            How many steps ahead.
        control : array-like of shape (T, n_controls), default=None
            The inputs, of the last step too.
        future_control : array-like of shape (steps - 1, n_controls), default=None
            The inputs after that; zero if not given.

        Returns
        -------
        Forecast
            Means, covariances, and intervals.
        """
        model = self._model()
        walks, single = self._walks(X, control, back=False)
        if not single:
            raise ValueError("a forecast follows one series; got a list")
        if not steps >= 1:
            raise ValueError(f"steps must be 1 or more; got {steps!r}")
        law, T = walks[0].last, len(walks[0].means)
        Q_root = root(model.Q)
        p = model.B.shape[-1]
        ahead = np.zeros((steps, p))
        if p:
            ahead[0] = np.asarray(control, dtype=float).reshape(-1, p)[-1]
        if future_control is not None:
            ahead[1:] = _numbers("future_control", future_control, (steps - 1, p))
        means, covariances = [], []
        for k in range(steps):
            F, B, Q = (_at(M, T - 1 + k) for M in (model.F, model.B, Q_root))
            H, R = (_at(M, T + k) for M in (model.H, model.R))
            law = advance(law, F, B @ ahead[k], Q)
            means.append(H @ law.mean + model.d)
            shown = H @ law.S
            covariances.append(unbounded(shown @ shown.T + R, H @ law.B))
        dtype = self.transition_.dtype
        return Forecast(np.array(means, dtype=dtype), np.array(covariances, dtype=dtype))

    def initial_state(self) -> GaussianState:
        """Give the law of the first state, before anything is seen.

        Returns
        -------
        GaussianState
        """
        return _state(self._model().first)

    def update(self, state: GaussianState, x: Any) -> GaussianState:
        """Take in one observation of the present state.

        Parameters
        ----------
        state : GaussianState
            What is known so far.
        x : array-like of shape (n_features,)
            What is seen; NaN where nothing is.

        Returns
        -------
        GaussianState
            What is known now.
        """
        model = self._constant("update")
        y = _numbers("x", np.ravel(x), model.d.shape, missing=True) - model.d
        return _state(update(state._vague(), y, model.H[0], root(model.R[0]))[0])

    def advance(self, state: GaussianState, control: Any = None) -> GaussianState:
        """Go one step ahead.

        Parameters
        ----------
        state : GaussianState
            What is known of the present state.
        control : array-like of shape (n_controls,), default=None
            The input.

        Returns
        -------
        GaussianState
            What is known of the next.
        """
        model = self._constant("advance")
        F, B, Q = model.F[0], model.B[0], model.Q[0]
        if control is None and B.shape[1]:
            raise ValueError("the model has a control matrix, so it needs the input: control=...")
        u = _numbers("control", () if control is None else control, B.shape[1:])
        return _state(advance(state._vague(), F, B @ u, root(Q)))

    def _constant(self, method: str) -> StateSpace:
        model = self._model()
        if any(len(M) > 1 for M in (model.F, model.B, model.Q, model.H, model.R)):
            raise ValueError(f"{method} needs matrices that do not vary with time")
        return model

    def steady_state(self) -> tuple[np.ndarray, np.ndarray]:
        """Solve the Riccati equation that the covariances come to rest at.

        Returns
        -------
        covariance : ndarray of shape (n_states, n_states)
            That of a state ahead of its observation.
        gain : ndarray of shape (n_states, n_features)
            What an innovation is multiplied by.
        """
        model = self._constant("steady_state")
        F, Q, H, R = model.F[0], model.Q[0], model.H[0], model.R[0]
        P = linalg.solve_discrete_are(F.T, H.T, Q, R)
        return P, linalg.solve(H @ P @ H.T + R, H @ P, assume_a="pos").T

    def sample(
        self, n_steps: int = 1, random_state: RandomState = None, control: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw one series; states with a diffuse start begin at `initial_mean_`.

        Parameters
        ----------
        n_steps : int, default=1
            How many steps.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.
        control : array-like of shape (n_steps, n_controls), default=None
            The inputs; zero if not given.

        Returns
        -------
        X : ndarray of shape (n_steps, n_features)
        states : ndarray of shape (n_steps, n_states)
        """
        model, rng = self._model(), generator(random_state)
        m, n = model.H.shape[1:]
        first = model.first
        shape = (n_steps, model.B.shape[-1])
        U = np.zeros(shape) if control is None else _numbers("control", control, shape)
        pushes, Q, R = model.offsets(U[:, None])[:, 0], root(model.Q), root(model.R)
        noise, blur = rng.standard_normal((n_steps, n)), rng.standard_normal((n_steps, m))
        X, states = np.empty((n_steps, m)), np.empty((n_steps, n))
        state = first.mean + first.S @ noise[0] if n_steps else first.mean
        for t in range(n_steps):
            states[t] = state
            X[t] = _at(model.H, t) @ state + model.d + _at(R, t) @ blur[t]
            if t + 1 < n_steps:
                push = pushes[t % len(pushes)]
                state = _at(model.F, t) @ state + push + _at(Q, t) @ noise[t + 1]
        dtype = self.transition_.dtype
        return X.astype(dtype, copy=False), states.astype(dtype, copy=False)


def _numbers(name: str, given: Any, shape: tuple[int, ...], *, missing: bool = False) -> np.ndarray:
    """Numbers of a shape, which may be NaN if some may be missing, and are never infinite."""
    array = np.asarray(given, dtype=float)
    strange = np.isinf(array) if missing else ~np.isfinite(array)
    if array.shape != shape or strange.any():
        raise ValueError(f"{name} must be finite numbers of shape {shape}; got {given!r}")
    return array


def _at(matrix: np.ndarray, t: int) -> np.ndarray:
    """A matrix at a step."""
    if 1 < len(matrix) <= t:
        raise ValueError(
            f"a matrix varies with time and has {len(matrix)} steps; {t + 1} are needed"
        )
    return matrix[min(t, len(matrix) - 1)]
