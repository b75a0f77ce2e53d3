"""
Naive Bayes believes each feature on its own
============================================

Two measurements of flowers. Naive Bayes takes the features of a class to be independent, so its
densities are ellipses along the axes; where the truth is tilted it still finds a good boundary, but
its probabilities are too sure of themselves. The right panel counts: of all flowers that a model
gives nine in ten, how many are what it says? Copies of a feature make it worse.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris

from panlearn.bayes import GaussianNB

X, y = load_iris(return_X_y=True)
X = X[:, 2:]  # length and width of the petals
model = GaussianNB().fit(X, y)

# %%
# The posterior probability of the winner, and two standard deviations of each class.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
grid = np.stack(np.meshgrid(np.linspace(0.5, 7.5, 300), np.linspace(-0.3, 3, 300)), axis=-1)
p = model.predict_proba(grid.reshape(-1, 2)).reshape(300, 300, 3)
colours = np.array([[0.0, 0.45, 0.70], [0.84, 0.37, 0.0], [0.0, 0.62, 0.45]])
left.imshow(1 - 0.45 * (1 - p @ colours), extent=(0.5, 7.5, -0.3, 3), origin="lower", aspect="auto")
angle = np.linspace(0, 2 * np.pi, 200)
circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
for c, name in enumerate(["setosa", "versicolor", "virginica"]):
    rows = y == c
    left.plot(*X[rows].T, "o", color=colours[c], markersize=4, markeredgecolor="w", label=name)
    left.plot(*(model.theta_[c] + 2 * circle * np.sqrt(model.var_[c])).T, color=colours[c])
left.set(xlabel="petal length in cm", ylabel="petal width in cm", xlim=(0.5, 7.5), ylim=(-0.3, 3))
left.set_title("p(class | flower), and the model of each class")
left.legend(loc="upper left")

# One feature that tells two classes apart, seen once, three times and ten times.
rng = np.random.default_rng(0)
label = rng.integers(0, 2, 20_000)
x = rng.normal(size=(20_000, 1)) + 1.5 * label[:, None]
right.plot([0, 1], [0, 1], color="0.7", linestyle="--", label="what it ought to be")
for copies in (1, 3, 10):
    rows = np.repeat(x, copies, axis=1)
    said = GaussianNB().fit(rows[::2], label[::2]).predict_proba(rows[1::2])[:, 1]
    happened, mean = calibration_curve(label[1::2], said, n_bins=12)
    right.plot(mean, happened, "o-", label=f"{copies} cop{'y' if copies == 1 else 'ies'}")
right.set(xlabel="probability that the model gives", ylabel="share that it happened")
right.set_title("Copies of one feature count as new evidence")
right.legend()
plt.show()
