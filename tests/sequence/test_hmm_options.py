"""Known models, what is learned and what stays, stacked sequences, and priors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from panlearn.sequence import GMMHMM, CategoricalHMM, GaussianHMM

STARTPROB, TRANSMAT = [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]]
MEANS = np.array([[0.0, 0.0], [3.0, 1.0]])


def known(kind):
    if kind == "categorical":
        emissions = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
        return CategoricalHMM.from_parameters(STARTPROB, TRANSMAT, emissions, list("abc"))
    if kind == "gaussian":
        return GaussianHMM.from_parameters(STARTPROB, TRANSMAT, MEANS, np.ones((2, 2)))
    means = MEANS[:, None] + np.array([[0.0, 0.5], [1.0, -1.0]])
    weights = [[0.3, 0.7], [0.5, 0.5]]
    return GMMHMM.from_parameters(STARTPROB, TRANSMAT, weights, means, np.ones((2, 2, 2)))


KINDS = ["categorical", "gaussian", "mixture"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_known_model_tells_what_a_fitted_one_tells(kind):
    model = known(kind)
    X, states = model.sample(5, 0)
    assert len(X) == len(states) == 5

    def density(x, j):
        if kind == "categorical":
            return model.emissionprob_[j, "abc".index(x)]
        if kind == "gaussian":
            return multivariate_normal(MEANS[j]).pdf(x)
        parts = [multivariate_normal(mean).pdf(x) for mean in model.means_[j]]
        return model.weights_[j] @ parts

    # all paths of five steps
    joint = {}
    for path in np.ndindex(*[2] * 5):
        value = STARTPROB[path[0]] * density(X[0], path[0])
        for t in range(1, 5):
            value *= TRANSMAT[path[t - 1]][path[t]] * density(X[t], path[t])
        joint[path] = value
    best = max(joint, key=joint.get)
    assert model.score(X) == pytest.approx(np.log(sum(joint.values())), rel=1e-10)
    value, path = model.decode(X)
    assert_allclose(value, np.log(joint[best]), rtol=1e-10)
    assert_array_equal(path, best)
    assert_array_equal(model.predict(X), best)
    first = sum(v for p, v in joint.items() if p[0] == 0) / sum(joint.values())
    assert model.predict_proba(X)[0, 0] == pytest.approx(first, rel=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"startprob": [0.5, 0.6]}, "startprob must hold probabilities that sum to one"),
        ({"transmat": [[1.0, 0.0]]}, r"transmat must hold finite numbers of shape \(2, 2\)"),
        ({"means": [1.0, 2.0]}, "means must have 2 axes"),
        ({"covars": np.ones(2)}, r"covars must hold finite numbers of shape \(2, 2\)"),
        ({"covars": -np.ones((2, 2))}, "no spread"),
        ({"algorithm": "best"}, "algorithm"),
    ],
)
def test_what_is_no_model_is_refused(change, message):
    given = {
        "startprob": STARTPROB,
        "transmat": TRANSMAT,
        "means": MEANS,
        "covars": np.ones((2, 2)),
    }
    with pytest.raises(ValueError, match=message):
        GaussianHMM.from_parameters(**(given | change))


ATTRIBUTES = {
    "s": "startprob_",
    "t": "transmat_",
    "m": "means_",
    "c": "covars_",
    "w": "weights_",
    "e": "emissionprob_",
}


@pytest.mark.parametrize(
    ("kind", "letter"),
    [(k, c) for k, word in zip(KINDS, ("ste", "stmc", "stmcw"), strict=True) for c in word],
)
@pytest.mark.parametrize("training", ["baum-welch", "viterbi"])
def test_only_the_parameters_that_are_named_are_learned(kind, letter, training, library):
    model = known(kind)
    X = [model.sample(30, seed)[0] for seed in range(6)]
    before = {
        name: getattr(model, name).copy() for name in ATTRIBUTES.values() if hasattr(model, name)
    }
    model.set_params(params=letter, init_params="", training=training, max_iter=2, tol=0.0)
    asked = dict(vars(model))
    library.quietly(lambda: model.fit(X))
    for name, value in before.items():
        same = np.array_equal(getattr(model, name), value)
        assert same == (name != ATTRIBUTES[letter]), name
    for name in ("params", "init_params", "means_init", "startprob_init", "transmat_init"):
        assert asked.get(name) is getattr(model, name, None) or asked[name] == getattr(model, name)


def test_what_is_not_to_be_initialised_starts_from_what_is_set(rng, library):
    X = rng.normal(size=(60, 2)) + 3 * rng.integers(2, size=(60, 1))
    options = {"max_iter": 3, "tol": 0.0, "random_state": 0}
    by_hand = GaussianHMM(2, init_params="c", **options)
    by_hand.startprob_, by_hand.transmat_, by_hand.means_ = np.array(STARTPROB), TRANSMAT, MEANS
    given = GaussianHMM(
        2, startprob_init=STARTPROB, transmat_init=TRANSMAT, means_init=MEANS, **options
    )
    mixed = GaussianHMM(2, init_params="stc", startprob_init=STARTPROB, transmat_init=TRANSMAT)
    mixed.set_params(means_init=MEANS, **options)
    for model in (given, by_hand, mixed):
        library.quietly(lambda model=model: model.fit(X))
        assert_allclose(model.means_, given.means_, rtol=1e-12)
        assert_allclose(model.transmat_, given.transmat_, rtol=1e-12)
    # and goes on from an earlier fit
    more = GaussianHMM(2, means_init=MEANS, max_iter=4, tol=0.0)
    library.quietly(lambda: more.fit(X))
    twice = GaussianHMM(2, means_init=MEANS, max_iter=2, tol=0.0)
    library.quietly(lambda: twice.fit(X))
    library.quietly(lambda: twice.set_params(init_params="").fit(X))
    assert_allclose(twice.means_, more.means_, rtol=1e-10)
    with pytest.raises(ValueError, match="set means_ or means_init"):
        GaussianHMM(2, init_params="stc").fit(X)
    with pytest.raises(ValueError, match="params holds letters of 'stmc'; got 'x'"):
        GaussianHMM(2, params="x").fit(X)


@pytest.mark.parametrize("kind", KINDS)
def test_stacked_sequences_are_a_list_of_them(kind, library):
    model = known(kind)
    lengths = [3, 1, 7]
    parts = [model.sample(n, n)[0] for n in lengths]
    stacked = np.concatenate(parts)
    assert_allclose(model.score_samples(stacked, lengths), model.score_samples(parts))
    assert model.score(stacked, lengths=lengths) == model.score(parts)
    assert model.bic(stacked, lengths) == model.bic(parts)
    assert model.aic(stacked, lengths) == model.aic(parts)
    for method in ("predict", "predict_proba"):
        found = getattr(model, method)(stacked, lengths)
        for one, other in zip(found, getattr(model, method)(parts), strict=True):
            assert_array_equal(one, other)
    assert_allclose(model.decode(stacked, lengths)[0], model.decode(parts)[0])
    if kind == "categorical":
        column = stacked[:, None]
        assert_allclose(model.score_samples(column, lengths), model.score_samples(parts))
    y = np.zeros(11, dtype=int)
    y[::2] = 1
    fits = []
    for X, of, n in ((stacked, y, lengths), (parts, np.split(y, [3, 4]), None)):
        new = known(kind).set_params(init_params="", max_iter=2, tol=0.0)
        fits.append(library.quietly(lambda new=new, X=X, of=of, n=n: new.fit(X, of, lengths=n)))
    assert_array_equal(fits[0].transmat_, fits[1].transmat_)
    for wrong, message in (([3, 1], "sum to 4, and X has 11"), ([3, 1, 7.0], "whole numbers")):
        with pytest.raises(ValueError, match=message):
            model.predict(stacked, wrong)


@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
def test_a_heavy_prior_decides(kind, rng, library):
    X = rng.normal(size=(40, 2)) + 2 * rng.integers(2, size=(40, 1))
    options = {"covariance_type": kind, "means_init": MEANS, "max_iter": 3, "tol": 0.0}
    model = GaussianHMM(
        2, means_prior=[[5.0, 5.0], [-5.0, 0.0]], means_weight=[1e9, 0.0], **options
    )
    library.quietly(lambda: model.fit(X))
    assert_allclose(model.means_[0], 5.0, atol=1e-5)
    assert np.abs(model.means_[1]).max() < 3
    scatter = 1e9 * (np.eye(2) if kind in ("full", "tied") else 1.0)
    shape = {"full": (2, 2, 2), "tied": (2, 2), "diag": (2, 2), "spherical": (2,)}[kind]
    model = GaussianHMM(
        2, covars_prior=np.broadcast_to(scatter, shape), covars_weight=1e9, **options
    )
    library.quietly(lambda: model.fit(X))
    assert_allclose(model.covars_, np.broadcast_to(scatter, shape) / 1e9, atol=1e-5)
    with pytest.raises(ValueError, match="means_prior must hold finite numbers of shape"):
        GaussianHMM(2, means_prior=[1.0, 2.0, 3.0]).fit(X)
    with pytest.raises(ValueError, match="means_weight must not be negative"):
        GaussianHMM(2, means_weight=[1.0, -2.0]).fit(X)


def test_likelihood_and_prior_together_never_fall(rng, library):
    X = rng.normal(size=(40, 2)) + 2 * rng.integers(2, size=(40, 1))
    mean, weight, scatter, count = np.array([[1.0, 2.0], [0.0, -1.0]]), 3.0, 0.7, 4.0
    values = []
    for steps in range(1, 12):
        model = GaussianHMM(
            2,
            means_init=MEANS,
            means_prior=mean,
            means_weight=weight,
            covars_prior=scatter,
            covars_weight=count,
            max_iter=steps,
            tol=0.0,
        )
        library.quietly(lambda model=model: model.fit(X))
        penalty = weight * (model.means_ - mean) ** 2 + scatter
        prior = penalty / model.covars_ + (count - 1) * np.log(model.covars_)
        values.append(model.score(X) - prior.sum() / 2)
    assert np.diff(values).min() > -1e-10
    assert values[-1] - values[0] > 0.1


def test_covariances_are_learned_about_means_that_stay(rng):
    X = rng.normal(size=(50, 2)) @ [[1.0, 0.4], [0.0, 0.8]]
    away = X - [1.0, -2.0]
    for kind, expected in (
        ("diag", (away**2).mean(axis=0)[None]),
        ("full", (away.T @ away / 50)[None]),
        ("spherical", [(away**2).mean()]),
    ):
        model = GaussianHMM(1, covariance_type=kind, means_init=[[1.0, -2.0]], params="c").fit(X)
        assert_array_equal(model.means_, [[1.0, -2.0]])
        assert_allclose(model.covars_, expected, rtol=1e-12)
