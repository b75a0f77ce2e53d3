r"""
What was there when nothing was seen
====================================

A Kalman filter follows a point from noisy positions, some of which are missing. The smoother looks
back from the end, so in a gap it knows where the path went on; the filter does not.
"""

# %%
# A point moves in the plane with a velocity that drifts. Its position is seen with noise, and for
# twenty steps not at all. The noise is not known: EM learns both covariances from the series.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.sequence import KalmanFilter

F = np.kron([[1.0, 1.0], [0.0, 1.0]], np.eye(2))
H = np.hstack([np.eye(2), np.zeros((2, 2))])
moves = KalmanFilter.from_matrices(F, H, np.diag([0, 0, 0.02, 0.02]), 4.0 * np.eye(2))
seen, states = moves.sample(120, random_state=4)
seen[60:80] = np.nan

model = KalmanFilter(
    transition=F,
    observation=H,
    observation_offset=[0.0, 0.0],
    transition_covariance=np.diag([0.0, 0.0, 1.0, 1.0]),
    observation_covariance=np.eye(2),
    initial_mean=np.zeros(4),
    initial_covariance=np.eye(4),
    learn={
        "transition_covariance": np.diag([False, False, True, True]),
        "observation_covariance": True,
    },
    max_iter=300,
).fit(seen)
print("noise of the velocity", np.diag(model.transition_covariance_)[2:].round(3))
print("noise of the position", np.diag(model.observation_covariance_).round(2))

# %%
# On the left the path; ellipses hold a state of the gap with 95 %. On the right the standard
# deviation of the first coordinate, and a forecast would go on as the filter does in the gap.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
left.plot(*states[:, :2].T, color="0.6", lw=3, label="true path")
left.plot(*seen.T, ".", color="C0", alpha=0.5, label="seen")
circle = np.column_stack([np.cos(np.linspace(0, 7)), np.sin(np.linspace(0, 7))])
circle *= np.sqrt(-2 * np.log(1 - 0.95))  # the radius that holds as much of a plane
for name, (means, covariances), colour in [
    ("filter", model.filter(seen), "C1"),
    ("smoother", model.smooth(seen), "C2"),
]:
    left.plot(*means[:, :2].T, color=colour, lw=1.5, label=name)
    for t in (66, 73, 79):
        ellipse = means[t, :2] + circle @ np.linalg.cholesky(covariances[t, :2, :2]).T
        left.plot(*ellipse.T, color=colour, lw=0.8)
    right.plot(np.sqrt(covariances[:, 0, 0]), color=colour, label=name)
left.set(xlabel="x", ylabel="y", xlim=(60, 180), ylim=(75, 170), aspect="equal")
left.legend()
right.axvspan(60, 79, color="0.92", label="nothing seen")
right.set(xlabel="step", ylabel="standard deviation of x", yscale="log")
right.legend()
plt.show()
