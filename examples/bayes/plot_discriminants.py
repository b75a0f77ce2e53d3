"""
One covariance for all classes, or one each
===========================================

Linear discriminant analysis gives all classes one covariance, and its boundaries are straight
lines; quadratic discriminant analysis gives each its own, and they are conic sections. On few rows
the covariances of the classes are guesses: moving them towards the identity (``reg_param``) helps.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.bayes import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

rng = np.random.default_rng(4)
means = np.array([[0.0, 0.0], [3.0, 1.0], [0.5, 3.5]])
shapes = np.array([[[1.0, 0.8], [0.0, 0.5]], [[0.5, 0.0], [0.3, 1.2]], [[1.6, -0.3], [0.0, 0.3]]])


def draw(n):
    """Draw n rows of each class."""
    y = np.repeat([0, 1, 2], n)
    return means[y] + np.einsum("ij,ijk->ik", rng.normal(size=(3 * n, 2)), shapes[y]), y


X, y = draw(40)
new, truth = draw(4000)
models = {
    "linear": LinearDiscriminantAnalysis(store_covariance=True),
    "quadratic": QuadraticDiscriminantAnalysis(store_covariance=True),
}

# %%
# Ellipses are two standard deviations of what a class is believed to be.
figure, panels = plt.subplots(1, 3, figsize=(13, 4.3), layout="constrained")
low, high = X.min(axis=0) - 1, X.max(axis=0) + 1.5
axes = [np.linspace(a, b, 400) for a, b in zip(low, high, strict=True)]
grid = np.stack(np.meshgrid(*axes), axis=-1)
angle = np.linspace(0, 2 * np.pi, 200)
circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
for (name, model), panel in zip(models.items(), panels[:2], strict=True):
    model.fit(X, y)
    won = model.predict(grid.reshape(-1, 2)).reshape(400, 400)
    panel.contourf(*axes, won, levels=[-0.5, 0.5, 1.5, 2.5], colors=["C0", "C1", "C2"], alpha=0.18)
    panel.contour(*axes, won, levels=[0.5, 1.5], colors="0.3", linewidths=0.8)
    for c in range(3):
        covariance = model.covariance_ if name == "linear" else model.covariance_[c]
        ellipse = model.means_[c] + 2 * circle @ np.linalg.cholesky(covariance).T
        panel.plot(*X[y == c].T, "o", color=f"C{c}", markersize=3.5)
        panel.plot(*ellipse.T, color=f"C{c}")
        panel.plot(*model.means_[c], "k+")
    panel.set_title(f"{name}: {model.score(new, truth):.1%} right on new rows")
    panel.set(xlabel="first feature", ylabel="second feature")

# The same comparison by the number of rows, with eight features of noise beside the two.
sizes = [12, 15, 20, 30, 50, 100, 200]
trials = 15
scores = {"linear": [], "quadratic": [], "quadratic, reg_param = 0.3": []}
for n in sizes:
    found = np.zeros((trials, 3))
    for t in range(trials):
        few, few_y = draw(n)
        few = np.hstack([few, rng.normal(size=(3 * n, 8))])
        test = np.hstack([new, rng.normal(size=(len(new), 8))])
        for m, model in enumerate(
            [
                LinearDiscriminantAnalysis(),
                QuadraticDiscriminantAnalysis(),
                QuadraticDiscriminantAnalysis(reg_param=0.3),
            ]
        ):
            found[t, m] = model.fit(few, few_y).score(test, truth)
    for values, score in zip(scores.values(), found.mean(axis=0), strict=True):
        values.append(score)
for name, values in scores.items():
    panels[2].plot(sizes, values, "o-", label=name)
panels[2].set(xscale="log", xlabel="rows of a class", ylabel="share right on new rows")
panels[2].set_xticks(sizes, sizes)
panels[2].minorticks_off()
panels[2].set_title("Ten features: what can be afforded")
panels[2].legend()
plt.show()
