"""What the constructors of the peers take and ours do not: translated, let pass, or refused.

Code that is ported keeps the peer's words where they mean the same: ``MLPClassifier(max_iter=20)``.
An estimator has its own parameters only, which `get_params` shows and searches use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from panlearn.core.errors import did_you_mean


class Port(NamedTuple):
    """How one argument of a peer is taken.

    Attributes
    ----------
    translate : callable or None
        From the peer's value to parameters of ours; None if it says nothing that they would.
    values : tuple or None
        The values that are taken; None for all.
    why : str
        What to write in the place of others.
    """

    translate: Callable[[Any], dict[str, Any]] | None = None
    values: tuple | None = None
    why: str = ""


def renamed(to: str) -> Port:
    """Take it for another parameter."""
    return Port(lambda value: {to: value})


def only(*values: Any, why: str) -> Port:
    """Take values that say what is done here, and refuse others."""
    return Port(values=values, why=why)


def _penalty(name: str | None) -> dict[str, Any]:
    """Give the parameters of scikit-learn's ``penalty``; of an elastic net l1_ratio is the mix."""
    return {"l1": {"l1_ratio": 1.0}, None: {"C": float("inf")}}.get(name, {})


FREE = Port()  # it chooses how the same answer is computed
_MULTINOMIAL = "several classes have one multinomial model; use OneVsRestClassifier for others"
_EUCLIDEAN = "distances are those of Minkowski's p; for another metric embed its coordinates first"
_PENALTY = "the penalty is told by C and l1_ratio: l1_ratio=1 for l1, C=np.inf for none"
_RARE = "every label counts: merge rare ones before, for example with pandas"
_ADAM = "give optimizer=functools.partial(torch.optim.AdamW, betas=..., eps=...)"

ALL = {
    "copy": FREE,
    "copy_X": FREE,
    "copy_x": FREE,
    "n_jobs": FREE,
    "random_state": FREE,
    "verbose": only(
        0, False, why="progress is a callback: set_callbacks(sklearn.callback.ProgressBar())"
    ),
}
_BEST = {"splitter": only("best", why="a split is the best of its columns")}
_HMM = {
    "n_iter": renamed("max_iter"),
    "implementation": FREE,
}
_LASSO = {"precompute": FREE, "selection": FREE}
_EIGEN = {"eigen_solver": FREE, "tol": FREE, "max_iter": FREE, "neighbors_algorithm": FREE}
_MLP = {
    "solver": renamed("optimizer"),
    "max_iter": renamed("max_epochs"),
    "learning_rate_init": renamed("learning_rate"),
    "n_iter_no_change": only(10, why="patience with a validation_fraction stops early"),
    "alpha": only(1e-4, why="weight_decay draws the weights to zero beside the gradient"),
    "tol": only(1e-4, why="training ends with max_epochs, or by patience on a validation_fraction"),
    "shuffle": only(True, why="rows are drawn anew in every epoch"),
    "early_stopping": only(False, why="patience with a validation_fraction stops early"),
    "power_t": only(0.5, why="schedule takes a function of the step"),
    "momentum": only(0.9, why="give optimizer=functools.partial(torch.optim.SGD, momentum=...)"),
    "nesterovs_momentum": only(True, why="give a partial of torch.optim.SGD as optimizer"),
    "beta_1": only(0.9, why=_ADAM),
    "beta_2": only(0.999, why=_ADAM),
    "epsilon": only(1e-8, why=_ADAM),
    "max_fun": FREE,
}

