r"""
A state that remembers
======================

A state of N numbers that follows :math:`c' = (A c + B f) / t` with the HiPPO-LegS matrix holds, at
every moment, the best polynomial of degree N - 1 for all that was seen until then. It has no
window: an older past takes the same room as a recent one, and all of it is held a little less
sharply as it grows.
"""

# %%
# Noise without its highest frequencies, remembered by states of three sizes.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.statespace import hippo

rng = np.random.default_rng(0)
n_steps = 1000
signal = np.convolve(rng.normal(size=n_steps + 80), np.hanning(81) / 8, mode="valid")
sizes = (4, 16, 64)
states = {size: hippo.remember(signal, size) for size in sizes}

# %%
# Above, what can be drawn again from the state after the last step, and from that after the 400th,
# which knows nothing of what follows. Below, the state itself: the coefficients of the polynomials
# over time, and how far the drawing is off as the past grows.

figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
for axis, seen in zip(axes[0], (400, n_steps), strict=True):
    axis.plot(signal, color="0.8", lw=3, label="signal")
    for size in sizes:
        axis.plot(hippo.reconstruct(states[size][seen - 1], seen), lw=1, label=f"{size} numbers")
    axis.axvline(seen, color="k", ls="--", lw=1)
    axis.set(xlabel="step", title=f"drawn from the state after {seen} steps", xlim=(0, n_steps))
axes[0, 0].legend(loc="upper right")

axes[1, 0].plot(states[16][:, :6])
axes[1, 0].set(xlabel="step", title="the first six of 16 coefficients")
moments = np.arange(50, n_steps + 1, 50)
for size in sizes:
    errors = [
        np.sqrt(np.mean((hippo.reconstruct(states[size][k - 1], k) - signal[:k]) ** 2))
        for k in moments
    ]
    axes[1, 1].plot(moments, errors, "o-", ms=3, label=f"{size} numbers")
axes[1, 1].set(xlabel="steps seen", title="root mean square error over all of them")
axes[1, 1].legend()
plt.show()
