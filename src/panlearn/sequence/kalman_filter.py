"""Linear Gaussian state spaces: the Kalman filter and smoother, forecasts, and EM."""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from panlearn.core.em import expectation_maximisation
from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.parameters import NonNegative, Positive, RandomState, check_parameters
from panlearn.core.progress import Iterative
from panlearn.core.random import generator
from panlearn.core.sequences import map_blocks, read_sequences
from panlearn.core.sources import Block, SequenceRows, Sequences
from panlearn.sequence._gaussian_starts import filled, sample_steps
from panlearn.sequence._hmm import States
from panlearn.sequence._linear_gaussian import LinearGaussianModel
from panlearn.sequence._state_space import StateSpace
from panlearn.sequence._state_space_learning import Learner, expect
from panlearn.sequence._state_space_parameters import (
    FIELDS,
    asked_for,
    attributes,
    controls,
    dimension,
    free_entries,
    guess,
    read,
    state_space,
)


@dataclass(eq=False, repr=False)
class KalmanFilter(Iterative, LinearGaussianModel):
    r"""A state that moves linearly with Gaussian noise, and is seen through Gaussian noise.

    .. math::
        x_{t+1} = F x_t + B u_t + w_t, \quad w_t \sim \mathcal{N}(0, Q), \qquad
        y_t = H x_t + d + v_t, \quad v_t \sim \mathcal{N}(0, R), \qquad
        x_1 \sim \mathcal{N}(m, P)

    Parameters
    ----------
    n_states : int or None, default=None
        The dimension of the state; that of the given matrices, or else one.
    transition : array-like or None, default=None
        F, of shape (n, n), or (T, n, n) if it varies with time.
    observation : array-like or None, default=None
        H, of shape (m, n), or (T, m, n).
    transition_covariance : array-like or None, default=None
        Q, of shape (n, n), or (T, n, n).
    observation_covariance : array-like or None, default=None
        R, of shape (m, m), or (T, m, m).
    control : array-like or None, default=None
        B, of shape (n, p), or (T, n, p).
    observation_offset : array-like or None, default=None
        d, of shape (m,).
    start : {"known", "stationary", "diffuse"} or a tuple of them, default="known"
        The first state has the law of `initial_mean` and `initial_covariance`; or the one that F
        and Q keep; or none, the limit of an infinite variance. A tuple has a word for each
        component of the state; those that are stationary must not move with the others.
    initial_mean : array-like or None, default=None
        m, of shape (n,).
    initial_covariance : array-like or None, default=None
        P, of shape (n, n).
    learn : tuple of str, dict or None, default=None
        What `fit` learns: names of the parameters above, or for each name True or a mask of the
        entries, the others staying as given. If None, whatever is not given. What is neither given
        nor learned is nothing (`control`), zero (the offset, `initial_mean`) or one
        (`initial_covariance`); the four matrices have no such default.
    max_iter : int, default=100
        The most iterations of EM.
    tol : float, default=1e-6
        The loop ends when the log-likelihood of a step, on average, changes by no more than this.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the start of what is learned and not given.

    Attributes
    ----------
    transition_, observation_, transition_covariance_, observation_covariance_ : ndarray
        The matrices, given or learned.
    control_, observation_offset_, initial_mean_, initial_covariance_ : ndarray
        The same; the initial ones are not used with another start.
    n_iter_ : int
        Iterations done; 0 if there was nothing to learn.
    converged_ : bool
        Whether `tol` was reached.
    history_ : dict
        ``log_likelihood`` (mean of a step) before, and ``change`` of, each iteration.
    n_features_in_ : int
        The dimension m of an observation.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    Covariances are kept as triangular factors that orthogonal rotations bring up to date, so they
    stay positive semidefinite over any number of steps and with any noise; a step costs
    :math:`O((n + m)^3)`, or :math:`O(n^3 + n m)` if more than n entries are seen and none is
    missing, and next to nothing once the covariance of matrices that do not vary has
    come to rest. A component that is NaN is not observed, alone or with others. A model whose
    matrices are known is made by `from_matrices`, without `fit`. EM never lowers the likelihood
    (but for a stationary start, which moves with the noise); covariances are learned
    whole, or a block or the diagonal of one by a mask.

    Covariances may be singular, also that of the first state or of the observations. A component
    that what came before determines adds nothing to the likelihood, and a covariance that is
    learned keeps the range of its start.

    A diffuse start is exact. Its log-likelihood is the limit of
    :math:`\log p(y) + \tfrac{d}{2} \log \kappa`, as a variance :math:`\kappa` of the first state
    grows and d of its directions show: a component that fixes one adds
    :math:`-\tfrac{1}{2} \log 2 \pi F_\infty`. Durbin and Koopman have the same, and so has
    statsmodels; some programs leave the :math:`2 \pi` of these out. Until a direction has shown,
    its variance is infinite.

    References
    ----------
    R. E. Kalman (1960). A new approach to linear filtering and prediction problems. Journal of
    Basic Engineering 82(1). doi:10.1115/1.3662552

    J. Durbin and S. J. Koopman (2012). Time Series Analysis by State Space Methods, chapter 5.
    Oxford University Press. doi:10.1093/acprof:oso/9780199641178.001.0001

    T. Kailath, A. H. Sayed and B. Hassibi (2000). Linear Estimation, chapter 12. Prentice Hall.

    R. H. Shumway and D. S. Stoffer (1982). An approach to time series smoothing and forecasting
    using the EM algorithm. Journal of Time Series Analysis 3(4).
    doi:10.1111/j.1467-9892.1982.tb00349.x

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.sequence import KalmanFilter
    >>> walk = KalmanFilter.from_matrices(
    ...     [[1.0]], [[1.0]], [[1.0]], [[1.0]], initial_covariance=[[2.0]]
    ... )
    >>> means, covariances = walk.filter([[1.0], [np.nan], [2.0]])
    >>> means.ravel().round(3)
    array([0.667, 0.667, 1.636])
    >>> covariances.ravel().round(3)
    array([0.667, 1.667, 0.727])
    """

    learned = shapes(
        transition_="(n_states, n_states) or (*, n_states, n_states)",
        control_="(n_states, n_controls) or (*, n_states, n_controls)",
        transition_covariance_="(n_states, n_states) or (*, n_states, n_states)",
        observation_="(n_features, n_states) or (*, n_features, n_states)",
        observation_offset_="(n_features,)",
        observation_covariance_="(n_features, n_features) or (*, n_features, n_features)",
        initial_mean_="(n_states,)",
        initial_covariance_="(n_states, n_states)",
    )

    n_states: States | None = None
    _: KW_ONLY
    transition: np.ndarray | None = None
    observation: np.ndarray | None = None
    transition_covariance: np.ndarray | None = None
    observation_covariance: np.ndarray | None = None
    control: np.ndarray | None = None
    observation_offset: np.ndarray | None = None
    start: Literal["known", "stationary", "diffuse"] | tuple | list = "known"
    initial_mean: np.ndarray | None = None
    initial_covariance: np.ndarray | None = None
    learn: tuple | list | dict | None = None
    max_iter: Positive[int] = 100
    tol: NonNegative[float] = 1e-6
    random_state: RandomState = None

    @classmethod
    def from_matrices(
        cls,
        transition: Any,
        observation: Any,
        transition_covariance: Any,
        observation_covariance: Any,
        **parameters: Any,
    ) -> Self:
        """Make a model of known matrices, as if it were fitted.

        Parameters
        ----------
        transition, observation, transition_covariance, observation_covariance : array-like
            F, H, Q and R.
        **parameters
            The others: `control`, `observation_offset`, `start`, `initial_mean` and
            `initial_covariance`; nothing, zero, "known", zero and the identity by default.

        Returns
        -------
        KalmanFilter
        """
        model = cls(
            transition=transition,
            observation=observation,
            transition_covariance=transition_covariance,
            observation_covariance=observation_covariance,
            **parameters,
        )
        check_parameters(model)
        given = parameters_of(model)
        n, m = given["transition"].shape[-1], given["observation"].shape[-2]
        rest = {
            "control": np.zeros((n, 0)),
            "observation_offset": np.zeros(m),
            "initial_mean": np.zeros(n),
            "initial_covariance": np.eye(n),
        }
        for name, value in attributes(state_space(rest | given, model.start)).items():
            setattr(model, name, value)
        model.n_features_in_ = m
        return model

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, control: Any = None) -> Self:
        """Learn what is not given from series.

        Parameters
        ----------
        X : array-like of shape (T, n_features), list of them, Batches or Dask bag
            One series, or several of any lengths; NaN is not observed. A stream brings lists of
            series and is walked several times.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights; an integer weight is a repeated series.
        control : array-like of shape (T, n_controls), or list of them, default=None
            The inputs u, for series in memory.

        Returns
        -------
        KalmanFilter
            The model itself.
        """
        rows = read_sequences(self, X, None, sample_weight, kind="vectors", repeatable=True)
        p, dtype, given = 0, rows.dtype, parameters_of(self)
        rng = generator(self.random_state)
        sample = sample_steps(rows, 1, rng)
        centre = sample.mean  # taken off, so that no digits are lost to an offset
        if control is not None:
            if not isinstance(rows, SequenceRows):
                raise ValueError("control goes with series in memory, not with a stream or a bag")
            inputs = controls(control, rows.X)
            p = inputs.shape[1]
            joined = np.hstack([rows.X.values, inputs])
            rows = SequenceRows(Sequences(joined, rows.X.offsets), None, rows.weight)
        elif self.control is not None:
            raise ValueError("the model has a control matrix, so fit needs the inputs: control=...")
        by = np.concatenate([centre, np.zeros(p)])
        rows = map_blocks(rows, functools.partial(_shift, by=by))
        asked = asked_for(self.learn, given)
        offset = given.get("observation_offset", np.zeros_like(centre))
        if offset.shape != centre.shape:
            raise ValueError(
                f"observation_offset must have the shape {centre.shape}; got {offset.shape}"
            )
        if "observation_offset" in given or "observation_offset" not in asked:
            given["observation_offset"] = offset - centre
        n = dimension(given, self.n_states) or 1
        model = state_space(guess(given, filled(sample) - centre, n, p, rng), self.start)
        free = free_entries(model, asked, given)

        def described(model: StateSpace) -> dict[str, np.ndarray]:
            return attributes(replace(model, d=model.d + centre), dtype)

        self.n_iter_, self.converged_, self.history_ = 0, True, dict[str, list[float]]()
        if any(mask.any() for mask in free.values()):
            model = expectation_maximisation(
                self,
                rows,
                model,
                expect=expect,
                maximise=Learner(model, free).maximise,
                max_iter=self.max_iter,
                tol=self.tol,
                attributes=described,
            )
        for name, value in described(model).items():
            setattr(self, name, value)
        return self


def _shift(block: Block, by: np.ndarray) -> Block:
    X = block.X
    return Block(Sequences(X.values.astype(float) - by, X.offsets), block.y, block.weight)


def parameters_of(model: KalmanFilter) -> dict[str, np.ndarray]:
    """The parameters that a model was given."""
    return read({name: getattr(model, name) for name in FIELDS})
