"""Hidden Markov models against enumeration of all paths, and where their recursions are hard."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from panlearn.sequence import CategoricalHMM, GaussianHMM, _hidden_chain
from panlearn.sequence._hidden_chain import Logarithmic, Scaled, Smoothing

COVARIANCES = ("diag", "full", "tied", "spherical")


def chain(k, rng, zeros=False):
    P = rng.dirichlet(np.ones(k), k)
    if zeros:
        P = np.triu(P)
        P /= P.sum(axis=1, keepdims=True)
    return rng.dirichlet(np.ones(k)), P


def made(cls, k, rng, zeros=False, d=2, m=4, **more):
    """A model with known parameters: one that was fitted, and then told."""
    start, P = chain(k, rng, zeros)
    if cls is CategoricalHMM:
        B = rng.dirichlet(np.ones(m), k)
        model = CategoricalHMM(k, emissionprob_init=B, tol=1e9, **more)
        model = model.fit([np.arange(m)])
        model.emissionprob_ = B
    else:
        model = GaussianHMM(k, means_init=rng.normal(size=(k, d)), tol=1e9, **more)
        model = model.fit(rng.normal(size=(9, d)))
        model.means_ = rng.normal(size=(k, d))
        kind = model.covariance_type
        root = rng.normal(size=(k, d, d))
        full = root @ root.swapaxes(1, 2) + np.eye(d)
        shape = {"full": full, "tied": full[0], "diag": full[:, 0] ** 2 + 1, "spherical": None}
        model.covars_ = np.arange(1.0, k + 1) if kind == "spherical" else shape[kind]
    model.startprob_, model.transmat_ = start, P
    return model


def log_density(model, x):
    """Of one step, each state; an entry that is missing is left out."""
    if isinstance(model, CategoricalHMM):
        return (
            np.zeros(model.n_components) if np.isnan(x) else np.log(model.emissionprob_[:, int(x)])
        )
    k, d = model.means_.shape
    full = {
        "full": lambda c: c,
        "tied": lambda c: np.stack([c] * k),
        "diag": lambda c: c[:, :, None] * np.eye(d),
        "spherical": lambda c: c[:, None, None] * np.eye(d),
    }[model.covariance_type](model.covars_)
    seen = ~np.isnan(x)
    if not seen.any():
        return np.zeros(k)
    return np.array(
        [
            multivariate_normal(m[seen], c[np.ix_(seen, seen)]).logpdf(x[seen])
            for m, c in zip(model.means_, full, strict=True)
        ]
    )


def enumerate_paths(model, X):
    """The log joint probability of every path: (paths, values)."""
    emitted = np.array([log_density(model, x) for x in X])
    paths = list(product(range(model.n_components), repeat=len(X)))
    with np.errstate(divide="ignore"):
        start, P = np.log(model.startprob_), np.log(model.transmat_)
    values = [
        start[z[0]] + sum(P[a, b] for a, b in pairwise(z)) + emitted[np.arange(len(X)), z].sum()
        for z in paths
    ]
    return np.array(paths), np.array(values)


MODELS = [(CategoricalHMM, {}), *((GaussianHMM, {"covariance_type": c}) for c in COVARIANCES)]
every_model = pytest.mark.parametrize(("cls", "more"), MODELS, ids=["categorical", *COVARIANCES])


def steps(cls, T, rng, missing=False):
    X = rng.integers(4, size=T).astype(float) if cls is CategoricalHMM else rng.normal(size=(T, 2))
    if missing:
        X[2] = np.nan
        X.reshape(T, -1)[0, -1] = np.nan
    return X


@pytest.mark.parametrize("way", ["scaled", "watched", "logarithms"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@every_model
def test_inference_is_that_of_all_paths(cls, more, way, missing, rng, monkeypatch):
    zeros = way != "scaled"
    if way == "logarithms":
        monkeypatch.setattr(_hidden_chain, "SAFE", 2.0)  # nothing is
    model = made(cls, 3, rng, zeros, **more)
    X = steps(cls, 5, rng, missing)
    paths, values = enumerate_paths(model, X)
    total = np.logaddexp.reduce(values)
    assert_allclose(model.score(X), total, rtol=1e-12)
    law = np.exp(values - total)
    posterior = np.array([[law[paths[:, t] == j].sum() for j in range(3)] for t in range(5)])
    assert_allclose(model.predict_proba(X), posterior, atol=1e-12)
    value, path = model.decode(X)
    assert_allclose(value, values.max(), rtol=1e-12)
    assert_array_equal(path, paths[values.argmax()])
    model.algorithm = "map"
    assert_array_equal(model.predict(X), posterior.argmax(axis=1))


@pytest.mark.parametrize("known", [None, [-1, 2, -1, 1, -1]], ids=["hidden", "some known"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@every_model
def test_an_iteration_maximises_what_the_paths_expect(cls, more, missing, known, rng, library):
    """Expected counts by enumeration give the next parameters; the covariances are checked too."""
    model = made(cls, 3, rng, **more)
    X = steps(cls, 5, rng, missing)
    paths, values = enumerate_paths(model, X)
    if known is not None:
        at = np.array(known) >= 0
        values = np.where((paths[:, at] == np.array(known)[at]).all(axis=1), values, -np.inf)
    law = np.exp(values - np.logaddexp.reduce(values))
    share = np.array([[law[paths[:, t] == j].sum() for j in range(3)] for t in range(5)])
    counts = np.zeros((3, 3))
    for path, weight in zip(paths, law, strict=True):
        for a, b in pairwise(path):
            counts[a, b] += weight
    init = {"startprob_init": model.startprob_, "transmat_init": model.transmat_}
    if cls is CategoricalHMM:
        init |= {"emissionprob_init": model.emissionprob_, "categories": [0, 1, 2, 3]}
    else:
        init |= {"means_init": model.means_, "covars_init": model.covars_}
    next_ = cls(3, max_iter=1, **init, **more, **_floor(cls))
    library.quietly(lambda: next_.fit(X, known))
    assert_allclose(next_.startprob_, share[0], atol=1e-12)
    assert_allclose(next_.transmat_, counts / counts.sum(axis=1, keepdims=True), atol=1e-12)
    if cls is CategoricalHMM:
        symbols = np.array([share[X == v].sum(axis=0) for v in range(4)]).T
        expected = symbols / symbols.sum(axis=1, keepdims=True)
        assert_allclose(next_.emissionprob_, expected, atol=1e-12)
        return
    filled, uncertain = _filled(model, X)
    means = np.einsum("tj,jtd->jd", share, filled) / share.sum(axis=0)[:, None]
    assert_allclose(next_.means_, means, atol=1e-10)
    centred = filled - means[:, None]
    second = np.einsum("tj,jta,jtb->jab", share, centred, centred)
    second += np.einsum("tj,jtab->jab", share, uncertain)
    weight = share.sum(axis=0)
    variances = np.diagonal(second, axis1=1, axis2=2) / weight[:, None]
    expected = {
        "full": lambda: second / weight[:, None, None],
        "tied": lambda: second.sum(axis=0) / weight.sum(),
        "diag": lambda: variances,
        "spherical": lambda: variances.mean(axis=1),
    }[model.covariance_type]()
    assert_allclose(next_.covars_, expected, atol=1e-10)


def _floor(cls):
    return {} if cls is CategoricalHMM else {"min_covar": 0.0}


def _filled(model, X):
    """Conditional means (k, T, d) and covariances (k, T, d, d) of the rows, by the formula."""
    (k, d), T = model.means_.shape, len(X)
    full = {
        "full": lambda c: c,
        "tied": lambda c: np.stack([c] * k),
        "diag": lambda c: c[:, :, None] * np.eye(d),
        "spherical": lambda c: c[:, None, None] * np.eye(d),
    }[model.covariance_type](model.covars_)
    filled, uncertain = np.tile(X, (k, 1, 1)), np.zeros((k, T, d, d))
    for j, t in product(range(k), range(T)):
        o, m = ~np.isnan(X[t]), np.isnan(X[t])
        gain = full[j][np.ix_(m, o)] @ np.linalg.inv(full[j][np.ix_(o, o)])
        filled[j, t, m] = model.means_[j, m] + gain @ (X[t, o] - model.means_[j, o])
        uncertain[j, t][np.ix_(m, m)] = full[j][np.ix_(m, m)] - gain @ full[j][np.ix_(o, m)]
    return filled, uncertain


@pytest.mark.parametrize("training", ["baum-welch", "viterbi"])
@every_model
def test_the_likelihood_never_falls(cls, more, training, rng, library):
    X = [steps(cls, n, rng, missing=True) for n in (30, 12, 25)]
    model = cls(3, max_iter=15, tol=0, training=training, random_state=0, **more)
    library.quietly(lambda: model.fit(X))
    history = np.array(model.history_["log_likelihood"])
    assert np.diff(history).min() > -1e-9
    assert history[-1] > history[0]


@every_model
def test_segments_give_what_the_whole_gives(cls, more, rng, monkeypatch, library):
    X, known = steps(cls, 500, rng), np.where(np.arange(500) % 50 == 7, 1, -1)
    at = dict(max_iter=3, tol=1e-30, random_state=0, **more)
    models = []
    for zeros in (False, True):
        P = np.array([[0.5, 0.5, 0.0], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4]]) if zeros else None
        for limit, safe in ((1 << 24, 1e-100), (100, 1e-100), (100, 2.0)):
            monkeypatch.setattr(_hidden_chain, "SAFE", safe)
            monkeypatch.setattr(_hidden_chain, "WHOLE", limit)
            model = cls(3, transmat_init=P, **at)
            library.quietly(lambda model=model: model.fit(X, known))
            models.append(model)
            models[-1].outputs = (model.predict_proba(X), model.predict(X), model.score(X))
        whole = models[-3]
        for cut in models[-2:]:
            assert_allclose(cut.transmat_, whole.transmat_, atol=1e-10)
            for ours, theirs in zip(cut.outputs, whole.outputs, strict=True):
                assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


def test_both_recursions_agree_and_neither_underflows(rng):
    model = made(GaussianHMM, 3, rng)
    X, _ = model.sample(20_000, random_state=0)
    X[::100] *= 1e3  # densities of exp(-1e6) and less
    at = model._chain()
    assert isinstance(Smoothing(at, model._values(X)[0]).way, Scaled)
    quick = Smoothing(at, model._values(X)[0]).log_likelihood
    assert np.isfinite(quick).all()
    P = at.transmat.copy()
    P[0, 1] += P[0, 0] - 1e-101  # below what the scaled recursion is exact for
    P[0, 0] = 1e-101
    slow = Smoothing(at._replace(transmat=P), model._values(X)[0])
    assert isinstance(slow.way, Logarithmic)
    P[0, 0] = 2e-100
    nearly = Smoothing(at._replace(transmat=P), model._values(X)[0])
    assert isinstance(nearly.way, Scaled)
    P[0, 0] = 0.0  # now nothing may be lost, and here something is
    assert isinstance(Smoothing(at._replace(transmat=P), model._values(X)[0]).way, Logarithmic)
    near = model._values(X[1:50])[0]
    assert isinstance(Smoothing(at._replace(transmat=P), near).way, Scaled)
    assert_allclose(nearly.log_likelihood, slow.log_likelihood, rtol=1e-12)


def test_a_million_steps():
    model = GaussianHMM(2, means_init=[[-1.0], [1.0]], transmat_init=[[0.99, 0.01], [0.02, 0.98]])
    X = np.random.default_rng(0).normal(size=(1_000_000, 1)) + np.repeat([-3, 3], 500_000)[:, None]
    model.set_params(max_iter=2, tol=1e9).fit(X)
    assert np.isfinite(model.score(X))
    assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-9)
    assert_allclose(model.predict(X)[[0, -1]], [0, 1])


def test_evidence_for_a_state_that_was_lost_long_ago_is_not_lost():
    """Two chains that never meet: after a thousand steps one has a share of exp(-2000)."""
    model = GaussianHMM(2, transmat_init=np.eye(2), means_init=[[1.0], [-1.0]], tol=1e9)
    model.fit([[[1.0], [1.0]], [[-1.0], [-1.0]]])
    model.means_, model.covars_ = np.array([[1.0], [-1.0]]), np.ones((2, 1))
    X = np.r_[np.ones(1000), -np.ones(1001)][:, None]
    # the second has one step more: exp(2) times the first
    assert_allclose(model.predict_proba(X)[0], [1 / (1 + np.exp(2)), 1 / (1 + np.exp(-2))])
    assert_array_equal(model.predict(X), 1)


def test_structural_zeros_stay_and_priors_fill_the_rest():
    X = [list("abcabc"), list("aabbcc")]
    P = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
    start = [1.0, 0.0, 0.0]
    model = CategoricalHMM(
        3,
        categories=list("abcd"),
        transmat_init=P,
        startprob_init=start,
        transmat_prior=1.5,
        startprob_prior=1.5,
        emissionprob_prior=1.5,
        random_state=0,
    ).fit(X)
    assert_array_equal(model.startprob_, start)
    assert_array_equal(model.transmat_ == 0, np.array(P) == 0)
    assert (model.emissionprob_ > 0).all()
    assert np.isfinite(model.score(list("addd")))  # no d was seen
    plain = CategoricalHMM(3, categories=list("abcd"), transmat_init=P, random_state=0).fit(X)
    assert plain.score(list("ad")) == -np.inf
    for method in (plain.predict, plain.predict_proba, plain.decode):
        with pytest.raises(ValueError, match="probability zero"):
            method([list("ab"), list("ad")])
    with pytest.raises(ValueError, match="categories"):
        plain.score(list("ae"))


def test_all_states_known_gives_counts(rng):
    X = [rng.integers(3, size=n) for n in (8, 5)]
    y = [rng.integers(2, size=n) for n in (8, 5)]
    model = CategoricalHMM(2, random_state=0).fit(X, y)
    counts = np.zeros((2, 2))
    for path in y:
        for a, b in pairwise(path):
            counts[a, b] += 1
    assert_allclose(model.transmat_, counts / counts.sum(axis=1, keepdims=True))
    assert_allclose(model.startprob_, np.bincount([p[0] for p in y], minlength=2) / 2)
    flat, states = np.concatenate(X), np.concatenate(y)
    for j in range(2):
        expected = np.bincount(flat[states == j], minlength=3) / (states == j).sum()
        assert_allclose(model.emissionprob_[j], expected)


def test_known_states_name_the_states(rng):
    X = np.concatenate([rng.normal(size=(50, 1)), 8 + rng.normal(size=(50, 1))])
    y = np.full(100, -1)
    y[60:63], y[3] = 0, 1
    model = GaussianHMM(2, random_state=0).fit(X, y)
    assert_allclose(model.means_.ravel(), [8, 0], atol=0.6)  # four standard errors
    with pytest.raises(ValueError, match="states 0 to 1"):
        GaussianHMM(2).fit(X, y + 3)
    with pytest.raises(ValueError, match="one state a step"):
        GaussianHMM(2).fit([X, X[:5]], [y, y])


def test_the_spread_keeps_its_digits_at_an_offset():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    for kind in COVARIANCES:
        near = GaussianHMM(1, covariance_type=kind, tol=1e-9).fit(X)
        far = GaussianHMM(1, covariance_type=kind, tol=1e-9).fit(X + 1e8)
        # X + 1e8 is itself off by 1e-8
        assert_allclose(far.covars_, near.covars_, rtol=1e-6, atol=1e-7)


def test_restarts_keep_the_best_and_criteria_count_parameters(rng):
    X = [rng.normal(size=(40, 2)) + 3 * (i % 3) for i in range(6)]
    single = [GaussianHMM(3, random_state=s).fit(X).score(X) for s in range(3)]
    best = GaussianHMM(3, n_init=8, random_state=0).fit(X)
    assert best.score(X) >= max(single) - 0.5
    free = 2 + 6 + 6 + 6
    total = best.score_samples(X).sum()
    kept = best.transmat_ > 0
    free = (best.startprob_ > 0).sum() - 1 + kept.sum() - 3 + 12
    assert_allclose(best.aic(X), -2 * total + 2 * free)
    assert_allclose(best.bic(X), -2 * total + np.log(240) * free)


def test_samples_have_the_law_of_the_model(rng):
    model = made(GaussianHMM, 3, rng, covariance_type="full")
    X, z = model.sample(40_000, random_state=1)
    for j in range(3):
        n = (z == j).sum()
        spread = np.sqrt(np.diagonal(model.covars_[j]) / n)
        assert (np.abs(X[z == j].mean(axis=0) - model.means_[j]) < 5 * spread).all()
        assert_allclose(np.cov(X[z == j].T), model.covars_[j], atol=10 * spread.max() * 3)
        follow = np.bincount(z[1:][z[:-1] == j], minlength=3) / (z[:-1] == j).sum()
        assert_allclose(follow, model.transmat_[j], atol=4 * 0.5 / np.sqrt(n))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"startprob_init": [0.5, 0.6]}, "startprob_init"),
        ({"transmat_init": np.eye(3)}, "transmat_init"),
        ({"transmat_init": [[2.0, -1.0], [0, 1]]}, "transmat_init"),
        ({"means_init": [[0.0, 1.0]]}, "means_init"),
        ({"covars_init": [[np.nan], [1.0]]}, "covars_init"),
        ({"transmat_prior": 0.5}, "transmat_prior"),
        ({"transmat_prior": np.full((2, 2), 0.5)}, "transmat_prior"),
        ({"startprob_prior": [1.0, 2.0, 3.0]}, "startprob_prior"),
        (
            {"min_covar": 0.0, "means_init": [[0.0], [0.0]], "covars_init": [[0.0], [1.0]]},
            "min_covar",
        ),
    ],
)
def test_what_is_no_start(more, says):
    with pytest.raises(ValueError, match=says):
        GaussianHMM(2, **more).fit([[0.0], [1.0], [0.5]])


def test_missing_symbols_of_pandas():
    pd = pytest.importorskip("pandas")
    symbols = ["a", None, "b", "a"]
    model = CategoricalHMM(2, random_state=0)
    plain = model.fit(symbols).emissionprob_
    found = model.fit(pd.Series(symbols, dtype="string")).emissionprob_
    np.testing.assert_array_equal(found, plain)
