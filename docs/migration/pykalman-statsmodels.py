"""
From pykalman and statsmodels
=============================

A Kalman filter is an estimator whose ``fit`` learns the matrices by EM; with matrices at hand
``from_matrices`` is enough. NaN is an observation that was not made.
"""
# ruff: noqa: E402

# %% data
import numpy as np

F, H = np.array([[1.0, 0.1], [0.0, 0.95]]), np.array([[1.0, 0.0]])
Q, R = 0.01 * np.eye(2), np.array([[0.5]])
rng = np.random.default_rng(0)
Y = np.cumsum(rng.normal(size=(80, 1)), axis=0)
Y[30:35] = np.nan

# %% theirs: Filter and smooth with gaps (pykalman)
import pykalman

theirs = pykalman.KalmanFilter(
    transition_matrices=F,
    observation_matrices=H,
    transition_covariance=Q,
    observation_covariance=R,
    initial_state_mean=np.zeros(2),
    initial_state_covariance=np.eye(2),
)
their_means, their_covariances = theirs.smooth(np.ma.masked_invalid(Y))

# %% ours
from panlearn.sequence import KalmanFilter

ours = KalmanFilter.from_matrices(F, H, Q, R)
means, covariances = ours.smooth(Y)

# %% same
np.testing.assert_allclose(means, their_means, atol=1e-9)
np.testing.assert_allclose(covariances, their_covariances, atol=1e-9)

# %% theirs: The likelihood of a series (statsmodels)
from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

theirs = KalmanSmoother(k_endog=1, k_states=2, tolerance=0)
theirs.bind(np.asfortranarray(Y.T))
theirs["design"], theirs["transition"], theirs["selection"] = H, F, np.eye(2)
theirs["state_cov"], theirs["obs_cov"] = Q, R
theirs.initialize_known(np.zeros(2), np.eye(2))
likelihood = theirs.smooth().llf

# %% ours
found = ours.score_samples(Y)[0]

# %% same
np.testing.assert_allclose(found, likelihood, rtol=1e-8)

# %% theirs: Least squares with standard errors (statsmodels)
import statsmodels.api as sm

X = rng.normal(size=(60, 3))
y = X @ [1.0, -2.0, 0.0] + rng.normal(size=60)
theirs = sm.OLS(y, sm.add_constant(X)).fit()

# %% ours
from panlearn.linear import LinearRegression

summary = LinearRegression().fit(X, y).summary(X, y)

# %% same
np.testing.assert_allclose(summary.std_err, theirs.bse, rtol=1e-7)
np.testing.assert_allclose(summary.p_value, theirs.pvalues, rtol=1e-5, atol=1e-12)
