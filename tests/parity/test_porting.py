"""Constructors take the words of the peers, with the peers' meaning or not at all."""

import inspect

import gensim.models
import hmmlearn.hmm
import numpy as np
import pykalman
import pytest
import sklearn.linear_model
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.utils import all_estimators

import panlearn
from panlearn.core.parameters import check_parameters
from panlearn.core.porting import PORTS
from panlearn.latent import KMeans
from panlearn.linear import LogisticRegression, Ridge
from panlearn.sequence import GaussianHMM, KalmanFilter
from panlearn.text import Word2Vec

OURS = dict(panlearn.all_estimators())
PEERS = {
    **{name: cls for name, cls in all_estimators() if name in OURS},
    **{name: getattr(hmmlearn.hmm, name) for name in ("CategoricalHMM", "GMMHMM", "GaussianHMM")},
    "KalmanFilter": pykalman.KalmanFilter,
    "Word2Vec": gensim.models.Word2Vec,
}


def _arguments(name):
    """Give the arguments of a peer's constructor with their defaults."""
    parameters = list(inspect.signature(PEERS[name].__init__).parameters.values())[1:]
    return {
        p.name: p.default for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }


def _takes(name, argument, value):
    try:
        check_parameters(OURS[name](**{argument: value}))
    except (TypeError, ValueError):
        return False
    return True


def test_all_but_a_few_of_the_arguments_of_peers_are_taken(record_property):
    total, refused = 0, []
    for name in PEERS:
        given = _arguments(name)
        wrong = [key for key, value in given.items() if not _takes(name, key, value)]
        record_property("ported", f"{name} {len(given) - len(wrong)} {len(given)}")
        total += len(given)
        refused += [f"{name}({key})" for key in wrong]
    assert total > 500
    assert 1 - len(refused) / total > 0.98, refused


@pytest.mark.parametrize("name", sorted(PORTS))
def test_every_port_is_a_word_of_the_peer_and_none_of_ours(name):
    own = inspect.signature(OURS[name].__init__).parameters
    known = {**_arguments(name), "multi_class": None}  # which older releases of scikit-learn have
    for argument, port in PORTS[name].items():
        assert argument in known
        assert argument not in own
        assert set(port.translate(0) if port.translate else {}) <= set(own)


def test_a_translated_word_has_the_effect_of_ours():
    X, y = make_classification(100, 5, random_state=0)
    ours = LogisticRegression(penalty="l1", solver="liblinear", C=0.3).fit(X, y)
    peer = sklearn.linear_model.LogisticRegression(
        l1_ratio=1.0, solver="saga", C=0.3, tol=1e-10, max_iter=20000
    )
    np.testing.assert_allclose(ours.coef_, peer.fit(X, y).coef_, atol=1e-4)
    assert LogisticRegression(penalty=None).C == np.inf
    assert GaussianHMM(2, n_iter=7).max_iter == 7
    assert Word2Vec(seed=3, workers=2).get_params()["random_state"] == 3
    model = KalmanFilter(transition_matrices=[[0.5]], n_dim_obs=1)
    assert model.transition == [[0.5]]
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(Ridge(solver="svd"), {"alpha": [1.0, 2.0]}).fit(X, y)
    assert "solver" not in search.best_params_ | search.best_estimator_.get_params()


@pytest.mark.parametrize(
    ("cls", "given", "message"),
    [
        (Ridge, {"alhpa": 1}, "Ridge has no parameter 'alhpa'; did you mean 'alpha'?"),
        (Ridge, {"zebra": 1}, "Ridge has no parameter 'zebra'; there are 'alpha', "),
        (KMeans, {"verbose": 2}, "KMeans has no verbose=2: progress is a callback"),
        (LogisticRegression, {"penalty": "l3"}, "l1_ratio=1 for l1"),
        (LogisticRegression, {"penalty": None, "C": 2}, "takes 'penalty' for 'C'; give one"),
        (Word2Vec, {"sentences": [["a"]]}, r"fit\(sentences\) trains"),
    ],
)
def test_what_has_no_meaning_here_is_refused_with_what_to_write(cls, given, message):
    with pytest.raises(TypeError, match=message):
        cls(**given)
