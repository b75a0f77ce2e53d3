"""Hidden Markov models of vectors."""

from __future__ import annotations

import functools
import operator
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.estimator import fitting
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.sequences import read_sequences
from panlearn.core.sources import Rows, Sequences
from panlearn.core.statistics import Sums
from panlearn.latent._covariances import KINDS
from panlearn.latent._mixture_starts import require_values
from panlearn.latent._starts import RowSample, Starts, k_means_plus_plus
from panlearn.latent.kmeans import KMeans
from panlearn.sequence._emissions import Emission
from panlearn.sequence._gaussian import GaussianEmission
from panlearn.sequence._hidden_chain import Chain
from panlearn.sequence._hmm import HiddenMarkovModel, Prior, States, numbers


@dataclass(eq=False, repr=False)
class GaussianHMM(HiddenMarkovModel):
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

    n_components: States = 1
    _: KW_ONLY
    covariance_type: Literal["diag", "full", "tied", "spherical"] = "diag"
    min_covar: NonNegative[float] = 1e-6
    algorithm: Literal["viterbi", "map"] = "viterbi"
    training: Literal["baum-welch", "viterbi"] = "baum-welch"
    startprob_init: np.ndarray | None = None
    transmat_init: np.ndarray | None = None
    means_init: np.ndarray | None = None
    covars_init: np.ndarray | None = None
    startprob_prior: Prior = 1.0
    transmat_prior: Prior = 1.0
    max_iter: Positive[int] = 100
    tol: NonNegative[float] = 1e-4
    n_init: Starts = 1
    random_state: RandomState = None

    _kind = "vectors"

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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

        Returns
        -------
        GaussianHMM
            The model itself.
        """
        rows = read_sequences(
            self,
            X,
            y,
            sample_weight,
            kind="vectors",
            repeatable=True,
            allow_nan=True,
            n_states=self.n_components,
        )
        self._learn(rows, self._starts(rows))
        if not all(np.isfinite(v).all() for v in (self.means_, self.covars_)):
            raise ValueError(f"the covariances are beyond {rows.dtype}; rescale the columns of X")
        return self

    def _starts(self, rows: Rows) -> list[Emission]:
        """Emissions to start from: means of k-means, or of known states; the spread of all rows."""
        k, d, kind = self.n_components, rows.n_features, KINDS[self.covariance_type]
        rng = generator(self.random_state)
        salt, size = int(rng.integers(2**62)), max(10_000, 100 * k)
        sample = map_reduce(
            lambda X, y, weight: _sampled(X, weight, salt, size),
            rows,
            require_finite=False,
        )
        require_values(sample)
        with np.errstate(over="ignore", invalid="ignore"):
            filled = np.where(np.isnan(sample.rows), sample.mean, sample.rows)
            spread = np.vdot(filled - sample.mean, filled - sample.mean)
        if not np.isfinite(spread):
            raise ValueError(
                "the squares of X overflow: rescale its columns, for example with "
                "sklearn.preprocessing.StandardScaler"
            )
        if self.covars_init is None:
            part = kind.part(np.diag(np.maximum(sample.variance, self.min_covar)))
            covariances = kind.maximise(np.stack([part] * k), np.ones(k), self.min_covar)
        else:
            covariances = numbers("covars_init", self.covars_init, kind.shape(k, d))
        if self.means_init is not None:
            means = [numbers("means_init", self.means_init, (k, d))]
        else:
            means = [_centres(filled, sample.weight_of, k, rng) for _ in range(self.n_init)]
            known = map_reduce(lambda X, y, weight: _labelled(X, y, weight, k, sample.mean), rows)
            means = [_pinned(m, known, sample.mean) for m in means]
        return [GaussianEmission(kind, m, covariances, self.min_covar) for m in means]

    def _attributes(self, at: Chain, dtype: np.dtype) -> dict[str, Any]:
        emission: Any = at.emission
        learned = {
            "startprob_": at.startprob,
            "transmat_": at.transmat,
            "means_": emission.means,
            "covars_": emission.covariances,
        }
        with np.errstate(over="ignore", under="ignore"):
            return {name: value.astype(dtype, copy=False) for name, value in learned.items()}

    def _emission(self) -> GaussianEmission:
        means, covars = self.means_.astype(float), self.covars_.astype(float)
        return GaussianEmission(KINDS[self.covariance_type], means, covars, self.min_covar)

    def _values(self, X: Any) -> tuple[Sequences, bool]:
        return self._read(X)

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
        X : ndarray of shape (n_steps, n_features)
        states : ndarray of shape (n_steps,)
        """
        X, states = self._draw(n_steps, random_state)
        return X.astype(self.means_.dtype, copy=False), states


@dataclass(frozen=True)
class Labelled(Sums):
    """Weight and sum of the steps whose state is known, each state, about a centre."""

    count: np.ndarray
    total: np.ndarray


def _labelled(X: Sequences, y: Any, weight: Any, k: int, centre: np.ndarray) -> Labelled:
    if y is None:
        return Labelled(np.zeros(k), np.zeros((k, len(centre))))
    w = np.ones(len(y)) if weight is None else _of_steps(X, weight)
    one_hot = (np.arange(k)[:, None] == y) * w
    return Labelled(one_hot.sum(axis=1), one_hot @ np.nan_to_num(X.values - centre, nan=0.0))


def _pinned(centres: np.ndarray, known: Labelled, centre: np.ndarray) -> np.ndarray:
    """Known states at their own means, the others at the centres farthest from these."""
    found = known.count > 0
    if not found.any():
        return centres
    out = known.total / np.where(found, known.count, 1)[:, None] + centre
    for j in np.flatnonzero(~found):
        distance = ((centres[:, None] - out[None, found]) ** 2).sum(axis=2).min(axis=1)
        out[j], found[j] = centres[distance.argmax()], True
    return out


def _centres(X: np.ndarray, weight: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    if len(X) <= k:
        return X[k_means_plus_plus(X, weight, k, rng)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusters = KMeans(k, random_state=int(rng.integers(2**31))).fit(X, sample_weight=weight)
    return clusters.cluster_centers_


def _sampled(X: Sequences, weight: Any, salt: int, size: int) -> RowSample:
    """A sample of the steps; a long sequence is one block, and is sampled part by part."""
    of_step, step = _of_steps(X, weight), 1 << 18
    parts = [slice(i, i + step) for i in range(0, max(len(X.values), 1), step)]
    return functools.reduce(
        operator.add,
        (
            RowSample.of(X.values[p], None if of_step is None else of_step[p], salt=salt, size=size)
            for p in parts
        ),
    )


def _of_steps(X: Sequences, weight: Any) -> np.ndarray | None:
    """The weight of a sequence is that of each of its steps."""
    return None if weight is None else np.repeat(weight.astype(float), X.lengths)
