"""Bayesian networks against pgmpy."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
import pandas as pd
from pgmpy.estimators import BayesianEstimator
from pgmpy.factors.discrete import TabularCPD
from pgmpy.inference import BeliefPropagation, VariableElimination
from pgmpy.models import DiscreteBayesianNetwork

from benchmarks.harness import Workload
from panlearn.graphical import BayesianNetwork

logging.disable(logging.WARNING)


def tree(n=20, states=3, seed=0):
    """A tree of n variables, each below one of the four before it."""
    rng = np.random.default_rng(seed)
    parent = [-1, *(int(rng.integers(max(0, i - 4), i)) for i in range(1, n))]
    tables = [rng.dirichlet(np.ones(states), *([states] if p >= 0 else [])) for p in parent]
    parents = [[] if p < 0 else [p] for p in parent]
    return both(parents, tables, {"x19": 0, "x15": 1, "x11": 2})


def alarm(n=37, seed=1):
    """A random network of the size of ALARM: 37 variables of 2 to 4 states, up to 3 parents."""
    rng = np.random.default_rng(seed)
    parents, sizes = [[]], rng.integers(2, 5, size=n)
    for j in range(1, n):
        near = j - 1 - rng.integers(0, min(j, 6), size=min(j, int(rng.integers(0, 4))))
        parents.append(sorted(set(near.tolist())))
    tables = [rng.dirichlet(np.ones(sizes[j]), size=sizes[p]) for j, p in enumerate(parents)]
    return both(parents, tables, {"x3": 0, "x30": 1})


def both(parents, tables, evidence):
    """One network twice: ours, pgmpy's, and what is known."""
    names = [f"x{j}" for j in range(len(parents))]
    above = [[names[p] for p in ps] for ps in parents]
    ours = BayesianNetwork.from_cpts(dict(zip(names, zip(above, tables, strict=True), strict=True)))
    theirs = DiscreteBayesianNetwork(ours.edges_)
    theirs.add_nodes_from(names)
    for j, name in enumerate(names):
        size = tables[j].shape[-1]
        cards = list(tables[j].shape[:-1])
        given = dict(evidence=above[j], evidence_card=cards) if above[j] else {}
        theirs.add_cpds(TabularCPD(name, size, tables[j].reshape(-1, size).T, **given))
    return ours, theirs, evidence, [v for v in names if v not in evidence]


def posteriors(data):
    laws = data[0].marginals(data[2])
    return [laws[v] for v in data[3]]


def compiled_anew(data):
    ours, _, evidence, free = data
    tree = ours._tree_of(range(len(ours.cpts_)))
    laws = tree.calibrate(evidence).marginals()
    return [laws[v] for v in free]


def eliminate(data):
    _, model, evidence, free = data
    engine = VariableElimination(model)
    return [engine.query([v], evidence, show_progress=False).values for v in free]


def belief_propagation(data):
    _, model, evidence, free = data
    engine = BeliefPropagation(model)
    engine.calibrate()
    return [engine.query([v], evidence, show_progress=False).values for v in free]


def against_first(data, laws):
    """The largest difference from our posteriors, which the tests hold against enumeration."""
    exact = posteriors(data)
    return {"max difference": max(np.abs(a - b).max() for a, b in zip(laws, exact, strict=True))}


def frequencies(data, rows):
    table = rows[data[0].variables_].to_numpy() if isinstance(rows, pd.DataFrame) else rows
    exact = np.array([law[0] for law in data[0].marginals().values()])
    return {"rows": len(table), "max error": np.abs((table == 0).mean(axis=0) - exact).max()}


def records():
    ours, theirs, *_ = tree()
    frame = pd.DataFrame(ours.sample(50_000, random_state=0), columns=ours.variables_)
    return ours, theirs, frame


def learn(data):
    return BayesianNetwork(data[0].edges_).fit(data[2]).cpts_


def learn_pgmpy(data):
    model = DiscreteBayesianNetwork(data[0].edges_)
    engine = BayesianEstimator(model, data[2])
    found = {c.variable: c for c in engine.get_parameters(prior_type="K2", n_jobs=1)}
    tables = []
    for j, name in enumerate(data[0].variables_):
        above = [data[0].variables_[p] for p in data[0].parents_[j]]
        cpd = found[name]
        tables.append(cpd.values.transpose([cpd.variables.index(v) for v in (*above, name)]))
    return tables


def table_error(data, tables):
    return {
        "max error": max(np.abs(a - b).max() for a, b in zip(tables, data[0].cpts_, strict=True))
    }


def workloads() -> Iterator[Workload]:
    peers = {"pgmpy elimination": eliminate, "pgmpy propagation": belief_propagation}
    yield Workload(
        "17 marginals of a 20-node tree given 3",
        "BayesianNetwork",
        tree,
        {"panlearn": posteriors, **peers},
        against_first,
        bar=20.0,
    )
    yield Workload(
        "the same, with the clique tree made anew",
        "CliqueTree",
        tree,
        {"panlearn": compiled_anew, **peers},
        against_first,
    )
    yield Workload(
        "35 marginals of a 37-node network given 2",
        "BayesianNetwork",
        alarm,
        {"panlearn": posteriors, "pgmpy elimination": eliminate},
        against_first,
        bar=20.0,
    )
    yield Workload(
        "sample 1e5 rows of a 20-node tree",
        "BayesianNetwork",
        tree,
        {
            "panlearn": lambda data: data[0].sample(100_000, random_state=0),
            "pgmpy": lambda data: data[1].simulate(100_000, show_progress=False, seed=0),
        },
        frequencies,
    )
    yield Workload(
        "learn the tables of a 20-node tree from 5e4 rows",
        "BayesianNetwork",
        records,
        {"panlearn": learn, "pgmpy": learn_pgmpy},
        table_error,
    )
