"""
Gaussian process classification: sure only near the data
========================================================

A Gaussian process classifier and logistic regression on the same features, two moons seen through
cubic terms. Both tell the moons apart. Away from all data the logistic regression becomes ever more
sure, without reason; the Gaussian process goes back to one half.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from panlearn.kernel import GaussianProcessClassifier
from panlearn.kernel.kernels import RBF
from panlearn.linear import LogisticRegression

X, y = make_moons(120, noise=0.2, random_state=0)
models = {
    "Gaussian process": GaussianProcessClassifier(1.0 * RBF(1.0)),
    "logistic regression on cubic terms": make_pipeline(
        PolynomialFeatures(3, include_bias=False), LogisticRegression(C=100.0)
    ),
}
a, b = np.meshgrid(np.linspace(-4, 5, 150), np.linspace(-3.5, 4, 150))
grid = np.c_[a.ravel(), b.ravel()]

fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    probability = model.fit(X, y).predict_proba(grid)[:, 1].reshape(a.shape)
    field = axis.contourf(a, b, probability, levels=np.linspace(0, 1, 11), cmap="RdBu")
    axis.contour(a, b, probability, levels=[0.5], colors="black", linewidths=1)
    axis.scatter(*X.T, c=y, cmap="RdBu", edgecolor="white", s=25)
    axis.set(title=name, xlabel="first feature")
axes[0].set_ylabel("second feature")
fig.colorbar(field, ax=axes, label="probability of the blue class")
plt.show()
