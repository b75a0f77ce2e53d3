"""What each column is worth to a model: how much worse it gets if the column is shuffled."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from panlearn.compare.metrics import Metric

SHUFFLES = 5  # of each column
MOST_SHUFFLED, FEWEST_SHUFFLED = 1000, 50  # rows of them
SHARE, LEAST = 0.2, 0.2  # of what the comparison took, and seconds that are never too many


def importance(
    model: Pipeline, X: pd.DataFrame, y: np.ndarray, metric: Metric, spent: float
) -> dict[str, float]:
    """How much worse a fitted pipeline gets on rows that it has not seen if a column is shuffled.

    It takes a small part of what the comparison took: with slow answers, fewer rows do. A model
    that cannot be asked so, as where rows of one class alone are left, has none.

    Parameters
    ----------
    model : Pipeline
        The preparation of columns and a model.
    X, y : data frame, array
        Rows held out.
    metric : Metric
        Of the model.
    spent : float
        Seconds of the comparison.

    Returns
    -------
    dict
        The mean loss of the score for each column.
    """
    order = np.random.default_rng(0).permutation(len(y))[:MOST_SHUFFLED]
    prepared, final = model[:-1].transform(X.iloc[order]), model[-1]
    blocks = prepared_columns(model[0], list(X.columns))
    begun = perf_counter()
    metric.measure(final, prepared, y[order])
    expected = (perf_counter() - begun) * SHUFFLES * len(blocks)
    share = min(1.0, max(SHARE * spent, LEAST) / max(expected, 1e-9))
    some = max(FEWEST_SHUFFLED, int(share * len(order)))
    try:
        losses = _losses(final, prepared[:some], y[order[:some]], metric, list(blocks.values()))
    except ValueError:
        return {}
    return dict(zip(blocks, losses, strict=True))


def _losses(
    model: Any, X: np.ndarray, y: np.ndarray, metric: Metric, blocks: list[np.ndarray]
) -> list[float]:
    """The mean loss for each block of columns; the shuffles are scikit-learn's.

    What stands before the model looks at each row by itself, so that it is the same to shuffle a
    column before or after, and after is a hundred times less to prepare.
    """
    whole = metric.measure(model, X, y)
    seed = check_random_state(0).randint(np.iinfo(np.int32).max + 1)
    found = []
    for block in blocks:
        rng, order, shuffled = check_random_state(seed), np.arange(len(X)), X.copy()
        scores = []
        for _ in range(SHUFFLES):
            rng.shuffle(order)
            shuffled[:, block] = shuffled[np.ix_(order, block)]
            scores.append(metric.measure(model, shuffled, y))
        found.append(float(whole - np.mean(scores)))
    return found


def prepared_columns(prepare: ColumnTransformer, names: list[str]) -> dict[str, np.ndarray]:
    """Which columns of what a model is given come from each column of the table.

    Parameters
    ----------
    prepare : ColumnTransformer
        Of `preparation.preprocessor`, fitted.
    names : list of str
        The columns of the table.

    Returns
    -------
    dict
        The places of those columns for each name; none for one that the model is not given.
    """
    found: dict[str, list[int]] = {name: [] for name in names}
    for part, steps, given in prepare.transformers_:
        places = range(*prepare.output_indices_[part].indices(10**9))
        if part == "category":
            own = [str(k) for k in range(len(given))]
            sources = [int(n.partition("_")[0]) for n in steps[-1].get_feature_names_out(own)]
        else:
            sources = list(range(len(given))) if part == "number" else [0] * len(places)
        columns = [given] if isinstance(given, str) else list(given)
        for place, source in zip(places, sources, strict=True):
            found[columns[source]].append(place)
    return {name: np.array(places, dtype=int) for name, places in found.items()}
