"""Pipelines that learn in parts."""

from __future__ import annotations

import copy
from typing import Any, Self

from sklearn import pipeline as scikit_learn
from sklearn.utils.metaestimators import available_if

from panlearn.core.columns import ColumnMap, mapped


def _learns_in_parts(pipeline: Pipeline) -> bool:
    """Whether every step tells how the columns it gives move, and the last goes on learning."""
    *transformers, model = (step for _, step in pipeline.steps)
    for step in transformers:
        if not hasattr(step, "_column_change"):
            raise AttributeError(
                f"this pipeline has no partial_fit: {type(step).__name__} does not tell how its "
                "columns move as it learns; the scaler and encoders of panlearn.preprocessing do"
            )
    if not hasattr(model, "partial_fit"):
        raise AttributeError(
            f"this pipeline has no partial_fit, for {type(model).__name__} has none"
        )
    return True


class Pipeline(scikit_learn.Pipeline):
    r"""scikit-learn's pipeline with ``partial_fit``: transformers, and a model on what they give.

    .. math:: f(x) = m(t_k(\ldots t_1(x)))

    Parameters
    ----------
    steps : list of (str, estimator)
        Names and steps; all but the last transform.
    transform_input : list of str, default=None
        As in scikit-learn.
    memory : str or object with the interface of joblib.Memory, default=None
        As in scikit-learn.
    verbose : bool, default=False
        As in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, if the last step is a classifier.
    n_features_in_ : int
        Number of features of the first step.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    `fit` takes streams and Dask collections where the steps do, with or without this class: a
    transformer of the library makes a stream of a stream. A stream is walked once for each step,
    so give a function or a list, not an iterator.

    `partial_fit` moves the columns as the transformers learn: new rows change the means of a
    scaler, and new labels add columns to an encoding. What a model has learned from moments is
    brought into the new columns by the same affine map, :math:`\mu \to a \mu + b`,
    :math:`S \to a S a^\top`. With such a model (least squares, ridge) the parts give what `fit`
    gives for all rows; others take a step from where they are.

    References
    ----------
    L. Buitinck et al. (2013). API design for machine learning software: experiences from the
    scikit-learn project. ECML PKDD Workshop: Languages for Data Mining and Machine Learning.
    arXiv:1309.0238

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.linear import Ridge
    >>> from panlearn.preprocessing import StandardScaler, make_pipeline
    >>> X = np.array([[1.0, 200.0], [2.0, 100.0], [3.0, 400.0], [5.0, 300.0]])
    >>> y = np.array([1.0, 2.0, 2.0, 4.0])
    >>> parts = make_pipeline(StandardScaler(), Ridge())
    >>> for half in (slice(0, 2), slice(2, 4)):
    ...     parts = parts.partial_fit(X[half], y[half])
    >>> whole = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    >>> np.allclose(parts.predict(X), whole.predict(X))
    True
    """

    @available_if(_learns_in_parts)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more data, step by step; if a step fails, all are as they were.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Batches or Dask collection
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their targets; with a stream they come in the batches.
        classes : array-like of shape (n_classes,), default=None
            For a classifier: labels that may come later.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, which every step is given.

        Returns
        -------
        Pipeline
            The pipeline itself.
        """
        steps = [step for _, step in self.steps]
        before = [dict(vars(step)) for step in steps]
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        more = weights if classes is None else {"classes": classes, **weights}
        try:
            change: ColumnMap | None = None
            giver = None
            for step in steps[:-1]:
                earlier = copy.copy(step) if step.__sklearn_is_fitted__() else None
                _move(step, change, giver)
                step.partial_fit(X, **weights)
                change = None if earlier is None else step._column_change(earlier, change)
                X, giver = step.transform(X), step
            _move(steps[-1], change, giver)
            steps[-1].partial_fit(X, y, **more)
        except BaseException:
            for step, state in zip(steps, before, strict=True):
                vars(step).clear()
                vars(step).update(state)
            raise
        return self


def _move(step: Any, change: ColumnMap | None, giver: Any) -> None:
    """Bring what a step has learned into the columns of the step before it, which moved."""
    if change is None or not hasattr(step, "n_features_in_"):
        return
    moved = mapped(getattr(step, "statistic_", None), change)
    if moved is not None:
        step.statistic_ = moved
    elif len(change.shift) != step.n_features_in_:
        raise ValueError(
            f"new labels came, and {type(step).__name__} cannot take more columns than it began "
            "with; name all of them in the parameter categories of the encoder"
        )
    step.n_features_in_ = len(change.shift)
    if hasattr(step, "feature_names_in_"):
        step.feature_names_in_ = giver.get_feature_names_out()


def make_pipeline(
    *steps: Any, memory: Any = None, transform_input: list[str] | None = None, verbose: bool = False
) -> Pipeline:
    r"""Make a `Pipeline` whose steps are named after their classes.

    .. math:: f(x) = m(t_k(\ldots t_1(x)))

    Parameters
    ----------
    *steps : estimators
        Transformers, and last a model.
    memory : str or object with the interface of joblib.Memory, default=None
        As in scikit-learn.
    transform_input : list of str, default=None
        As in scikit-learn.
    verbose : bool, default=False
        As in scikit-learn.

    Returns
    -------
    Pipeline

    References
    ----------
    L. Buitinck et al. (2013). API design for machine learning software: experiences from the
    scikit-learn project. ECML PKDD Workshop: Languages for Data Mining and Machine Learning.
    arXiv:1309.0238

    Examples
    --------
    >>> from panlearn.linear import Ridge
    >>> from panlearn.preprocessing import StandardScaler, make_pipeline
    >>> [name for name, _ in make_pipeline(StandardScaler(), Ridge()).steps]
    ['standardscaler', 'ridge']
    """
    named = scikit_learn.make_pipeline(*steps).steps
    return Pipeline(named, memory=memory, transform_input=transform_input, verbose=verbose)
