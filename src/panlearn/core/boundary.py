"""The door of every public method: what comes in is looked at once, what goes out is a number.

`fitting` and `Estimator` put it around ``fit`` and around what a model answers with, so that no
class checks these things itself. What is right passes at the cost of a few looks at types; why
something failed is found out after it failed.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import numbers
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, ClusterMixin, RegressorMixin, is_classifier
from sklearn.utils import get_tags

from panlearn.core.elsewhere import anywhere
from panlearn.core.labels import is_missing, plain_labels

# What a model answers with. A log density or probability may be that of the impossible.
ANSWERS = ("predict", "predict_proba", "decision_function", "transform", "inverse_transform")
LOGARITHMS = ("score_samples", "predict_log_proba")
LEAST_TOTAL = 1e-300  # of the weights of rows: below it products with them lose their digits


def admit(estimator: Any, name: str, value: Any) -> Any:
    """Give an argument as the library takes it, or say what is wrong with it.

    Parameters
    ----------
    estimator : Estimator
        Whose method was called.
    name : str
        The argument: X and other rows, y, classes, sample_weight.
    value : object
        What was given for it.
    """
    check_table(value, name)
    if name == "sample_weight":
        check_weights(value)
    elif name == "y" and isinstance(value, str | numbers.Number | np.generic):
        raise ValueError(f"y must hold one target a row; got {value!r} alone")
    elif name in ("y", "classes") and value is not None:
        return plain_labels(value, name, complete=_classifies(estimator))
    return value


def _classifies(estimator: Any) -> bool:
    known = ClassifierMixin | RegressorMixin | ClusterMixin
    if isinstance(estimator, known):  # sooner told than by the tags
        return isinstance(estimator, ClassifierMixin)
    try:
        return is_classifier(estimator)
    except AttributeError:  # of a part that is no estimator, which the method will say
        return False


def check_table(table: Any, name: str = "X") -> None:
    """Refuse columns of one name, and a sparse matrix that is none."""
    if sparse.issparse(table):
        _check_sparse(table, name)
    columns: Any = getattr(table, "columns", None)
    if getattr(columns, "is_unique", True) is False:
        twice = columns[columns.duplicated()][0]
        raise ValueError(f"{name} has several columns named {twice!r}; rename or drop all but one")


def _check_sparse(matrix: Any, name: str) -> None:
    """Indices that point out of the matrix would be followed by compiled code."""
    says = f"{name} is a malformed sparse matrix of shape {matrix.shape}: "
    if matrix.format in ("lil", "dok"):
        try:
            matrix = matrix.tocoo()
        except (IndexError, ValueError) as error:
            raise ValueError(f"{says}{error}") from error
    if matrix.format == "coo":
        lengths = {len(matrix.data), *map(len, matrix.coords)}
        if len(lengths) > 1:
            raise ValueError(f"{says}its indices and its data have different lengths")
        for axis, index in enumerate(matrix.coords):
            _check_indices(index, matrix.shape[axis], says)
    if matrix.format not in ("csr", "csc", "bsr"):
        return
    major, minor = matrix.shape if matrix.format != "csc" else matrix.shape[::-1]
    if matrix.format == "bsr":
        major, minor = (n // b for n, b in zip((major, minor), matrix.blocksize, strict=True))
    indptr, indices = matrix.indptr, matrix.indices
    if len(indptr) != major + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError(f"{says}indptr must rise from 0 and have {major + 1} entries")
    if len(indices) != len(matrix.data) or indptr[-1] > len(indices):
        raise ValueError(
            f"{says}indptr ends at {indptr[-1]}, with {len(indices)} indices and "
            f"{len(matrix.data)} values"
        )
    _check_indices(indices, minor, says)


def _check_indices(indices: np.ndarray, size: int, says: str) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        raise ValueError(
            f"{says}its indices go from {indices.min()} to {indices.max()}, and 0 to {size - 1} "
            "is allowed"
        )


def check_weights(weight: Any, least: float = 0.0) -> None:
    """Refuse weights whose sum is no float, or less than `least`.

    Most results depend on nothing but the ratios of the weights, or say how a prior or a penalty
    stands beside them: their level is the user's, so they are refused only where it cannot be kept.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            weights = np.asarray(weight, dtype=np.float64)
            total = float(weights.sum())
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return  # another check says what these are
    if total <= 0 or not np.isfinite(weights).all():
        return
    if not least <= total < np.inf:
        raise ValueError(
            f"sample_weight sums to {total:.3g}, and products with it leave the floats; divide it "
            "by its largest value"
        )


def answering(method: Callable[..., Any]) -> Callable[..., Any]:
    """Put the door around a method that answers: its arguments are looked at, its answer finite."""
    names = list(inspect.signature(method).parameters)[1:]
    allowed = np.isnan if method.__name__ in LOGARITHMS else _not_finite
    checked = method.__name__ in (*ANSWERS, *LOGARITHMS)

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = admit_all(self, names, args, kwargs)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        with told(given, numbers_of(self)), np.errstate(over="ignore", invalid="ignore"):
            answer = method(self, *args, **kwargs)
        if checked:
            _check_answer(self, method.__name__, answer, allowed, args)
        return answer

    run.__dict__["_has_door"] = True
    return anywhere(run) if checked else run


