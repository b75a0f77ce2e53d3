"""Weights of sequences, in either way of training."""

import numpy as np
import pytest
from sklearn.base import clone

from panlearn.sequence import GMMHMM, CategoricalHMM, GaussianHMM


@pytest.mark.parametrize("training", ["baum-welch", "viterbi"])
@pytest.mark.parametrize("kind", ["gaussian", "mixture", "categorical"])
def test_a_weight_is_a_repeated_sequence_in_either_way_of_training(kind, training, rng, library):
    options = {"training": training, "max_iter": 4, "tol": 0.0}
    options["transmat_init"] = [[0.7, 0.3], [0.4, 0.6]]
    if kind == "categorical":
        parts = [rng.integers(3, size=T).tolist() for T in (6, 9, 14)]
        model = CategoricalHMM(2, emissionprob_init=rng.dirichlet(np.ones(3), 2), **options)
    else:
        parts = [rng.normal(size=(T, 2)) + 2 * rng.integers(2, size=(T, 1)) for T in (6, 9, 14)]
        # each start its own state: a weight that is dropped there shows
        parts[0][0], parts[1][0], parts[2][0] = [-1.0, 0.0], [3.0, 2.0], [3.0, 3.0]
        means = np.array([[0.0, 0.0], [2.0, 2.0]])
        if kind == "mixture":
            means = means[:, None] + np.array([[0.0, 0.3], [0.4, -0.5]])
        covars = np.ones_like(means)
        cls, sizes = (GaussianHMM, (2,)) if kind == "gaussian" else (GMMHMM, (2, 2))
        model = cls(*sizes, means_init=means, covars_init=covars, **options)
    repeated = [parts[0]] * 4 + [parts[1]] + [parts[2]] * 2
    weighted = library.quietly(lambda: clone(model).fit(parts, sample_weight=[4, 1, 2]))
    plain = library.quietly(lambda: clone(model).fit(repeated))
    unweighted = library.quietly(lambda: clone(model).fit(parts))
    names = [n for n, v in vars(plain).items() if n.endswith("_") and hasattr(v, "shape")]
    for name in [n for n in names if getattr(plain, n).dtype.kind == "f"]:
        found, expected = getattr(weighted, name), getattr(plain, name)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=name)
        assert not np.allclose(getattr(unweighted, name), expected, rtol=1e-6), name
    np.testing.assert_allclose(
        weighted.history_["log_likelihood"], plain.history_["log_likelihood"], rtol=1e-9
    )
