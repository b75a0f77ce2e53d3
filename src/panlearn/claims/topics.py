"""Topic models: the Dirichlet law, PLSA and latent Dirichlet allocation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from scipy import integrate, stats
from scipy.special import gamma
from sklearn.exceptions import ConvergenceWarning

from panlearn.claims.claim import Evidence, at_least, claim, equal, true
from panlearn.text import PLSA, LatentDirichletAllocation


def _dirichlet(p: np.ndarray, a: np.ndarray) -> float:
    return float(gamma(a.sum()) / gamma(a).prod() * (p ** (a - 1)).prod())


def _evidence(a: np.ndarray, n: np.ndarray) -> float:
    """The integral of the Dirichlet density of two times t^n_1 (1 - t)^n_2."""
    return float(
        integrate.quad(
            lambda t: _dirichlet(np.array([t, 1 - t]), a) * t ** n[0] * (1 - t) ** n[1],
            0,
            1,
            epsabs=1e-12,
            epsrel=1e-12,
        )[0]
    )


@claim("B235")
def plsa_factors_the_joint_law() -> Iterator[Evidence]:
    """PLSA says P(d, w) = sum_z P(z) P(d|z) P(w|z) = P(d) sum_z P(z|d) P(w|z), which sums to one,
    and EM never lowers sum n(d, w) log P(d, w). The text calls the section latent semantic
    allocation, loses n and the logarithm in the second line of the likelihood and misplaces the
    exponent n.
    """
    counts = np.random.default_rng(235).poisson(1.0, (30, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PLSA(4, max_iter=80, tol=0, random_state=0).fit(counts)
    document = counts.sum(axis=1) / counts.sum()
    one = document[:, None] * (model.doc_topic_ @ model.components_)
    of_document = document[:, None] * model.doc_topic_ / model.weights_
    other = (of_document * model.weights_) @ model.components_
    yield equal("both forms of P(d, w)", one, other, 1e-12)
    yield equal("sum of P(d, w)", one.sum(), 1.0, 1e-12)
    steps = np.diff(model.history_["log_likelihood"])
    yield at_least("least step of the log-likelihood", steps.min(), -1e-10)


@claim("B236")
def lda_factors_into_its_laws() -> Iterator[Evidence]:
    """The joint law of LDA is prod p(phi_k | beta) prod p(theta_d | alpha) prod p(z | theta)
    p(w | phi_z): with both Dirichlet laws integrated out it is what the collapsed sampler scores.
    The sampler finds planted topics without common words again.
    """
    alpha, beta = np.array([0.7, 1.4]), 0.6
    documents = [["a", "b", "a"], ["b", "b", "a", "b"]]
    model = LatentDirichletAllocation(
        2,
        doc_topic_prior=alpha,
        topic_word_prior=beta,
        n_iter=1,
        n_burn_in=0,
        optim_interval=0,
        random_state=236,
    ).fit(documents)
    z, value = model.topics_, 0.0
    words = np.array([word == "b" for document in documents for word in document])
    for k in range(2):
        n = np.bincount(words[z == k].astype(int), minlength=2)
        value += np.log(_evidence(np.full(2, beta), n))
    for part in (z[:3], z[3:]):
        value += np.log(_evidence(alpha, np.bincount(part, minlength=2)))
    score = 7 * model.history_["log_likelihood"][-1]
    yield equal("log p(w, z) and the integral of the parts", score, value, 1e-8)
    rng = np.random.default_rng(236)
    phi = np.kron(np.eye(3), rng.dirichlet(np.ones(10)))
    corpus = [
        [f"w{w:02d}" for w in rng.choice(30, 40, p=rng.dirichlet(np.full(3, 0.2)) @ phi)]
        for _ in range(80)
    ]
    found = LatentDirichletAllocation(3, random_state=0).fit(corpus)
    learned = np.zeros((3, 30))
    learned[:, [int(word[1:]) for word in found.words_]] = found.components_
    cosine = phi @ learned.T / np.linalg.norm(phi, axis=1)[:, None]
    cosine /= np.linalg.norm(learned, axis=1)
    yield at_least("least cosine with the planted topic", cosine.max(axis=1).min(), 0.95)
    yield true("each topic is found once", len(set(cosine.argmax(axis=1))) == 3)


@claim("B237")
def dirichlet_is_a_law_on_laws() -> Iterator[Evidence]:
    """The Dirichlet density Gamma(sum a) / prod Gamma(a_i) prod p_i^(a_i - 1) integrates to one, is
    the Beta density for two, has the mean a_i / sum a, and counts n turn Dir(a) into Dir(a + n):
    a document that is all of the prior's and n tokens has the shares (a_k + n_k) / (sum a + n).
    """
    a = np.array([2.0, 3.0, 4.0])  # a polynomial, which Gauss's rule integrates exactly
    nodes, weights = np.polynomial.legendre.leggauss(12)
    nodes, weights = (nodes + 1) / 2, weights / 2
    first, second = np.meshgrid(nodes, nodes, indexing="ij")
    second = (1 - first) * second  # the triangle p + q <= 1
    grid = zip(first.ravel(), second.ravel(), strict=True)
    density = np.array([_dirichlet(np.array([p, q, 1 - p - q]), a) for p, q in grid])
    mass = density * (np.outer(weights, weights) * (1 - first)).ravel()
    volume, mean = mass.sum(), mass @ first.ravel()
    yield equal("integral", volume, 1.0, 1e-6)
    yield equal("mean of the first", mean, a[0] / a.sum(), 1e-6)
    p = np.array([0.3, 0.7])
    yield equal("Beta density", _dirichlet(p, a[:2]), stats.beta.pdf(0.3, *a[:2]), 1e-10)
    n = np.array([4, 1])
    posterior = _dirichlet(p, a[:2]) * (p**n).prod() / _evidence(a[:2], n)
    yield equal("posterior density", posterior, _dirichlet(p, a[:2] + n), 1e-8)
    # topics without common words leave no doubt which topic a token has
    model = LatentDirichletAllocation(
        2, doc_topic_prior=a[:2], topic_word_prior=1e-9, optim_interval=0, random_state=0
    ).fit([["x"] * 30, ["y"] * 30])
    of_x = int(model.components_[:, 0].argmax())
    words = ["x"] * n[of_x] + ["y"] * n[1 - of_x]
    expected = (a[:2] + n) / (a[:2] + n).sum()
    yield equal("shares of a document", model.transform([words])[0], expected, 1e-6)
