"""Bayesian networks against pgmpy."""

import logging
import sys
import warnings

import numpy as np
import pytest

from panlearn.graphical import BayesianNetwork

EDGES = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e"), ("c", "f")]
SIZES = {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2, "f": 2}


@pytest.fixture
def pgmpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in ("factors.discrete", "inference", "models", "estimators"):
            pytest.importorskip(f"pgmpy.{part}", reason="pgmpy is not installed")
    logging.disable(logging.CRITICAL)
    yield sys.modules["pgmpy"]
    logging.disable(logging.NOTSET)


def ours(rng):
    above = {v: [p for p, c in EDGES if c == v] for v in SIZES}
    return BayesianNetwork.from_cpts(
        {
            v: (above[v], rng.dirichlet(np.ones(SIZES[v]), size=[SIZES[p] for p in above[v]]))
            for v in SIZES
        }
    )


def theirs(pgmpy, model):
    peer = pgmpy.models.DiscreteBayesianNetwork(EDGES)
    for j, name in enumerate(model.variables_):
        above = [model.variables_[p] for p in model.parents_[j]]
        table = model.cpts_[j].reshape(-1, SIZES[name]).T
        cards = [SIZES[p] for p in above]
        arguments = dict(evidence=above, evidence_card=cards) if above else {}
        peer.add_cpds(pgmpy.factors.discrete.TabularCPD(name, SIZES[name], table, **arguments))
    return peer


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("evidence", [{}, {"e": 1}, {"d": 2, "f": 0}, {"a": 0, "e": 0, "f": 1}])
def test_posteriors_are_those_of_pgmpy(pgmpy, rng, evidence):
    model = ours(rng)
    engine = pgmpy.inference.VariableElimination(theirs(pgmpy, model))
    laws = model.marginals(evidence)
    for name in SIZES.keys() - evidence.keys():
        expected = engine.query([name], evidence, show_progress=False).values
        np.testing.assert_allclose(laws[name], expected, atol=1e-12)
    pair = sorted(SIZES.keys() - evidence.keys())[:2]
    expected = engine.query(pair, evidence, show_progress=False)
    order = [pair.index(v) for v in expected.variables]
    table = model.query(pair, evidence).transpose(order)
    np.testing.assert_allclose(table, expected.values, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_independences_are_those_of_pgmpy(pgmpy, rng):
    model = ours(rng)
    peer = theirs(pgmpy, model)
    for given in ([], ["d"], ["a"], ["a", "d"], ["e"], ["c", "b"]):
        for a in SIZES:
            for b in SIZES:
                if a < b and a not in given and b not in given:
                    expected = not peer.is_dconnected(a, b, observed=given)
                    assert model.d_separated(a, b, given) == expected


@pytest.mark.filterwarnings("ignore")
def test_learned_tables_are_those_of_pgmpy(pgmpy, rng):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    truth = ours(rng)
    frame = pandas.DataFrame(truth.sample(400, random_state=0), columns=list(SIZES))
    states = {v: list(range(s)) for v, s in SIZES.items()}
    peer = pgmpy.models.DiscreteBayesianNetwork(EDGES)
    engine = pgmpy.estimators.BayesianEstimator(peer, frame, state_names=states)
    model = BayesianNetwork(EDGES, states=states).fit(frame)
    for j, name in enumerate(SIZES):
        table = engine.estimate_cpd(name, prior_type="K2")
        above = [model.variables_[p] for p in model.parents_[j]]
        order = [table.variables.index(v) for v in (*above, name)]
        np.testing.assert_allclose(model.cpts_[j], table.values.transpose(order), atol=1e-12)
