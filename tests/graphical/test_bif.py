"""Networks in the Bayesian Interchange Format: read, written, and refused."""

import itertools
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.graphical.networks import ASIA, CANCER, NETWORKS, SPRINKLER

from panlearn.graphical import BayesianNetwork

SMALL = """network n { }
variable a { type discrete [ 2 ] { yes, no }; }
variable b { type discrete [ 3 ] { x, y, z }; }
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) { (yes) 0.5, 0.25, 0.25; (no) 0.125, 0.125, 0.75; }
"""


def read(text, folder):
    path = folder / "network.bif"
    path.write_text(text, encoding="utf-8")
    return BayesianNetwork.read_bif(path)


def same(one, other):
    assert one.variables_ == other.variables_
    assert one.parents_ == other.parents_
    for a, b in zip(one.states_, other.states_, strict=True):
        assert [str(s) for s in a] == [str(s) for s in b]
    for a, b in zip(one.cpts_, other.cpts_, strict=True):
        assert_array_equal(a, b)


def test_asia_answers_as_the_sum_over_all_its_states(tmp_path):
    """The tables of Lauritzen and Spiegelhalter (1988), typed anew, and added up by hand."""
    model = read(ASIA, tmp_path)
    assert model.variables_[:3] == ["asia", "tub", "smoke"]
    assert model.states_[0].tolist() == ["yes", "no"]
    total = {"tub": 0.0, "lung": 0.0, "bronc": 0.0, "all": 0.0}
    for tub, smoke, lung, bronc in itertools.product([True, False], repeat=4):
        weight = 0.5 * (0.05 if tub else 0.95)  # who was in Asia; a smoker or not
        weight *= (0.1 if smoke else 0.01) if lung else (0.9 if smoke else 0.99)
        weight *= (0.6 if smoke else 0.3) if bronc else (0.4 if smoke else 0.7)
        weight *= {(1, 1): 0.9, (0, 1): 0.7, (1, 0): 0.8, (0, 0): 0.1}[bronc, lung or tub]
        for name, holds in {"tub": tub, "lung": lung, "bronc": bronc, "all": True}.items():
            total[name] += weight * holds
    for name in ("tub", "lung", "bronc"):
        found = model.query([name], {"asia": "yes", "dysp": "yes"})[0]
        assert_allclose(found, total[name] / total["all"], rtol=1e-12)


def test_rows_and_numbers_of_any_form(tmp_path):
    cancer = read(CANCER, tmp_path)
    table = dict(zip(cancer.variables_, cancer.cpts_, strict=True))["Cancer"]
    expected = [[[0.03, 0.97], [0.001, 0.999]], [[0.05, 0.95], [0.02, 0.98]]]
    assert_array_equal(table, expected)
    sprinkler = read(SPRINKLER, tmp_path)
    rain = dict(zip(sprinkler.variables_, sprinkler.cpts_, strict=True))
    # the first numbers of a table are of the first own state
    assert_array_equal(rain["Sprinkler"], [[0.1, 0.9], [0.5, 0.5]])
    assert_array_equal(rain["Wet-Grass"][1], [[0.9, 0.1], [0.0, 1.0]])


def test_rows_that_are_not_listed_are_the_default(tmp_path):
    text = SMALL.replace("(no) 0.125, 0.125, 0.75;", "default 0.5, 0.5, 0;")
    assert_array_equal(read(text, tmp_path).cpts_[1], [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]])


def test_blanks_comments_order_and_odd_names_do_not_matter(tmp_path):
    lines = SMALL.splitlines()
    assert_array_equal(
        read("\n".join([lines[0], *lines[3:], *lines[1:3]]), tmp_path).cpts_[1],
        read(SMALL, tmp_path).cpts_[1],
    )
    odd = re.sub(r"\bx\b", "Asy/Patch", SMALL).replace("yes", "<7.5").replace(" b ", ' "b (1)" ')
    model = read(odd.replace("; }", "; property p = {;\n}").replace("{;", ";"), tmp_path)
    assert model.variables_ == ["a", "b (1)"]
    assert model.states_[0].tolist() == ["<7.5", "no"]
    assert model.states_[1].tolist() == ["Asy/Patch", "y", "z"]
    assert read(SMALL.replace("x, y, z", "well done, y, z"), tmp_path).states_[1][0] == "well done"


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_written_is_read_to_the_bit(name, tmp_path):
    model = read(NETWORKS[name], tmp_path)
    model.write_bif(tmp_path / "again.bif")
    same(BayesianNetwork.read_bif(tmp_path / "again.bif"), model)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"\n\r'), min_size=1),
        min_size=4,
        max_size=4,
        unique=True,
    ),
)
def test_any_names_and_tables_come_back(tmp_path_factory, seed, names):
    rng = np.random.default_rng(seed)
    sizes, above = rng.integers(1, 4, size=4), [[], [0], [0, 1], [2, 0]]
    tables = [
        rng.dirichlet(np.full(sizes[j], 0.05), size=tuple(sizes[p] for p in above[j]))
        for j in range(4)
    ]
    states = {name: [*names, "x"][:n] for name, n in zip(names, sizes, strict=True)}
    model = BayesianNetwork.from_cpts(
        {names[j]: ([names[p] for p in above[j]], tables[j]) for j in range(4)}, states
    )
    path = tmp_path_factory.mktemp("bif") / "network.bif"
    model.write_bif(path)
    same(BayesianNetwork.read_bif(path), model)


