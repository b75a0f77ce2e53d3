"""Hidden Markov models of symbols."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np

from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.sequences import read_sequences
from panlearn.core.sources import Sequences
from panlearn.core.starts import Starts
from panlearn.core.statistics import Counts
from panlearn.sequence._base import unstacked
from panlearn.sequence._emissions import CategoricalEmission
from panlearn.sequence._hidden_chain import Chain
from panlearn.sequence._hmm import (
    HiddenMarkovModel,
    Prior,
    States,
    law,
    matrix_shape,
    prior,
    told,
)
from panlearn.sequence._symbols import categories_of, encode, encode_rows


@dataclass(eq=False, repr=False)
class CategoricalHMM(HiddenMarkovModel):
    r"""A hidden chain of states, each of which emits symbols.

    .. math::
        p(x, z) = \pi_{z_1} \prod_{t=2}^T P_{z_{t-1} z_t} \prod_{t=1}^T B_{z_t x_t}, \qquad
        \max_{\pi, P, B} \; \sum_s w_s \log \sum_z p(x^{(s)}, z)

    Parameters
    ----------
    n_components : int, default=1
        The number k of states.
    categories : array-like or None, default=None
        The symbols that may come, of any kind; those that occur, sorted, if not given.
    algorithm : {"viterbi", "map"}, default="viterbi"
        Whether `predict` gives the most probable path, or the most probable state of each step.
    training : {"baum-welch", "viterbi"}, default="baum-welch"
        Learn from the laws of the states, which maximises the likelihood; or from the most
        probable paths.
    params : str, default="ste"
        What is learned: any of the letters s (first law), t (transitions) and e (emissions).
    init_params : str, default="ste"
        What `fit` chooses a start for, by the same letters. What is left out starts from the
        attribute, if that is set (by hand, by `from_parameters` or by an earlier fit), or else from
        what is given below.
    startprob_init : array-like or None, default=None
        The law of the first state to start from, of shape (n_components,); uniform if not given.
    transmat_init : array-like or None, default=None
        The transitions to start from, of shape (n_components, n_components). A zero stays zero.
    emissionprob_init : array-like or None, default=None
        The emissions to start from, of shape (n_components, n_categories); random if not given. A
        zero stays zero.
    startprob_prior : float or array-like, default=1.0
        The Dirichlet prior of the first law: adds itself less one to each expected count.
    transmat_prior : float or array-like, default=1.0
        The same for each row of transitions.
    emissionprob_prior : float or array-like, default=1.0
        The same for each row of emissions; above 1, a symbol that was not seen has a probability.
    max_iter : int, default=100
        The most iterations of one start.
    tol : float, default=1e-4
        The loop ends when the log-likelihood of a step, on average, changes by no more than this.
    n_init : int, default=1
        How many starts to try; the highest likelihood wins.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the starts.

    Attributes
    ----------
    startprob_ : ndarray of shape (n_components,)
        The law of the first state.
    transmat_ : ndarray of shape (n_components, n_components)
        The probabilities of transitions.
    emissionprob_ : ndarray of shape (n_components, n_categories)
        The probabilities of symbols.
    categories_ : ndarray of shape (n_categories,)
        The symbols.
    n_iter_ : int
        Iterations of the start that won.
    converged_ : bool
        Whether it converged.
    history_ : dict
        ``log_likelihood`` (mean of a step) before, and ``change`` of, each iteration.

    Notes
    -----
    Each iteration walks every sequence forth and back, :math:`O(T k^2)`, blocks of sequences on the
    machine's threads. Probabilities are scaled at each step where every transition is possible, and
    logarithms elsewhere, so that nothing underflows at any length. Memory grows with T k, and with
    the root of T for a sequence beyond 16 million probabilities, which is walked forth twice. A
    symbol that is NaN or None is missing and is marginalised exactly. With a prior the likelihood
    times the prior never falls, without one the likelihood itself.

    References
    ----------
    L. E. Baum, T. Petrie, G. Soules and N. Weiss (1970). A maximization technique occurring in the
    statistical analysis of probabilistic functions of Markov chains. Annals of Mathematical
    Statistics 41(1). doi:10.1214/aoms/1177697196

    L. R. Rabiner (1989). A tutorial on hidden Markov models and selected applications in speech
    recognition. Proceedings of the IEEE 77(2). doi:10.1109/5.18626

    Examples
    --------
    >>> from panlearn.sequence import CategoricalHMM
    >>> start = {"transmat_init": [[0.9, 0.1], [0.1, 0.9]]}
    >>> dice = CategoricalHMM(2, emissionprob_init=[[0.6, 0.4], [0.4, 0.6]], **start)
    >>> dice = dice.fit([list("hhththhhtttthttttt"), list("hhhhthtthttt")])
    >>> dice.predict(list("hhhhtttt"))
    array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> dice.predict_proba(list("ht")).shape
    (2, 2)
    """

    learned = shapes(
        emissionprob_="(n_components, n_categories)",
        categories_="(n_categories,)",
    )

    n_components: States = 1
    _: KW_ONLY
    categories: np.ndarray | None = None
    algorithm: Literal["viterbi", "map"] = "viterbi"
    training: Literal["baum-welch", "viterbi"] = "baum-welch"
    params: str = "ste"
    init_params: str = "ste"
    startprob_init: np.ndarray | None = None
    transmat_init: np.ndarray | None = None
    emissionprob_init: np.ndarray | None = None
    startprob_prior: Prior = 1.0
    transmat_prior: Prior = 1.0
    emissionprob_prior: Prior = 1.0
    max_iter: Positive[int] = 100
    tol: NonNegative[float] = 1e-4
    n_init: Starts = 1
    random_state: RandomState = None

    _kind = "symbols"
    _letters = "ste"

    @classmethod
    def from_parameters(
        cls,
        startprob: Any,
        transmat: Any,
        emissionprob: Any,
        categories: Any = None,
        **parameters: Any,
    ) -> Self:
        """Make a model of known parameters, as if it were fitted.

        Parameters
        ----------
        startprob : array-like of shape (n_components,)
            The law of the first state.
        transmat : array-like of shape (n_components, n_components)
            The probabilities of transitions.
        emissionprob : array-like of shape (n_components, n_categories)
            The probabilities of the symbols in each state.
        categories : array-like of shape (n_categories,), default=None
            The symbols; 0, 1, 2, ... if not given.
        **parameters
            Those of the class.

        Returns
        -------
        CategoricalHMM
        """
        k, m = matrix_shape("emissionprob", emissionprob, 2)
        symbols = categories_of(None, range(m) if categories is None else categories, "categories")
        if len(symbols) != m:
            raise ValueError(f"emissionprob has {m} columns, and there are {len(symbols)} symbols")
        learned = {
            "startprob_": law("startprob", startprob, (k,)),
            "transmat_": law("transmat", transmat, (k, k)),
            "emissionprob_": law("emissionprob", emissionprob, (k, m)),
            "categories_": symbols,
        }
        return told(cls, k, learned, categories=categories, **parameters)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, lengths: Any = None) -> Self:
        """Learn the model from sequences.

        Parameters
        ----------
        X : array-like of shape (T,), list of them, Batches or Dask bag
            One sequence of symbols, or several of any lengths; NaN or None is missing. A stream
            brings lists of sequences and is walked several times.
        y : array-like of shape (T,), or list of them, default=None
            The state of each step, or -1 where it is not known.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights; an integer weight is a repeated sequence.
        lengths : array-like of int, default=None
            The lengths of sequences that X, and y, have one below the other.

        Returns
        -------
        CategoricalHMM
            The model itself.
        """
        rows = read_sequences(
            self,
            unstacked(X, lengths),
            unstacked(y, lengths),
            sample_weight,
            kind="symbols",
            repeatable=True,
            n_states=self.n_components,
        )
        known = self.categories if "e" in self.init_params else getattr(self, "categories_", None)
        known = self.categories if known is None else known
        self.categories_ = categories_of(rows, known, "categories")
        coded = encode_rows(rows, self.categories_, "categories")
        k, m = self.n_components, len(self.categories_)
        dirichlet = prior("emissionprob_prior", self.emissionprob_prior, (k, m))
        if (given := self._given("emissionprob")) is not None:
            laws = [law("emissionprob_init", given, (k, m))]
        else:
            total = map_reduce(lambda X, y, w: _symbol_counts(X, w, m), coded).count
            laws = _random_laws(total, k, self.n_init, generator(self.random_state))
        self._learn(coded, [CategoricalEmission(p, dirichlet, p > 0) for p in laws])
        return self

    def _attributes(self, at: Chain, dtype: np.dtype) -> dict[str, Any]:
        emission: Any = at.emission
        return {
            "startprob_": at.startprob,
            "transmat_": at.transmat,
            "emissionprob_": emission.probability,
        }

    def _emission(self) -> CategoricalEmission:
        return CategoricalEmission(self.emissionprob_, 1.0, self.emissionprob_ > 0)

    def _values(self, X: Any) -> tuple[Sequences, bool]:
        X, single = self._read(X)
        return Sequences(encode(X.values, self.categories_, "categories"), X.offsets), single

    def sample(
        self, n_steps: int = 1, random_state: RandomState = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw one sequence.

        Parameters
        ----------
        n_steps : int, default=1
            How many steps.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.

        Returns
        -------
        X : ndarray of shape (n_steps,)
        states : ndarray of shape (n_steps,)
        """
        codes, states = self._draw(n_steps, random_state)
        return self.categories_[codes], states


def _symbol_counts(X: Sequences, weight: Any, m: int) -> Counts:
    """Counts of the symbols that are there."""
    of_step = np.ones(len(X.values)) if weight is None else np.repeat(weight, X.lengths)
    there = X.values >= 0
    return Counts.of(X.values[there], of_step[there], n_codes=m)


def _random_laws(
    count: np.ndarray, k: int, n_init: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Emissions about the frequencies of the symbols, each state off them by chance."""
    usual = count / count.sum() + 1 / len(count)
    drawn = [usual * rng.gamma(2.0, size=(k, len(count))) for _ in range(n_init)]
    return [d / d.sum(axis=1, keepdims=True) for d in drawn]
