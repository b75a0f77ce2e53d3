"""The laws of a commutative monoid, for every statistic of the library.

Rows are drawn at offsets up to 1e8, with weights from 1e-12 to 7, and cut anywhere. A
statistic that is added to the library needs an entry in `OF`, or the first test fails.
"""

import copy
import importlib
import inspect
import pkgutil
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import panlearn
from panlearn.bayes._class_statistics import ClassRoots, ClassStatistic, ClassSums, ClassVariances
from panlearn.bayes.categorical_nb import CategoryCounts
from panlearn.core.columns import Columns
from panlearn.core.sources import Sequences
from panlearn.core.starts import RowSample
from panlearn.core.statistics import Counts, LabelCounts, Moments, RootMoments, Statistic, Sums
from panlearn.latent._categories import Values
from panlearn.latent._lloyd import Farthest
from panlearn.linear._logistic_loss import Loss, LossAndCurvature
from panlearn.preprocessing._labels import TableCounts
from panlearn.sequence._transition_counts import TransitionCounts
from panlearn.text._cooccurrence import CooccurrenceCounts
from panlearn.text._documents import tokenize
from panlearn.text._grams import TermCounts, Terms
from panlearn.text._ngrams import NGramCounts
from panlearn.text._piece_counts import PieceCounts, Texts
from panlearn.text._tag_counts import TagCounts

D = 3
CENTRES = np.array([[0.0, 0.0, 0.0], [1e8, 1e8, 1e8]])
COEF = np.arange(12.0).reshape(4, D) * 1e-9  # scores of order one at an offset of 1e8


def _codes(rows):
    return (np.abs(rows[:, 0]).astype(int)) % 4


def _labels(rows):
    return np.array(list("abcd"))[_codes(rows)]


def _categories(rows):
    return np.abs(rows).astype(int) % [2, 3, 7]


def _paths(rows):
    """Each row as a sequence of three labels."""
    labels = np.array(list("abcdefg"))[_categories(rows)]
    return Sequences(labels.ravel(), D * np.arange(len(rows) + 1))


def _texts(rows):
    """Each row as a document of three words."""
    return tokenize([list(words) for words in np.array(list("abcdefg"))[_categories(rows)]])


def _tags(rows):
    """A tag for each of the words."""
    return [list(tags) for tags in np.array(list("NVADP"))[_categories(rows[:, ::-1]) % 5]]


