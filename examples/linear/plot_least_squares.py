"""
Least squares and its weights
=============================

Ten precise measurements and thirty poor ones of the same line. Ordinary least squares treats
them alike and follows the poor ones; weights equal to the inverse variances do not. The lower
panel repeats the experiment: weighting shrinks the spread of the slope.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.linear import LinearRegression

rng = np.random.default_rng(3)
x = np.linspace(0, 10, 40)
sigma = np.where(np.arange(40) % 4 == 0, 0.3, 4.0)
truth = 1 + 0.8 * x
X, weight = x[:, None], 1 / sigma**2


def fit_both(y):
    """Fit the line without and with weights."""
    return LinearRegression().fit(X, y), LinearRegression().fit(X, y, sample_weight=weight)


y = truth + sigma * rng.normal(size=40)
plain, weighted = fit_both(y)
repeats = (truth + sigma * rng.normal(size=40) for _ in range(1000))
slopes = np.array([[model.coef_[0] for model in fit_both(targets)] for targets in repeats])

fig, (top, bottom) = plt.subplots(2, 1, figsize=(7, 7), height_ratios=[2, 1], layout="constrained")
precise = sigma < 1
top.errorbar(x[~precise], y[~precise], 4.0, fmt="o", color="0.75", label="poor measurements")
top.errorbar(x[precise], y[precise], 0.3, fmt="o", color="black", label="precise measurements")
top.plot(x, truth, color="0.3", linestyle=":", label="truth")
top.plot(x, plain.predict(X), color="C1", label="ordinary least squares")
top.plot(x, weighted.predict(X), color="C0", label="weighted by 1 / variance")
top.set(xlabel="x", ylabel="y", title="One experiment", ylim=(-24, 22))
top.legend(loc="lower right", ncols=2)
bins = np.linspace(0, 1.6, 60)
for column, colour, name in [(0, "C1", "ordinary"), (1, "C0", "weighted")]:
    label = f"{name}: {slopes[:, column].std():.3f}"
    bottom.hist(slopes[:, column], bins, color=colour, alpha=0.6, label=label)
bottom.axvline(0.8, color="0.3", linestyle=":")
bottom.set(xlabel="slope", ylabel="experiments", title="A thousand experiments")
bottom.legend(title="standard deviation")
plt.show()
