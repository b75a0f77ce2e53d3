"""
The noise of stochastic gradients
=================================

At a constant step the iterates of stochastic gradient descent never settle: they wander in a cloud
about the minimum, and the cloud is smaller for a smaller step or a larger batch. A decaying step or
the average of the iterates settles.
"""

# %%
# Least squares with two weights and 200 rows.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.optimize import schedules, stochastic_gradient_descent

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2)) @ np.array([[1.0, 0.4], [0.0, 0.6]])
y = X @ [1.0, -1.0] + rng.normal(size=200)
best = np.linalg.lstsq(X, y)[0]


def loss(w, rows):
    """The mean loss of some rows."""
    return float(((X[rows] @ w - y[rows]) ** 2).mean() / 2)


def slope(w, rows):
    """Its gradient."""
    return X[rows].T @ (X[rows] @ w - y[rows]) / len(y[rows])


RUNS = {
    "step 0.2": {"step": 0.2},
    "step 0.02": {"step": 0.02},
    "step 0.2, batches of 20": {"step": 0.2, "batch_size": 20},
    "step 0.2 / (1 + k/50)": {"step": 0.2, "schedule": schedules.inverse_time(0.02)},
    "step 0.2, averaged": {"step": 0.2, "average": True},
}

# %%
# Above: the iterates at the ends of 100 epochs of two runs. Below: the mean of the objective
# above its minimum.

figure, panels = plt.subplot_mosaic(
    [[*RUNS], ["curve"] * len(RUNS)], figsize=(13, 6.5), layout="constrained"
)
curve = panels["curve"]
for index, (name, options) in enumerate(RUNS.items()):
    panel = panels[name]
    runs = [
        stochastic_gradient_descent(
            loss, [0.0, 0.0], jac=slope, n_samples=200, epochs=100, random_state=seed, **options
        )
        for seed in range(2)
    ]
    panel.plot(
        *np.concatenate([run.path[1:] for run in runs]).T,
        ".",
        color=f"C{index}",
        alpha=0.5,
        markersize=5,
    )
    panel.plot(*best, "k+", markersize=14, markeredgewidth=2)
    panel.set_title(name, color=f"C{index}", fontsize=10)
    panel.set(xlim=best[0] + np.array([-0.9, 0.9]), ylim=best[1] + np.array([-0.9, 0.9]))
    gap = np.mean([run.fun_values for run in runs], axis=0) - loss(best, slice(None))
    curve.loglog(np.arange(1, 101), gap[1:], color=f"C{index}", label=name)
curve.set(xlabel="epoch", ylabel="objective above its minimum")
curve.legend(loc="lower left")
plt.show()
