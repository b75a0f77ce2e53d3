"""
Every rate along the threshold, and what chance does to a curve
===============================================================

The same scores make many decisions. If a miss costs ten times a false alarm, the best threshold
moves; and a curve of three hundred rows is known only within a band.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from panlearn.evaluate.rates import bootstrap_roc, rate_curve
from panlearn.plot import RatesDisplay

X, y = load_breast_cancer(return_X_y=True)
train, test, train_y, test_y = train_test_split(X[:, :4], 1 - y, test_size=0.5, random_state=0)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, train_y)
score = model.predict_proba(test)[:, 1]

# %%
# Rates and the mean cost on the left; the curve and its band on the right.
figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
RatesDisplay.from_predictions(test_y, score, costs=(1, 10), ax=panels[0])
panels[0].set_ylabel("rate, or cost of a row")
band = bootstrap_roc(test_y, score, n_draws=500, random_state=0)
curve = rate_curve(test_y, score)
panels[1].fill_between(band.fpr, band.low, band.high, alpha=0.3)
panels[1].plot(curve.rates.fpr, curve.rates.tpr)
panels[1].set(xlabel="false positive rate", ylabel="true positive rate")
panels[1].set_title(f"area {curve.auroc:.3f}, 95 % from {band.auroc[0]:.3f} to {band.auroc[1]:.3f}")
plt.show()
