"""Markov chains with finitely many states: their structure, their long run, and learning them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.labels import missing
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.mergeable import Mergeable
from panlearn.core.parameters import NonNegative, RandomState
from panlearn.core.random import generator
from panlearn.core.sequences import read_sequences, symbols_of
from panlearn.core.sources import Rows
from panlearn.core.warning import warn
from panlearn.sequence._base import SequenceModel
from panlearn.sequence._chain_kernels import eliminate
from panlearn.sequence._hmm import law as probabilities
from panlearn.sequence._path_kernels import draw_path
from panlearn.sequence._structure import classes, closed_classes, period, reaching
from panlearn.sequence._symbols import categories_of, encode
from panlearn.sequence._transition_counts import TransitionCounts

TOLERANCE = 1e-10


@dataclass(eq=False, repr=False)
class MarkovChain(Mergeable, SequenceModel):
    r"""A chain that moves from state i to state j with probability :math:`P_{ij}`.

    .. math::
        P(X_{t+1} = j \mid X_t = i, X_{t-1}, \ldots) = P_{ij}, \qquad
        P(X_{t+n} = j \mid X_t = i) = (P^n)_{ij}, \qquad
        \hat P_{ij} = \frac{n_{ij} + \lambda}{\sum_l (n_{il} + \lambda)}

    Parameters
    ----------
    states : array-like or None, default=None
        The labels of the states; those that occur, sorted, if not given.
    smoothing : float, default=0.0
        The number :math:`\lambda` that is added to every count, so that what was not seen has a
        probability.

    Attributes
    ----------
    states_ : ndarray of shape (n_states,)
        The labels of the states.
    transmat_ : ndarray of shape (n_states, n_states)
        The matrix P. A state that was never left stays where it is.
    startprob_ : ndarray of shape (n_states,)
        The law of the first state.
    statistic_ : TransitionCounts
        The counts, from which `partial_fit` goes on.

    Notes
    -----
    What is learned are counts, sums over sequences: those of two parts add up to those of the
    whole. `from_transition` makes a chain of a known matrix. States communicate if each can be
    reached from the other; a class that cannot be left is recurrent, the states of the others are
    transient. A chain is ergodic if it has one recurrent class, no transient state, and period one.
    Counting costs :math:`O(T)` for T steps in all and a sort of their labels, the stationary law of
    k states :math:`O(k^3)`.

    References
    ----------
    J. R. Norris (1997). Markov Chains. Cambridge University Press.
    doi:10.1017/CBO9780511810633

    Examples
    --------
    >>> from panlearn.sequence import MarkovChain
    >>> weather = MarkovChain.from_transition([[0.7, 0.3], [0.1, 0.9]], states=["rain", "sun"])
    >>> weather.stationary().round(3)
    array([0.25, 0.75])
    >>> weather.is_ergodic
    True
    >>> MarkovChain().fit([list("ab"), list("aaba")]).transmat_.round(2)
    array([[0.33, 0.67],
           [1.  , 0.  ]])
    """

    learned = shapes(
        states_="(n_states,)",
        transmat_="(n_states, n_states)",
        startprob_="(n_states,)",
    )

    _kept_none_if = "it was made of a known matrix and has no counts"

    states: np.ndarray | None = None
    _: KW_ONLY
    smoothing: NonNegative[float] = 0.0

    _kind = "symbols"

    @classmethod
    def from_transition(cls, transition: Any, states: Any = None, initial: Any = None) -> Self:
        """Make a chain of a known matrix.

        Parameters
        ----------
        transition : array-like of shape (n_states, n_states)
            The matrix P; its rows sum to one.
        states : sequence, default=None
            The labels of the states; 0, 1, ... if not given.
        initial : array-like of shape (n_states,), default=None
            The law of the first state; uniform if not given.

        Returns
        -------
        MarkovChain
            As if it were fitted.
        """
        P = np.array(transition, dtype=float)
        if P.ndim != 2 or P.shape[0] != P.shape[1] or not len(P):
            raise ValueError(f"transition must be a square matrix; got shape {P.shape}")
        n = len(P)
        labels = list(range(n)) if states is None else list(states)
        if len(labels) != n or len(set(labels)) != n:
            raise ValueError(f"states must be {n} different labels, one a row of transition")
        P, first = probabilities("transition", P, (n, n)), probabilities("initial", initial, (n,))
        chain = cls(None if states is None else labels)
        chain.states_ = categories_of(None, labels, "states")
        chain.transmat_, chain.startprob_ = P, first
        return chain

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_sequences(self, X, None, sample_weight, kind="symbols")

    def _summarise(self, rows: Rows) -> TransitionCounts:
        states = None if self.states is None else categories_of(rows, self.states, "states")
        return map_reduce(lambda X, y, weight: TransitionCounts.of(X, weight, states), rows)

    def _solve(self, statistic: TransitionCounts, rows: Rows) -> None:
        start = statistic.start + self.smoothing
        step = statistic.step + self.smoothing
        step = np.where(step.sum(axis=1, keepdims=True) > 0, step, np.eye(len(step)))
        self.states_ = statistic.states
        self.transmat_ = step / step.sum(axis=1, keepdims=True)
        self.startprob_ = start / start.sum()

    def n_step(self, n: int) -> np.ndarray:
        """Give the probabilities of n steps, the power :math:`P^n`.

        Parameters
        ----------
        n : int
            How many steps.

        Returns
        -------
        ndarray of shape (n_states, n_states)
        """
        if n < 0:
            raise ValueError(f"n must be 0 or more steps; got {n!r}")
        return np.linalg.matrix_power(self._matrix(), n)

    def law(self, n: int, initial: Any = None) -> np.ndarray:
        """Give the law of the state after n steps, :math:`v^T P^n`.

        Parameters
        ----------
        n : int
            How many steps.
        initial : array-like of shape (n_states,), default=None
            The law v before the first; that of the chain if not given.

        Returns
        -------
        ndarray of shape (n_states,)
        """
        P = self.n_step(n)
        first = probabilities("initial", initial, (len(P),))
        return (self.startprob_ if initial is None else first) @ P

    @property
    def communicating_classes(self) -> list[list[Any]]:
        """States that reach each other, together; in the order of their first states."""
        P = self._matrix()
        return [self.states_[members].tolist() for members in classes(P)]

    @property
    def recurrent_classes(self) -> list[list[Any]]:
        """The classes that cannot be left."""
        P = self._matrix()
        return [self.states_[members].tolist() for members in closed_classes(P)]

    @property
    def transient_states(self) -> list[Any]:
        """The states from which the chain may leave and not come back."""
        recurrent = np.concatenate(closed_classes(self._matrix()))
        return self.states_[np.setdiff1d(np.arange(len(self.states_)), recurrent)].tolist()

    @property
    def periods(self) -> list[int]:
        """The period of each communicating class; 0 for a state that has no way back."""
        P = self._matrix()
        return [period(P, members) for members in classes(P)]

    @property
    def is_irreducible(self) -> bool:
        """Whether every state reaches every other."""
        return len(classes(self._matrix())) == 1

    @property
    def is_ergodic(self) -> bool:
        """Whether the chain forgets its start: one class, of period one."""
        return self.is_irreducible and self.periods == [1]

    @property
    def is_reversible(self) -> bool:
        r"""Whether flows balance, :math:`\pi_i P_{ij} = \pi_j P_{ji}`, in the stationary law."""
        flow = self.stationary()[:, None] * self.transmat_
        return bool(np.allclose(flow, flow.T, rtol=0, atol=TOLERANCE))

    def stationary(
        self, method: Literal["eigen", "power"] = "eigen", *, max_iter: int = 1_000_000
    ) -> np.ndarray:
        """Give the law that a step does not change.

        Parameters
        ----------
        method : {"eigen", "power"}, default="eigen"
            The left eigenvector of the one recurrent class, by elimination; or the limit of steps
            from the first law, which exists for aperiodic chains.
        max_iter : int, default=1000000
            The most steps of the second.

        Returns
        -------
        ndarray of shape (n_states,)
        """
        if method not in ("eigen", "power"):
            raise ValueError(f"method must be 'eigen' or 'power'; got {method!r}")
        P = self._matrix()
        closed = closed_classes(P)
        if len(closed) != 1:
            raise ValueError(
                f"the chain has {len(closed)} recurrent classes, so no single stationary law; take "
                "the chain of one class"
            )
        if method == "eigen":
            law = np.zeros(len(P))
            law[closed[0]] = eliminate(P[np.ix_(closed[0], closed[0])])
            return law
        if (cycle := period(P, closed[0])) != 1:
            raise ValueError(f"the chain has period {cycle}, so its steps have no limit")
        law = self.startprob_
        for _ in range(max_iter):
            last, law = law, law @ P
            if (change := np.abs(law - last).sum()) < 1e-15:
                break
        else:
            warn(
                f"the law still changed by {change:.2g} at step {max_iter}, above 1e-15; raise "
                'max_iter, or take method="eigen"',
                ConvergenceWarning,
            )
        return law / law.sum()

    def reversal(self) -> MarkovChain:
        r"""Give the chain read backwards, :math:`Q_{ji} = \pi_i P_{ij} / \pi_j`.

        Returns
        -------
        MarkovChain
        """
        law = self.stationary()
        if not law.all():
            raise ValueError("a transient state has no past in the long run: no reversal")
        back = (law[:, None] * self.transmat_).T / law[:, None]
        back /= back.sum(axis=1, keepdims=True)
        return MarkovChain.from_transition(back, self.states_.tolist(), law)

    def hitting_times(self, targets: Any) -> np.ndarray:
        r"""Give the expected steps from each state until one of the targets.

        They solve :math:`h_i = 0` on the targets and :math:`h_i = 1 + \sum_j P_{ij} h_j` elsewhere.

        Parameters
        ----------
        targets : sequence of labels
            The states to come to.

        Returns
        -------
        ndarray of shape (n_states,)
            Infinite where the chain may not come to any.
        """
        P = self._matrix()
        goal = np.isin(np.arange(len(P)), self._codes(list(targets)))
        stopped = np.where(goal[:, None], np.eye(len(goal)), P)
        # a state from which some state without a way to the targets is reached waits for ever
        lost = ~reaching(stopped > 0, goal)
        free = ~goal & ~reaching(stopped > 0, lost)
        times = np.where(goal, 0.0, np.inf)
        inner = np.eye(free.sum()) - P[np.ix_(free, free)]
        times[free] = np.linalg.solve(inner, np.ones(free.sum()))
        return times

    def sample(
        self, n_steps: int = 1, random_state: RandomState = None, *, start: Any = None
    ) -> np.ndarray:
        """Draw one sequence of states.

        Parameters
        ----------
        n_steps : int, default=1
            How many states.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.
        start : label, default=None
            The first state; drawn from the first law if not given.

        Returns
        -------
        ndarray of shape (n_steps,)
        """
        P, rng = self._matrix(), generator(random_state)
        uniform, path = rng.random(n_steps), np.empty(n_steps, dtype=np.int64)
        if not n_steps:
            return self.states_[:0]
        if start is None:
            first = int(rng.choice(len(P), p=self.startprob_))
        else:
            first = int(self._codes([start])[0])
        draw_path(first, np.cumsum(P, axis=1), uniform, path)
        return self.states_[path]

    def score_samples(self, X: Any) -> np.ndarray:
        """Give the logarithm of the probability of each sequence: of its start and of every step.

        Parameters
        ----------
        X : array-like of shape (T,), or list of them
            One sequence of labels, or several of any lengths.

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        X, _ = self._read(X)
        codes = self._codes(X.values)
        with np.errstate(divide="ignore"):
            first, steps = np.log(self.startprob_), np.log(self.transmat_)
        log_probability = np.empty(len(codes))
        log_probability[1:] = steps[codes[:-1], codes[1:]]
        log_probability[X.offsets[:-1]] = first[codes[X.offsets[:-1]]]
        return np.add.reduceat(log_probability, X.offsets[:-1])

    def _matrix(self) -> np.ndarray:
        self._require_fitted()
        return self.transmat_

    def _codes(self, labels: Any) -> np.ndarray:
        values = labels if isinstance(labels, np.ndarray) else symbols_of(labels)
        if missing(values).any():
            raise ValueError("a state is missing (NaN or None): cut the sequence in two there")
        return encode(values, self.states_, "states")
