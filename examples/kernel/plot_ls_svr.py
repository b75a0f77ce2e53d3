"""
LS-SVM regression: outliers and weights
=======================================

Least-squares support vector regression bends to outliers, as any least squares does. One round of
weights that are small where the first errors are large puts that right.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.kernel import LSSVR

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-5, 5, 80))[:, None]
y = np.sinc(X[:, 0]) + 0.08 * rng.standard_normal(80)
y[::9] += 1.2
x = np.linspace(-5, 5, 400)[:, None]

first = LSSVR(C=10.0, gamma=1.0).fit(X, y)
error = y - first.predict(X)
scale = 1.483 * np.median(np.abs(error - np.median(error)))
weight = np.clip((3 - np.abs(error / scale)) / 0.5, 1e-4, 1)
second = LSSVR(C=10.0, gamma=1.0).fit(X, y, weight)

fig, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
counts = weight > 0.5
axis.plot(X[counts], y[counts], "o", color="black", markersize=4, label="weight near one")
axis.plot(X[~counts], y[~counts], "o", color="C3", fillstyle="none", label="weight near zero")
axis.plot(x, np.sinc(x), "--", color="0.4", label="truth")
axis.plot(x, first.predict(x), color="C0", label="fit with all weights one")
axis.plot(x, second.predict(x), linewidth=3, color="C1", label="weighted fit")
axis.set(xlabel="x", ylabel="y", title="LS-SVM regression")
axis.legend()
plt.show()
