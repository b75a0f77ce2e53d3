"""Validation at the public boundary: whatever the user gives becomes `Rows`, once."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from panlearn.core.boundary import LEAST_TOTAL, check_table, check_weights, told
from panlearn.core.capabilities import require_weighing
from panlearn.core.extras import require
from panlearn.core.labels import few_integers, plain_labels
from panlearn.core.plain import FLOATS, Targets, go_together, is_named, is_plain
from panlearn.core.sources import (
    ArrayRows,
    Block,
    DaskRows,
    Rows,
    StreamRows,
    as_batches,
    is_dask,
    partitions,
)


def read_rows(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    targets: Targets = "none",
    reset: bool = True,
    accept_sparse: bool | None = None,
    repeatable: bool = False,
    allow_nan: bool | None = None,
    numeric: bool = True,
) -> Rows:
    """Validate training data of any kind and remember its features on the estimator.

    Parameters
    ----------
    estimator : Estimator
        Receives ``n_features_in_`` and ``feature_names_in_``.
    X, y, sample_weight
        An array, a sparse matrix or a data frame with targets and weights beside it; a stream of
        batches, which carries them; or Dask collections.
    targets : {"none", "numbers", "labels"}
        What the method learns from y.
    reset : bool
        False when a fitted model sees more data: the features must be the same.
    accept_sparse : bool, default=None
        Whether the method takes sparse X: what its class declares, unless it depends on more.
    repeatable : bool
        Whether the method walks the rows more than once, which a one-shot iterator forbids.
    allow_nan : bool, default=None
        Whether NaN in X is a missing entry, and no error: what its class declares, likewise.
    numeric : bool
        False where X may hold anything, such as words; it is given as it is then.

    Returns
    -------
    Rows
        X in float64 or float32, y in the floats of X (numbers) or as given (labels). X of an
        array source is not searched for NaN here: `map_reduce` sees it in the sum.
    """
    can = estimator.capabilities
    accept_sparse = can.sparse if accept_sparse is None else accept_sparse
    allow_nan = can.missing if allow_nan is None else allow_nan
    options: dict[str, Any] = dict(
        targets=targets, accept_sparse=accept_sparse, allow_nan=allow_nan, numeric=numeric
    )
    if (stream := as_batches(X, y)) is not None:
        if sample_weight is not None:
            raise ValueError(
                "with a stream of batches, sample_weight comes in the batches: give tuples "
                "(X, y, sample_weight)"
            )
        if repeatable and not stream.repeatable:
            raise ValueError(
                f"{type(estimator).__name__} walks the data several times and this iterator can "
                "be walked once; give a list of batches, or panlearn.Batches(function that "
                "returns a fresh iterator)"
            )
        return _stream_rows(estimator, stream, reset, **options)
    if is_dask(X):
        return _dask_rows(estimator, X, y, sample_weight, reset, **options)
    reject_hidden(X=X, y=y, sample_weight=sample_weight)
    rest = dict(
        reset=reset,
        accept_sparse="csr" if accept_sparse else False,
        dtype=FLOATS if numeric else None,
        ensure_all_finite=False if numeric else "allow-nan",
    )
    if reset and is_plain(X) and not is_named(estimator) and go_together(X, y, targets):
        estimator.n_features_in_ = X.shape[1]
        y = None if targets == "none" else _targets(y, targets, X.dtype)
    elif targets == "none":
        X = validate_data(estimator, X, **rest)
    else:
        X, y = validate_data(
            estimator,
            X,
            y,
            multi_output=targets == "numbers",
            y_numeric=targets == "numbers",
            **rest,
        )
        y = _targets(y, targets, X.dtype)
    return ArrayRows(X, y if targets != "none" else None, _weights(sample_weight, X))


def _targets(y: Any, targets: Targets, dtype: np.dtype) -> np.ndarray | None:
    if targets == "none":
        return None
    if targets == "labels":
        if not few_integers(y):
            y = column_or_1d(y, warn=True)
            check_classification_targets(y)
        return y
    try:
        with np.errstate(over="ignore"):
            numbers = np.asarray(y, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}") from error
    if numbers.dtype != getattr(y, "dtype", None):  # float64 targets may not fit into float32
        assert_all_finite(numbers, input_name="y")
    return numbers


def _weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    if sample_weight is None:
        return None
    check_weights(sample_weight, LEAST_TOTAL)
    return _check_sample_weight(sample_weight, X, dtype=_floats(X), ensure_non_negative=True)


def _floats(X: Any) -> np.dtype:
    """The floats to compute with beside X, which may hold words."""
    return X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)


def reject_hidden(**arrays: Any) -> None:
    """What a mask hides must not be learned from, nor dates as numbers; np.asarray would."""
    for name, values in arrays.items():
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            raise ValueError(
                f"{name} is a masked array with hidden entries; drop those rows, or fill them with "
                "values.filled()"
            )
        if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
            raise ValueError(
                f"{name} has dtype {values.dtype}, which is no number; subtract a date and divide "
                "by a unit of time, for example (t - t[0]) / np.timedelta64(1, 's')"
            )


def _check_block(block: Block, *, targets: Targets, numeric: bool, **options: Any) -> Block:
    """Validate a batch or a partition against what the first one looked like."""
    check_table(block.X)
    if targets == "labels" and block.y is not None:
        block = block._replace(y=plain_labels(block.y))
    given = {"X": block.X, "y": block.y, "sample_weight": block.weight}
    numbers = [*(["X"] if numeric else []), "sample_weight"]
    numbers += ["y"] if targets == "numbers" else []
    with told(given, lambda: numbers):
        return _validated(block, targets=targets, numeric=numeric, **options)


def _validated(
    block: Block,
    *,
    n_features: int,
    names: Any,
    targets: Targets,
    accept_sparse: bool,
    allow_nan: bool,
    numeric: bool,
    who: str,
) -> Block:
    reject_hidden(X=block.X, y=block.y, sample_weight=block.weight)
    columns = getattr(block.X, "columns", None)
    if names is not None and columns is not None and list(columns) != list(names):
        raise ValueError(f"a batch has columns {list(columns)}; the first had {list(names)}")
    X = check_array(
        block.X,
        accept_sparse="csr" if accept_sparse else False,
        dtype=FLOATS if numeric else None,
        ensure_min_samples=0,
        ensure_all_finite="allow-nan" if allow_nan or not numeric else True,
        input_name="X",
    )
    if X.shape[1] != n_features:
        raise ValueError(f"a batch has {X.shape[1]} features, but {who} is expecting {n_features}")
    y = None
    if targets != "none":
        if block.y is None:
            raise ValueError(f"{who} requires y, and a batch has none: give tuples (X, y)")
        quantity = targets == "numbers"
        y = check_array(
            block.y,
            ensure_2d=False,
            ensure_min_samples=0,
            input_name="y",
            dtype=_floats(X) if quantity else None,
            ensure_all_finite=quantity,
        )
        y = y if quantity else column_or_1d(y)
        check_consistent_length(X, y)
    weight = block.weight if X.shape[0] else None  # scikit-learn refuses weights of no rows
    if weight is not None:
        check_weights(weight, LEAST_TOTAL)
        weight = _check_sample_weight(
            weight, X, dtype=_floats(X), ensure_non_negative=True, allow_all_zero_weights=True
        )
    return Block(X, y, weight)


def _stream_rows(estimator: Any, stream: Any, reset: bool, **options: Any) -> StreamRows:
    rest: Iterator[Block] = iter(stream)
    first = next(rest, None)
    if first is None:
        raise ValueError(
            "the stream of batches is empty, so there is nothing to learn from; if it is an "
            "iterator that was walked before, give panlearn.Batches(function that returns a fresh "
            "one)"
        )
    require_weighing(estimator, first.weight)
    if (depth := np.ndim(first.X[0]) + 1 if isinstance(first.X, list) else np.ndim(first.X)) < 2:
        raise ValueError(
            f"a batch is a 2D table of rows, and the stream gives things of {depth} dimensions; "
            "give np.vstack(rows), or a stream of such tables"
        )
    validate_data(estimator, first.X, reset=reset, skip_check_array=True)
    check: Any = functools.partial(
        _check_block,
        n_features=estimator.n_features_in_,
        names=getattr(estimator, "feature_names_in_", None),
        who=type(estimator).__name__,
        **options,
    )
    return StreamRows(stream, check(first), rest, check)


def _dask_rows(
    estimator: Any,
    X: Any,
    y: Any,
    weight: Any,
    reset: bool,
    **options: Any,
) -> DaskRows:
    delayed = require("dask").delayed
    if options["targets"] != "none" and y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but y is None")
    # a Dask frame has its names in the empty pandas frame that it carries
    named = X._meta if hasattr(X, "columns") else X
    validate_data(estimator, named, reset=reset, skip_check_array=True)
    check: Any = functools.partial(
        _check_block,
        n_features=estimator.n_features_in_,
        names=getattr(estimator, "feature_names_in_", None),
        who=type(estimator).__name__,
        **options,
    )
    blocks = partitions(X)
    columns = [blocks, *(None if a is None else partitions(a, like=X) for a in (y, weight))]
    count = len(blocks)
    if any(c is not None and len(c) != count for c in columns):
        raise ValueError("X, y and sample_weight have different partitions; repartition them alike")
    make = delayed(lambda *parts: check(Block(*parts)))
    parts = [make(*(None if c is None else c[i] for c in columns)) for i in range(count)]
    kinds = set(X.dtypes) if hasattr(X, "dtypes") else {X.dtype}
    dtype = np.dtype(np.float32 if kinds == {np.dtype(np.float32)} else np.float64)
    return DaskRows(parts, estimator.n_features_in_, dtype, 1 if y is None else y.ndim)
