"""Hidden Markov models of vectors from mixtures."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np

from panlearn.core.estimator import fitting
from panlearn.core.gaussian import KINDS
from panlearn.core.learned import By, shapes
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.sources import Rows
from panlearn.core.starts import Starts
from panlearn.sequence._base import unstacked
from panlearn.sequence._emissions import Emission
from panlearn.sequence._gaussian import GaussianEmission, GaussianPrior
from panlearn.sequence._gaussian_starts import (
    part_means,
    sample_steps,
    spread,
)
from panlearn.sequence._hidden_chain import Chain
from panlearn.sequence._hmm import (
    Prior,
    States,
    law,
    matrix_shape,
    numbers,
    prior,
    spread_over,
    told,
)
from panlearn.sequence._mixture import MixtureEmission
from panlearn.sequence._vector_hmm import VectorHMM


@dataclass(eq=False, repr=False)
class GMMHMM(VectorHMM):
    r"""A hidden chain of states, each of which emits vectors from a mixture of Gaussians.

    .. math::
        p(x, z) = \pi_{z_1} \prod_{t=2}^T P_{z_{t-1} z_t}
        \prod_{t=1}^T \sum_{j=1}^m c_{z_t j} \,
        \mathcal{N}(x_t \mid \mu_{z_t j}, \Sigma_{z_t j}), \qquad
        \max_{\pi, P, c, \mu, \Sigma} \; \sum_s w_s \log \sum_z p(x^{(s)}, z)

    Parameters
    ----------
    n_components : int, default=1
        The number k of states.
    n_mix : int, default=1
        The number m of Gaussians in each state.
    covariance_type : {"diag", "full", "tied", "spherical"}, default="diag"
        A variance for each feature, a matrix each, one matrix for all, or one variance.
    min_covar : float, default=1e-6
        No eigenvalue of a covariance is below it.
    algorithm : {"viterbi", "map"}, default="viterbi"
        Whether `predict` gives the most probable path, or the most probable state of each step.
    training : {"baum-welch", "viterbi"}, default="baum-welch"
        Learn from the laws of the states, which maximises the likelihood; or from the most
        probable paths.
    params : str, default="stmcw"
        What is learned: any of the letters s (first law), t (transitions), m (means), c
        (covariances) and w (weights).
    init_params : str, default="stmcw"
        What `fit` chooses a start for, by the same letters. What is left out starts from the
        attribute, if that is set (by hand, by `from_parameters` or by an earlier fit), or else from
        what is given below.
    startprob_init : array-like or None, default=None
        The law of the first state to start from, of shape (n_components,); uniform if not given.
    transmat_init : array-like or None, default=None
        The transitions to start from, of shape (n_components, n_components). A zero stays zero.
    weights_init : array-like or None, default=None
        The weights to start from, of shape (n_components, n_mix); equal if not given.
    means_init : array-like or None, default=None
        The means to start from, of shape (n_components, n_mix, n_features); if not given, steps
        near the means of k-means.
    covars_init : array-like or None, default=None
        The covariances to start from, in the shape of `covars_`.
    startprob_prior : float or array-like, default=1.0
        The Dirichlet prior of the first law: adds itself less one to each expected count.
    transmat_prior : float or array-like, default=1.0
        The same for each row of transitions.
    weights_prior : float or array-like, default=1.0
        The same for the weights of each state, a number or of shape (n_components, n_mix).
    means_prior : float or array-like, default=0.0
        Where the means are drawn to, a number or of shape (n_components, n_mix, n_features).
    means_weight : float or array-like, default=0.0
        As how many steps that counts in each Gaussian, a number or of shape (n_components, n_mix).
    covars_prior : float, array-like or None, default=None
        Of the inverse gamma prior of a variance ("diag", "spherical") the shape a, a number or of
        shape (n_components, n_mix); of the inverse Wishart prior of a matrix ("full", "tied") the
        scale, a number for every entry or an array in the shape of `covars_`. None for that of a
        flat prior.
    covars_weight : float, array-like or None, default=None
        The scale b of the inverse gamma prior, or the degrees of freedom of the inverse Wishart
        prior, a number or of shape (n_components, n_mix); one number for "tied". None for that of
        a flat prior.
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
    weights_ : ndarray of shape (n_components, n_mix)
        The weights of the Gaussians of each state.
    means_ : ndarray of shape (n_components, n_mix, n_features)
        Their means.
    covars_ : ndarray
        Their covariances, of shape (k, m, d), (k, m, d, d), (d, d) or (k, m) by `covariance_type`.
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
    As in `GaussianHMM`, with the Gaussians of a state weighed by their shares in it at each step:
    EM for the path and for the part of each step at once, :math:`O(T k (k + m d))` an iteration
    with diagonal covariances. The first start takes states to be compact, further ones deal
    clusters out to the states by chance: where the parts of a state lie apart, ask for several
    (`n_init`). NaN is a missing entry and is marginalised exactly. Parts of a state that start
    alike stay alike. One matrix for all ("tied") is one for the parts of all states.

    The priors of a Gaussian are conjugate, and what is learned is the mode: a variance is the sum
    of squares with :math:`2 b` more, over the weight with :math:`2 a + 3` more; a matrix is the
    scatter with the scale more, over the weight with :math:`\nu + d + 2` more, or, for one matrix
    of all Gaussians, with :math:`\nu + d + 1` and their number more.

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
    >>> from panlearn.sequence import GMMHMM
    >>> near, far = np.tile([-1.0, 1.2, -1.2, 1.0], 10), np.tile([-6.0, 6.2, 6.0, -6.2], 10)
    >>> X = np.concatenate([near, far, near])[:, None]
    >>> model = GMMHMM(2, 2, means_init=[[[-1.0], [1.0]], [[-5.0], [5.0]]]).fit(X)
    >>> model.predict(X)[[0, 1, 39, 40, 41, 79, 80]]
    array([0, 0, 0, 1, 1, 1, 0])
    >>> model.means_[1].ravel().round(1)
    array([-6.1,  6.1])
    """

    learned = shapes(
        weights_="(n_components, n_mix)",
        means_="(n_components, n_mix, n_features)",
        covars_=By(
            "covariance_type",
            full="(n_components, n_mix, n_features, n_features)",
            tied="(n_features, n_features)",
            diag="(n_components, n_mix, n_features)",
            spherical="(n_components, n_mix)",
        ),
    )

    n_components: States = 1
    n_mix: States = 1
    _: KW_ONLY
    covariance_type: Literal["diag", "full", "tied", "spherical"] = "diag"
    min_covar: NonNegative[float] = 1e-6
    algorithm: Literal["viterbi", "map"] = "viterbi"
    training: Literal["baum-welch", "viterbi"] = "baum-welch"
    params: str = "stmcw"
    init_params: str = "stmcw"
    startprob_init: np.ndarray | None = None
    transmat_init: np.ndarray | None = None
    weights_init: np.ndarray | None = None
    means_init: np.ndarray | None = None
    covars_init: np.ndarray | None = None
    startprob_prior: Prior = 1.0
    transmat_prior: Prior = 1.0
    weights_prior: Prior = 1.0
    means_prior: float | np.ndarray = 0.0
    means_weight: NonNegative[float] | np.ndarray = 0.0
    covars_prior: float | np.ndarray | None = None
    covars_weight: float | np.ndarray | None = None
    max_iter: Positive[int] = 100
    tol: NonNegative[float] = 1e-4
    n_init: Starts = 1
    random_state: RandomState = None

    _letters = "stmcw"

    @classmethod
    def from_parameters(
        cls,
        startprob: Any,
        transmat: Any,
        weights: Any,
        means: Any,
        covars: Any,
        **parameters: Any,
    ) -> Self:
        """Make a model of known parameters, as if it were fitted.

        Parameters
        ----------
        startprob : array-like of shape (n_components,)
            The law of the first state.
        transmat : array-like of shape (n_components, n_components)
            The probabilities of transitions.
        weights : array-like of shape (n_components, n_mix)
            The weights of the Gaussians of each state.
        means : array-like of shape (n_components, n_mix, n_features)
            Their means.
        covars : array-like
            Their covariances, in the shape that belongs to `covariance_type`.
        **parameters
            Those of the class, such as `covariance_type`.

        Returns
        -------
        GMMHMM
        """
        k, m, d = matrix_shape("means", means, 3)
        shape = cls(k, m, **parameters)._shape(d)
        learned = {
            "startprob_": law("startprob", startprob, (k,)),
            "transmat_": law("transmat", transmat, (k, k)),
            "weights_": law("weights", weights, (k, m)),
            "means_": numbers("means", means, (k, m, d)),
            "covars_": numbers("covars", covars, shape),
        }
        return told(cls, k, learned | {"n_features_in_": d}, n_mix=m, **parameters)

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
        GMMHMM
            The model itself.
        """
        return self._learn_vectors(unstacked(X, lengths), unstacked(y, lengths), sample_weight)

    def _starts(self, rows: Rows) -> list[Emission]:
        """Emissions to start from: steps near the means of the states; the spread of all rows."""
        k, m, d, kind = self.n_components, self.n_mix, rows.n_features, KINDS[self.covariance_type]
        kind.require(k * m, d)
        rng = generator(self.random_state)
        sample = sample_steps(rows, k * m, rng)
        covariances = spread(kind, k * m, sample, self.min_covar)
        if (given := self._given("covars")) is not None:
            given = numbers("covars_init", given, self._shape(d))
            covariances = given.reshape(kind.shape(k * m, d))
        weights = law("weights_init", self._given("weights"), (k, m))
        if (given := self._given("means")) is not None:
            means = [numbers("means_init", given, (k, m, d))]
        else:
            means = part_means(rows, k, m, sample, self.n_init, rng)
        flat = [mean.reshape(k * m, d) for mean in means]
        rest = (covariances, self.min_covar, self._prior(d), self.params)
        parts = [GaussianEmission(kind, mean, *rest) for mean in flat]
        weights_prior = prior("weights_prior", self.weights_prior, (k, m))
        moving = "w" in self.params
        return [MixtureEmission(weights, part, moving, weights_prior) for part in parts]

    def _prior(self, d: int) -> GaussianPrior:
        """The conjugate priors as rows that were seen before."""
        shape = k, m = self.n_components, self.n_mix
        mean = spread_over("means_prior", self.means_prior, (k, m, d)).reshape(k * m, d)
        weight = spread_over("means_weight", self.means_weight, shape).reshape(k * m, 1)
        if self.covariance_type in ("diag", "spherical"):
            sides = 1 if self.covariance_type == "diag" else d  # squares that share a variance
            a = spread_over("covars_prior", _or(self.covars_prior, -sides / 2 - 1), shape).ravel()
            b = spread_over("covars_weight", _or(self.covars_weight, 0.0), shape).reshape(-1, 1)
            count, scatter = 1 + 2 * (a + 1) / sides, 2 * b / sides
        else:
            tied = self.covariance_type == "tied"
            free = d + 1 + (k * m if tied else 1)
            scale = spread_over("covars_prior", _or(self.covars_prior, 0.0), self._shape(d))
            freedom = _or(self.covars_weight, -float(free))
            count = free + spread_over("covars_weight", freedom, () if tied else shape).ravel()
            scatter = scale if tied else scale.reshape(k * m, d, d)
        if (weight < 0).any() or (count < 0).any():
            raise ValueError(
                "means_weight must not be negative, nor may covars_prior and covars_weight take "
                "weight away: None leaves the covariances to the rows"
            )
        return GaussianPrior(mean, weight, scatter, count)

    def _shape(self, d: int) -> tuple[int, ...]:
        """The shape of the covariances, states and parts apart."""
        k, m, kind = self.n_components, self.n_mix, KINDS[self.covariance_type]
        whole = kind.shape(k * m, d)
        return whole if self.covariance_type == "tied" else (k, m, *whole[1:])

    def _attributes(self, at: Chain, dtype: np.dtype) -> dict[str, Any]:
        emission: Any = at.emission
        parts, d = emission.parts, emission.parts.means.shape[1]
        with np.errstate(over="ignore", under="ignore"):  # infinities are refused later
            learned = {
                "startprob_": at.startprob,
                "transmat_": at.transmat,
                "weights_": emission.weights,
                "means_": parts.means.reshape(*emission.weights.shape, d),
                "covars_": parts.kind.stored(parts.covariances, dtype).reshape(self._shape(d)),
            }
            return {name: value.astype(dtype, copy=False) for name, value in learned.items()}

    def _emission(self) -> MixtureEmission:
        kind, (k, m, d) = KINDS[self.covariance_type], self.means_.shape
        means = self.means_.astype(float).reshape(k * m, d)
        covariances = self.covars_.astype(float).reshape(kind.shape(k * m, d))
        weights = self.weights_.astype(float)
        weights /= weights.sum(axis=1, keepdims=True)
        return MixtureEmission(weights, GaussianEmission(kind, means, covariances, self.min_covar))


def _or(given: Any, flat: float) -> Any:
    return flat if given is None else given
