"""
A pipeline that learns in parts
===============================

Rows come in twenty batches, and their columns drift: each batch lies further to the right than the
one before. A scaler that is fitted to the first batch alone is soon off. `partial_fit` of the
pipeline moves the scaler with every batch and brings what the ridge regression has learned into the
new columns, so that after each batch the model is the one that a fit to all rows so far gives.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline as scikit_learn_pipeline

from panlearn.linear import Ridge
from panlearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, make_pipeline

rng = np.random.default_rng(0)
batches = []
for step in range(20):
    X = rng.normal(size=(50, 3)) * [1.0, 5.0, 0.2] + step * np.array([0.5, 2.0, 0.1])
    batches.append((X, X @ [2.0, -0.3, 5.0] + rng.normal(size=50)))

parts = make_pipeline(StandardScaler(), Ridge())
first = StandardScaler().fit(batches[0][0])
frozen, coefficients, off = Ridge(), [], []
for count, (X, y) in enumerate(batches, 1):
    parts.partial_fit(X, y)
    frozen.partial_fit(first.transform(X), y)
    whole = scikit_learn_pipeline(StandardScaler(), Ridge()).fit(
        *(np.concatenate(a) for a in zip(*batches[:count], strict=True))
    )
    coefficients.append((parts[-1].coef_.copy(), whole[-1].coef_.copy(), frozen.coef_.copy()))
    off.append(np.abs(parts[-1].coef_ / whole[-1].coef_ - 1).max())

names = OneHotEncoder().fit([["left"], ["right"]]).get_feature_names_out(["side"])
numbers = OrdinalEncoder().fit_transform([["left"], ["right"]]).ravel()
print(f"indicators {list(names)}, numbers {numbers}")

ours, all_rows, fixed = (np.array(c) for c in zip(*coefficients, strict=True))
fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(7, 6), sharex=True, height_ratios=[2, 1], layout="constrained"
)
steps = np.arange(1, 21)
for j in range(3):
    top.plot(steps, ours[:, j], color=f"C{j}", label=f"column {j}, in parts")
    top.plot(steps, all_rows[:, j], "o", color=f"C{j}", markerfacecolor="none")
    top.plot(steps, fixed[:, j], ":", color=f"C{j}")
top.set(ylabel="coefficient of the scaled column", title="Circles: a fit to all rows so far")
top.legend(title="dotted: scaled by the first batch", fontsize="small")
bottom.semilogy(steps, np.maximum(off, 1e-17), "k.-")
bottom.set(xlabel="batches seen", ylabel="relative difference", title="Parts against all rows")
bottom.set_xticks(range(2, 21, 2))
plt.show()
