r"""
Four samplers on one curved law
===============================

A banana-shaped density is easy to write down and hard to walk on: its two coordinates are bent
together, and no linear map straightens them. A random walk, Langevin's dynamics with acceptance,
and Hamilton's dynamics all have the law as their limit, but the number of independent draws that a
run is worth differs by far.
"""

# %%
# The density and its gradient, for many chains at once: rows are chains.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.montecarlo import diagnostics, gibbs, hamiltonian, langevin, metropolis_hastings


def log_density(x):
    """The log density of the banana."""
    return -(x[:, 0] ** 2) / 2 - 2 * (x[:, 1] - x[:, 0] ** 2 / 2) ** 2


def score(x):
    """Its gradient."""
    bend = 4 * (x[:, 1] - x[:, 0] ** 2 / 2)
    return np.column_stack([-x[:, 0] + bend * x[:, 0], -bend])


def draw_first(rng, x):
    """The first coordinate given the second has no simple law: slice it on a grid."""
    grid = np.linspace(-5, 5, 401)
    bend = x[:, 1:] - grid**2 / 2
    weight = np.exp(-(grid**2) / 2 - 2 * bend**2).cumsum(axis=1)
    u = rng.random((len(x), 1)) * weight[:, -1:]
    return grid[(weight < u).sum(axis=1)] + rng.uniform(-0.0125, 0.0125, len(x))


start = np.random.default_rng(0).normal(size=(16, 2))
loop = dict(n_draws=1000, n_warmup=1000, random_state=0)
runs = {
    "Metropolis": metropolis_hastings(log_density, start, **loop),
    "Gibbs": gibbs([draw_first, lambda r, x: r.normal(x[:, 0] ** 2 / 2, 0.5)], start, **loop),
    "Langevin": langevin(score, start, log_density=log_density, **loop),
    "Hamiltonian": hamiltonian(log_density, score, start, target_acceptance=0.98, **loop),
}

# %%
# Above, the first hundred draws of one chain over the contours of the law; below, how soon the
# second coordinate forgets where it was. The titles have the effective sample sizes of all
# draws, at the worse of the two coordinates.

figure, axes = plt.subplots(2, 4, figsize=(14, 6.5), layout="constrained", sharey="row")
a, b = np.meshgrid(np.linspace(-3.2, 3.2, 200), np.linspace(-2, 6, 200))
height = log_density(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
for (name, draws), above, below in zip(runs.items(), axes[0], axes[1], strict=True):
    above.contour(a, b, height, levels=[-6, -4, -2, -1, -0.3], colors="0.75", linestyles="-")
    above.plot(*draws.draws[0, :100].T, "o-", color="C0", markersize=3, linewidth=0.6)
    size = diagnostics.ess_bulk(draws.draws).min()
    above.set(title=f"{name}: {size:.0f} effective draws", xlim=(-3.2, 3.2), ylim=(-2, 6))
    lags = diagnostics.autocorrelation(draws.draws)[:, :60, 1].mean(axis=0)
    below.bar(np.arange(60), lags, width=1.0)
    below.set(xlabel="lag")
axes[1, 0].set_ylabel("autocorrelation")
plt.show()
