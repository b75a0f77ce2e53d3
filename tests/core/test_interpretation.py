"""Kernels as they are written give the bits of the compiled ones; which of them runs, and when."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import panlearn
from panlearn.cli.trials import WORDS, kernels, problem
from panlearn.core import interpretation
from panlearn.core import jit as module
from panlearn.core.jit import Kernel, jit
from panlearn.graphical import BayesianNetwork
from panlearn.kernel import SVC
from panlearn.latent import NMF
from panlearn.linear import ElasticNet, Lasso
from panlearn.sequence import CategoricalHMM, GaussianHMM, KalmanFilter
from panlearn.text import (
    BPETokenizer,
    FastTextClassifier,
    LatentDirichletAllocation,
    SpellCorrector,
    TfidfVectorizer,
    Word2Vec,
    distance,
    edit_distances,
    edit_operations,
)
from panlearn.text._scan import document_frequencies, scan
from panlearn.tree import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    RandomForestClassifier,
    RandomForestRegressor,
    _problem,
)
from panlearn.tree._grow import grow
from panlearn.tree._growth import Growth

# words of one to four bytes a letter, and of more than eight letters, which are hashed
TEXTS = [
    "Γειά σου, κόσμε",
    "naïve œuvre",
    "漢字 仮名",
    "𝒜𝓁𝓅𝒽𝒶 🙂 ok",
    "don't DON'T 12 ½ ",
    "unterseeboot " * 2,
]


def _texts():
    for pattern in ("gpt2", "llama3", "digits"):
        tokenizer = BPETokenizer(300, pattern=pattern).fit(TEXTS)
        tokenizer.transform(TEXTS)
    BPETokenizer(300, alphabet="characters").fit(TEXTS).transform(TEXTS)
    TfidfVectorizer(ngram_range=(1, 2)).fit(TEXTS)
    ids, offsets, words = scan(TEXTS, 1)
    document_frequencies(ids, offsets, len(words))
    Word2Vec(4, min_count=1, epochs=1, sample=0.1, random_state=0).fit(TEXTS)
    labels = [len(text) % 2 for text in TEXTS]
    FastTextClassifier(minn=2, maxn=3, word_ngrams=2, epoch=1).fit(TEXTS, labels)
    LatentDirichletAllocation(9, n_iter=30, n_burn_in=9, random_state=0).fit(TEXTS)
    SpellCorrector().fit([" ".join(WORDS)]).predict(["shp sae wnid"])
    for options in ({}, {"substitute": 2}, {"insert": 0.3}, {"transposition": "adjacent"}):
        edit_distances(TEXTS, TEXTS, **options)
        edit_operations(TEXTS[0], TEXTS[1], **options)
    edit_distances(TEXTS, TEXTS, transposition="damerau")
    edit_distances([TEXTS[0] * 9], TEXTS, score_cutoff=20)
    distance.JaroWinkler.similarity(TEXTS[0], TEXTS[1])


def _trees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(1)
    y = np.exp(X[:, 0]) + X[:, 1] ** 2
    X[rng.random(X.shape) < 0.1] = np.nan
    labels, weight = np.digitize(y, [1.0, 2.0]), rng.random(len(y)) + 0.01
    for criterion in ("gini", "entropy"):
        for limits in ({}, {"max_leaf_nodes": 6}, {"min_samples_leaf": 4, "max_features": 2}):
            DecisionTreeClassifier(criterion=criterion, random_state=0, **limits).fit(
                X, labels, weight
            )
    for criterion in ("squared_error", "absolute_error", "poisson"):
        DecisionTreeRegressor(criterion=criterion).fit(X, np.c_[y, y[::-1]], weight).predict(X)
        RandomForestRegressor(2, criterion=criterion, random_state=0).fit(X, y, weight)
    DecisionTreeRegressor(monotonic_cst=[1, 0, -1]).fit(X, y, weight)
    for limits in (
        {"min_samples_leaf": 3},
        {"min_weight_fraction_leaf": 0.04, "max_features": 2},
        {"max_features": 1, "max_leaf_nodes": 20},
        {"monotonic_cst": [1, 0, -1]},
    ):
        RandomForestRegressor(3, random_state=0, **limits).fit(X, y, weight)
    RandomForestRegressor(2, random_state=0).fit(X, np.c_[y, y[::-1]], weight)
    constant = np.c_[X[:, :2], np.ones(len(X)), np.full(len(X), np.nan)]
    RandomForestRegressor(2, max_features=1, random_state=0).fit(constant, y.round())
    # places, and features, that are equal but for rounding
    mirrored = np.linspace(-1, 1, 41)[:, None]
    for bootstrap in (False, True):
        model = RandomForestRegressor(3, bootstrap=bootstrap, random_state=0)
        model.fit(np.c_[mirrored, -mirrored], np.cos(3 * mirrored[:, 0]).round(2))
    more = rng.normal(size=(160, 3)).round(1)  # nodes that are large enough for sums of bins
    more[rng.random(more.shape) < 0.1] = np.nan
    kinds = rng.integers(3, size=len(more))
    for limits in ({}, {"min_samples_leaf": 3}):
        RandomForestRegressor(2, random_state=0, **limits).fit(more, rng.normal(size=len(more)))
        for many in (kinds, kinds > 0, np.c_[kinds, kinds > 1]):
            RandomForestClassifier(2, random_state=0, **limits).fit(more, many)
    AdaBoostClassifier(n_estimators=3).fit(X, labels).predict(X)
    ID3Classifier().fit(X.round(), labels, weight)


def _graphs():
    codes = np.random.default_rng(0).integers(3, size=(40, 3))
    model = BayesianNetwork([(0, 1), (1, 2)]).fit(codes)
    model.score_samples(codes)
    model.sample(9, random_state=0)


def _sequences():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 3 * rng.integers(2, size=(40, 1))
    for kind in ("diag", "full"):
        model = GaussianHMM(2, covariance_type=kind, max_iter=2, random_state=0)
        model.fit([X[:25], X[25:]]).predict(X)
        model.sample(9, random_state=0)
    steps = [[0, 1, 1, 0, 2], [2, 2, 1, 0]]
    CategoricalHMM(2, training="viterbi", max_iter=2, random_state=0).fit(steps)
    CategoricalHMM(2, max_iter=2, random_state=0).fit(steps)
    rare, law = [[1.0, 1e-200], [0.0, 1.0]], [[0.5, 0.5, 0.0], [0.0, 0.1, 0.9]]  # in logarithms
    CategoricalHMM.from_parameters([1.0, 0.0], rare, law).predict_proba([[0, 1, 2, 2]])
    X[rng.random(X.shape) < 0.2] = np.nan
    KalmanFilter(3, max_iter=2).fit(X).smooth(X)


def _machines():
    X = np.random.default_rng(0).normal(size=(40, 3))
    for dtype in (np.float32, np.float64):
        SVC().fit(X.astype(dtype), X[:, 0] > X[:, 1])
    for options in ({"C": 1e4, "tol": 1e-9}, {"max_iter": 3}, {"cache_size": 1e-3}):
        SVC(**options).fit(X, X[:, 0] * X[:, 1] > 0.1)


def _factors():
    X = np.abs(np.random.default_rng(0).normal(size=(70, 4)))
    for dtype in (np.float32, np.float64):
        NMF(3, alpha_W=0.01, l1_ratio=0.2, random_state=0).fit(X.astype(dtype))
    H = np.zeros((2, 4))  # no curvature at first
    NMF(2, init="custom").fit(X, W=np.ones((70, 2)), H=H)


def _penalties():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8))  # correlated, so that epochs are many
    y = X[:, :3].sum(axis=1) + rng.normal(size=60)
    for dtype in (np.float32, np.float64):  # of float32 it is compiled, whatever it takes
        ElasticNet(alpha=0.1).fit(X.astype(dtype), y.astype(dtype))
    Lasso(alpha=0.1, positive=True).fit(X, y)


# What a tree grows in, of which nothing is read when it is grown.
MEMORY = ("work", "sums", "goes_left", "integers", "floats", "unborn")

MORE = {
    "text": _texts,
    "tree": _trees,
    "graphical": _graphs,
    "sequence": _sequences,
    "kernel": _machines,
    "latent": _factors,
    "linear": _penalties,
}


def bits(value):
    """What is compared: every bit, and the kind of everything, but for what is memory."""
    if isinstance(value, Growth):  # `work` is, but for what is zero between searches
        known = {name: getattr(value, name) for name in value._fields if name not in MEMORY}
        value = (*known.values(), value.work.histogram, value.work.counts)
    if isinstance(value, np.ndarray):
        # not what lies between the fields of records, which nobody writes
        fields = [value] if value.dtype.names is None else [value[f] for f in value.dtype.names]
        return value.dtype, value.shape, [field.tobytes() for field in fields]
    if isinstance(value, tuple):
        return type(value), [bits(part) for part in value]
    return type(value), np.float64(value).tobytes() if isinstance(value, float) else value


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("family", MORE)
def test_the_interpreter_gives_the_bits_of_the_compiled_kernel(monkeypatch, family):
    compared = set()
    compiled = Kernel.__call__

    def both(kernel, *arguments):
        if kernel.plain is None or kernel.plain(*arguments) > 1e6 * kernel.patience:
            return compiled(kernel, *arguments)
        own = copy.deepcopy(arguments)
        written = interpretation.run(kernel, own)
        with interpretation.forbidden():
            result = compiled(kernel, *arguments)
        assert bits(written) == bits(result), kernel.__name__
        assert bits(own) == bits(arguments), kernel.__name__
        compared.add(kernel.__name__)
        return result

    monkeypatch.setattr(Kernel, "__call__", both)
    MORE[family]()
    assert compared >= {kernel.__name__ for kernel in kernels(family) if kernel.plain is not None}


@pytest.fixture
def nothing_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    module.folders.cache_clear()
    yield
    module.folders.cache_clear()


@jit
def halved(x):
    return x / 2


def product(records):
    result = np.uint64(1)
    for record in records:
        result = result * record.factor
    return halved(result)


@pytest.mark.usefixtures("nothing_kept")
def test_short_calls_are_interpreted_until_they_add_up_or_code_is_there(monkeypatch):
    kernel = jit(product, plain=lambda records: 300_000 * len(records))
    records = np.full(2, 2**40 + 1, [("factor", np.uint64)])
    written = kernel(records)
    assert not kernel.signatures
    assert not halved.signatures  # what it calls is interpreted with it
    assert bits(written) == bits(((2**40 + 1) ** 2 % 2**64) / 2)
    assert bits(kernel(records)) == bits(written)
    assert len(kernel.signatures) == 1
    later = jit(product, plain=kernel.plain)  # as in the next process
    assert bits(later(records)) == bits(written)
    assert sum(later.entry.stats.cache_hits.values()) == 1
    read = jit(product, plain=lambda records: 10_000)  # LLVM is there, and reads in less
    assert bits(read(records)) == bits(written)
    assert read.signatures
    monkeypatch.delitem(sys.modules, "llvmlite")
    short = jit(product, plain=lambda records: 10_000)  # over before it would have been loaded
    assert bits(short(records)) == bits(written)
    assert not short.signatures


@pytest.mark.usefixtures("nothing_kept")
def test_long_calls_and_what_is_to_be_compiled_are_compiled():
    records = np.full(2, 3, [("factor", np.uint64)])
    long = jit(product, plain=lambda records: 1_000_001)
    many = jit(product, plain=len, patience=2.0)
    many.expect(1_000_000)
    assert many(records) == 4.5
    assert not many.signatures
    many.expect(2_000_001)
    assert many(records) == 4.5
    assert many.signatures
    with interpretation.forbidden():
        jit(product, plain=len)(records)
    assert not long.signatures
    assert long(records) == 4.5
    assert sum(long.entry.stats.cache_hits.values()) == 1  # the other one was kept


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_a_first_forest_of_few_rows_is_grown_without_compiling(monkeypatch, cls):
    kernel = jit(grow.py_func, plain=grow.plain, patience=grow.patience)  # as in a fresh process
    monkeypatch.setattr(_problem, "grow", kernel)
    X, y = problem(cls)
    cls(random_state=0).fit(X, y)
    assert kernel.spent > 0
    assert "entry" not in vars(kernel)


FEW_ROWS = """
import importlib, sys, warnings
from panlearn.cli.trials import problem
warnings.simplefilter("ignore")
for name in {names!r}:
    family, cls = name.split(".")
    cls = getattr(importlib.import_module("panlearn." + family), cls)
    X, y = problem(cls)
    cls().fit(X) if y is None else cls().fit(X, y)
    assert "numba" not in sys.modules, name
"""


def test_a_first_fit_of_few_rows_imports_no_compiler(tmp_path):
    names = ["kernel.SVC", "latent.NMF", "linear.ElasticNet"]
    subprocess.run(
        [sys.executable, "-c", FEW_ROWS.format(names=names)],
        check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )


def test_only_families_that_are_compared_here_declare_it():
    package = Path(panlearn.__file__).parent
    declaring = {
        file.relative_to(package).parts[0]
        for file in package.rglob("*.py")
        if re.search(r"^@jit\(\s*([^\n]*, )?plain=", file.read_text(), re.MULTILINE)
    }
    assert declaring == set(MORE)
