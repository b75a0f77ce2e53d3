"""scikit-learn's classes that a model file may hold: a closed list, and what is peculiar to them.

None of them may bring code or a place: no function, no cache, no file to read from.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring

_ESTIMATORS = {
    "pipeline": "Pipeline FeatureUnion",
    "compose": "ColumnTransformer TransformedTargetRegressor",
    "decomposition": "TruncatedSVD",
    "dummy": "DummyClassifier DummyRegressor",
    "feature_extraction": "DictVectorizer FeatureHasher",
    "feature_extraction.text": "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer",
    "feature_selection": "VarianceThreshold",
    "impute": "SimpleImputer MissingIndicator KNNImputer",
    "model_selection": "GridSearchCV FixedThresholdClassifier",
    "preprocessing": "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler OneHotEncoder "
    "OrdinalEncoder LabelEncoder LabelBinarizer MultiLabelBinarizer TargetEncoder "
    "PolynomialFeatures FunctionTransformer QuantileTransformer PowerTransformer Normalizer "
    "Binarizer KBinsDiscretizer",
}
_SPLITTERS = "KFold StratifiedKFold GroupKFold StratifiedGroupKFold TimeSeriesSplit LeaveOneOut"
CLASSES = {
    f"sklearn.{module}.{name}"
    for module, names in [*_ESTIMATORS.items(), ("model_selection", _SPLITTERS)]
    for name in names.split()
}
# What is found again: the scorer by its name, the splitter by cv; and an address in memory.
_FOUND_AGAIN = ("scorer_", "_checked_cv_orig", "_stop_words_id")


def state_of(value: Any) -> dict[str, Any]:
    """What of an object is saved."""
    state = value.__getstate__() if isinstance(value, BaseEstimator) else vars(value)
    return {k: v for k, v in state.items() if k not in _FOUND_AGAIN}


def parameters_of(cls: type[Any]) -> set[str]:
    """The parameters of the constructor, which every object has."""
    return {
        p.name
        for p in inspect.signature(cls).parameters.values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }


def revived(cls: type[Any], state: dict[str, Any]) -> Any:
    """An object with a state, and with what is found again."""
    value: Any = object.__new__(cls)
    if isinstance(value, BaseEstimator):
        value.__setstate__(state)
    else:
        vars(value).update(state)
    check_harmless(value)
    if "cv_results_" in state:
        value.scorer_ = check_scoring(value.estimator, scoring=value.scoring)
    return value


def check_harmless(value: Any) -> None:
    """Refuse what lets a model run code that lies elsewhere, or read files."""
    name = type(value).__name__
    if getattr(value, "memory", None) is not None:
        raise TypeError(
            f"cannot save or load a {name} with memory={value.memory!r}, a cache whose files are "
            "run as they are read; set memory=None"
        )
    if "Vectorizer" in name and getattr(value, "input", "content") != "content":
        raise TypeError(
            f"cannot save or load a {name} with input={value.input!r}, which reads files; read "
            'them before, and set input="content"'
        )
    if hasattr(value, "pre_dispatch"):
        if not re.fullmatch(r"None|\d{1,6}|(\d{1,6} ?\* ?)?n_jobs", str(value.pre_dispatch)):
            raise TypeError(
                f"cannot save or load a {name} with pre_dispatch={value.pre_dispatch!r}; give a "
                "number, or a multiple of n_jobs"
            )
        if not isinstance(value.scoring, str | None):
            raise TypeError(
                f"cannot save or load a {name} with scoring={value.scoring!r}; give the name of a "
                "scorer, or save its best_estimator_"
            )
