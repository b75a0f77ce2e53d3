r"""
States that are mixtures
========================

A machine is idle or at work, and in either state its two sensors settle in one of two places. A
Gaussian for each state must cover both places at once, and the two states overlap; a mixture for
each state finds the places, and with them the states.
"""

# %%
# Each state keeps for long; within it the two places come as they like.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.sequence import GMMHMM, GaussianHMM, MarkovChain

truth = MarkovChain.from_transition([[0.98, 0.02], [0.03, 0.97]]).sample(1500, random_state=2)
rng = np.random.default_rng(2)
places = np.array([[[-2.0, 0.0], [2.0, 0.0]], [[0.0, -2.0], [0.0, 2.0]]])
X = places[truth, rng.integers(2, size=1500)] + 0.6 * rng.normal(size=(1500, 2))

# %%
# Both models start from five places and keep the best; the information criterion prefers the
# mixtures.

models = {
    "a Gaussian for each state": GaussianHMM(2, covariance_type="full", n_init=5, random_state=1),
    "two for each state": GMMHMM(2, 2, covariance_type="spherical", n_init=10, random_state=1),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), sharey=True, layout="constrained")
axes[0].scatter(*X.T, c=truth, cmap="coolwarm", s=6)
axes[0].set(title="the true states", xlabel="first sensor", ylabel="second sensor")
for axis, (name, model) in zip(axes[1:], models.items(), strict=True):
    states = model.fit(X).predict(X)
    agree = np.mean(states == truth)
    states = states if agree > 0.5 else 1 - states
    axis.scatter(*X.T, c=states, cmap="coolwarm", s=6)
    means = model.means_.reshape(-1, 2)
    axis.plot(*means.T, "k+", markersize=14, markeredgewidth=2)
    axis.set(title=f"{name}: {max(agree, 1 - agree):.1%}", xlabel="first sensor")
    print(f"{name}: BIC {model.bic(X):.0f}")
plt.show()
