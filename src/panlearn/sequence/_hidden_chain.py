r"""Inference in a hidden Markov chain, whatever its states emit.

.. math::
    \alpha_t(j) \propto b_j(x_t) \sum_i \alpha_{t-1}(i) P_{ij}, \qquad
    \beta_t(i) \propto \sum_j P_{ij} b_j(x_{t+1}) \beta_{t+1}(j), \qquad
    p(z_t = i \mid x) = \alpha_t(i) \beta_t(i)

A long sequence is walked in segments: on the way forth only the law at the head of each is kept,
and on the way back each is walked forth again, so that memory grows as the root of its length.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from panlearn.core.sources import Sequences
from panlearn.core.statistics import Statistic, Sums
from panlearn.sequence import _chain_kernels as kernels
from panlearn.sequence import _path_kernels as paths
from panlearn.sequence._emissions import Emission, posterior_mode

SAFE = 1e-100  # products of three such numbers do not underflow
WHOLE = 1 << 24  # numbers that a sequence may keep (steps times states) before it is cut up


class Chain(NamedTuple):
    """The parameters: the first law (k,), the transitions (k, k), and what the states emit."""

    startprob: np.ndarray
    transmat: np.ndarray
    emission: Emission


@dataclass(frozen=True)
class Expected(Sums):
    """Expected starts, steps and emissions; the weight is that of all steps together."""

    weight: float
    log_likelihood: float
    start: np.ndarray
    step: np.ndarray
    emission: Statistic

    @property
    def is_finite(self) -> bool:
        """Whether every number in it is finite."""
        numbers = (self.log_likelihood, self.start, self.step)
        return all(np.isfinite(n).all() for n in numbers) and self.emission.is_finite


@dataclass(frozen=True)
class Likelihood(Sums):
    """The weight of all steps and the log-likelihood of the sequences."""

    weight: float
    log_likelihood: float


class Recursion(ABC):
    """How numbers are kept on the way: as they are, or as logarithms."""

    first: np.ndarray
    transition: np.ndarray

    def __init__(self, at: Chain) -> None:
        self.at = at

    @abstractmethod
    def emit(self, values: np.ndarray, y: Any, heads: Any) -> tuple[np.ndarray, np.ndarray]:
        """Densities of steps and what was divided out; `heads` are the first steps of sequences."""

    @abstractmethod
    def ahead(self, alpha: np.ndarray) -> np.ndarray:
        """The law of the next state."""

    @abstractmethod
    def counts(self, step: np.ndarray) -> np.ndarray:
        """The expected steps, from what the kernel summed."""

    def masked(self, values: np.ndarray, y: Any, heads: Any) -> np.ndarray:
        """Log densities, minus infinity in states that are known not to be, or cannot be first."""
        density = self.at.emission.log_densities(values)
        if y is not None:
            density[(y >= 0)[:, None] & (y[:, None] != np.arange(density.shape[1]))] = -np.inf
        if heads is not None:
            density[np.ix_(heads, self.at.startprob == 0)] = -np.inf
        return density


class Scaled(Recursion):
    """Probabilities that are normalised at each step.

    If alpha is exact, what beta loses to underflow does not matter: the error of the posteriors is
    alpha times that of beta, and its sum over the states is the same at every step further back.
    """

    forward, backward = staticmethod(kernels.forward), staticmethod(kernels.backward)

    def __init__(self, at: Chain) -> None:
        super().__init__(at)
        self.first, self.transition = at.startprob, at.transmat

    def emit(self, values: np.ndarray, y: Any, heads: Any) -> tuple[np.ndarray, np.ndarray]:
        if y is None:
            density, shift = self.at.emission.densities(values)
            if heads is not None and (self.at.startprob == 0).any():
                every = np.arange(len(heads))
                first, part = self.masked(values[heads], None, every), np.empty(len(heads))
                kernels.shifted(first, part)
                density[heads], shift[heads] = first, part
            return density, shift
        density, shift = self.masked(values, y, heads), np.empty(len(values))
        kernels.shifted(density, shift)
        return density, shift

    def ahead(self, alpha: np.ndarray) -> np.ndarray:
        return alpha @ self.transition

    def counts(self, step: np.ndarray) -> np.ndarray:
        return step * self.transition


class Logarithmic(Recursion):
    """Logarithms, for chains with steps that cannot be taken."""

    forward, backward = staticmethod(kernels.log_forward), staticmethod(kernels.log_backward)

    def __init__(self, at: Chain) -> None:
        super().__init__(at)
        with np.errstate(divide="ignore"):
            self.first, self.transition = np.log(at.startprob), np.log(at.transmat)

    def emit(self, values: np.ndarray, y: Any, heads: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.masked(values, y, None), np.zeros(len(values))

    def ahead(self, alpha: np.ndarray) -> np.ndarray:
        return np.array([kernels.log_sum(alpha, column) for column in self.transition.T])

    def counts(self, step: np.ndarray) -> np.ndarray:
        return step


class Smoothing:
    """One pass forth over the sequences, and one back that gives the laws of the states."""

    def __init__(self, at: Chain, X: Sequences, y: Any = None) -> None:
        self.X, self.y, self.k = X, y, len(at.startprob)
        n = len(X.values)
        whole = len(X) > 1 or n * self.k <= WHOLE
        self._size = max(n, 1) if whole else int(np.ceil(np.sqrt(n)))
        unlikely = at.transmat < kernels.LEAST
        if not unlikely.any():
            self._run(Scaled(at), 0.0)
        elif at.transmat[unlikely].any() or not self._run(Scaled(at), SAFE):
            self._run(Logarithmic(at), 0.0)

    def _run(self, way: Recursion, least: float) -> bool:
        """Walk forth; say False, and stop, where a number that is not zero falls below `least`."""
        self.way: Any = way
        self._least, self._heads, self._last = least, [way.first], None
        self.step, self.log_likelihood = np.zeros((self.k, self.k)), np.zeros(len(self.X))
        n = len(self.X.values)
        for start in range(0, n, self._size):
            self._last = self._forth(start)
            if self._last is None:
                return False
            self.log_likelihood += self._last[3]
            if start + self._size < n:
                self._heads.append(way.ahead(self._last[1][-1]))
        return True

    def _offsets(self, start: int) -> np.ndarray:
        n = len(self.X.values)
        return self.X.offsets if self._size == n else np.array([0, min(self._size, n - start)])

    def _forth(self, start: int) -> Any:
        """Densities, alpha, scale and log-likelihoods of a segment; None if it is not safe."""
        part, offsets = slice(start, start + self._size), self._offsets(start)
        values, known = self.X.values[part], None if self.y is None else self.y[part]
        density, shift = self.way.emit(values, known, offsets[:-1] if start == 0 else None)
        alpha, scale = np.empty_like(density), np.empty(len(shift))
        value = np.empty(len(offsets) - 1)
        if self._least and ((density > 0) & (density < self._least)).any():
            return None
        laws = self._heads[start // self._size], self.way.transition
        if not self.way.forward(*laws, density, offsets, alpha, scale, value, self._least):
            return None
        return density, alpha, scale, value + np.add.reduceat(shift, offsets[:-1])

    def back(self, weight: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield segments, the last one first, with weighted laws of their states; fill `step`."""
        require_possible(self.log_likelihood)
        starts = range(0, len(self.X.values), self._size)
        later, last = np.zeros(self.k), self._last
        for start in reversed(starts):
            density, share, scale, _ = last if last else self._forth(start)
            last = None
            self.way.backward(
                self.way.transition,
                density,
                self._offsets(start),
                weight,
                share,
                scale,
                later,
                start != starts[-1],
                self.step,
            )
            yield slice(start, start + len(share)), share


