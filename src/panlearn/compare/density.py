"""Compare models of a table itself: densities by held-out likelihood, generators by samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

import panlearn
from panlearn.compare.leaderboard import BASELINE, Leaderboard, place
from panlearn.compare.metrics import Metric
from panlearn.compare.models import build, families_left_out, unknown
from panlearn.compare.running import Progress, run_each, said_of_threads, silent
from panlearn.compare.scoring import Row, distinct, reason
from panlearn.compare.table import Table, as_table
from panlearn.core.density import Density
from panlearn.core.errors import DataError, count
from panlearn.core.random import generator
from panlearn.evaluate import sample_quality

LIKELIHOOD = Metric("log-likelihood", "score", needs=("score_samples",))
APART = Metric("told apart", "classifier_accuracy", -1, needs=("sample",))
METRICS = (
    LIKELIHOOD,
    APART,
    Metric("coverage", "coverage", needs=("sample",)),
    Metric("precision", "precision", needs=("sample",)),
    Metric("Fréchet distance", "frechet_distance", -1, needs=("sample",)),
)
FIRST_TRY: dict[str, dict[str, Any]] = {  # what suits standardised rows, where a default does not
    "GaussianMixture": {"n_components": 5},
    "KernelDensity": {"bandwidth": "scott"},
}
OF_BITS = ("BernoulliRBM", "BetaBernoulli")  # models of zeros and ones
FEW = 10  # distinct whole numbers; a column with more is a quantity
SHOWN = 500  # samples of each model that a picture shows


class IndependentNormals(Density, BaseEstimator):
    """A normal of each column by itself: what a density has to beat."""

    def fit(self, X: Any, y: Any = None) -> IndependentNormals:
        """Learn mean and deviation of each column."""
        X = np.asarray(X)
        self.mean_, self.scale_ = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-6)
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log density of each row."""
        z = (np.asarray(X) - self.mean_) / self.scale_
        return -(z**2 / 2 + np.log(self.scale_) + np.log(2 * np.pi) / 2).sum(axis=1)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw new rows."""
        normal = generator(random_state).normal(size=(n_samples, len(self.mean_)))
        return self.mean_ + self.scale_ * normal


def density_models() -> dict[str, type]:
    """Every estimator of the library that gives densities of rows of numbers, or draws them."""
    found = {}
    for name, cls in panlearn.all_estimators():
        if not (hasattr(cls, "score_samples") or callable(getattr(cls, "sample", None))):
            continue
        model = cls()
        tags = get_tags(model)
        kinds = tags.input_tags
        other = kinds.categorical or kinds.positive_only or tags.target_tags.required
        if kinds.two_d_array and not other and not is_classifier(model) and name not in OF_BITS:
            found[name] = cls
    return found


def density_table(frame: pd.DataFrame, rows: int | None = None, random_state: int = 0) -> Table:
    """Keep the columns of a frame that are numbers, and say what was done."""
    notes = list(frame.attrs.get("notes", []))
    if rows is not None and rows < len(frame):
        notes.append(f"{rows:,} of {count(len(frame), 'row')}, drawn with seed {random_state}")
        frame = frame.sample(rows, random_state=random_state)
    tidy = as_table(frame, np.arange(len(frame)) % 2, "classification")  # no column is a target
    notes += [note for note in tidy.notes if note.startswith(("dropped", "'"))]
    numbers = tidy.X.select_dtypes("number")
    X = numbers.loc[:, [not _labels(numbers[c]) for c in numbers.columns]]
    if other := [c for c in tidy.X.columns if c not in X.columns]:
        notes.append(f"left out {', '.join(map(repr, other))}: labels, which have no density")
    if not X.shape[1]:
        raise DataError("no column is of numbers that vary: there is no density to learn")
    if len(X) < 20:
        raise DataError(f"the table has {count(len(X), 'row')}; a density needs 20 or more")
    notes.append(
        f"{count(X.shape[1], 'column')} of numbers: gaps filled, standardised by each fold"
    )
    return Table(X, np.zeros(len(X)), "density", "density", tuple(notes))


def _labels(column: pd.Series) -> bool:
    """Whether a column holds a few whole numbers: its density would be a row of spikes."""
    values = column.dropna()
    return bool(values.nunique() <= FEW and (values % 1 == 0).all())


def compare_density(
    X: Any,
    *,
    models: Iterable[str | BaseEstimator] | None = None,
    cv: int = 3,
    time_limit: float | None = 60.0,
    random_state: int = 0,
    progress: Progress = silent,
) -> Leaderboard:
    """Fit models of rows on the same folds, and rank them by what they say of rows held out.

    Parameters
    ----------
    X : array or data frame of shape (n, d), or Table
        The rows; columns that are no numbers are left out.
    models : iterable of str or estimator, optional
        Names of the library's models, or estimators; all that have a density or draw rows, if None.
    cv : int
        Number of folds, shuffled.
    time_limit : float, optional
        Seconds that one model may take, for all folds and the final fit together.
    random_state : int
        Seed of the folds, the models and the samples.
    progress : callable
        Called with the name of the model that starts next, how many are done, and how many there
        are.

    Returns
    -------
    Leaderboard
        Models with a density first, by the mean log-likelihood of rows held out, in units of
        standardised columns; then those that only draw, or that give a row held out the density
        zero, by how well a classifier tells their samples from rows held out, 1/2 being not at all.
        Failures are last.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.compare.density import compare_density
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> board = compare_density(np.hstack([x, x**2]), models=["GaussianMixture"], time_limit=None)
    >>> [row.name for row in board.rows]
    ['GaussianMixture', 'baseline']
    """
    table = X if isinstance(X, Table) else density_table(pd.DataFrame(X))
    folds = KFold(min(cv, len(table.X) // 10), shuffle=True, random_state=random_state)
    rows, interrupted = run_each(
        _choose(models, random_state),
        (table.X,),
        measure,
        (folds, random_state),
        columns=table.X,
        time_limit=time_limit,
        progress=progress,
    )
    rows.sort(key=lambda row: place(row, METRICS))
    notes = [*(families_left_out() if models is None else []), *said_of_threads(time_limit)]
    return Leaderboard(rows, table, METRICS, folds, tuple(notes), interrupted)


def measure(X: pd.DataFrame, name: str, pipeline: Pipeline, folds: KFold, seed: int) -> Row:
    """Fit one model to each fold's rows and score it on the others; runs in the child process."""
    start = perf_counter()
    scores: dict[str, list[float]] = {}
    fit_seconds, use_seconds = [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for learned, held_out in folds.split(X):
                begun = perf_counter()
                model = clone(pipeline).fit(X.iloc[learned])
                fitted = perf_counter()
                for key, value in _measures(model, X.iloc[held_out], seed).items():
                    scores.setdefault(key, []).append(value)
                fit_seconds.append(fitted - begun)
                use_seconds.append(perf_counter() - fitted)
            pipeline.fit(X)
            shown = {"real": pipeline[:-1].transform(X)}
            if hasattr(pipeline[-1], "sample"):
                shown["sample"] = _drawn(pipeline[-1], SHOWN, seed)
        except Exception as error:
            return Row(name, pipeline, error=reason(error), warnings=distinct(caught))
    said = distinct(caught)
    if -np.inf in scores.get(LIKELIHOOD.name, []):  # as outside the boxes of a histogram
        del scores[LIKELIHOOD.name]
        said = ("no log-likelihood: rows held out have density zero", *said)
    if not (scores and np.isfinite(list(scores.values())).all()):
        return Row(name, pipeline, error="no score is finite", warnings=said)
    return Row(
        name,
        pipeline,
        scores={key: np.array(values) for key, values in scores.items()},
        fit_seconds=float(np.median(fit_seconds)),
        predict_seconds=float(np.median(use_seconds)),
        total_seconds=perf_counter() - start,
        predictions=shown,
        warnings=said,
    )


def _measures(model: Pipeline, rows: pd.DataFrame, seed: int) -> dict[str, float]:
    """Every metric that a fitted model offers, on rows that it has not seen."""
    found = {}
    prepared = model[:-1].transform(rows)
    if hasattr(model[-1], "score_samples"):
        found[LIKELIHOOD.name] = float(np.mean(model[-1].score_samples(prepared)))
    if hasattr(model[-1], "sample"):
        drawn = _drawn(model[-1], len(prepared), seed)
        near = min(5, len(prepared) - 1)
        said = {
            APART.scorer: sample_quality.classifier_test(
                prepared, drawn, random_state=seed
            ).statistic,
            **sample_quality.density_coverage(prepared, drawn, near),
            **sample_quality.precision_recall(prepared, drawn, near),
            "frechet_distance": sample_quality.frechet_distance(prepared, drawn),
        }
        found |= {metric.name: said[metric.scorer] for metric in METRICS[1:]}
    return found


def _drawn(model: Any, n: int, seed: int) -> np.ndarray:
    made = model.sample(n, random_state=seed)
    return np.asarray(made[0] if isinstance(made, tuple) else made)


def _choose(
    models: Iterable[str | BaseEstimator] | None, random_state: int
) -> dict[str, BaseEstimator | str]:
    """Collect the models by name, the baseline first."""
    known = density_models()
    chosen: dict[str, BaseEstimator | str] = {BASELINE: IndependentNormals()}
    for model in known if models is None else models:
        name = type(model).__name__
        if isinstance(model, str):
            exact = {k.lower(): k for k in known}.get(model.lower())
            if exact is None:
                raise unknown(model, f"model of densities {model!r}", list(known))
            name = exact
            model = build(known[exact], FIRST_TRY.get(exact, {}), random_state)
        number = sum(key.partition(" #")[0] == name for key in chosen)
        chosen[f"{name} #{number + 1}" if number else name] = model
    return chosen
