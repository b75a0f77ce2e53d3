r"""
Bagging steadies what is unstable
=================================

A deep tree changes with every few rows; its mean over samples of the rows does not. A stable
classifier, such as logistic regression, has nothing to gain.
"""

# %%
# Two classifiers, alone and in bags of growing size, on moons with noise. Rows that a member has
# not seen score the ensemble without a test set.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from panlearn.linear import LogisticRegression
from panlearn.tree import BaggingClassifier, DecisionTreeClassifier

X, y = make_moons(300, noise=0.35, random_state=0)
X_new, y_new = make_moons(5000, noise=0.35, random_state=1)
sizes = [30, 50, 80]
bases = {"full tree": DecisionTreeClassifier(), "logistic regression": LogisticRegression()}
scores, outside = {}, {}
for name, base in bases.items():
    bags = [BaggingClassifier(base, m, oob_score=True, random_state=0).fit(X, y) for m in sizes]
    scores[name] = [base.fit(X, y).score(X_new, y_new)] + [b.score(X_new, y_new) for b in bags]
    outside[name] = [b.oob_score_ for b in bags]
    print(f"{name}: alone {scores[name][0]:.3f}, bag of {sizes[-1]} {scores[name][-1]:.3f}")

# %%
# Left, accuracy on new rows and out of bag. Right, the probability that 80 trees give together.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for colour, name in zip(("C0", "C1"), bases, strict=True):
    left.plot([1, *sizes], scores[name], "o-", color=colour, label=f"{name}, new rows")
    left.plot(sizes, outside[name], "x:", color=colour, label=f"{name}, out of bag")
left.set(xscale="log", xlabel="members", ylabel="accuracy", xticks=[1, *sizes], ylim=(0.79, 0.94))
left.set_xticklabels([1, *sizes])
left.minorticks_off()
left.legend(ncols=2, loc="upper center", fontsize=10)
left.set_title("a bag of trees gains, a bag of lines does not")

bag = BaggingClassifier(n_estimators=80, random_state=0).fit(X, y)
grid = np.stack(np.meshgrid(np.linspace(-2.2, 3.2, 150), np.linspace(-1.8, 2.3, 150)), axis=-1)
surface = bag.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(150, 150)
right.contourf(grid[..., 0], grid[..., 1], surface, np.linspace(0, 1, 11), cmap="RdBu", alpha=0.8)
right.scatter(*X.T, c=y, cmap="RdBu", s=12, edgecolor="k", linewidth=0.4)
right.set(xlabel="$x_1$", ylabel="$x_2$", title="80 trees")
plt.show()
