"""Bayesian networks: ancestral sampling, separation, clique trees."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.graphical import BayesianNetwork, CliqueTree


def _law(size: int, seed: int, *parents: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(size), size=parents)


def _chain(names: str, seed: int) -> BayesianNetwork:
    """A chain of variables of three states with random tables."""
    tables: dict[Hashable, Any] = {names[0]: ([], _law(3, seed))}
    for k, (before, name) in enumerate(pairwise(names)):
        tables[name] = ([before], _law(3, seed + k + 1, 3))
    return BayesianNetwork.from_cpts(tables)


def _dependence(table: np.ndarray) -> float:
    """Mutual information of the two axes of a joint table."""
    apart = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
    return float(np.sum(table * np.log(table / apart)))


def _conditional_dependence(joint: np.ndarray) -> float:
    """Mutual information of axes 0 and 2 given axis 1."""
    weights = joint.sum(axis=(0, 2))
    return sum(w * _dependence(joint[:, k] / w) for k, w in enumerate(weights))


@claim("B208")
def ancestral_draws_follow_the_product() -> Iterator[Evidence]:
    """Drawing x1 from p(x1), then x2 from p(x2 | x1) and so on gives draws of the joint law."""
    network = _chain("abc", 208)
    p, q, r = network.cpts_
    joint = p[:, None, None] * q[:, :, None] * r[None]
    rows = network.sample(30_000, random_state=208)
    counts = np.bincount(np.ravel_multi_index(rows.T, (3, 3, 3)), minlength=27)
    p_value = stats.chisquare(counts, 30_000 * joint.ravel()).pvalue
    yield at_least("p-value of the joint counts", p_value, 0.01)
    yield equal(
        "log probability of rows",
        network.score_samples(rows[:50]),
        np.log(joint[tuple(rows[:50].T)]),
        1e-12,
    )


@claim("B248")
def separation_in_the_graph_is_independence() -> Iterator[Evidence]:
    """Independence given C means P(A, B | C) = P(A | C) P(B | C), or P(A | B, C) = P(A | C). In a
    chain and under a common parent the ends are independent given the middle; two parents of one
    child are independent, and coupled once the child is known. The text factorises the collider as
    P(X) P(Y) P(Y | X, Z); it is P(X) P(Z) P(Y | X, Z).
    """
    graphs = {
        "chain": {"x": [], "y": ["x"], "z": ["y"]},
        "common parent": {"y": [], "x": ["y"], "z": ["y"]},
        "collider": {"x": [], "z": [], "y": ["x", "z"]},
    }
    for name, graph in graphs.items():
        tables: dict[Hashable, Any] = {
            v: (above, _law(2, 248 + k, *([2] * len(above))))
            for k, (v, above) in enumerate(graph.items())
        }
        network = BayesianNetwork.from_cpts(tables)
        joint = network.query(["x", "y", "z"])
        alone, given = _dependence(joint.sum(axis=1)), _conditional_dependence(joint)
        separated = network.d_separated("x", "z"), network.d_separated("x", "z", ["y"])
        yield true(
            f"separations of the {name}", separated == (name == "collider", name != "collider")
        )
        zero, positive = (alone, given) if name == "collider" else (given, alone)
        yield at_most(f"information where the {name} separates", abs(zero), 1e-12)
        yield at_least(f"information where the {name} couples", positive, 1e-4)
        if name == "collider":
            tables_of = dict(zip(network.variables_, network.cpts_, strict=True))
            product = np.einsum("x,z,xzy->xyz", *(tables_of[v] for v in "xzy"))
            yield equal("P(X) P(Z) P(Y | X, Z)", joint, product, 1e-15)
        else:
            first = joint / joint.sum(axis=2, keepdims=True).sum(axis=0, keepdims=True)
            rule = joint / joint.sum(axis=0, keepdims=True)
            alone_given = joint.sum(axis=2) / joint.sum(axis=(0, 2))
            yield equal("P(X | Z, Y) and P(X | Y)", rule, alone_given[:, :, None] + 0 * rule, 1e-12)
            split = first.sum(axis=2, keepdims=True) * first.sum(axis=0, keepdims=True)
            yield equal("P(X, Z | Y) and its product", first, split, 1e-12)


@claim("B249")
def absorption_carries_evidence_along_the_chain() -> Iterator[Evidence]:
    """For a chain A - B - C - D the joint law is psi(ab) psi(bc) psi(cd) / (phi(b) phi(c)), and
    absorption, phi*(b) = sum_a psi*(ab) and psi*(bc) = psi(bc) phi*(b) / phi(b), carries evidence
    on A to the exact P(D | A).
    """
    network = _chain("abcd", 249)
    tree = network.clique_tree()
    found = tree.calibrate()
    yield true("cliques", sorted(tree.cliques) == [("a", "b"), ("b", "c"), ("c", "d")])
    yield true("separators", sorted(tree.separators) == [("b",), ("c",)])
    ab, bc, cd = (found.marginal(pair) for pair in (["a", "b"], ["b", "c"], ["c", "d"]))
    b, c = found.marginal(["b"]), found.marginal(["c"])
    joint = np.einsum("ab,bc,cd,b,c->abcd", ab, bc, cd, 1 / b, 1 / c)
    p, q, r, s = network.cpts_
    yield equal("the joint law", joint, np.einsum("a,ab,bc,cd->abcd", p, q, r, s), 1e-15)
    for state in range(3):
        evidence = tree.calibrate({"a": state})
        psi = np.where(np.arange(3)[:, None] == state, ab, 0)
        absorbed = bc * (psi.sum(axis=0) / b)[:, None]
        by_hand = (cd * (absorbed.sum(axis=0) / c)[:, None]).sum(axis=0)
        exact = (q @ r @ s)[state]
        yield equal("absorption by hand", by_hand / by_hand.sum(), exact, 1e-15)
        yield equal(f"P(D | A = {state})", evidence.marginal(["d"]), exact, 1e-15)
        yield equal("probability of the evidence", np.exp(evidence.log_evidence), p[state], 1e-15)
    wide = CliqueTree(
        dict.fromkeys(range(100), 2), [((t, t + 1), [[2, 1], [1, 2]]) for t in range(99)]
    )
    law = wide.calibrate({0: 1}).marginal([99])
    yield equal("a chain of 100 variables", law, [0.5 - 0.5 / 3.0**99, 0.5 + 0.5 / 3.0**99], 1e-13)
