"""Claims on factorisations of matrices."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from panlearn.claims.claim import Evidence, at_least, at_most, claim
from panlearn.latent import NMF


@claim("A168")
def multiplicative_updates_never_increase_the_loss() -> Iterator[Evidence]:
    """Multiplicative updates keep Z, B ≥ 0 and never increase ‖X - ZB‖² or the divergence KL.

    The divergence is the log-likelihood of Poisson counts (the text's word is garbled).
    """
    rng = np.random.default_rng(168)
    X = rng.poisson(rng.gamma(1, size=(30, 4)) @ rng.gamma(1, size=(4, 20))).astype(float)
    for loss in ("frobenius", "kullback-leibler"):
        model = NMF(4, solver="mu", beta_loss=loss, init="random", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(tol=0, max_iter=300).fit(X)
        steps = np.diff(model.history_["objective"])
        yield at_most(f"largest increase of {loss} in 300 iterations", steps.max(), 1e-10)
        yield at_least("smallest entry of B", model.components_.min(), 0)
        yield at_least("smallest entry of Z", model.transform(X).min(), 0)