# How to summarise rows of D columns, by name: (rows, weight) -> statistic.
OF = {
    "Counts": lambda rows, weight: Counts.of(_codes(rows), weight, n_codes=4),
    "LabelCounts": lambda rows, weight: LabelCounts.of(_labels(rows), weight),
    "Moments": lambda rows, weight: Moments.of(rows, weight=weight),
    "RootMoments": lambda rows, weight: RootMoments.of(rows[:, :1], rows[:, 1:], weight=weight),
    "Columns": lambda rows, weight: Columns.of(rows, weight),
    "TableCounts": lambda rows, weight: TableCounts.of(
        np.column_stack([_labels(rows), _labels(rows[:, ::-1])]), weight
    ),
    "Farthest": lambda rows, weight: Farthest.of(rows, weight, CENTRES, np.zeros(D), size=4),
    "RowSample": lambda rows, weight: RowSample.of(rows, weight, size=5),
    "Values": lambda rows, weight: Values.of(_categories(rows), weight),
    "Loss": lambda rows, weight: Loss.of(rows, _codes(rows), weight, COEF, np.zeros(4)),
    "LossAndCurvature": lambda rows, weight: LossAndCurvature.of(
        rows, _codes(rows), weight, COEF, np.zeros(4), np.zeros(D), np.ones(D), 1
    ),
    "ClassSums": lambda rows, weight: ClassSums.of(rows, _labels(rows), weight),
    "ClassVariances": lambda rows, weight: ClassVariances.of(rows, _labels(rows), weight),
    "ClassRoots": lambda rows, weight: ClassRoots.of(rows, _labels(rows), weight),
    "CategoryCounts": lambda rows, weight: CategoryCounts.of(
        _categories(rows), _labels(rows), weight
    ),
    "TransitionCounts": lambda rows, weight: TransitionCounts.of(_paths(rows), weight),
    "TagCounts": lambda rows, weight: TagCounts.of(_texts(rows), _tags(rows), weight),
    "NGramCounts": lambda rows, weight: NGramCounts.of(_texts(rows), weight, order=2),
    "TermCounts": lambda rows, weight: TermCounts.of(Terms.of(_texts(rows), 1, 2), weight),
    "PieceCounts": lambda rows, weight: PieceCounts.of(Texts.of(_texts(rows).documents()), weight),
    "CooccurrenceCounts": lambda rows, weight: CooccurrenceCounts.of(_texts(rows), 2, weight),
}
ZERO = {
    "Counts": lambda: Counts.zero(4),
    "LabelCounts": LabelCounts.zero,
    "Moments": lambda: Moments.zero(D),
    "RootMoments": lambda: RootMoments.zero(D),
    "Columns": lambda: Columns(0.0, np.zeros(D), np.zeros(D)),
    "TableCounts": lambda: TableCounts.of(np.zeros((0, 2))),
    "Farthest": lambda: Farthest(np.zeros(0), np.zeros((0, D)), 4),
    "Values": lambda: Values.of(np.zeros((0, D))),
    "RowSample": lambda: RowSample(np.zeros(0, np.uint64), np.zeros((0, D)), np.zeros(0), 5),
    "Loss": lambda: Loss(0.0, np.zeros((4, D + 1))),
    "LossAndCurvature": lambda: LossAndCurvature(
        0.0, np.zeros((4, D + 1)), np.zeros((4 * D + 4,) * 2), np.zeros(D + 1)
    ),
    "ClassSums": lambda: ClassSums.of(np.zeros((0, D)), np.zeros(0)),
    "ClassVariances": lambda: ClassVariances.of(np.zeros((0, D)), np.zeros(0)),
    "ClassRoots": lambda: ClassRoots.of(np.zeros((0, D)), np.zeros(0)),
    "CategoryCounts": lambda: CategoryCounts.of(np.zeros((0, D)), np.zeros(0)),
    "TransitionCounts": lambda: TransitionCounts.of(_paths(np.zeros((0, D)))),
    "TagCounts": TagCounts.zero,
    "NGramCounts": lambda: NGramCounts.zero(2),
    "TermCounts": lambda: TermCounts.of(Terms.of(_texts(np.zeros((0, D))), 1, 2)),
    "PieceCounts": PieceCounts.zero,
    "CooccurrenceCounts": lambda: CooccurrenceCounts.of(_texts(np.zeros((0, D))), 2),
}
every = pytest.mark.parametrize("name", OF)


def _subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from _subclasses(child)


def test_every_statistic_of_the_library_is_here():
    for module in pkgutil.walk_packages(panlearn.__path__, "panlearn."):
        if module.name.split(".")[1] in {"core", *panlearn.FAMILIES}:
            importlib.import_module(module.name)
    merging = {
        cls.__name__
        for cls in _subclasses(Statistic)
        if cls.__module__.startswith("panlearn.")
        and not inspect.isabstract(cls)
        and cls.__add__ is not Sums.__add__  # plain sums are all alike: Counts stands for them
    }
    assert merging | {"Counts"} <= set(OF)
    assert set(OF) == set(ZERO)


@st.composite
def samples(draw, min_rows=1, weighted=True):
    n = draw(st.integers(min_rows, 12))
    offset = draw(st.sampled_from([0.0, 1.0, -3e5, 1e8]))
    scale = draw(st.sampled_from([1e-3, 1.0, 1e4]))
    seed = draw(st.integers(0, 2**32 - 1))
    rows = offset + scale * np.random.default_rng(seed).normal(size=(n, D))
    if draw(st.booleans()):
        rows[:, 0] = rows[0, 0]
    weights = st.lists(st.sampled_from([1e-12, 0.25, 1.0, 7.0]), min_size=n, max_size=n)
    return rows, np.array(draw(weights)) if weighted and draw(st.booleans()) else None


def _cut(rows, weight, at):
    parts = [slice(0, at), slice(at, None)]
    return [(rows[p], None if weight is None else weight[p]) for p in parts]


