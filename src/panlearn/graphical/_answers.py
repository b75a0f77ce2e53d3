"""What a network with known tables can be asked: laws, independences, draws."""

from __future__ import annotations

from abc import ABC
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from panlearn.core.derived import derived
from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.graphical import _kernels
from panlearn.graphical._categories import decode, encode
from panlearn.graphical._structure import ancestors, reachable, topological_order
from panlearn.graphical.clique_tree import CliqueTree


class Answers(ABC):
    """The abstract base of what has variables, states, parents and tables."""

    variables_: list[Hashable]
    states_: list[np.ndarray]
    parents_: list[list[int]]
    cpts_: list[np.ndarray]
    _require_fitted: Any

    def query(
        self, variables: Sequence[Hashable], evidence: Mapping[Hashable, Any] | None = None
    ) -> np.ndarray:
        """Give the joint law of some variables given the states of others, exactly.

        Parameters
        ----------
        variables : sequence of names
            What is asked.
        evidence : mapping, default=None
            States by name.

        Returns
        -------
        ndarray
            Probabilities, with one axis a variable, in the order of its states.
        """
        self._require_fitted()
        if isinstance(variables, str):
            raise ValueError(f"give a list of variables, such as [{variables!r}]")
        place, coded = self._place(), self._evidence(evidence)
        asked = [number(v, place) for v in variables]
        names = [self.variables_[v] for v in asked]
        try:
            tree = self.clique_tree()
        except MemoryError:
            tree = None
        if tree is None or not any(set(names) <= set(clique) for clique in tree.cliques):
            # no law depends on what is below all that is asked and known
            above = ancestors(self.parents_, [*asked, *(place[name] for name in coded)])
            tree = self._tree_of(above, names)
        return tree.calibrate(coded).marginal(names)

    def marginals(
        self, evidence: Mapping[Hashable, Any] | None = None
    ) -> dict[Hashable, np.ndarray]:
        """Give the law of every variable given the states of some, exactly.

        Parameters
        ----------
        evidence : mapping, default=None
            States by name.

        Returns
        -------
        dict
            By name the probabilities, in the order of the states.
        """
        self._require_fitted()
        return self.clique_tree().calibrate(self._evidence(evidence)).marginals()

    def clique_tree(self) -> CliqueTree:
        """Give the clique tree of the network, made once.

        Returns
        -------
        CliqueTree
        """
        self._require_fitted()
        tree = self._tree
        if isinstance(tree, str):
            raise MemoryError(tree)
        return tree

    @derived("cpts_")
    def _tree(self) -> CliqueTree | str:
        """The tree, or why there is none: to find that out takes as long as to succeed."""
        try:
            return self._tree_of(range(len(self.cpts_)))
        except MemoryError as refusal:
            return str(refusal)

    def _tree_of(self, chosen: Any, together: Sequence[Hashable] = ()) -> CliqueTree:
        names, chosen = self.variables_, sorted(chosen)
        sizes = {names[j]: len(self.states_[j]) for j in chosen}
        factors = [([names[v] for v in (*self.parents_[j], j)], self.cpts_[j]) for j in chosen]
        return CliqueTree(sizes, factors, together)

    def d_separated(self, a: Hashable, b: Hashable, given: Sequence[Hashable] = ()) -> bool:
        """Say whether the graph makes two variables independent given others, by the Bayes ball.

        Parameters
        ----------
        a : name
            A variable.
        b : name
            Another.
        given : sequence of names, default=()
            What is known.

        Returns
        -------
        bool
        """
        self._require_fitted()
        if isinstance(given, str):
            raise ValueError(f"give a list of variables, such as [{given!r}]")
        place = self._place()
        known = {number(v, place) for v in given}
        return number(b, place) not in reachable(self.parents_, number(a, place), known)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> np.ndarray:
        """Draw rows, parents before children.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        self._require_fitted()
        return decode(self._draw(n_samples, {}, generator(random_state))[0], self.states_)

    def likelihood_weighting(
        self,
        evidence: Mapping[Hashable, Any],
        n_samples: int = 1000,
        random_state: RandomState = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows with the evidence held fixed, and weigh each by the evidence's probability.

        Parameters
        ----------
        evidence : mapping
            States by name.
        n_samples : int, default=1000
            How many.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows.
        weights : ndarray of shape (n_samples,)
            Their weights, scaled to sum to one.
        """
        self._require_fitted()
        place = self._place()
        fixed = {number(name, place): code for name, code in self._evidence(evidence).items()}
        codes, logs = self._draw(n_samples, fixed, generator(random_state))
        if not np.isfinite(logs.max()):
            raise ValueError(f"the evidence {dict(evidence)} had weight zero in every draw")
        weights = np.exp(logs - logs.max())
        return decode(codes, self.states_), weights / weights.sum()

    def _draw(
        self, n: int, fixed: Mapping[int, int], rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Codes drawn in topological order, and the log probability of what is fixed."""
        codes, logs = np.empty((n, len(self.cpts_)), dtype=np.int64, order="F"), np.zeros(n)
        for j in topological_order(self.parents_):
            above = self.parents_[j]
            table = self.cpts_[j].reshape(-1, len(self.states_[j]))
            row = np.zeros(n, dtype=np.int64)
            for p in above:
                row = row * len(self.states_[p]) + codes[:, p]
            if j in fixed:
                codes[:, j] = fixed[j]
                with np.errstate(divide="ignore"):
                    logs += np.log(table[:, fixed[j]])[row]
            else:
                codes[:, j] = _kernels.draw_states(table.cumsum(axis=1), row, rng.random(n))
        return codes, logs

    def _evidence(self, evidence: Mapping[Hashable, Any] | None) -> dict[Hashable, int]:
        place, coded = self._place(), {}
        for name, state in (evidence or {}).items():
            j = number(name, place)
            column = np.array([state], dtype=object)
            coded[self.variables_[j]] = int(encode(column, self.states_[j], name)[0])
            if coded[self.variables_[j]] < 0:
                raise ValueError(f"the evidence on {name!r} is missing; leave it out")
        return coded

    def _place(self) -> dict[Hashable, int]:
        return {name: j for j, name in enumerate(self.variables_)}

    def _sizes(self) -> list[int]:
        return [len(s) for s in self.states_]


def number(name: Hashable, place: Mapping[Hashable, int], what: str = "") -> int:
    """The number of a variable, by its name or by its number."""
    if isinstance(name, Hashable) and name in place:
        return place[name]
    if isinstance(name, int | np.integer) and 0 <= name < len(place):
        return int(name)
    raise ValueError(f"{what + ': ' if what else ''}no variable {name!r}; there are {list(place)}")