PORTS: dict[str, dict[str, Port]] = {
    "CategoricalHMM": {
        **_HMM,
        "n_features": only(None, why="categories names the symbols, range(n_features) for numbers"),
    },
    "DecisionTreeClassifier": _BEST,
    "DecisionTreeRegressor": _BEST,
    "ElasticNet": _LASSO,
    "FactorAnalysis": {"svd_method": FREE, "iterated_power": FREE},
    "GMMHMM": _HMM,
    "GaussianHMM": _HMM,
    "GaussianMixture": {"verbose_interval": FREE},
    "GaussianProcessClassifier": {
        "warm_start": only(False, why="every fit starts from the given kernel"),
        "multi_class": only("one_vs_rest", why="each class is set against the rest"),
    },
    "GaussianProcessRegressor": {"n_targets": FREE},
    "Isomap": {
        **_EIGEN,
        "radius": only(None, why="the graph is that of n_neighbors"),
        "path_method": FREE,
        "metric": only("minkowski", why=_EUCLIDEAN),
        "metric_params": only(None, why=_EUCLIDEAN),
    },
    "KMeans": {"algorithm": FREE},
    "KalmanFilter": {
        "transition_matrices": renamed("transition"),
        "observation_matrices": renamed("observation"),
        "observation_offsets": renamed("observation_offset"),
        "initial_state_mean": renamed("initial_mean"),
        "initial_state_covariance": renamed("initial_covariance"),
        "n_dim_state": renamed("n_states"),
        "n_dim_obs": FREE,
        "transition_offsets": only(
            None, why="control with a column of ones as its input moves the state"
        ),
        "em_vars": only(None, why="learn names what is learned, by our names"),
    },
    "KernelDensity": {
        "algorithm": FREE,
        "leaf_size": FREE,
        "breadth_first": FREE,
        "atol": FREE,  # a bound on an error that is not made
        "rtol": FREE,
        "metric": only("euclidean", why="kernels are functions of Euclid's distance"),
        "metric_params": only(None, why="kernels are functions of Euclid's distance"),
    },
    "KernelPCA": {
        "kernel_params": only(None, why="gamma, degree and coef0 are those of a kernel"),
        "max_iter": FREE,
        "iterated_power": FREE,
        "remove_zero_eig": only(False, why="n_components says how many are kept"),
    },
    "KernelRidge": {
        "kernel_params": only(None, why="gamma, degree and coef0 are those of a kernel")
    },
    "Lasso": _LASSO,
    "LatentDirichletAllocation": {
        "max_iter": only(10, why="n_iter counts the sweeps of the sampler, some hundred"),
        "learning_method": only("batch", why="partial_fit learns from batches of documents"),
        "learning_decay": FREE,
        "learning_offset": FREE,
        "batch_size": FREE,
        "evaluate_every": FREE,
        "total_samples": FREE,
        "perp_tol": FREE,
        "mean_change_tol": FREE,
        "max_doc_update_iter": FREE,
    },
    "LinearDiscriminantAnalysis": {
        "covariance_estimator": only(None, why="shrinkage is a number or 'auto'")
    },
    "LinearRegression": {"tol": FREE},
    "LinearSVC": {
        "penalty": only("l2", why="the penalty is l2; LogisticRegression has l1"),
        "multi_class": only("ovr", why="each class is set against the rest"),
        "intercept_scaling": FREE,  # the intercept has no penalty that it would offset
    },
    "LocallyLinearEmbedding": {
        **_EIGEN,
        "method": only("standard", why="the embedding is that of Roweis and Saul"),
        "hessian_tol": FREE,
        "modified_tol": FREE,
    },
    "LogisticRegression": {
        "penalty": Port(_penalty, ("l2", "l1", "elasticnet", None, "deprecated"), _PENALTY),
        "dual": only(False, why="the primal problem is solved, which has the same answer"),
        "intercept_scaling": FREE,
        "solver": FREE,
        "multi_class": only("auto", "multinomial", "deprecated", why=_MULTINOMIAL),
    },
    "MLPClassifier": _MLP,
    "MLPRegressor": {
        **_MLP,
        "loss": only("squared_error", why="the loss is the squared error"),
    },
    "NMF": {"shuffle": FREE},
    "OneHotEncoder": {
        "dtype": FREE,
        "min_frequency": only(None, why=_RARE),
        "max_categories": only(None, why=_RARE),
        "feature_name_combiner": only("concat", why="a column is called feature_label"),
    },
    "OrdinalEncoder": {
        "dtype": FREE,
        "encoded_missing_value": FREE,  # the default of the peer, NaN, is what no model takes
        "min_frequency": only(None, why=_RARE),
        "max_categories": only(None, why=_RARE),
    },
    "PCA": {"power_iteration_normalizer": FREE},
    "Perceptron": {
        "penalty": only(None, why="there is none; LogisticRegression or LinearSVC have one"),
        "alpha": FREE,
        "l1_ratio": FREE,
        "eta0": FREE,  # weights start at zero, so that a step size scales them all
        "early_stopping": only(False, why="a pass without mistakes ends the walk"),
        "validation_fraction": FREE,
        "n_iter_no_change": FREE,
    },
    "QuadraticDiscriminantAnalysis": {
        "covariance_estimator": only(None, why="reg_param or shrinkage regularise")
    },
    "Ridge": {"max_iter": FREE, "tol": FREE, "solver": FREE},
    "TfidfVectorizer": {
        "input": only("content", why="documents are strings: read the files first"),
        "encoding": FREE,
        "decode_error": FREE,
        "dtype": FREE,
    },
    "Word2Vec": {
        "seed": renamed("random_state"),
        "workers": renamed("n_jobs"),
        "sentences": only(None, why="the constructor takes settings alone: fit(sentences) trains"),
        "corpus_file": only(None, why="fit takes the lines of a file, or an iterator over them"),
        "hs": only(0, why="negative=0 is the softmax over all words"),
        "cbow_mean": only(1, why="a window is its mean"),
        "compute_loss": FREE,
        "shrink_windows": only(True, why="the reach of a window is drawn"),
        "max_vocab_size": only(None, why="min_count bounds the vocabulary"),
        "max_final_vocab": only(None, why="min_count bounds the vocabulary"),
        "trim_rule": only(None, why="min_count bounds the vocabulary"),
        "callbacks": only((), why="callbacks are scikit-learn's: set_callbacks"),
        "sorted_vocab": only(1, why="the most frequent word comes first"),
        "batch_words": FREE,
        "hashfxn": FREE,
        "null_word": FREE,
        "comment": FREE,
    },
}


def ported(name: str, own: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """Turn the keywords that a constructor is called with into those that it has.

    Parameters
    ----------
    name : str
        Of the class.
    own : list of str
        Its parameters.
    given : dict
        Keyword and value.

    Returns
    -------
    dict
        Without the words of peers. A word that nobody knows, or a value that has no meaning here,
        is a TypeError that says what to write.
    """
    taken = {key: value for key, value in given.items() if key in own}
    ports = {**ALL, **PORTS.get(name, {})}
    for key, value in given.items():
        if key in own:
            continue
        if key not in ports:
            raise TypeError(f"{name} has no parameter {key!r}; {did_you_mean(key, own)}")
        port = ports[key]
        if port.values is not None and not _is_one_of(value, port.values):
            raise TypeError(f"{name} has no {key}={value!r}: {port.why}")
        for to, meant in (port.translate(value) if port.translate else {}).items():
            if to in given:
                raise TypeError(f"{name} takes {key!r} for {to!r}; give one of them")
            taken[to] = meant
    return taken


def _is_one_of(value: Any, values: tuple) -> bool:
    return any(value is v or (isinstance(value, type(v)) and value == v) for v in values)
