"""
Robust regression: three losses, five outliers
==============================================

Five of forty points are gross errors at the right end. Least squares turns towards them; Huber's
loss gives them a bounded pull, and least absolute deviations too. Moving the five further away
moves least squares further, and the other two not at all.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.linear import HuberRegressor, LeastAbsoluteDeviations, LinearRegression

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 10, 40))
X, truth = x[:, None], 2 + 1.5 * x
clean = truth + 0.8 * rng.normal(size=40)
outlying = np.arange(40) >= 35


def with_outliers(shift):
    """Give the targets with the last five moved down."""
    return np.where(outlying, clean - shift, clean)


models = {
    "least squares": (LinearRegression(), "C1"),
    "Huber": (HuberRegressor(), "C0"),
    "least absolute deviations": (LeastAbsoluteDeviations(), "C2"),
}
y = with_outliers(25.0)
shifts = np.linspace(0, 60, 31)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
left.scatter(x[~outlying], y[~outlying], s=18, color="0.3")
left.scatter(x[outlying], y[outlying], s=40, marker="x", color="C3", label="outliers")
left.plot(x, truth, color="0.3", linestyle=":", label="truth")
for name, (model, colour) in models.items():
    left.plot(x, model.fit(X, y).predict(X), color=colour, label=name)
    slopes = [model.fit(X, with_outliers(shift)).coef_[0] for shift in shifts]
    right.plot(shifts, slopes, color=colour, label=name)
left.set(xlabel="x", ylabel="y", title="Outliers 25 below the line")
left.legend(loc="lower left")
right.axhline(1.5, color="0.3", linestyle=":", label="truth")
right.set(xlabel="distance of the outliers from the line", ylabel="fitted slope")
right.set_title("Only least squares keeps following them")
right.legend(loc="lower left")
plt.show()