def _numbers(statistic):
    """What a statistic says, in a form that does not depend on how it is kept."""
    if isinstance(statistic, LabelCounts):
        pairs = zip(statistic.labels, statistic.count, strict=True)
        order = {label: count for label, count in pairs if count}
        return {"labels": sorted(order), "count": np.array([order[k] for k in sorted(order)])}
    if isinstance(statistic, TableCounts):
        values = {"weight": statistic.weight, "missing": statistic.missing, "labels": []}
        for j, column in enumerate(map(_numbers, statistic.columns)):
            values["labels"] += column["labels"]
            values[f"count {j}"] = column["count"]
        return values
    if isinstance(statistic, ClassStatistic):
        seen = statistic.classes.count > 0
        values = {"labels": list(statistic.classes.labels[seen])}
        values["weight"] = statistic.classes.count[seen]
        if isinstance(statistic, CategoryCounts):
            statistic = statistic.with_categories(np.full(D, 7))
        if isinstance(statistic, ClassRoots):
            roots = [r for r, there in zip(statistic.roots, seen, strict=True) if there]
            values["scatter"] = np.reshape([r.T @ r for r in roots], (-1, D, D))
        for name in {"total", "mean", "scatter", "count"} & set(vars(statistic)):
            values[name] = getattr(statistic, name)[seen]
        return values
    if isinstance(statistic, TermCounts):
        seen = statistic.count > 0
        values = {"labels": statistic.names()[seen].tolist(), "weight": statistic.weight}
        values["frequency"] = statistic.document_frequency[seen]
        return values | {"count": statistic.count[seen]}
    if isinstance(statistic, PieceCounts):
        seen = dict(zip(statistic.pieces(), statistic.count, strict=True))
        words = sorted(piece for piece, count in seen.items() if count > 0)
        values = {"labels": words, "count": np.array([seen[word] for word in words])}
        return values | {"weight": statistic.weight}
    if isinstance(statistic, CooccurrenceCounts):
        at = [ord(word) - ord("a") for word in statistic.words]
        count, forward = np.zeros(7), np.zeros((7, 7))
        count[at], forward[np.ix_(at, at)] = statistic.count, statistic.forward.toarray()
        return {"count": count, "forward": forward, "weight": statistic.weight}
    if isinstance(statistic, TagCounts):
        seen, some = (
            statistic.count > 0,
            statistic.step.sum(axis=0) + statistic.step.sum(axis=1) > 0,
        )
        word, tag = statistic.pairs[seen].T
        pairs = zip(statistic.words[word], statistic.tags[tag], strict=True)
        values = {"labels": list(pairs), "count": statistic.count[seen]}
        return values | {"step": statistic.step[np.ix_(some, some)], "weight": statistic.weight}
    if isinstance(statistic, NGramCounts):
        seen = statistic.count > 0
        names = np.array(["<s>", "</s>", "<unk>", *statistic.words])
        values = {"labels": names[statistic.grams[seen]].tolist(), "weight": statistic.weight}
        return values | {"count": statistic.count[seen]}
    if isinstance(statistic, TransitionCounts):
        return vars(statistic.among(np.array(list("abcdefg")))) | {"states": 0}
    if isinstance(statistic, Moments | RootMoments):
        return {
            "weight": statistic.weight,
            "mean": statistic.mean,
            "scatter": statistic.scatter,
        }
    # the second part of a mean is what rounding left
    return {f.name: getattr(statistic, f.name) for f in fields(statistic) if f.name != "rest"}


def close(one, other, rows):
    ours, theirs = _numbers(one), _numbers(other)
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        if name == "labels":
            assert ours[name] == expected
            continue
        size = np.abs(expected).max(initial=0.0)
        if name == "scatter":
            # the digits of the spread, not of the offset: each row is off by one rounding of its
            # distance from the mean, and a constant column by one of the mean's second part
            spread = np.abs(rows - rows.mean(axis=0)).max() + 1e-20 * np.abs(rows).max()
            size = max(size, np.max(theirs["weight"], initial=0.0) * 1e-10 * spread**2)
        if name == "squares" and "mean" in theirs:
            # means that are kept as one number are off by a rounding of the offset when they merge
            spread, offset = np.ptp(rows, axis=0).max(), np.abs(rows).max()
            size += 1e10 * theirs["weight"] * 4e-16 * offset * (spread + 4e-16 * offset)
        np.testing.assert_allclose(ours[name], expected, rtol=0, atol=1e-10 * size, err_msg=name)


