"""Hidden Markov models against hmmlearn: its default, in logarithms, and its faster scaling."""

import warnings

import numpy as np
from hmmlearn import hmm as peer

from benchmarks.harness import Workload
from panlearn.sequence import CategoricalHMM, GaussianHMM

T, K, D, V = 200_000, 8, 4, 50


def hidden_states(n=T, k=K):
    """A path through a sticky chain."""
    P = 0.1 * np.random.default_rng(0).dirichlet(np.ones(k), k) + 0.9 * np.eye(k)
    cumulative, uniform = P.cumsum(axis=1), np.random.default_rng(1).random(n)
    states, state = np.empty(n, dtype=int), 0
    for t in range(n):
        state = min(int(np.searchsorted(cumulative[state], uniform[t])), k - 1)
        states[t] = state
    return states


def vectors(n=T, k=K):
    states, rng = hidden_states(n, k), np.random.default_rng(2)
    means = 1.5 * rng.standard_normal((k, D))
    X = means[states] + rng.standard_normal((n, D))
    start = means + 0.5 * np.random.default_rng(5).standard_normal(means.shape)
    return X, states, start


def symbols():
    states, rng = hidden_states(), np.random.default_rng(3)
    B = rng.dirichlet(np.full(V, 0.2), K)
    drawn = (rng.random(T)[:, None] > B.cumsum(axis=1)[states]).sum(axis=1)
    start = 0.5 * B + 0.5 * np.random.default_rng(6).dirichlet(np.ones(V), K)
    return np.minimum(drawn, V - 1)[:, None], states, start


def long_series(n=10_000_000):
    """Two states that change places now and then, in one sequence."""
    rng = np.random.default_rng(4)
    states = np.cumsum(rng.random(n) < 0.05) % 2
    return (3.0 * states + rng.standard_normal(n))[:, None], states


def _steps(k=K):
    return 0.5 * np.eye(k) + 0.5 / k


def _covariances(kind, k):
    return np.ones((k, D)) if kind == "diag" else np.stack([np.eye(D)] * k)


def gaussian(data, kind):
    X, _, means = data
    k = len(means)
    start = {"means_init": means, "covars_init": _covariances(kind, k), "transmat_init": _steps(k)}
    return GaussianHMM(k, covariance_type=kind, max_iter=10, tol=0.0, **start).fit(X)


def peer_gaussian(data, kind, implementation):
    X, _, means = data
    none = {"covars_prior": 0, "covars_weight": 0 if kind == "full" else 1}
    options = {"n_iter": 10, "tol": -np.inf, "init_params": "", "min_covar": 1e-6}
    k = len(means)
    model = peer.GaussianHMM(k, kind, implementation=implementation, **options, **none)
    model.startprob_, model.transmat_, model.means_ = np.full(k, 1 / k), _steps(k), means
    model.covars_ = _covariances(kind, k)
    return model.fit(X)


def categorical(data):
    X, _, B = data
    start = {"emissionprob_init": B, "transmat_init": _steps(), "categories": np.arange(V)}
    return CategoricalHMM(K, max_iter=10, tol=0.0, **start).fit(X)


def peer_categorical(data, implementation):
    X, _, B = data
    options = {"n_iter": 10, "tol": -np.inf, "init_params": ""}
    model = peer.CategoricalHMM(K, implementation=implementation, **options)
    model.startprob_, model.transmat_, model.emissionprob_ = np.full(K, 1 / K), _steps(), B
    model.n_features = V
    return model.fit(X)


def _likelihood(data, model):
    return {"log likelihood": float(model.score(data[0]))}


def _accuracy(data, found):
    value, states = found
    return {
        "log probability": float(np.sum(value)),
        "accuracy": float((states == data[1]).mean()),
    }


def _fitted(build, ours, theirs):
    """Data with both models fitted to them."""

    def make():
        data = build()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ten iterations are asked for, converged or not
            return *data, ours(data), theirs(data)

    return make


def workloads():
    size = "T = 2e5, 8 states"
    for n, k in ((20_000, 50), (100_000, 2)):
        yield Workload(
            f"Baum-Welch, 10 iterations, T = {n:,}, {k} states, d = 4, diag, against scaling",
            "sequence.GaussianHMM",
            lambda n=n, k=k: vectors(n, k),
            {
                "panlearn": lambda data: gaussian(data, "diag"),
                "hmmlearn (scaling)": lambda data: peer_gaussian(data, "diag", "scaling"),
            },
            _likelihood,
        )
    for implementation, bar in (("scaling", 1.2), ("log", 3.0)):
        for kind in ("diag", "full"):
            yield Workload(
                f"Baum-Welch, 10 iterations, {size}, d = 4, {kind}, against {implementation}",
                "sequence.GaussianHMM",
                vectors,
                {
                    "panlearn": lambda data, kind=kind: gaussian(data, kind),
                    f"hmmlearn ({implementation})": (
                        lambda data, kind=kind, how=implementation: peer_gaussian(data, kind, how)
                    ),
                },
                _likelihood,
                bar=bar,
            )
        yield Workload(
            f"Baum-Welch, 10 iterations, {size}, 50 symbols, against {implementation}",
            "sequence.CategoricalHMM",
            symbols,
            {
                "panlearn": categorical,
                f"hmmlearn ({implementation})": (
                    lambda data, how=implementation: peer_categorical(data, how)
                ),
            },
            _likelihood,
            bar=bar,
        )
    yield Workload(
        f"Viterbi, {size}, d = 4, full",
        "sequence.GaussianHMM",
        _fitted(
            vectors, lambda d: gaussian(d, "full"), lambda d: peer_gaussian(d, "full", "scaling")
        ),
        {"panlearn": lambda d: d[3].decode(d[0]), "hmmlearn": lambda d: d[4].decode(d[0])},
        _accuracy,
    )
    yield Workload(
        f"posteriors, {size}, d = 4, full",
        "sequence.GaussianHMM",
        _fitted(
            vectors, lambda d: gaussian(d, "full"), lambda d: peer_gaussian(d, "full", "scaling")
        ),
        {
            "panlearn": lambda d: (0, d[3].predict_proba(d[0]).argmax(axis=1)),
            "hmmlearn": lambda d: (0, d[4].predict_proba(d[0]).argmax(axis=1)),
        },
        _accuracy,
    )
    yield Workload(
        f"Viterbi, {size}, 50 symbols",
        "sequence.CategoricalHMM",
        _fitted(symbols, categorical, lambda d: peer_categorical(d, "scaling")),
        {"panlearn": lambda d: d[3].decode(d[0]), "hmmlearn": lambda d: d[4].decode(d[0])},
        _accuracy,
    )
    yield Workload(
        "Baum-Welch, 3 iterations, one sequence of T = 1e7, 2 states: memory above the data",
        "sequence.GaussianHMM",
        long_series,
        {
            "panlearn": lambda d: GaussianHMM(
                2, means_init=[[-1.0], [4.0]], max_iter=3, tol=0.0
            ).fit(d[0])
        },
        lambda d, model: {"accuracy": float((model.predict(d[0]) == d[1]).mean())},
    )
