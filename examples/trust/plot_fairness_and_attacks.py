"""
Groups that are treated alike, and digits that are turned
=========================================================

Thresholds by group make the rates of two groups alike, at a price in accuracy; an attack that
changes every pixel a little turns a digit into another.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from panlearn.plot import FairnessDisplay, RobustAccuracyDisplay
from panlearn.trust import FairPostprocessor, attacks

rng = np.random.default_rng(0)
group = rng.choice(["a", "b"], size=3000)
X = rng.normal(size=(3000, 2)) + np.where(group == "b", 0.8, 0.0)[:, None]
y = (X[:, 0] + rng.normal(size=3000) > 0.8).astype(int)
fair = FairPostprocessor(constraint="demographic_parity").fit(X, y, sensitive_features=group)
plain = LogisticRegression().fit(X, y).predict(X)

digits, labels = load_digits(return_X_y=True)
digits = digits / 16
model = LogisticRegression(max_iter=300).fit(digits[:1000], labels[:1000])
rows, truth = digits[1000:1200], labels[1000:1200]

# %%
# Acceptance before and after; accuracy under attack, beside what is certain for a linear model.
figure, panels = plt.subplots(1, 3, figsize=(13, 3.5), layout="constrained")
for ax, decided, title in (
    (panels[0], plain, "one threshold"),
    (panels[1], fair.predict(X, group), "thresholds by group"),
):
    FairnessDisplay.from_predictions(y, decided, group, ax=ax, random_state=0)
    ax.set(title=f"{title}: accuracy {np.mean(decided == y):.2f}", xlim=(0, 1))

eps = np.linspace(0, 0.3, 7)
RobustAccuracyDisplay.from_estimator(
    model, rows, truth, eps, bounds=(0, 1), label="under attack", ax=panels[2], random_state=0
)
radius = attacks.linear_radius(model, rows, truth)
panels[2].plot(eps, [(radius > e).mean() for e in eps], "--", label="certified")
panels[2].legend()
plt.show()