def admit_all(
    estimator: Any, names: list[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Admit every argument of a call."""
    placed = zip(names, args, strict=False)
    rest = args[len(names) :]  # too many: the method says so
    return (
        (*(admit(estimator, name, value) for name, value in placed), *rest),
        {name: admit(estimator, name, value) for name, value in kwargs.items()},
    )


def is_finite(values: np.ndarray) -> bool:
    """Whether there is no NaN and no infinity: mostly the sum tells, in one pass and no memory."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def _not_finite(values: np.ndarray) -> np.ndarray:
    return ~np.isfinite(values)


def _check_answer(
    estimator: Any, name: str, answer: Any, wrong: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    for part in answer if isinstance(answer, tuple | list) else [answer]:
        values = part.data if sparse.issparse(part) else getattr(part, "values", part)
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
            continue
        if is_finite(values):
            continue
        if (bad := wrong(values)).any():
            place = f" of row {np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))[0]}"
            raise ValueError(
                f"{name}{'' if sparse.issparse(part) else place} is beyond the floats: the values "
                f"{_largest(args)}are too large or too small for {type(estimator).__name__} to "
                "compute with; scale the features before fit, for example with "
                "sklearn.preprocessing.StandardScaler"
            )


def _largest(args: tuple[Any, ...]) -> str:
    """How large the rows are, where they are plainly numbers."""
    X = args[0] if args else None
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.size:
        return f"of X, up to {np.fmax.reduce(np.abs(X), axis=None):.3g}, "
    return "of X "


@contextlib.contextmanager
def told(given: Mapping[str, Any], numeric: Callable[[], Container[str]]) -> Iterator[None]:
    """Let an error that comes from another library say which argument, column and row it is of.

    Parameters
    ----------
    given : mapping of str to object
        The arguments.
    numeric : callable
        Tells which of them must hold numbers.
    """
    try:
        yield
    except (TypeError, ValueError, OverflowError, RuntimeError, AttributeError) as error:
        names = numeric()
        for name, value in given.items():
            reason = _tensor(value, name) or (_no_number(value, name) if name in names else "")
            if reason and not str(error).startswith(reason):
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"{reason}: {error}") from error
        raise


def numbers_of(estimator: Any) -> Callable[[], Container[str]]:
    """Which arguments of an estimator's methods must hold numbers, by scikit-learn's tags."""

    def names() -> list[str]:
        try:
            tags = get_tags(estimator)
        except AttributeError:
            return []
        rows = tags.input_tags.two_d_array and not tags.input_tags.string
        regressor = tags.estimator_type == "regressor"
        return ["sample_weight", *(["X"] if rows else []), *(["y"] if regressor else [])]

    return names


def _tensor(value: Any, name: str) -> str:
    """What keeps a tensor, or the tensors of a list, from being read as an array."""
    parts = value if isinstance(value, list | tuple) else [value]
    for part in parts:
        if getattr(part, "requires_grad", False) is True:
            return f"{name} is a tensor that records a gradient; give {name}.detach()"
        if getattr(getattr(part, "device", None), "type", "cpu") != "cpu":
            return f"{name} is a tensor on {part.device}; give {name}.cpu()"
    return ""


def _no_number(value: Any, name: str) -> str:
    """Which column and row hold the first thing that float does not take."""
    if hasattr(value, "columns") and hasattr(value, "iloc"):
        for j, column in enumerate(value.columns):
            kind = value.dtypes.iloc[j]
            if not isinstance(kind, np.dtype) or kind.kind not in "biuf":
                entries: Iterable[Any] = enumerate(value.iloc[:, j].tolist())
                if said := _first_no_number(entries, f"column {column!r} of {name} holds"):
                    return said
        return ""
    series = hasattr(value, "to_list")
    if series or (isinstance(value, np.ndarray) and value.dtype.kind in "OUS"):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return ""
    if any(isinstance(row, tuple) and row and hasattr(row[0], "shape") for row in value):
        return ""  # batches, of which each is looked at where it is read
    if name == "X" and value and all(isinstance(row, list | tuple) for row in value):
        width = min(map(len, value))
        for j in range(width):
            entries = ((i, row[j]) for i, row in enumerate(value))
            if said := _first_no_number(entries, f"column {j} of {name} holds"):
                return said
        return ""
    return "" if name == "X" else _first_no_number(enumerate(value), f"{name} holds")


def _first_no_number(entries: Any, says: str) -> str:
    for i, entry in entries:
        try:
            float(entry)
        except OverflowError:
            return f"{says} an integer beyond the floats in row {i}; scale it or take its logarithm"
        except (TypeError, ValueError):
            if isinstance(entry, complex) or (entry is not None and is_missing(entry)):
                continue  # of these scikit-learn speaks
            shown = repr(entry)[:40]
            return f"{says} {shown} in row {i}, which is no number; encode it or leave it out"
    return ""
