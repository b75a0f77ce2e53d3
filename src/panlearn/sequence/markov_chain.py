"""Markov chains with finitely many states: their structure, their long run, and learning them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, connected_components

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.core.statistics import Sums

TOLERANCE = 1e-10


@dataclass(frozen=True)
class TransitionCounts(Sums):
    """How often sequences start in each state, and step from each state to each."""

    start: np.ndarray
    step: np.ndarray

    @classmethod
    def of(cls, sequences: Iterable[np.ndarray], n_states: int) -> Self:
        """Count in sequences of codes 0, ..., n_states - 1."""
        start, step = np.zeros(n_states), np.zeros((n_states, n_states))
        for codes in sequences:
            start[codes[:1]] += 1
            np.add.at(step, (codes[:-1], codes[1:]), 1)
        return cls(start, step)


@dataclass(frozen=True, eq=False)
class MarkovChain:
    r"""A chain that moves from state i to state j with probability :math:`P_{ij}`.

    .. math::
        P(X_{t+1} = j \mid X_t = i, X_{t-1}, \ldots) = P_{ij}, \qquad
        P(X_{t+n} = j \mid X_t = i) = (P^n)_{ij}

    Parameters
    ----------
    transition : array-like of shape (n_states, n_states)
        The matrix P; its rows sum to one.
    states : sequence, default=None
        The labels of the states, of any kind that can be a key; 0, 1, ... if not given.
    initial : array-like of shape (n_states,), default=None
        The law of the first state; uniform if not given.

    Notes
    -----
    States communicate if each can be reached from the other; a class that cannot be left is
    recurrent, the states of the others are transient. A chain is ergodic if it has one recurrent
    class, no transient state, and period one. What is learned from sequences comes from counts
    that are sums over sequences: `counts` of two parts add up to the counts of the whole.

    References
    ----------
    J. R. Norris (1997). Markov Chains. Cambridge University Press.
    doi:10.1017/CBO9780511810633

    Examples
    --------
    >>> from panlearn.sequence import MarkovChain
    >>> weather = MarkovChain([[0.7, 0.3], [0.1, 0.9]], states=["rain", "sun"])
    >>> weather.stationary().round(3)
    array([0.25, 0.75])
    >>> weather.is_ergodic
    True
    >>> MarkovChain.fit([list("ab"), list("aaba")]).transition.round(2)
    array([[0.33, 0.67],
           [1.  , 0.  ]])
    """

    transition: Any
    states: Any = None
    initial: Any = None

    def __post_init__(self) -> None:
        P = np.array(self.transition, dtype=float)
        if P.ndim != 2 or P.shape[0] != P.shape[1] or not len(P):
            raise ValueError(f"transition must be a square matrix; got shape {P.shape}")
        n = len(P)
        first = np.full(n, 1 / n) if self.initial is None else np.array(self.initial, dtype=float)
        states = list(range(n)) if self.states is None else list(self.states)
        if len(states) != n or len(set(states)) != n:
            raise ValueError(f"states must be {n} different labels, one a row of transition")
        if first.shape != (n,):
            raise ValueError(f"initial has shape {first.shape}; it needs {n} probabilities")
        for name, rows in (("transition", P), ("initial", first[None])):
            if not (rows >= 0).all() or not np.allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-8):
                raise ValueError(f"each row of {name} must hold probabilities that sum to one")
        object.__setattr__(self, "transition", P)
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "initial", first)

    @classmethod
    def fit(cls, sequences: Any, *, states: Any = None, smoothing: float = 0.0) -> MarkovChain:
        """Learn the chain from one sequence of labels or from a list of sequences.

        Parameters
        ----------
        sequences : sequence of labels, or list of sequences
            A list of lists, tuples or arrays holds sequences; of anything else, labels.
        states : sequence, default=None
            The labels; those that occur, sorted, if not given.
        smoothing : float, default=0.0
            Added to every count, so that what was not seen has a probability.

        Returns
        -------
        MarkovChain
            A state that was never left stays where it is.
        """
        sequences = _as_list(sequences)
        labels = list(states) if states is not None else sorted({x for s in sequences for x in s})
        return cls.from_counts(counts(sequences, labels), labels, smoothing=smoothing)

    @classmethod
    def from_counts(
        cls, counted: TransitionCounts, states: Any = None, *, smoothing: float = 0.0
    ) -> MarkovChain:
        """Estimate the probabilities from counts, which may be sums of counts."""
        if not math.isfinite(smoothing) or smoothing < 0:
            raise ValueError(f"smoothing must be finite and not negative; got {smoothing!r}")
        start, step = counted.start + smoothing, counted.step + smoothing
        if not start.sum():
            raise ValueError("the sequences are empty, so there is nothing to learn from")
        step = np.where(step.sum(axis=1, keepdims=True) > 0, step, np.eye(len(step)))
        return cls(step / step.sum(axis=1, keepdims=True), states, start / start.sum())

    def n_step(self, n: int) -> np.ndarray:
        """Probabilities of n steps, the power :math:`P^n`."""
        return np.linalg.matrix_power(self.transition, n)

    def law(self, n: int, initial: Any = None) -> np.ndarray:
        """The law of the state after n steps from a law, :math:`v^T P^n`."""
        start = self.initial if initial is None else np.asarray(initial, dtype=float)
        return start @ self.n_step(n)

    @property
    def communicating_classes(self) -> list[list[Any]]:
        """States that reach each other, together; in the order of their first states."""
        return [[self.states[i] for i in members] for members in self._classes()]

    @property
    def recurrent_classes(self) -> list[list[Any]]:
        """The classes that cannot be left."""
        return [[self.states[i] for i in members] for members in self._closed()]

    @property
    def transient_states(self) -> list[Any]:
        """The states from which the chain may leave and not come back."""
        recurrent = {i for members in self._closed() for i in members}
        return [s for i, s in enumerate(self.states) if i not in recurrent]

    @property
    def periods(self) -> list[int]:
        """The period of each communicating class; 0 for a state that has no way back."""
        return [self._period(members) for members in self._classes()]

    @property
    def is_irreducible(self) -> bool:
        """Whether every state reaches every other."""
        return len(self._classes()) == 1

    @property
    def is_ergodic(self) -> bool:
        """Whether the chain forgets its start: one class, of period one."""
        return self.is_irreducible and self.periods == [1]

    @property
    def is_reversible(self) -> bool:
        r"""Whether flows balance, :math:`\pi_i P_{ij} = \pi_j P_{ji}`, in the stationary law."""
        flow = self.stationary()[:, None] * self.transition
        return bool(np.allclose(flow, flow.T, rtol=0, atol=TOLERANCE))

    def stationary(self, method: str = "eigen", *, max_iter: int = 1_000_000) -> np.ndarray:
        """The law that a step does not change.

        With "eigen" the left eigenvector of the one recurrent class, by a linear system; with
        "power" the limit of steps from the initial law, which exists for aperiodic chains.
        """
        if method not in ("eigen", "power"):
            raise ValueError(f"method must be 'eigen' or 'power'; got {method!r}")
        closed = self._closed()
        if len(closed) != 1:
            raise ValueError(
                f"the chain has {len(closed)} recurrent classes, so no single stationary law; take "
                "the chain of one class"
            )
        if method == "power":
            return self._by_power(max_iter, self._period(closed[0]))
        law = np.zeros(len(self.states))
        law[closed[0]] = _stationary(self.transition[np.ix_(closed[0], closed[0])])
        return law

    def reversal(self) -> MarkovChain:
        r"""The chain read backwards, :math:`Q_{ji} = \pi_i P_{ij} / \pi_j`."""
        law = self.stationary()
        if not law.all():
            raise ValueError("a transient state has no past in the long run: no reversal")
        backwards = (law[:, None] * self.transition).T / law[:, None]
        return MarkovChain(backwards / backwards.sum(axis=1, keepdims=True), self.states, law)

    def hitting_times(self, targets: Any) -> np.ndarray:
        r"""Expected steps from each state until one of the targets; infinite if it may not come.

        They solve :math:`h_i = 0` on the targets and :math:`h_i = 1 + \sum_j P_{ij} h_j` elsewhere.
        """
        goal = np.isin(np.arange(len(self.states)), self._codes(list(targets)))
        stopped = np.where(goal[:, None], np.eye(len(goal)), self.transition)
        # a state from which some state without a way to the targets is reached waits for ever
        reach = _reachable(stopped > 0)
        lost = ~reach[:, goal].any(axis=1)
        free = ~goal & ~reach[:, lost].any(axis=1)
        times = np.where(goal, 0.0, np.inf)
        inner = np.eye(free.sum()) - self.transition[np.ix_(free, free)]
        times[free] = np.linalg.solve(inner, np.ones(free.sum()))
        return times

    def sample(
        self, n_steps: int, *, start: Any = None, random_state: RandomState = None
    ) -> list[Any]:
        """Draw a sequence of so many states, from the initial law or from a given state."""
        rng = generator(random_state)
        draws, cumulative = rng.random(n_steps), np.cumsum(self.transition, axis=1)
        if n_steps < 1:
            return []
        if start is None:
            state = int(rng.choice(len(self.states), p=self.initial))
        else:
            state = int(self._codes([start])[0])
        path = [state]
        for u in draws[1:]:
            row = cumulative[state]
            state = int(np.searchsorted(row, u * row[-1], side="right"))
            path.append(state)
        return [self.states[i] for i in path]

    def score_samples(self, sequences: Any) -> np.ndarray:
        """Logarithm of the probability of each sequence: of its start and of every step."""
        with np.errstate(divide="ignore"):
            first, steps = np.log(self.initial), np.log(self.transition)
        coded = [self._codes(s) for s in _as_list(sequences)]
        return np.array([first[c[:1]].sum() + steps[c[:-1], c[1:]].sum() for c in coded])

    def score(self, sequences: Any) -> float:
        """Mean of the logarithms of the probabilities of the sequences."""
        return float(np.mean(self.score_samples(sequences)))

    def _codes(self, labels: Sequence[Any]) -> np.ndarray:
        return _encode(labels, {state: i for i, state in enumerate(self.states)})

    def _classes(self) -> list[np.ndarray]:
        _, label = connected_components(self.transition > 0, connection="strong")
        _, first = np.unique(label, return_index=True)
        return [np.flatnonzero(label == label[i]) for i in np.sort(first)]

    def _closed(self) -> list[np.ndarray]:
        everyone = np.arange(len(self.states))
        return [
            members
            for members in self._classes()
            if not self.transition[np.ix_(members, np.setdiff1d(everyone, members))].any()
        ]

    def _period(self, members: np.ndarray) -> int:
        """The common divisor of level(i) + 1 - level(j) over the edges i -> j of a class."""
        inner = self.transition[np.ix_(members, members)] > 0
        order, parent = breadth_first_order(inner, 0)
        level = np.zeros(len(members), dtype=int)
        for node in order[1:]:
            level[node] = level[parent[node]] + 1
        source, target = np.nonzero(inner)
        return int(np.gcd.reduce(np.abs(level[source] + 1 - level[target]), initial=0))

    def _by_power(self, max_iter: int, period: int) -> np.ndarray:
        if period != 1:
            raise ValueError(f"the chain has period {period}, so its steps have no limit")
        law = self.initial
        for _ in range(max_iter):
            last, law = law, law @ self.transition
            if np.abs(law - last).sum() < 1e-15:
                break
        return law / law.sum()


def counts(sequences: Any, states: Sequence[Any]) -> TransitionCounts:
    """Count starts and steps of one sequence or of a list, for states in a given order."""
    place = {state: i for i, state in enumerate(states)}
    return TransitionCounts.of([_encode(s, place) for s in _as_list(sequences)], len(place))


def _as_list(sequences: Any) -> list[Any]:
    """One sequence of labels becomes a list of one; a list of sequences stays."""
    nested = len(sequences) > 0 and all(isinstance(s, list | tuple | np.ndarray) for s in sequences)
    chosen = sequences if nested else [sequences]
    return [s.tolist() if isinstance(s, np.ndarray) else list(s) for s in chosen]


def _encode(labels: Sequence[Any], place: dict[Any, int]) -> np.ndarray:
    try:
        return np.array([place[x] for x in labels], dtype=int)
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is not among the states {list(place)}") from None


def _stationary(P: np.ndarray) -> np.ndarray:
    """Elimination without subtraction (Grassmann, Taksar and Heyman): every entry keeps digits."""
    A, n = P.copy(), len(P)
    for k in range(n - 1, 0, -1):
        A[:k, k] /= A[k, :k].sum()
        A[:k, :k] += np.outer(A[:k, k], A[k, :k])
    law = np.ones(n)
    for k in range(1, n):
        law[k] = law[:k] @ A[:k, k]
    return law / law.sum()


def _reachable(edges: np.ndarray) -> np.ndarray:
    """Which states are reached from which, in any number of steps: squares of the matrix."""
    reach = edges | np.eye(len(edges), dtype=bool)
    for _ in range(len(edges).bit_length()):
        reach = reach @ reach
    return reach
