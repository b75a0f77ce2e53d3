"""Hidden Markov models: likelihood, decoding and learning on worked examples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.sources import Sequences
from panlearn.sequence import CategoricalHMM
from panlearn.sequence._hidden_chain import Smoothing, expect

START = np.array([0.6, 0.4])
STEPS = np.array([[0.7, 0.3], [0.4, 0.6]])
EMITS = np.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]])
SEEN = np.array([0, 1, 2, 0])


def _known(start: Any = START, steps: Any = STEPS, emits: Any = EMITS) -> CategoricalHMM:
    """A model with these parameters."""
    model = CategoricalHMM(len(start), categories=np.arange(np.shape(emits)[1]), tol=1e9)
    model.fit(np.arange(np.shape(emits)[1]))
    model.startprob_, model.transmat_ = np.array(start), np.array(steps)
    model.emissionprob_ = np.array(emits)
    return model


def _paths(model: CategoricalHMM, x: np.ndarray) -> dict[tuple[int, ...], float]:
    """The joint probability of every path with the symbols."""
    k = model.n_components
    return {
        z: float(
            model.startprob_[z[0]]
            * np.prod([model.transmat_[i, j] for i, j in pairwise(z)])
            * np.prod([model.emissionprob_[i, v] for i, v in zip(z, x, strict=True)])
        )
        for z in product(range(k), repeat=len(x))
    }


@claim("B250")
def forward_sums_over_paths() -> Iterator[Evidence]:
    """The forward recursion alpha_t(k) = b_k(x_t) sum_i alpha_(t-1)(i) a_ik gives the likelihood,
    the sum over all K^T paths, in O(T K^2): 0.0090888 in the worked example with 16 paths.
    """
    model = _known()
    likelihood = np.exp(model.score(SEEN))
    yield equal("likelihood of the worked example", likelihood, 0.0090888, 1e-15)
    yield equal("and by its 16 paths", likelihood, sum(_paths(model, SEEN).values()), 1e-15)
    alpha = START * EMITS[:, SEEN[0]]
    for x in SEEN[1:]:
        alpha = EMITS[:, x] * (alpha @ STEPS)
    yield equal("and by the recursion as printed", likelihood, alpha.sum(), 1e-15)


@claim("B251")
def forward_and_backward_meet() -> Iterator[Evidence]:
    """With beta_T = 1 and beta_t(k) = sum_i a_ki b_i(x_(t+1)) beta_(t+1)(i), the sum over k of
    alpha_t(k) beta_t(k) is the likelihood at every t, and the posteriors sum to one. The text
    starts at t + i for t + 1 and has the emission of x_t, which must be that of x_(t+1).
    """
    model, T = _known(), len(SEEN)
    alpha, beta = np.empty((T, 2)), np.ones((T, 2))
    alpha[0] = START * EMITS[:, SEEN[0]]
    for t in range(1, T):
        alpha[t] = EMITS[:, SEEN[t]] * (alpha[t - 1] @ STEPS)
    for t in range(T - 2, -1, -1):
        beta[t] = STEPS @ (EMITS[:, SEEN[t + 1]] * beta[t + 1])
    likelihood = np.exp(model.score(SEEN))
    yield equal("alpha beta at every step", (alpha * beta).sum(axis=1), [likelihood] * T, 1e-15)
    yield equal("posteriors", model.predict_proba(SEEN), alpha * beta / likelihood, 1e-14)
    yield equal("their sums", model.predict_proba(SEEN).sum(axis=1), np.ones(T), 1e-14)


@claim("B252")
def viterbi_finds_the_best_path() -> Iterator[Evidence]:
    """The recursion V_t(k) = b_k(x_t) max_i a_ik V_(t-1)(i) with back-pointers finds the most
    probable path: (1, 0, 0, 1) with probability 0.0024192 in the worked example. In logarithms the
    path is the same and the value stays finite for any length. The text has V_t on the right.
    """
    model = _known()
    paths = _paths(model, SEEN)
    value, path = model.decode(SEEN)
    yield equal("best path of the worked example", path, [1, 0, 0, 1])
    yield equal("its probability", np.exp(value[0]), 0.0024192, 1e-15)
    yield true("and by enumeration", max(paths, key=lambda z: paths[z]) == tuple(path))
    long = model.sample(1000, random_state=0)[0]
    value, path = model.decode(long)
    yield true("finite after 1000 steps, where the product is not", np.isfinite(value[0]))
    yield at_most("log of what underflows", value[0], np.log(np.finfo(float).tiny))


@claim("B253")
def best_path_is_not_best_states() -> Iterator[Evidence]:
    """The most probable path need not hold the most probable state of each step: with emissions
    that tell nothing, (1, 0) has probability 0.42 and is the best path, and the best states are
    (1, 1), a path of probability 0.28. The text calls the second the Viterbi path.
    """
    model = _known([0.3, 0.7], [[0.1, 0.9], [0.6, 0.4]], np.full((2, 2), 0.5))
    x = np.array([0, 1])
    paths = {z: 4 * p for z, p in _paths(model, x).items()}
    yield equal("Viterbi path", model.predict(x), [1, 0])
    yield equal("its probability", paths[1, 0], 0.42, 1e-15)
    by_step = model.set_params(algorithm="map").predict(x)
    yield equal("best state of each step", by_step, [1, 1])
    yield equal("probability of that path", paths[1, 1], 0.28, 1e-15)


@claim("B254")
def baum_welch_climbs() -> Iterator[Evidence]:
    """The updates of Baum and Welch, expected counts over their sums, keep every row a law, and the
    likelihood never falls. The text starts the product of emissions at the second step and sums
    the constraint of the emissions over states in place of symbols.
    """
    x = _known().sample(200, random_state=1)[0]
    model = CategoricalHMM(3, max_iter=50, tol=0.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # each of the 50 is looked at
        model.fit(x)
    history = np.array(model.history_["log_likelihood"]) * len(x)
    yield at_least("iterations", len(history), 2)
    yield at_least("smallest rise of the log-likelihood", np.diff(history).min(), -1e-9)
    for name in ("startprob_", "transmat_", "emissionprob_"):
        rows = np.atleast_2d(getattr(model, name))
        yield equal(f"sums of {name}", rows.sum(axis=1), np.ones(len(rows)), 1e-12)


@claim("B255")
def pairs_have_the_posteriors_as_margins() -> Iterator[Evidence]:
    """The law of two states in turn, xi_t(i, j) = alpha_(t-1)(i) a_ij b_j(x_t) beta_t(j) / p(X),
    has the posteriors of the two steps as its margins.
    """
    model = _known()
    at, gamma = model._chain(), model.predict_proba(SEEN)
    for t in range(1, len(SEEN)):
        part = _pair(model, t)
        yield equal(f"sum over j at step {t + 1}", part.sum(axis=1), gamma[t - 1], 1e-12)
        yield equal(f"sum over i at step {t + 1}", part.sum(axis=0), gamma[t], 1e-12)
    sequences = Sequences(SEEN, np.array([0, len(SEEN)]))
    total = sum(_pair(model, t) for t in range(1, len(SEEN)))
    yield equal("their sum, the expected steps", expect(at, sequences).step, total, 1e-12)
    yield equal("likelihood", Smoothing(at, sequences).log_likelihood, [model.score(SEEN)], 1e-12)


def _pair(model: CategoricalHMM, t: int) -> np.ndarray:
    """The law of the states at t - 1 and t, by enumeration."""
    out = np.zeros((2, 2))
    for z, probability in _paths(model, SEEN).items():
        out[z[t - 1], z[t]] += probability
    return out / out.sum()