def test_learned_networks_are_written_with_their_states_as_words(tmp_path, rng):
    X = rng.integers(0, 3, size=(50, 3))
    model = BayesianNetwork([(0, 1), (0, 2), (1, 2)]).fit(X)
    model.write_bif(tmp_path / "learned.bif")
    read_back = BayesianNetwork.read_bif(tmp_path / "learned.bif")
    same(read_back, model)
    assert_allclose(read_back.score_samples(X.astype(str)), model.score_samples(X), rtol=1e-12)


def test_names_that_the_format_cannot_hold_are_named(tmp_path):
    for name, message in [('say "a"', "no way to write"), ("two\nlines", "no way to write")]:
        with pytest.raises(ValueError, match=message):
            BayesianNetwork.from_cpts({name: ([], [1.0])}).write_bif(tmp_path / "n.bif")
    alike = BayesianNetwork.from_cpts({"a": ([], [0.5, 0.5])}, {"a": np.array([1, "1"], object)})
    with pytest.raises(ValueError, match="states of 'a' are not different"):
        alike.write_bif(tmp_path / "n.bif")
    assert not (tmp_path / "n.bif").exists()


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("[ 3 ]", "[ 1000000000000 ]", 3, "must have 1000000000000 different states and has 3"),
        ("x, y, z", "x, y, x", 3, "3 different states"),
        ("[ 3 ] { x, y, z }", "[ 0 ] { }", 3, "'b' has no states"),
        ("discrete [ 3 ]", "continuous [ 3 ]", 3, "type 'continuous'"),
        ("variable b", "variable a", 3, "'a' is there already"),
        ("table 0.25, 0.75;", "table 0.25;", 4, "1 numbers for 'a', and 2 are needed"),
        ("0.25, 0.75", "0.25, much", 4, "could not convert string to float: 'much'"),
        ("( a )", "( c )", 4, "no variable 'c'"),
        ("( a ) { table 0.25, 0.75; }", "", 6, "'a' has no probabilities"),
        ("( a ) { table 0.25", "( b ) { table 0, 0.25", 5, "'b' has probabilities already"),
        ("| a )", "| a, a )", 5, "a parent twice"),
        ("(no)", "(yes)", 5, "the row ['yes'] of 'b' is there already"),
        ("(no)", "(maybe)", 5, "'maybe' is no state of 'a'"),
        ("(no)", "(no, no)", 5, "2 states for the 1 parents"),
        ("(no) 0.125, 0.125, 0.75;", "", 5, "'b' has 1 rows of 2, and no 'default'"),
        ("(no) 0.125,", "(no)", 5, "2 numbers for 'b', and 3 are needed"),
        ("(no) 0.125, 0.125, 0.75;", "table 1;", 5, "1 numbers for 'b', and 6 are needed"),
        ("(no) 0.125", "frequency 0.125", 5, "'frequency' is none of"),
        ("network n", "hypernet n", 1, "'hypernet' is none of"),
        ("{ }", "{ /* }", 1, "does not end"),
        ("(no)", '("no)', 5, "does not end"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused_with_the_line(old, new, line, message, tmp_path):
    assert old in SMALL
    text = SMALL.replace(old, new, 1)
    if not new:
        text = text.replace("probability \n", "\n")
    with pytest.raises(ValueError, match=re.escape(message)) as refused:
        read(text, tmp_path)
    assert f"network.bif, line {line}: " in str(refused.value)


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path):
    whole = len(SMALL.rstrip())
    for end in range(whole):
        with pytest.raises(ValueError, match=r"network\.bif, line \d"):
            read(SMALL[:end], tmp_path)
    read(SMALL[:whole], tmp_path)


def test_a_table_too_large_is_refused_before_memory_is_taken(tmp_path):
    """A default and sixty parents ask for 2^61 numbers in two thousand bytes."""
    names = [f"v{i}" for i in range(60)]
    parts = [f"variable {name} {{ type discrete [ 2 ] {{ n, y }}; }}" for name in [*names, "w"]]
    parts += [f"probability ( {name} ) {{ table 0.5, 0.5; }}" for name in names]
    parts += [f"probability ( w | {', '.join(names)} ) {{ default 0.5, 0.5; }}"]
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"line 122: .*GiB"):
        read("\n".join(parts), tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


@pytest.mark.parametrize("off", [3e-7, -3e-7, 9e-4])
def test_rows_that_sum_to_one_but_for_printing_are_made_so(off):
    table = np.array([[0.3, 0.7], [0.6, 0.4 + off]])
    model = BayesianNetwork.from_cpts({"a": ([], [0.5, 0.5]), "b": (["a"], table)})
    assert_allclose(
        model.cpts_[1], [[0.3, 0.7], np.array([0.6, 0.4 + off]) / (1 + off)], rtol=1e-15
    )
    assert_allclose(sum(model.marginals()["b"]), 1, rtol=1e-15)
    thirds = BayesianNetwork.from_cpts({"a": ([], [0.333, 0.333, 0.333])})
    assert_allclose(thirds.cpts_[0], np.full(3, 1 / 3), rtol=1e-15)
    for wrong in ([0.6, 0.402], [0.6, 0.398], [1.1, -0.1], [np.nan, 1.0], [np.inf, 0.0]):
        with pytest.raises(ValueError, match="'b' does not sum to one"):
            BayesianNetwork.from_cpts({"b": ([], wrong)})


def test_tables_are_copied():
    table = np.array([0.5, 0.5])
    model = BayesianNetwork.from_cpts({"a": ([], table)})
    table[0] = 7
    assert_array_equal(model.cpts_[0], [0.5, 0.5])
