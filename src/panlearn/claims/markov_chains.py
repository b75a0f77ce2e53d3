"""Markov chains: steps, classes, the long run and its reversal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from panlearn.claims.claim import Evidence, claim, equal, true
from panlearn.sequence import MarkovChain


def _random(n: int, seed: int) -> MarkovChain:
    return MarkovChain.from_transition(np.random.default_rng(seed).dirichlet(np.ones(n), n))


def _weather(p: float = 0.3, q: float = 0.1) -> MarkovChain:
    return MarkovChain.from_transition([[1 - p, p], [q, 1 - q]], states=["r", "s"])


@claim("B212")
def steps_multiply() -> Iterator[Evidence]:
    """The probabilities of n steps are the power P^n, whose rows sum to one; v'P is the law of the
    next state; a path has the product of its edges. The text writes X_t for X_(t+1) in the
    definition and mixes t and n.
    """
    chain, n = _random(3, 212), 4
    P, by_paths = chain.transmat_, np.zeros((3, 3))
    for path in product(range(3), repeat=n + 1):
        by_paths[path[0], path[-1]] += np.prod([P[i, j] for i, j in pairwise(path)])
    yield equal("P^n and the sum over paths", chain.n_step(n), by_paths, 1e-12)
    yield equal("rows of P^n", chain.n_step(n).sum(axis=1), np.ones(3), 1e-12)
    yield equal("law of the next state", chain.law(1, [0.2, 0.5, 0.3]), [0.2, 0.5, 0.3] @ P, 1e-12)
    value = chain.startprob_[0] * P[0, 2] * P[2, 1] * P[1, 1] * P[1, 0]
    yield equal("probability of a path", np.exp(chain.score([0, 2, 1, 1, 0])), value, 1e-12)


@claim("B213")
def weather_is_stationary() -> Iterator[Evidence]:
    """The chain of two states with probabilities p and q of a change has the stationary law
    (q, p) / (p + q) and the second eigenvalue 1 - p - q.
    """
    for p, q in ((0.3, 0.1), (0.9, 0.8), (0.01, 0.5)):
        chain = _weather(p, q)
        law = np.array([q, p]) / (p + q)
        yield equal(f"stationary law for p = {p}, q = {q}", chain.stationary(), law, 1e-12)
        eigenvalues = np.sort(np.linalg.eigvals(chain.transmat_).real)
        yield equal("eigenvalues", eigenvalues, [1 - p - q, 1], 1e-12)


@claim("B214")
def powers_have_equal_rows() -> Iterator[Evidence]:
    """The stationary law is the left eigenvector of eigenvalue one, and all rows of P^n tend to it;
    periodic and reducible chains are not ergodic.
    """
    chain = _random(6, 214)
    law = chain.stationary()
    yield equal("eigenvector", law @ chain.transmat_, law, 1e-12)
    yield equal("rows of P^200", chain.n_step(200), np.tile(law, (6, 1)), 1e-10)
    yield equal("law by steps", chain.stationary("power"), law, 1e-10)
    yield true("a positive chain is ergodic", chain.is_ergodic)
    yield true("a swap is not", not MarkovChain.from_transition([[0, 1], [1, 0]]).is_ergodic)
    yield true(
        "nor is a chain of two islands", not MarkovChain.from_transition(np.eye(2)).is_ergodic
    )


@claim("B215")
def classes_are_closed_or_left() -> Iterator[Evidence]:
    """A state is transient exactly if it reaches a state that does not lead back; recurrent classes
    are the closed communicating classes. The text asks a recurrent state to be reached from all
    states; what counts is that every state it reaches leads back to it.
    """
    edges = ["ab", "ba", "ca", "cd", "de", "ef", "fd", "gc", "gh", "hg"]
    names, P = "abcdefgh", np.zeros((8, 8))
    for edge in edges:
        P[names.index(edge[0]), names.index(edge[1])] = 1
    chain = MarkovChain.from_transition(P / P.sum(axis=1, keepdims=True), states=names)
    yield true("recurrent classes", chain.recurrent_classes == [["a", "b"], ["d", "e", "f"]])
    yield true("transient states", chain.transient_states == ["c", "g", "h"])
    reach = np.linalg.matrix_power(np.eye(8) + P, 8) > 0
    lost = [i for i in range(8) if (reach[i] & ~reach[:, i]).any()]
    yield true("transient by reach", [names[i] for i in lost] == chain.transient_states)


@claim("B216")
def distance_decays_geometrically() -> Iterator[Evidence]:
    """The distance in total variation to the stationary law goes to zero: from rain, the weather
    with p = 0.3 and q = 0.1 is 0.75 * 0.6^n away after n steps.
    """
    chain = _weather()
    law = chain.stationary()
    for n in (0, 1, 5, 20):
        distance = np.abs(chain.law(n, [1, 0]) - law).sum() / 2
        yield equal(f"distance after {n} steps", distance, 0.75 * 0.6**n, 1e-12)


@claim("B217")
def chains_run_backwards() -> Iterator[Evidence]:
    """The chain read backwards, q(j, i) = pi_i p_ij / pi_j, is a chain with the same stationary
    law; it is the chain itself exactly if pi_i p_ij = pi_j p_ji. The text has the wrong
    conditional in the numerator, and states reversibility with swapped indices.
    """
    chain = _random(5, 217)
    back = chain.reversal()
    yield equal("rows of the reversal", back.transmat_.sum(axis=1), np.ones(5), 1e-12)
    yield equal("its stationary law", back.stationary(), chain.stationary(), 1e-12)
    yield equal("reversed twice", back.reversal().transmat_, chain.transmat_, 1e-12)
    pairs = ((0.3, 0.1), (0.9, 0.2), (0.5, 1.0))
    yield true("two states are reversible", all(_weather(p, q).is_reversible for p, q in pairs))
    cycle = MarkovChain.from_transition([[0, 0.9, 0.1], [0.1, 0, 0.9], [0.9, 0.1, 0]])
    yield true("a biased cycle is not", not cycle.is_reversible)
