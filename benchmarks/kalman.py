"""The Kalman filter and smoother against statsmodels, filterpy and pykalman."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Workload
from panlearn.sequence import KalmanFilter

T = 20_000


def target(gaps=0.0, axes=2, steps=T):
    """Points with damped acceleration along some axes, their positions seen through noise."""
    dt, rng = 0.1, np.random.default_rng(0)
    F = np.kron(np.eye(axes), [[0.99, dt, dt**2 / 2], [0, 0.98, dt], [0, 0, 0.95]])
    H = np.kron(np.eye(axes), [[1.0, 0.0, 0.0]])
    model = KalmanFilter.from_matrices(F, H, 0.01 * np.eye(3 * axes), 0.5 * np.eye(axes))
    Y, states = model.sample(steps, 0)
    Y[rng.random(Y.shape) < gaps] = np.nan
    return Y, states, model


def ours(data):
    Y, _, model = data
    return model.smooth(Y)[0]


def statsmodels(data):
    from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

    Y, _, model = data
    seen, hidden = model.observation_.shape
    smoother = KalmanSmoother(k_endog=seen, k_states=hidden)
    smoother.bind(np.asfortranarray(Y.T))
    smoother["design"], smoother["transition"] = model.observation_, model.transition_
    smoother["selection"], smoother["state_cov"] = np.eye(hidden), model.transition_covariance_
    smoother["obs_cov"] = model.observation_covariance_
    smoother.initialize_known(np.zeros(hidden), np.eye(hidden))
    return smoother.smooth().smoothed_state.T


def filterpy(data):
    from filterpy.kalman import KalmanFilter as Peer

    Y, _, model = data
    peer = Peer(6, 2)
    peer.x, peer.P, peer.F, peer.H = np.zeros(6), np.eye(6), model.transition_, model.observation_
    peer.Q, peer.R = model.transition_covariance_, model.observation_covariance_
    means, covariances, _, _ = peer.batch_filter(Y, update_first=True)
    return peer.rts_smoother(means, covariances)[0]


def pykalman(data):
    from pykalman import KalmanFilter as Peer

    Y, _, model = data
    peer = Peer(
        transition_matrices=model.transition_,
        observation_matrices=model.observation_,
        transition_covariance=model.transition_covariance_,
        observation_covariance=model.observation_covariance_,
        initial_state_mean=np.zeros(6),
        initial_state_covariance=np.eye(6),
    )
    return peer.smooth(np.ma.masked_invalid(Y))[0]


def quality(data, means):
    _, states, _ = data
    return {"RMSE of the state": float(np.sqrt(np.mean((means - states) ** 2)))}


def workloads() -> Iterator[Workload]:
    peers = {
        "panlearn": ours,
        "statsmodels": statsmodels,
        "filterpy": filterpy,
        "pykalman": pykalman,
    }
    yield Workload(
        "Kalman filter and smoother, 20000 steps, 6 states", "KalmanFilter", target, peers, quality
    )
    some = {name: peers[name] for name in ("panlearn", "statsmodels")}
    yield Workload(
        "the same with a fifth of the entries missing",
        "KalmanFilter",
        lambda: target(0.2),
        some,
        quality,
    )
    yield Workload(
        "Kalman filter and smoother, 5000 steps, 30 states",
        "KalmanFilter",
        lambda: target(axes=10, steps=5000),
        some,
        quality,
    )
