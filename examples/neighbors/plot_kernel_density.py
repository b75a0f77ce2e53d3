r"""
Bumps, and how wide they are
============================

A kernel density is a mean of bumps. Narrow ones show every row, wide ones blur what is there; the
likelihood of rows that were left out tells which width is right.
"""

# %%
# Draws from a mixture whose density is known.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.model_selection import cross_val_score

from panlearn.neighbors import KernelDensity

rng = np.random.default_rng(0)
X = np.where(rng.random(200) < 0.4, rng.normal(-2, 0.5, 200), rng.normal(1, 1, 200))[:, None]
line = np.linspace(-5, 5, 500)
truth = 0.4 * norm.pdf(line, -2, 0.5) + 0.6 * norm.pdf(line, 1, 1)

# %%
# Three widths on the left; on the right the likelihood of left-out rows, for each kernel.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.fill_between(line, truth, color="0.85", label="truth")
for h in (0.05, 0.35, 2.0):
    density = np.exp(KernelDensity(h).fit(X).score_samples(line[:, None]))
    left.plot(line, density, label=f"h = {h}")
left.plot(X[:, 0], np.full(len(X), -0.01), "|", color="k", alpha=0.4)
left.set(xlabel="x", ylabel="density")
left.legend()
widths = np.geomspace(0.1, 3, 20)
for kernel in ("gaussian", "exponential"):
    scores = [cross_val_score(KernelDensity(h, kernel=kernel), X, cv=5).mean() for h in widths]
    right.semilogx(widths, scores, "o-", label=kernel)
right.set(xlabel="width h", ylabel="mean log density of left-out rows")
right.legend()
plt.show()