def require_possible(log_probability: np.ndarray) -> None:
    """Refuse sequences that cannot come from the chain: their states have no law."""
    bad = np.flatnonzero(log_probability == -np.inf)
    if bad.size:
        raise ValueError(
            f"sequence {bad[0]} has probability zero under this model: a symbol or a step that no "
            "state allows; a prior above 1 gives each a probability"
        )


def _weights(X: Sequences, weight: Any) -> np.ndarray:
    return np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)


def _nothing(at: Chain, X: Sequences) -> Any:
    """The statistic of no steps: a block may hold no sequence."""
    return at.emission.expect(X.values[:0], np.zeros((0, len(at.startprob))))


def likelihood(at: Chain, X: Sequences, y: Any = None, weight: Any = None) -> Likelihood:
    """The log-likelihood of sequences."""
    w = _weights(X, weight)
    return Likelihood(float(w @ X.lengths), float(w @ Smoothing(at, X, y).log_likelihood))


def expect(at: Chain, X: Sequences, y: Any = None, weight: Any = None) -> Expected:
    """What sequences are expected to add: the step of Baum and Welch."""
    w, start = _weights(X, weight), np.zeros(len(at.startprob))
    smoothing, emission = Smoothing(at, X, y), _nothing(at, X)
    for part, share in smoothing.back(w):
        emission = emission + at.emission.expect(X.values[part], share)
        if part.start == 0:
            start = share[X.offsets[:-1]].sum(axis=0)
    value = float(w @ smoothing.log_likelihood)
    step = smoothing.way.counts(smoothing.step)
    return Expected(float(w @ X.lengths), value, start, step, emission)


