"""
Kernel ridge: the penalty and the width of the kernel
=====================================================

Kernel ridge regression on noisy points of a sine. A narrow kernel with a small penalty follows the
noise, a wide one with a large penalty forgets the curve; cross-validation finds the middle.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from panlearn.kernel import KernelRidge

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 10, 60))[:, None]
y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(60)
x = np.linspace(0, 10, 400)[:, None]

grid = {"alpha": np.logspace(-3, 2, 6), "gamma": np.logspace(-2, 2, 9)}
search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=10).fit(X, y)
best = search.best_params_
models = {
    "follows the noise": KernelRidge(1e-3, kernel="rbf", gamma=100.0),
    "too stiff": KernelRidge(100.0, kernel="rbf", gamma=0.01),
    f"chosen: alpha {best['alpha']:.2g}, gamma {best['gamma']:.2g}": search.best_estimator_,
}
fig, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
axis.plot(X, y, "o", color="0.6", label="data")
for (name, model), width in zip(models.items(), (1, 1, 3), strict=True):
    axis.plot(x, model.fit(X, y).predict(x), linewidth=width, label=name)
axis.set(xlabel="x", ylabel="y", ylim=(-2, 2), title="Kernel ridge regression")
axis.legend()
plt.show()
