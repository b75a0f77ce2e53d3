import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from panlearn.bayes import GaussianMixtureClassifier
from panlearn.claims.tracing import record
from panlearn.core.jit import watchers
from panlearn.kernel.kernels import RBF
from panlearn.latent import PCA, GaussianMixture
from panlearn.linear import Ridge
from panlearn.optimize import gradient_descent
from panlearn.text import pmi

X = np.random.default_rng(0).normal(size=(40, 3))
y = X @ [1.0, 2.0, 3.0]


def test_a_method_is_what_runs_and_not_what_is_named():
    with record() as ran:
        model = clone(Ridge(alpha=2.0))  # made, asked for its parameters, and never run
        model.get_params()
        PCA(2).fit(X).inverse_transform(np.zeros((1, 2)))
    assert ran.methods == {"latent.PCA"}
    assert "latent/pca.py" in ran.files
    assert "linear/ridge.py" not in ran.files


def test_functions_modules_and_inherited_methods():
    with record() as ran:
        gradient_descent(lambda x: x @ x, [1.0], maxiter=2)
        RBF()(X)
        pmi(np.ones((2, 2)))
        Ridge().fit(X, y).score(X, y)
    assert ran.methods == {
        "kernel.kernels",
        "linear.Ridge",
        "optimize.gradient_descent",
        "text.pmi",
    }


def test_through_another_package_and_from_a_callback():
    model = Ridge().fit(X, y)
    with record() as ran:
        cross_val_score(GaussianMixture(), X, cv=2)
        gradient_descent(lambda w: float(model.predict(X[:1])[0] + w @ w), [1.0], maxiter=1)
    assert ran.methods == {"latent.GaussianMixture", "linear.Ridge", "optimize.gradient_descent"}


def test_what_a_method_uses_itself_is_not_its_caller_s():
    with record() as ran:
        GaussianMixtureClassifier().fit(X, y > 0)
    assert ran.methods == {"bayes.GaussianMixtureClassifier"}
    assert "latent/gaussian_mixture.py" in ran.files


def test_it_ends_with_the_block_also_after_an_error():
    def outer(frame, event, argument):
        pass

    before = sys.getprofile()
    sys.setprofile(outer)
    try:
        with pytest.raises(RuntimeError, match="in the block"), record() as ran:
            raise RuntimeError("in the block")
        after = sys.getprofile()
    finally:
        sys.setprofile(before)
    assert after is outer
    Ridge().fit(X, y)
    assert not ran.methods


def test_it_rests_while_a_kernel_is_compiled_on_this_thread():
    with record() as ran:
        told = watchers[-1]
        elsewhere = threading.Thread(target=lambda: (told(True), told(False), Ridge().fit(X, y)))
        elsewhere.start()
        elsewhere.join()
        told(True)
        assert sys.getprofile() is None
        told(False)
        PCA(2).fit(X)
    assert ran.methods == {"latent.PCA"}
    assert told not in watchers