def expect_best(at: Chain, X: Sequences, y: Any = None, weight: Any = None) -> Expected:
    """What the most probable paths add: the step of Viterbi training."""
    w, k = _weights(X, weight), len(at.startprob)
    value, path = decode(at, X, y)
    step = np.zeros((k, k))
    paths.count_path(path, X.offsets, w, step)
    start = np.bincount(path[X.offsets[:-1]], w, minlength=k).astype(float)
    emission = _nothing(at, X)
    for begin in range(0, len(path), WHOLE // k):
        part = slice(begin, begin + WHOLE // k)
        of_step = np.repeat(w, X.lengths)[part]
        share = (path[part, None] == np.arange(k)) * of_step[:, None]
        emission = emission + at.emission.expect(X.values[part], share)
    return Expected(float(w @ X.lengths), float(w @ value), start, step, emission)


def decode(at: Chain, X: Sequences, y: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """The most probable path of each sequence, flat, and the logarithm of its probability."""
    way, n, k = Logarithmic(at), len(X.values), len(at.startprob)
    path, value = np.empty(n, dtype=np.int64), np.empty(len(X))
    pointer = np.empty((n, k), dtype=np.int16)
    if len(X) > 1 or n * k <= WHOLE:
        density, _ = way.emit(X.values, y, None)
        paths.viterbi(way.first, way.transition, density, X.offsets, pointer, path, value)
    else:
        best = way.first.copy()
        for begin in range(0, n, WHOLE // k):
            part = slice(begin, begin + WHOLE // k)
            density, _ = way.emit(X.values[part], None if y is None else y[part], None)
            paths.viterbi_steps(best, begin > 0, way.transition, density, pointer[part])
        value[0] = best.max()
        paths.trace_back(int(best.argmax()), pointer, path)
    require_possible(value)
    return value, path


class Maximisation:
    """What starts at zero stays there, and a prior adds to the other counts."""

    def __init__(
        self, start: Chain, startprob_prior: Any, transmat_prior: Any, params: str = "ste"
    ) -> None:
        self.priors = startprob_prior, transmat_prior
        self.supports = start.startprob > 0, start.transmat > 0
        self.params = params

    def __call__(self, at: Chain, seen: Expected) -> Chain:
        """The next parameters."""
        startprob, transmat = (
            posterior_mode(count, prior, support, before)
            for count, prior, support, before in zip(
                (seen.start, seen.step), self.priors, self.supports, at[:2], strict=True
            )
        )
        startprob = startprob if "s" in self.params else at.startprob
        transmat = transmat if "t" in self.params else at.transmat
        # so that what EM makes small, and not zero, is walked by the quick recursions
        transmat[(transmat > 0) & (transmat < kernels.LEAST)] = kernels.LEAST
        emission = at.emission
        if not set(self.params) <= {"s", "t"}:
            emission = emission.maximise(seen.emission)
        return Chain(startprob, transmat, emission)
