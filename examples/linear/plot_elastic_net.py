"""
The elastic net shares weight among correlated features
=======================================================

Three groups of five features, each group one hidden cause seen with a little noise, and ten
features of noise alone. The lasso picks a few members of a group, and which ones is chance; the
elastic net, whose second penalty prefers equal coefficients, takes the group.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.linear import ElasticNet, Lasso

rng = np.random.default_rng(3)
n, size = 100, 5
causes = rng.standard_normal((n, 3))
X = np.hstack([causes.repeat(size, axis=1), rng.standard_normal((n, 10))])
X[:, : 3 * size] += 0.15 * rng.standard_normal((n, 3 * size))
y = causes @ [3.0, -2.0, 1.5] + rng.standard_normal(n)

models = {
    "lasso": Lasso(alpha=0.15),
    "elastic net, l1_ratio = 0.5": ElasticNet(alpha=0.3, l1_ratio=0.5),
    "elastic net, l1_ratio = 0.1": ElasticNet(alpha=0.8, l1_ratio=0.1),
}

# %%
# The dashed line is the weight that each member would have if its group shared the cause's.
figure, panels = plt.subplots(
    len(models), 1, sharex=True, sharey=True, figsize=(7, 6), layout="constrained"
)
truth = np.r_[np.repeat([3.0, -2.0, 1.5], size) / size, np.zeros(10)]
position = np.arange(X.shape[1])
colours = np.repeat(["C0", "C1", "C2", "0.5"], [size, size, size, 10])
for (name, model), panel in zip(models.items(), panels, strict=True):
    coef = model.fit(X, y).coef_
    panel.bar(position, coef, color=colours)
    panel.step(position, truth, where="mid", color="k", linestyle="--", linewidth=1)
    panel.axhline(0, color="0.6", linewidth=0.8)
    panel.set_title(f"{name}: {np.count_nonzero(coef)} of {len(coef)} features", fontsize="medium")
    panel.set_ylabel("coefficient")
panels[-1].set(xlabel="feature", xticks=[2, 7, 12, 19.5])
panels[-1].set_xticklabels(["first cause", "second cause", "third cause", "noise"])
plt.show()
