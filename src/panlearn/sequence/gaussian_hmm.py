"""Hidden Markov models of vectors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np

from panlearn.core.estimator import fitting
from panlearn.core.gaussian import KINDS
from panlearn.core.learned import COVARIANCES, shapes
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.sources import Rows
from panlearn.core.starts import Starts
from panlearn.sequence._base import unstacked
from panlearn.sequence._emissions import Emission
from panlearn.sequence._gaussian import GaussianEmission, GaussianPrior
from panlearn.sequence._gaussian_starts import sample_steps, spread, state_means
from panlearn.sequence._hidden_chain import Chain
from panlearn.sequence._hmm import Prior, States, law, matrix_shape, numbers, spread_over, told
from panlearn.sequence._vector_hmm import VectorHMM


@dataclass(eq=False, repr=False)
class GaussianHMM(VectorHMM):
    r"""A hidden chain of states, each of which emits vectors from a Gaussian.

    .. math::
        p(x, z) = \pi_{z_1} \prod_{t=2}^T P_{z_{t-1} z_t}
        \prod_{t=1}^T \mathcal{N}(x_t \mid \mu_{z_t}, \Sigma_{z_t}), \qquad
        \max_{\pi, P, \mu, \Sigma} \; \sum_s w_s \log \sum_z p(x^{(s)}, z)

    Parameters
    ----------
    n_components : int, default=1
        The number k of states.
    covariance_type : {"diag", "full", "tied", "spherical"}, default="diag"
        A variance for each feature, a matrix each, one matrix for all states, or one variance.
    min_covar : float, default=1e-6
        No eigenvalue of a covariance is below it.
    algorithm : {"viterbi", "map"}, default="viterbi"
        Whether `predict` gives the most probable path, or the most probable state of each step.
    training : {"baum-welch", "viterbi"}, default="baum-welch"
        Learn from the laws of the states, which maximises the likelihood; or from the most
        probable paths.
    params : str, default="stmc"
        What is learned: any of the letters s (first law), t (transitions), m (means) and c
        (covariances).
    init_params : str, default="stmc"
        What `fit` chooses a start for, by the same letters. What is left out starts from the
        attribute, if that is set (by hand, by `from_parameters` or by an earlier fit), or else from
        what is given below.
    startprob_init : array-like or None, default=None
        The law of the first state to start from, of shape (n_components,); uniform if not given.
    transmat_init : array-like or None, default=None
        The transitions to start from, of shape (n_components, n_components). A zero stays zero.
    means_init : array-like or None, default=None
        The means to start from, of shape (n_components, n_features); those of k-means if not given.
    covars_init : array-like or None, default=None
        The covariances to start from, in the shape of `covars_`.
    startprob_prior : float or array-like, default=1.0
        The Dirichlet prior of the first law: adds itself less one to each expected count.
    transmat_prior : float or array-like, default=1.0
        The same for each row of transitions.
    means_prior : float or array-like, default=0.0
        Where the means are drawn to, a number or of shape (n_components, n_features).
    means_weight : float or array-like, default=0.0
        As how many steps that counts in each state, a number or of shape (n_components,).
    covars_prior : float or array-like, default=0.0
        Added to the scatter of each state (of all, if they share one matrix): a number for every
        entry, or an array in the shape of `covars_`.
    covars_weight : float, default=1.0
        What exceeds 1 ("diag", "spherical") or n_features ("full", "tied") is added to the weight
        that the scatter is divided by.
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
    means_ : ndarray of shape (n_components, n_features)
        The means.
    covars_ : ndarray
        The covariances, of shape (k, d), (k, d, d), (d, d) or (k,) by `covariance_type`.
    n_iter_ : int
        Iterations of the start that won.
    converged_ : bool
        Whether it converged.
    history_ : dict
        ``log_likelihood`` (mean of a step) before, and ``change`` of, each iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    Each iteration walks every sequence forth and back, :math:`O(T k (k + d))` with diagonal
    covariances, blocks of sequences on the machine's threads. Probabilities are scaled at each step
    where every transition is possible, and logarithms elsewhere, so that nothing underflows at any
    length. Memory grows with T k, and with the root of T for a sequence beyond 16 million
    probabilities, which is walked forth twice. NaN is a missing entry and is marginalised exactly,
    a whole missing row too. Without a prior, and with one way of training, the likelihood (or that
    of the paths) never falls.

    References
    ----------
    L. E. Baum, T. Petrie, G. Soules and N. Weiss (1970). A maximization technique occurring in the
    statistical analysis of probabilistic functions of Markov chains. Annals of Mathematical
    Statistics 41(1). doi:10.1214/aoms/1177697196

    L. R. Rabiner (1989). A tutorial on hidden Markov models and selected applications in speech
    recognition. Proceedings of the IEEE 77(2). doi:10.1109/5.18626

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.sequence import GaussianHMM
    >>> calm, wild = np.tile([0.0, 0.2], 20), np.tile([-5.0, 5.0], 20)
    >>> X = np.concatenate([calm, wild, calm])[:, None]
    >>> model = GaussianHMM(2, means_init=[[0.1], [0.2]], covars_init=[[1.0], [9.0]]).fit(X)
    >>> model.predict(X)[[0, 39, 40, 79, 80]]
    array([0, 0, 1, 1, 0])
    >>> model.predict([X[:3], X[50:52]])  # two sequences
    [array([0, 0, 0]), array([1, 1])]
    """

    learned = shapes(
        means_="(n_components, n_features)",
        covars_=COVARIANCES,
    )

    n_components: States = 1
    _: KW_ONLY
    covariance_type: Literal["diag", "full", "tied", "spherical"] = "diag"
    min_covar: NonNegative[float] = 1e-6
    algorithm: Literal["viterbi", "map"] = "viterbi"
    training: Literal["baum-welch", "viterbi"] = "baum-welch"
    params: str = "stmc"
    init_params: str = "stmc"
    startprob_init: np.ndarray | None = None
    transmat_init: np.ndarray | None = None
    means_init: np.ndarray | None = None
    covars_init: np.ndarray | None = None
    startprob_prior: Prior = 1.0
    transmat_prior: Prior = 1.0
    means_prior: float | np.ndarray = 0.0
    means_weight: NonNegative[float] | np.ndarray = 0.0
    covars_prior: NonNegative[float] | np.ndarray = 0.0
    covars_weight: NonNegative[float] = 1.0
    max_iter: Positive[int] = 100
    tol: NonNegative[float] = 1e-4
    n_init: Starts = 1
    random_state: RandomState = None

    _letters = "stmc"

    @classmethod
    def from_parameters(
        cls, startprob: Any, transmat: Any, means: Any, covars: Any, **parameters: Any
    ) -> Self:
        """Make a model of known parameters, as if it were fitted.

        Parameters
        ----------
        startprob : array-like of shape (n_components,)
            The law of the first state.
        transmat : array-like of shape (n_components, n_components)
            The probabilities of transitions.
        means : array-like of shape (n_components, n_features)
            The means.
        covars : array-like
            The covariances, in the shape that belongs to `covariance_type`.
        **parameters
            Those of the class, such as `covariance_type`.

        Returns
        -------
        GaussianHMM
        """
        k, d = matrix_shape("means", means, 2)
        kind = KINDS[parameters.get("covariance_type", "diag")]
        learned = {
            "startprob_": law("startprob", startprob, (k,)),
            "transmat_": law("transmat", transmat, (k, k)),
            "means_": numbers("means", means, (k, d)),
            "covars_": numbers("covars", covars, kind.shape(k, d)),
        }
        return told(cls, k, learned | {"n_features_in_": d}, **parameters)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, lengths: Any = None) -> Self:
        """Learn the model from sequences.

        Parameters
        ----------
        X : array-like of shape (T, n_features), list of them, Batches or Dask bag
            One sequence, or several of any lengths; NaN is missing. A stream brings lists of
            sequences and is walked several times.
        y : array-like of shape (T,), or list of them, default=None
            The state of each step, or -1 where it is not known.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights; an integer weight is a repeated sequence.
        lengths : array-like of int, default=None
            The lengths of sequences that X, and y, have one below the other.

        Returns
        -------
        GaussianHMM
            The model itself.
        """
        return self._learn_vectors(unstacked(X, lengths), unstacked(y, lengths), sample_weight)

    def _starts(self, rows: Rows) -> list[Emission]:
        """Emissions to start from: means of k-means, or of known states; the spread of all rows."""
        k, d, kind = self.n_components, rows.n_features, KINDS[self.covariance_type]
        kind.require(k, d)
        rng = generator(self.random_state)
        sample = sample_steps(rows, k, rng)
        covariances = spread(kind, k, sample, self.min_covar)
        if (given := self._given("covars")) is not None:
            covariances = numbers("covars_init", given, kind.shape(k, d))
        if (given := self._given("means")) is not None:
            means = [numbers("means_init", given, (k, d))]
        else:
            means = [state_means(rows, k, sample, rng) for _ in range(self.n_init)]
        rest = (covariances, self.min_covar, self._prior(d), self.params)
        return [GaussianEmission(kind, m, *rest) for m in means]

    def _prior(self, d: int) -> GaussianPrior:
        k, kind = self.n_components, KINDS[self.covariance_type]
        free = 1 if self.covariance_type in ("diag", "spherical") else d
        mean = spread_over("means_prior", self.means_prior, (k, d))
        weight = spread_over("means_weight", self.means_weight, (k,))[:, None]
        scatter = spread_over("covars_prior", self.covars_prior, kind.shape(k, d))
        if (weight < 0).any():
            raise ValueError("means_weight must not be negative")
        if self.covariance_type == "spherical":
            scatter = scatter[:, None]
        return GaussianPrior(mean, weight, scatter, max(self.covars_weight - free, 0.0))

    def _attributes(self, at: Chain, dtype: np.dtype) -> dict[str, Any]:
        emission: Any = at.emission
        with np.errstate(over="ignore", under="ignore"):  # infinities are refused later
            learned = {
                "startprob_": at.startprob,
                "transmat_": at.transmat,
                "means_": emission.means,
                "covars_": emission.kind.stored(emission.covariances, dtype),
            }
            return {name: value.astype(dtype, copy=False) for name, value in learned.items()}

    def _emission(self) -> GaussianEmission:
        means, covars = self.means_.astype(float), self.covars_.astype(float)
        return GaussianEmission(KINDS[self.covariance_type], means, covars, self.min_covar)
