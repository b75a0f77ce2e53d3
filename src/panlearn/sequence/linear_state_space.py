"""Linear systems with a state, in continuous or in discrete time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import fft, linalg

from panlearn.core.jit import jit
from panlearn.core.value import Value


@dataclass(frozen=True, eq=False)
class LinearStateSpace(Value):
    r"""A linear system that turns inputs u into outputs y by way of a state x.

    .. math::
        \dot x = A x + B u, \quad y = C x + D u
        \qquad \text{or} \qquad
        x_{k+1} = A x_k + B u_k, \quad y_k = C x_k + D u_k

    Parameters
    ----------
    A : array-like of shape (n_states, n_states)
        What the state does by itself.
    B : array-like of shape (n_states, n_inputs)
        What the input does to the state.
    C : array-like of shape (n_outputs, n_states)
        What is seen of the state.
    D : array-like of shape (n_outputs, n_inputs), default=None
        What is seen of the input at once; zero if not given.
    dt : float, default=None
        The time of a step; None for continuous time.

    Notes
    -----
    `discretize` steps from one time to the next. Zero-order hold is exact for an input that is
    constant in between, by the exponential of the matrix with the blocks A, B and zero. Euler's
    rule is off by some :math:`h^2` a step and may turn a stable system into an unstable one; the
    bilinear (trapezoidal) rule is off by some :math:`h^3` and never does. `simulate` walks the
    recurrence, :math:`O(T n^2)`; `convolve` gives the same outputs from rest as a product of
    Fourier transforms with the `kernel`, :math:`O(T \log T)` once that is known.

    References
    ----------
    K. J. Astrom and B. Wittenmark (1997). Computer-Controlled Systems: Theory and Design.
    Prentice Hall, 3rd edition.

    A. Gu, K. Goel and C. Re (2022). Efficiently modeling long sequences with structured state
    spaces. ICLR. doi:10.48550/arXiv.2111.00396

    Examples
    --------
    A mass of 1 on a spring of stiffness 2 with a damper of 0.5, pushed by a constant force of 1:

    >>> import numpy as np
    >>> from panlearn.sequence import LinearStateSpace
    >>> spring = LinearStateSpace([[0, 1], [-2, -0.5]], [[0], [1]], [[1, 0]])
    >>> spring.is_stable, spring.static_gain.item()
    (True, 0.5)
    >>> spring.discretize(0.1).simulate(np.ones(600))[-1].round(4).item()
    0.5
    """

    A: Any
    B: Any
    C: Any
    D: Any = None
    dt: float | None = None

    def __post_init__(self) -> None:
        A, B, C = (np.array(m, dtype=float) for m in (self.A, self.B, self.C))
        if A.ndim != 2 or A.shape[0] != A.shape[1] or not len(A):
            raise ValueError(f"A must be a square matrix; got shape {A.shape}")
        if B.ndim != 2 or len(B) != len(A):
            raise ValueError(f"B must be a matrix of {len(A)} rows, as A; got shape {B.shape}")
        if C.ndim != 2 or C.shape[1] != len(A):
            raise ValueError(f"C must be a matrix of {len(A)} columns, as A; got shape {C.shape}")
        shape = (len(C), B.shape[1])
        D = np.zeros(shape) if self.D is None else np.array(self.D, dtype=float)
        if D.shape != shape:
            raise ValueError(f"D must have shape {shape}, as C and B say; got {D.shape}")
        if not all(np.isfinite(m).all() for m in (A, B, C, D)):
            raise ValueError("A, B, C and D must hold finite numbers")
        if self.dt is not None and not (np.isfinite(self.dt) and self.dt > 0):
            raise ValueError(f"dt must be a positive time, or None; got {self.dt!r}")
        for name, value in {"A": A, "B": B, "C": C, "D": D}.items():
            object.__setattr__(self, name, value)

    @property
    def poles(self) -> np.ndarray:
        """The eigenvalues of A."""
        return np.linalg.eigvals(self.A)

    @property
    def is_stable(self) -> bool:
        """Whether the state dies out without input: all real parts below 0, or moduli below 1."""
        size = self.poles.real if self.dt is None else np.abs(self.poles) - 1
        return bool((size < 0).all())

    @property
    def static_gain(self) -> np.ndarray:
        r"""The output that a constant input settles to, :math:`D - C A^{-1} B`, of (p, m)."""
        A = self.A if self.dt is None else self.A - np.eye(len(self.A))
        try:
            return self.D - self.C @ np.linalg.solve(A, self.B)
        except np.linalg.LinAlgError:
            raise ValueError("the state sums up a constant input, so it never settles") from None

    def frequency_response(self, frequency: Any) -> np.ndarray:
        r"""Give the gain of waves, :math:`C (zI - A)^{-1} B + D`, z on the edge of stability.

        Parameters
        ----------
        frequency : float or array-like of shape (n,)
            Angular frequencies, in radians a unit of time.

        Returns
        -------
        ndarray of shape (n, n_outputs, n_inputs)
            Complex: how much larger, and how much later.
        """
        w = 1j * np.atleast_1d(np.asarray(frequency, dtype=float))
        z = w if self.dt is None else np.exp(w * self.dt)
        inner = z[:, None, None] * np.eye(len(self.A)) - self.A
        return self.C @ np.linalg.solve(inner, self.B.astype(complex)[None]) + self.D

    def discretize(
        self, dt: float, method: Literal["zoh", "euler", "bilinear"] = "zoh"
    ) -> LinearStateSpace:
        """Give the system in steps of time.

        Parameters
        ----------
        dt : float
            The time of a step.
        method : {"zoh", "euler", "bilinear"}, default="zoh"
            Zero-order hold, Euler's rule, or the bilinear rule, which also sees half of the input
            of the same step at once.

        Returns
        -------
        LinearStateSpace
        """
        if self.dt is not None:
            raise ValueError(f"the system is in steps of {self.dt} already")
        if method not in ("zoh", "euler", "bilinear"):
            raise ValueError(f"method must be 'zoh', 'euler' or 'bilinear'; got {method!r}")
        (n, m), eye = self.B.shape, np.eye(len(self.A))
        if method == "zoh":
            block = np.zeros((n + m, n + m))
            block[:n] = dt * np.hstack([self.A, self.B])
            stepped = linalg.expm(block)[:n]
            return LinearStateSpace(stepped[:, :n], stepped[:, n:], self.C, self.D, dt)
        if method == "euler":
            return LinearStateSpace(eye + dt * self.A, dt * self.B, self.C, self.D, dt)
        half = eye - dt / 2 * self.A
        try:
            inverse = np.linalg.inv(half)
        except np.linalg.LinAlgError:
            raise ValueError(f"2 / dt = {2 / dt:g} is a pole: take another dt") from None
        A, B, C = inverse @ (eye + dt / 2 * self.A), inverse @ (dt * self.B), self.C @ inverse
        return LinearStateSpace(A, B, C, self.D + self.C @ B / 2, dt)

    def simulate(self, u: Any, initial: Any = None) -> np.ndarray:
        """Give the outputs of a sequence of inputs, step by step.

        Parameters
        ----------
        u : array-like of shape (T, n_inputs) or (T,)
            The inputs; one-dimensional if there is one.
        initial : array-like of shape (n_states,), default=None
            The first state; at rest if not given.

        Returns
        -------
        ndarray of shape (T, n_outputs) or (T,)
            One-dimensional if u is, and there is one output.
        """
        inputs, flat = self._inputs(u)
        outputs = self.states(inputs, initial) @ self.C.T + inputs @ self.D.T
        return outputs[:, 0] if flat and len(self.C) == 1 else outputs

    def states(self, u: Any, initial: Any = None) -> np.ndarray:
        """Give the state at each step.

        Parameters
        ----------
        u : array-like of shape (T, n_inputs) or (T,)
            The inputs.
        initial : array-like of shape (n_states,), default=None
            The first state; at rest if not given.

        Returns
        -------
        ndarray of shape (T, n_states)
        """
        inputs, _ = self._inputs(u)
        first = np.zeros(len(self.A)) if initial is None else np.array(initial, dtype=float)
        if first.shape != (len(self.A),):
            raise ValueError(f"initial must hold {len(self.A)} numbers; got shape {first.shape}")
        return _walk(self.A, inputs @ self.B.T, first)

    def kernel(self, n_steps: int) -> np.ndarray:
        """Give what an impulse does: D, C B, C A B, C A A B, ...

        Parameters
        ----------
        n_steps : int
            How many steps.

        Returns
        -------
        ndarray of shape (n_steps, n_outputs, n_inputs)
        """
        m = self.B.shape[1]
        impulses = np.zeros((n_steps, m, m))
        impulses[:1] = np.eye(m)
        columns = [self.simulate(impulses[:, :, j]) for j in range(m)]
        return np.stack(columns, axis=2)

    def convolve(self, u: Any) -> np.ndarray:
        """Give the outputs from rest all at once: the inputs convolved with the kernel.

        Parameters
        ----------
        u : array-like of shape (T, n_inputs) or (T,)
            The inputs; one-dimensional if there is one.

        Returns
        -------
        ndarray of shape (T, n_outputs) or (T,)
            What `simulate` gives, to rounding; it needs the kernel to fade or stay within floats.
        """
        inputs, flat = self._inputs(u)
        size = fft.next_fast_len(2 * len(inputs), real=True)  # no wrapping round
        gain = fft.rfft(self.kernel(len(inputs)), size, axis=0)
        waves = np.einsum("wpm,wm->wp", gain, fft.rfft(inputs, size, axis=0))
        outputs = fft.irfft(waves, size, axis=0)[: len(inputs)]
        return outputs[:, 0] if flat and len(self.C) == 1 else outputs

    def _inputs(self, u: Any) -> tuple[np.ndarray, bool]:
        if self.dt is None:
            raise ValueError("the system is in continuous time; discretize it first")
        inputs = np.asarray(u, dtype=float)
        flat, m = inputs.ndim == 1, self.B.shape[1]
        inputs = inputs[:, None] if flat else inputs
        if inputs.ndim != 2 or inputs.shape[1] != m or not len(inputs):
            raise ValueError(f"u must have shape (T, {m}); got {np.shape(u)}")
        if not np.isfinite(inputs).all():
            raise ValueError("u contains NaN or infinity")
        return inputs, flat


@jit
def _walk(A: np.ndarray, driven: np.ndarray, first: np.ndarray) -> np.ndarray:
    """States x_0 = first, x_(k+1) = A x_k + driven_k."""
    n = len(first)
    x = np.zeros((len(driven), n))
    x[0] = first
    for t in range(1, len(driven)):
        for i in range(n):
            total = driven[t - 1, i]
            for j in range(n):
                total += A[i, j] * x[t - 1, j]
            x[t, i] = total
    return x
