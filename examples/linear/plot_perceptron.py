r"""
The perceptron's mistakes and its margin
========================================

The perceptron corrects itself on each mistake and stops when a whole pass makes none. How many
mistakes that takes is bounded by the margin: at most :math:`R^2 / \gamma^2`, where R is the
largest norm of a row and :math:`\gamma` the widest margin that any hyperplane has.
"""

# %%
# Two clouds that a line separates. Each update is recorded by feeding the rows one at a time.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from panlearn.linear import Perceptron

rng = np.random.default_rng(4)


def clouds(gap, n=60):
    """Rows on both sides of a line, at least `gap` away from it."""
    angle = 0.9
    normal, along = (
        np.array([np.cos(angle), np.sin(angle)]),
        np.array([-np.sin(angle), np.cos(angle)]),
    )
    y = np.repeat([-1, 1], n // 2)
    depth = y * (gap + rng.exponential(0.5, n))
    return np.outer(depth, normal) + np.outer(rng.normal(0, 1.2, n), along) + 0.3 * normal, y


def bound(X, y):
    """R^2 / margin^2 with a column of ones for the intercept."""
    rows = np.column_stack([X, np.ones(len(X))]) * y[:, None]
    constraint = {"type": "ineq", "fun": lambda w: rows @ w - 1, "jac": lambda w: rows}
    start = 10 * Perceptron(fit_intercept=False).fit(rows * y[:, None], y).coef_[0]
    shortest = dict(jac=lambda w: w, constraints=constraint, method="SLSQP")
    w = minimize(lambda w: w @ w / 2, start, **shortest).x
    return (rows**2).sum(axis=1).max() * (w @ w)


X, y = clouds(0.25)
order = rng.permutation(len(y))
X, y = X[order], y[order]
model = Perceptron().fit(X, y)
walker, lines = Perceptron(), []
while not lines or (y * walker.decision_function(X) <= 0).any():
    for row, label in zip(X, y, strict=True):
        before = 0 if not lines else walker.n_updates_[0]
        walker.partial_fit(row[None], [label], classes=[-1, 1])
        if walker.n_updates_[0] > before:
            lines.append((walker.coef_[0].copy(), walker.intercept_[0]))

# %%
# On the left the boundary after each update, from pale to dark, and the margin of the last one. On
# the right many sets of rows with gaps from wide to narrow: the mistakes grow as the margin
# shrinks, and stay below the bound.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
ends = np.array([-4.5, 4.5])
for i, (w, b) in enumerate(lines):
    last = i == len(lines) - 1
    style = dict(color="k", lw=2) if last else dict(color="C7", alpha=0.15 + 0.5 * i / len(lines))
    if abs(w[1]) > 1e-9:
        left.plot(ends, -(w[0] * ends + b) / w[1], **style)
w, b = lines[-1]
distance = y * (X @ w + b) / np.linalg.norm(w)
closest = X[distance.argmin()]
foot = closest - (closest @ w + b) / (w @ w) * w
left.plot(*np.transpose([closest, foot]), "k:", lw=2)
left.annotate(f"margin {distance.min():.2f}", (closest + foot) / 2, (2.0, -2.6), fontsize=11,
              arrowprops={"arrowstyle": "-", "lw": 0.6})  # fmt: skip
for label, colour, marker in ((-1, "C0", "o"), (1, "C1", "^")):
    left.scatter(*X[y == label].T, c=colour, marker=marker, s=35, edgecolor="w", zorder=3)
left.set(xlim=(-4, 4), ylim=(-4, 4), xlabel="$x_1$", ylabel="$x_2$",
         title=f"{len(lines)} updates in {model.n_iter_} passes")  # fmt: skip

gaps, made, limits = np.geomspace(0.03, 1.5, 30), [], []
for gap in gaps:
    rows, labels = clouds(gap)
    made.append(
        Perceptron(shuffle=True, random_state=0, max_iter=10_000).fit(rows, labels).n_updates_[0]
    )
    limits.append(bound(rows, labels))
right.loglog(limits, made, "o", color="C2", markersize=7)
limit = np.array([min(limits), max(limits)])
right.loglog(limit, limit, "k--", label="mistakes = bound")
right.set(xlabel=r"bound $R^2 / \gamma^2$", ylabel="mistakes made", title="thirty sets of rows")
right.legend()
plt.show()