@every
@given(data=samples())
def test_zero_is_the_identity(name, data):
    rows, _ = data
    statistic = OF[name](*data)
    for neutral in (0, ZERO[name](), OF[name](rows[:0], None)):
        close(statistic + neutral, statistic, rows)
        close(neutral + statistic, statistic, rows)
    assert sum([statistic]) is statistic


@every
@given(data=samples(min_rows=2), cut=st.integers(0, 12))
def test_any_split_merges_to_the_whole_in_either_order(name, data, cut):
    rows, _ = data
    left, right = (OF[name](*part) for part in _cut(*data, cut))
    close(left + right, OF[name](*data), rows)
    close(right + left, OF[name](*data), rows)


@every
@given(data=samples(min_rows=3), cuts=st.tuples(st.integers(0, 12), st.integers(0, 12)))
def test_merging_is_associative(name, data, cuts):
    rows, weight = data
    first, rest = _cut(rows, weight, min(cuts))
    second, third = _cut(*rest, max(cuts) - min(cuts))
    a, b, c = (OF[name](*part) for part in (first, second, third))
    close((a + b) + c, a + (b + c), rows)
    close(sum([c, a, b]), OF[name](rows, weight), rows)


@every
@given(data=samples(weighted=False), seed=st.integers(0, 1000))
def test_an_integer_weight_is_repetition(name, data, seed):
    rows, _ = data
    times = np.random.default_rng(seed).integers(0, 4, len(rows))
    close(OF[name](rows, times.astype(float)), OF[name](np.repeat(rows, times, axis=0), None), rows)


@every
@given(data=samples(), factor=st.sampled_from([0.0, 1e-9, 0.5, 1.0, 3.0]))
def test_scaling_multiplies_every_weight(name, data, factor):
    rows, weight = data
    scaled = np.full(len(rows), factor) if weight is None else factor * weight
    statistic = OF[name](rows, weight) * factor
    if factor:
        close(statistic, OF[name](rows, scaled), rows)
        close(factor * OF[name](rows, weight), statistic, rows)
    close(OF[name](rows, weight) + statistic, OF[name](rows, weight) * (1 + factor), rows)


@every
@given(data=samples())
def test_finite_rows_have_a_finite_statistic_and_merging_leaves_the_parts_alone(name, data):
    a, b = OF[name](*data), OF[name](*data)
    before = _numbers(copy.deepcopy(a))
    assert (a + b).is_finite
    a * 0.5
    for key, value in _numbers(a).items():
        np.testing.assert_array_equal(value, before[key])


@every
def test_kinds_do_not_mix(name):
    statistic = OF[name](np.ones((2, D)), None)
    other = OF["Counts" if name != "Counts" else "Moments"](np.ones((2, D)), None)
    for wrong in (other, 1, "0", None, 0.5):
        with pytest.raises(TypeError):
            statistic + wrong


@given(data=samples(min_rows=2))
def test_the_moments_are_those_of_the_definition(data):
    rows, weight = data
    w = np.ones(len(rows)) if weight is None else weight
    w = w.astype(np.longdouble)
    exact = rows.astype(np.longdouble)
    mean = (w[:, None] * exact).sum(axis=0) / w.sum()
    scatter = ((exact - mean).T * w) @ (exact - mean)
    reference = Moments(float(w.sum()), mean.astype(float), scatter.astype(float))
    close(Moments.of(rows, weight=weight), reference, rows)
    close(RootMoments.of(rows, weight=weight), reference, rows)
    raw = ((exact.T * w) @ exact).astype(float)
    np.testing.assert_allclose(Moments.of(rows, weight=weight).raw, raw, rtol=1e-12)


@given(seed=st.integers(0, 1000), density=st.sampled_from([0.05, 0.6]))
def test_sparse_rows_have_the_moments_of_dense_ones(seed, density):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, D)) * (rng.random((30, D)) < density)
    weight = rng.random(30)
    for statistic in (Moments, RootMoments):
        for kind in (sparse.csr_array, sparse.csc_matrix):
            found = statistic.of(kind(rows), weight=weight)
            close(found, Moments.of(rows, weight=weight), rows)


def test_sums_add_up_field_by_field():
    assert Sums() + 0 == Sums()
    assert issubclass(Counts, Sums)
