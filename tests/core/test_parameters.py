"""Constraints on hyper-parameters, read from annotations."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction as Ratio
from typing import Any, Literal

import numpy as np
import pytest

from panlearn.core.parameters import (
    Bounds,
    Fraction,
    InvalidParameterError,
    NonNegative,
    Positive,
    PositiveOrInf,
    RandomState,
    allows,
    check_parameters,
    describe,
)

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (int, [0, -3, np.int8(2), 10**30], [1.0, True, "1", None, np.True_]),
        (
            float,
            [0, 0.5, np.float32(1), np.int8(2), INF],
            [Ratio(1, 3), NAN, True, "1", None, 10**400, 1j],
        ),
        (bool, [True, np.False_], [0, 1, "True", None]),
        (str, ["", "a"], [b"a", None, 1]),
        (Positive[float], [1e-300, 1, 1e308], [0, -1.0, INF, NAN, True]),
        (Positive[int], [1, 10**9], [0, -1, 1.0]),
        (NonNegative[float], [0, 0.0, 2], [-1e-300, INF]),
        (PositiveOrInf[float], [INF, 1], [0, -INF]),
        (Fraction[float], [0, 1, 0.5], [-0.1, 1.1, NAN]),
        (Literal["a", "b", None], ["a", None], ["c", 1, ["a"], np.array(["a", "b"])]),
        (int | None, [None, 3], ["3", 3.5]),
        (
            RandomState,
            [None, 0, np.random.default_rng(0), np.random.RandomState(0)],
            ["0", 0.5, -1],
        ),
        (np.ndarray, [[1.0], (1, 2), np.ones(2)], [1.0, np.float64(1), "ab", None]),
        (Positive[float] | np.ndarray, [1.0, [1.0, 2.0]], [-1.0, np.float64(-1), np.True_]),
        (Callable[[int], int], [len, int], [1, "len"]),
        (dict[str, int], [{}], [[], None]),
        (Any, [None, object()], []),
    ],
    ids=lambda v: "" if isinstance(v, list) else describe(v),  # no addresses: xdist compares ids
)
def test_what_is_allowed(annotation, good, bad):
    for value in good:
        assert allows(annotation, value), value
    for value in bad:
        assert not allows(annotation, value), value
    assert annotation is Any or describe(annotation)


def test_bounds_say_which_end_belongs():
    assert str(Bounds(0, 1, closed_low=True)) == "in [0, 1)"
    assert 0 in Bounds(0, 1, closed_low=True)
    assert 1 not in Bounds(0, 1, closed_low=True)
    assert NAN not in Bounds()


def test_the_error_says_what_was_given_and_what_is_allowed():
    @dataclass
    class Model:
        solver: Literal["newton", "lbfgs"] | None = None
        tol: Positive[float] = 1e-3

    check_parameters(Model())
    with pytest.raises(
        InvalidParameterError,
        match=r"'tol' parameter of Model must be a float in \(0, inf\); got -1",
    ):
        check_parameters(Model(tol=-1))
    with pytest.raises(ValueError, match="one of 'newton', 'lbfgs' or None; got 'sgd'"):
        check_parameters(Model(solver="sgd"))
    with pytest.raises(TypeError, match="got 3"):  # it is an error of type as well as of value
        check_parameters(Model(solver=3))
