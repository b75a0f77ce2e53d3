"""Bayesian networks against pgmpy."""

import gzip
import logging
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.graphical.networks import NETWORKS

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


@pytest.fixture(scope="module")
def reader():
    """The reader of files of pgmpy, which makes its grammar in a second: once, not for each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip("pgmpy.readwrite", reason="pgmpy is not installed")
    made = module.BIFReader(string="network unknown {\n}\n")
    grammars = made.get_variable_grammar(), made.get_probability_grammar()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.BIFReader, "get_variable_grammar", lambda self: grammars[0])
        patch.setattr(module.BIFReader, "get_probability_grammar", lambda self: grammars[1])
        yield module.BIFReader


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


def published(pgmpy, name):
    """A network of the repository of bnlearn, which comes with the peer."""
    path = Path(pgmpy.__file__).parent / "utils" / "example_models" / f"{name}.bif.gz"
    if not path.exists():
        pytest.skip(f"this version of pgmpy comes without {path.name}")
    return gzip.decompress(path.read_bytes())


@pytest.mark.parametrize(
    "name",
    "alarm andes child hailfinder hepar2 insurance link munin1 pigs sachs water win95pts".split(),
)
def test_published_networks_are_read_and_come_back(pgmpy, name, tmp_path):
    (tmp_path / "given.bif").write_bytes(published(pgmpy, name))
    model = BayesianNetwork.read_bif(tmp_path / "given.bif")
    model.write_bif(tmp_path / "written.bif")
    again = BayesianNetwork.read_bif(tmp_path / "written.bif")
    assert (again.variables_, again.parents_) == (model.variables_, model.parents_)
    for ours, back in zip(model.cpts_, again.cpts_, strict=True):
        np.testing.assert_allclose(ours.sum(axis=-1), 1, rtol=1e-14)
        np.testing.assert_array_equal(back, ours)


def large(rng, n):
    """A random network of many states, its names and rows as bnlearn writes them."""
    sizes = rng.integers(2, 9, size=n)
    above = [sorted(rng.choice(j, min(j, 3), replace=False).tolist()) for j in range(n)]
    tables = [
        rng.dirichlet(np.ones(sizes[j]), size=tuple(sizes[p] for p in above[j])) for j in range(n)
    ]
    return BayesianNetwork.from_cpts(
        {f"v_{j}": ([f"v_{p}" for p in above[j]], tables[j]) for j in range(n)},
        {f"v_{j}": [f"state{i}" for i in range(sizes[j])] for j in range(n)},
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*NETWORKS, "alarm", "child", "sachs", "large"])
def test_files_are_read_as_pgmpy_reads_them(reader, pgmpy, rng, name, tmp_path):
    path = tmp_path / "network.bif"
    if name == "large":
        large(rng, 15).write_bif(path)
    elif name in NETWORKS:
        path.write_text(NETWORKS[name])
    else:
        path.write_bytes(published(pgmpy, name))
    model, peer = BayesianNetwork.read_bif(path), reader(path).get_model()
    assert sorted(model.variables_) == sorted(peer.nodes)
    assert sorted(model.edges_) == sorted(peer.edges)
    for j, variable in enumerate(model.variables_):
        table = peer.get_cpds(variable)
        above = [model.variables_[p] for p in model.parents_[j]]
        assert table.state_names[variable] == model.states_[j].tolist()
        order = [table.variables.index(v) for v in (*above, variable)]
        np.testing.assert_allclose(model.cpts_[j], table.values.transpose(order), rtol=1e-6)
        # the peer leaves printed rows as they are, with sums that are off by 3e-7


@pytest.mark.filterwarnings("ignore")
def test_files_of_pgmpy_are_read(pgmpy, rng, tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy is not installed")
    model = ours(rng)
    readwrite.BIFWriter(theirs(pgmpy, model)).write_bif(str(tmp_path / "theirs.bif"))
    read = BayesianNetwork.read_bif(tmp_path / "theirs.bif")
    for name in SIZES:
        table = read.cpts_[read.variables_.index(name)]
        above = [read.variables_[p] for p in read.parents_[read.variables_.index(name)]]
        j = model.variables_.index(name)
        mine = [model.variables_[p] for p in model.parents_[j]]
        order = [mine.index(v) for v in above]
        expected = model.cpts_[j].transpose([*order, len(order)])
        # the peer writes a few digits only
        np.testing.assert_allclose(table, expected, atol=1e-4)
