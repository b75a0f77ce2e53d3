"""Markov chains: structure, long run, hitting times, learning."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from panlearn.sequence import MarkovChain
from panlearn.sequence._chain_kernels import eliminate


def gambler(n=6, p=0.4):
    """Wins with probability p until 0 or n - 1."""
    P = np.diag(np.full(n - 1, p), 1) + np.diag(np.full(n - 1, 1 - p), -1)
    P[0], P[-1] = np.eye(n)[0], np.eye(n)[-1]
    return MarkovChain.from_transition(P)


def test_the_stationary_law_keeps_its_digits_in_nearly_uncoupled_chains():
    e = 1e-14
    chain = MarkovChain.from_transition([[1 - e, e, 0], [2 * e, 1 - 3 * e, e], [0, e, 1 - e]])
    assert_allclose(chain.stationary(), [0.5, 0.25, 0.25], rtol=1e-1)  # 1 - e has two digits of e
    exact = MarkovChain.from_transition([[0.5, 0.5, 0], [1e-12, 1 - 2e-12, 1e-12], [0, 1, 0]])
    assert_allclose(exact.stationary()[2], 1e-12 * exact.stationary()[1], rtol=1e-12)


def test_the_stationary_law_is_the_eigenvector(rng):
    chain = MarkovChain.from_transition(rng.dirichlet(np.ones(7), 7))
    values, vectors = np.linalg.eig(chain.transmat_.T)
    vector = vectors[:, values.real.argmax()].real
    assert_allclose(chain.stationary(), vector / vector.sum(), rtol=1e-10)
    assert_allclose(chain.stationary("power"), vector / vector.sum(), rtol=1e-10)


def test_transient_states_have_no_share_in_the_long_run():
    chain = MarkovChain.from_transition([[0.5, 0.5, 0], [0, 0.2, 0.8], [0, 0.6, 0.4]])
    assert_allclose(chain.stationary(), [0, 3 / 7, 4 / 7])
    with pytest.raises(ValueError, match="transient"):
        chain.reversal()


@pytest.mark.parametrize("period", [1, 2, 3, 6])
def test_periods_of_cycles_and_of_states_without_a_way_back(period):
    cycle = np.roll(np.eye(6), 1, axis=1)
    cycle[0] = 0
    cycle[0, 1] += 0.5
    cycle[0, (1 + 6 - period) % 6] += 0.5  # a short cut that makes a cycle of that length
    assert MarkovChain.from_transition(cycle).periods == [period]
    assert MarkovChain.from_transition([[0, 1], [0, 1]]).periods == [0, 1]


def test_hitting_times_of_the_gambler():
    n, p = 6, 0.4
    times = gambler(n, p).hitting_times([0, n - 1])
    k, ratio = np.arange(n), (1 - p) / p
    expected = k / (1 - 2 * p) - (n - 1) / (1 - 2 * p) * (1 - ratio**k) / (1 - ratio ** (n - 1))
    assert_allclose(times, expected, atol=1e-12)
    assert np.isinf(gambler().hitting_times([0])[1:]).all()


def test_counts_merge_and_smoothing_gives_the_unseen_a_probability():
    one, two = list("abba"), list("bcab")
    chain = MarkovChain().fit([one, two])
    assert_allclose(chain.transmat_, [[0, 1, 0], [1 / 3, 1 / 3, 1 / 3], [1, 0, 0]])
    assert_allclose(chain.startprob_, [0.5, 0.5, 0])
    merged = MarkovChain().partial_fit(one)
    assert merged.states_.tolist() == ["a", "b"]
    merged.partial_fit(two)  # brings a state of its own
    assert merged.states_.tolist() == ["a", "b", "c"]
    assert_allclose(merged.transmat_, chain.transmat_)
    assert_allclose(merged.startprob_, chain.startprob_)
    assert chain.score(list("ac")) == -np.inf
    smooth = MarkovChain(smoothing=1.0).fit([one, two])
    assert_allclose(smooth.transmat_[0], [1 / 5, 3 / 5, 1 / 5])
    assert np.isfinite(smooth.score(list("ac")))


def test_one_sequence_is_a_list_of_one_and_labels_are_of_any_kind():
    sequence = ["rain", "sun", "sun", "rain"]
    one, listed = MarkovChain().fit(sequence), MarkovChain().fit([sequence])
    assert one.states_.tolist() == listed.states_.tolist() == ["rain", "sun"]
    assert_allclose(one.transmat_, listed.transmat_)
    assert MarkovChain().fit(np.array([3, 1, 3])).states_.tolist() == [1, 3]
    assert MarkovChain().fit(np.array([[3], [1], [3]])).states_.tolist() == [1, 3]
    assert MarkovChain().fit(["x", "y"]).transmat_.tolist() == [[0, 1], [0, 1]]
    given = MarkovChain(["sun", "snow", "rain"]).fit(sequence)
    assert_allclose(given.transmat_, [[0.5, 0, 0.5], [0, 1, 0], [1, 0, 0]])
    mixed = MarkovChain([1, "b"]).fit([[1, "b", 1], ["b"]])
    assert mixed.states_.tolist() == [1, "b"]
    assert mixed.transmat_.tolist() == [[0, 1], [1, 0]]


def test_samples_have_the_probabilities_of_the_chain(rng):
    chain = MarkovChain.from_transition(rng.dirichlet(np.ones(3), 3), states="xyz")
    draws = chain.sample(30_000, start="y", random_state=0)
    assert draws[0] == "y"
    learned = MarkovChain().fit(draws)
    # four standard errors with a tenth of the steps in a state
    assert_allclose(learned.transmat_, chain.transmat_, atol=4 * 0.5 / 3000**0.5)
    again = chain.sample(30_000, start="y", random_state=0)
    assert draws.tolist() == again.tolist()
    assert chain.sample(0).tolist() == []


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: MarkovChain.from_transition([[0.5, 0.4], [0, 1]]), "sum to one"),
        (lambda: MarkovChain.from_transition([[1.5, -0.5], [0, 1]]), "probabilities"),
        (lambda: MarkovChain.from_transition([[np.nan, 1], [0, 1]]), "probabilities"),
        (lambda: MarkovChain.from_transition([[1.0, 0.0]]), "square"),
        (lambda: MarkovChain.from_transition(np.eye(2), states=["a", "a"]), "different"),
        (lambda: MarkovChain.from_transition(np.eye(2), initial=[1.0]), "initial"),
        (lambda: MarkovChain.from_transition(np.eye(2)).stationary(), "2 recurrent classes"),
        (lambda: MarkovChain.from_transition([[0, 1], [1, 0]]).stationary("power"), "period 2"),
        (lambda: MarkovChain.from_transition(np.eye(1)).stationary("magic"), "method"),
        (lambda: MarkovChain(smoothing=-1.0).fit(["a"]), "smoothing"),
        (lambda: MarkovChain().fit([]), "nothing"),
        (lambda: MarkovChain().fit(["a", None, "b"]), "missing"),
        (lambda: MarkovChain().fit(np.ones((3, 2))), "list"),
        (lambda: MarkovChain(["a", "a"]).fit(["a"]), "different"),
        (lambda: MarkovChain(["a"]).fit(["b"]), "states"),
        (lambda: MarkovChain.from_transition(np.eye(2)).partial_fit([0, 1]), "no counts"),
        (lambda: MarkovChain().fit(["a", "b"]).score(["c"]), "not among the 2 symbols"),
    ],
)
def test_what_is_no_chain(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_thousands_of_states_take_no_minutes(rng):
    n = 1500
    P = np.zeros((n, n))
    P[np.arange(n), (np.arange(n) + 1) % n], P[:, 0] = 0.5, 0.5
    P[-1, 0] = 1.0
    chain = MarkovChain.from_transition(P)
    law = 0.5 ** np.arange(1.0, n + 1)
    np.testing.assert_allclose(chain.stationary()[:1000], law[:1000], rtol=1e-12)
    # a run of ten heads takes 2 (2^10 - 1) throws of a fair coin on average
    assert chain.hitting_times([10])[0] == pytest.approx(2046, rel=1e-10)


def test_elimination_is_its_reference(rng):
    P = rng.dirichlet(np.ones(6), size=6)
    law = eliminate(P)
    np.testing.assert_allclose(law @ P, law, rtol=1e-13)
    np.testing.assert_allclose(eliminate.py_func(P), law, rtol=1e-15)


def test_steps_that_do_not_settle_are_told():
    slow = MarkovChain.from_transition([[0.999, 0.001], [0.002, 0.998]], initial=[1.0, 0.0])
    with pytest.warns(ConvergenceWarning, match="step 50"):
        slow.stationary("power", max_iter=50)


def test_steps_and_laws_that_are_none_are_refused():
    chain = MarkovChain.from_transition([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(ValueError, match="0 or more"):
        chain.n_step(-1)
    for law in ([1.0, 1.0], [1.0], [-0.5, 1.5]):
        with pytest.raises(ValueError, match="initial"):
            chain.law(2, law)


def test_batches_of_labels_of_two_types_are_refused():
    chain = MarkovChain().partial_fit([1, 2, 1])
    with pytest.raises(TypeError, match="one type"):
        chain.partial_fit(["a", "b"])
    assert chain.states_.tolist() == [1, 2]
