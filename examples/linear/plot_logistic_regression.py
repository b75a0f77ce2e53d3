"""
Logistic regression: probabilities, penalties, iterations
=========================================================

Logistic regression gives each class a probability. An l2 penalty shrinks the weights, an l1 penalty
sets most of them to zero, and a Newton method finds either in about ten looks at the data.
"""

# %%
# Three kinds of wine by two of their measurements: where the softmax is sure, and where it is not.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

from panlearn.linear import LogisticRegression

wine = load_wine()
X, y = wine.data[:, [0, 6]], wine.target
model = LogisticRegression(C=10).fit(X, y)
grid = np.meshgrid(np.linspace(10.8, 15.2, 300), np.linspace(0, 5.5, 300))
p = model.predict_proba(np.column_stack([g.ravel() for g in grid])).reshape(300, 300, 3)

# %%
# Thirty measurements of tumours: the weights along the strength of the penalty.

cancer = load_breast_cancer()
rows, labels = StandardScaler().fit_transform(cancer.data), cancer.target
strengths = np.geomspace(1e-3, 10, 40)
paths = {}
for l1_ratio in (0.0, 1.0):
    path = LogisticRegression(l1_ratio=l1_ratio, warm_start=True)
    paths[l1_ratio] = np.array(
        [path.set_params(C=C).fit(rows, labels).coef_[0].copy() for C in strengths]
    )

# %%
# The distance to the solution, as the Newton decrement, after each iteration.

fits = {
    "l2": LogisticRegression().fit(rows, labels),
    "l1": LogisticRegression(l1_ratio=1).fit(rows, labels),
    "wine, 3 classes": LogisticRegression().fit(StandardScaler().fit_transform(wine.data), y),
}

figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
colours = np.array([[0.0, 0.45, 0.70], [0.84, 0.37, 0.0], [0.0, 0.62, 0.45]])
a.imshow(0.35 + 0.65 * (p @ colours), extent=(10.8, 15.2, 0, 5.5), origin="lower", aspect="auto")
for k in range(3):
    a.contour(
        *grid, p[:, :, k], levels=[0.5, 0.9], colors=[colours[k] * 0.6], linewidths=[1.5, 0.7]
    )
    a.scatter(*X[y == k].T, color=colours[k] * 0.7, edgecolor="w", s=30, label=wine.target_names[k])
a.set(xlabel=wine.feature_names[0], ylabel=wine.feature_names[6],
      title="probabilities, lines at 0.5 and 0.9")  # fmt: skip
a.legend()
for panel, l1_ratio in ((b, 0.0), (c, 1.0)):
    panel.semilogx(strengths, paths[l1_ratio], lw=1)
    panel.axhline(0, color="k", lw=0.6)
    kept = np.count_nonzero(paths[l1_ratio][20])
    title = f"{'l1' if l1_ratio else 'l2'}: {kept} of 30 weights at C = {strengths[20]:.2g}"
    panel.set(xlabel="C", ylabel="weights", title=title)
for name, fit in fits.items():
    d.semilogy(np.arange(1, fit.n_iter_ + 1), fit.history_["change"], "o-", label=name, ms=5)
d.axhline(1e-8, color="k", ls="--", lw=0.8)
d.text(1, 1.6e-8, "tol", fontsize=10)
d.set(xlabel="iteration", ylabel="Newton decrement", title="few iterations, and the last ones fast")
d.legend()
plt.show()
