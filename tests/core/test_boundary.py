"""The door of every public method: what it admits, what it refuses, what it says."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin

from panlearn.core.boundary import LEAST_TOTAL, admit, check_table, check_weights
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.labels import plain_labels
from panlearn.linear import LinearRegression
from panlearn.sequence import MarkovChain

FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")


@dataclass(eq=False, repr=False)
class Echo(RegressorMixin, Estimator):
    """Answers with what it is given."""

    @fitting
    def fit(self, X, y=None, sample_weight=None):
        self.given_ = np.asarray(X, dtype=float), y, sample_weight
        return self

    def predict(self, X):
        return np.asarray(X, dtype=float)

    def score_samples(self, X):
        return np.asarray(X, dtype=float)


@dataclass(eq=False, repr=False)
class Labels(ClassifierMixin, Estimator):
    @fitting
    def fit(self, X, y):
        self.y_ = y
        return self


@given(st.data())
def test_a_sparse_matrix_is_admitted_if_and_only_if_it_is_one(data):
    """Against a walk over rows and entries; scipy's check passes over what holds no entry."""
    shape = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    seed = data.draw(st.integers(0, 10**6))
    dense = np.random.default_rng(seed).integers(0, 3, shape).astype(float)
    format = data.draw(st.sampled_from(FORMATS))
    check_table(getattr(sparse, f"{format}_array")(dense))
    matrix = getattr(sparse, data.draw(st.sampled_from(["csr_array", "csc_array"])))(dense)
    part = data.draw(st.sampled_from(["indices", "indptr"]))
    array = getattr(matrix, part)
    if not len(array):
        return
    place, value = data.draw(st.integers(0, len(array) - 1)), data.draw(st.integers(-2, 40))
    array[place] = value
    starts, width = matrix.indptr.tolist(), shape[matrix.format == "csr"]
    rises = starts[0] == 0 and all(a <= b for a, b in itertools.pairwise(starts))
    inside = starts[-1] <= len(matrix.data) and all(0 <= i < width for i in matrix.indices)
    if rises and inside:
        check_table(matrix)
    else:
        with pytest.raises(ValueError, match="X is a malformed sparse matrix"):
            check_table(matrix)


def test_every_format_of_sparse_matrix_is_looked_into():
    dense = np.eye(4)
    blocks = sparse.bsr_array(dense, blocksize=(2, 2))
    check_table(blocks)
    blocks.indices[1] = 2
    lists = sparse.lil_array(dense)
    lists.rows[2] = [9]
    keys = sparse.dok_array(dense)
    keys._dict[(9, 1)] = 1.0
    coordinates = sparse.coo_array(dense)
    coordinates.data = coordinates.data[:2]
    for broken in (blocks, lists, keys, coordinates):
        with pytest.raises(ValueError, match="Z is a malformed sparse matrix"):
            check_table(broken, "Z")


def test_weights_are_refused_where_their_sum_is_no_float():
    ones = np.ones(3)
    fine = (None, 2.0, ones, 1e-90 * ones, 1e300 * ones, [1e150, 1, 1], [0, 0, 0], ["a"], -ones)
    for weight in (*fine, 5e-324 * ones):
        check_weights(weight)
    for weight in (*fine, [1e-300, 1, 1]):
        check_weights(weight, LEAST_TOTAL)
    for bad, least in ((1.7e308 * ones, 0), (1.7e308 * ones, 1e-300), (1e-301 * ones, 1e-300)):
        with pytest.raises(ValueError, match=r"sample_weight sums to .*divide it"):
            check_weights(bad, least)


def test_weights_of_batches_whose_products_would_lose_their_digits_are_refused(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    tiny = np.full(20, 1e-310)
    with pytest.raises(ValueError, match="sample_weight sums to 2e-309"):
        LinearRegression().fit([(X, y, tiny)])
    with pytest.raises(ValueError, match="sample_weight sums to 2e-309"):
        MarkovChain().fit([[0, 1, 1]] * 20, sample_weight=tiny)


def test_labels_in_the_types_of_pandas_and_arrow():
    pd = pytest.importorskip("pandas")
    for kind, labels in (
        ("Int8", [1, 2, 1]),
        ("boolean", [True, False, True]),
        ("string", ["a", "bc", "a"]),
        ("double[pyarrow]", [1.0, 2.0, 1.0]),
        ("category", [3, 1, 3]),
    ):
        plain = plain_labels(pd.Series(labels, dtype=kind))
        assert type(plain) is np.ndarray
        assert plain.dtype == np.array(labels).dtype
        assert plain.tolist() == labels
    table = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, dtype="Int64")
    assert plain_labels(table, complete=False).tolist() == [[1, 3], [2, 4]]
    assert plain_labels(table, complete=False).dtype == int


def test_other_labels_pass_untouched():
    for y in (np.array([1, 2]), ["a", "b"], np.array(["a", "b"]), [["x"], ["y", "z"]], None):
        assert admit(Labels(), "y", y) is y
    for alone in (3, 1.5, "a", np.float64(2)):
        with pytest.raises(ValueError, match="y must hold one target a row"):
            admit(Labels(), "y", alone)
    numbers = np.array([1.0, np.nan])
    assert admit(Echo(), "y", numbers) is numbers  # scikit-learn's word on numbers


def test_an_error_names_the_place():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "colour": ["red", "blue"]})
    with pytest.raises(ValueError, match="column 'colour' of X holds 'red' in row 0"):
        Echo().fit(frame)
    with pytest.raises(ValueError, match="column 1 of X holds 'x' in row 1"):
        Echo().fit([[1, 2], [3, "x"]])
    with pytest.raises(ValueError, match="column 0 of X holds an integer beyond the floats"):
        Echo().predict([[10**400]])
    with pytest.raises(TypeError, match=r"column 0 of X holds {} in row 0"):
        Echo().fit([[{}], [1]])


def test_answers_are_finite_and_logarithms_may_be_minus_infinite():
    model = Echo()
    far = np.array([[0.0, 1.0], [2.0, -np.inf]])
    with pytest.raises(ValueError, match="predict of row 1 is beyond the floats"):
        model.predict(far)
    assert model.score_samples(far)[1, 1] == -np.inf
    with pytest.raises(ValueError, match="score_samples of row 0 is beyond the floats"):
        model.score_samples(np.array([[np.nan]]))
    huge = np.full((2, 2), 1.7e308)  # finite, though its sum is not
    np.testing.assert_array_equal(model.predict(huge), huge)
