"""
LS-SVM: squared errors in place of a margin
===========================================

The least-squares support vector machine separates two moons. Its multipliers, drawn as the size of
the points, are proportional to the errors: large near the border and far beyond it, and hardly
ever zero.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from panlearn.kernel import LSSVC

X, y = make_moons(150, noise=0.2, random_state=0)
fig, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
a, b = np.meshgrid(np.linspace(-1.8, 2.8, 120), np.linspace(-1.3, 1.8, 120))
for axis, C in zip(axes, (0.01, 1, 1000), strict=True):
    model = LSSVC(C=C, gamma=2.0).fit(X, y)
    score = model.decision_function(np.c_[a.ravel(), b.ravel()]).reshape(a.shape)
    axis.contourf(a, b, score, levels=np.linspace(-2, 2, 17), cmap="RdBu", extend="both", alpha=0.6)
    axis.contour(a, b, score, levels=[0], colors="black")
    size = np.abs(model.dual_coef_[:, 0])
    axis.scatter(*X.T, s=5 + 60 * size / size.max(), c=y, cmap="RdBu", edgecolor="black")
    axis.set(title=f"C = {C:g}, accuracy {model.score(X, y):.2f}", xlabel="first feature")
axes[0].set_ylabel("second feature")
plt.show()
