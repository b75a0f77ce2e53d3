r"""
Few labels, many images
=======================

Labels are dear and images are not. SimCLR, BYOL and VICReg learn from images alone that two views
of one are the same thing; a linear classifier on what they have learned then needs few labels.
"""

# %%
# Digits of 8 by 8 pixels, all of them without labels. A view is shifted, turned and noisy. Each
# method trains the same small network.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from panlearn.neural import Augmentation, ConvNetClassifier
from panlearn.neural.layers import Conv, Linear
from panlearn.representation import BYOL, SimCLR, VICReg

X, y = load_digits(return_X_y=True)
X = X.reshape(-1, 8, 8)
models = {cls.__name__: cls(max_epochs=20, random_state=0).fit(X) for cls in (SimCLR, BYOL, VICReg)}

# %%
# The two directions of largest variance, before and after: an encoder that has learned nothing
# mixes the digits, and one that has learned without a label tells many of them apart.

before = SimCLR(max_epochs=1, learning_rate=1e-9, random_state=0).fit(X)
shown = {"before": before} | models
paper = {"boxstyle": "circle", "facecolor": "white", "edgecolor": "none", "pad": 0.1}
figure, grid = plt.subplots(1, 4, figsize=(14, 3.6), layout="constrained")
for (name, model), axes in zip(shown.items(), grid, strict=True):
    places = PCA(2).fit_transform(model.transform(X))
    for digit in range(10):
        axes.scatter(*places[y == digit].T, s=4)
        axes.text(*np.median(places[y == digit], axis=0), digit, weight="bold", size=14, bbox=paper)
    axes.set(title=name, xticks=[], yticks=[])
plt.show()

# %%
# A linear probe by the number of labels, against the same network trained on the labels alone,
# with the same changes of the images; means over three draws of labels. With fifty labels each of
# the three is ahead of the labels alone, with more labels by more; with twenty, two of each digit,
# not all of them are: SimCLR does no better than the labels alone. Nearest neighbours are one call,
# too.

changes = Augmentation(shift=1, rotate=15.0, noise=0.1)
layers = [Conv(32, 3), "relu", Conv(64, 3, stride=2), "relu", "flatten", Linear(128), "relu"]
counts = [20, 50, 100]
accuracy = {name: np.zeros((3, len(counts))) for name in [*models, "labels alone"]}
for draw in range(3):
    rng = np.random.default_rng(draw)
    order = np.stack([rng.permutation(np.flatnonzero(y == d))[:10] for d in range(10)]).T.ravel()
    rest = np.setdiff1d(np.arange(len(y)), order)
    for k, n in enumerate(counts):
        few = order[:n]
        alone = ConvNetClassifier(
            layers=layers, augment=changes, max_epochs=3000 // n, batch_size=10, random_state=0
        )
        alone.fit(X[few], y[few])
        probes = {name: model.classifier(X[few], y[few]) for name, model in models.items()}
        for name, probe in {**probes, "labels alone": alone}.items():
            accuracy[name][draw, k] = probe.score(X[rest], y[rest])
means = {name: values.mean(axis=0) for name, values in accuracy.items()}
for name, values in means.items():
    print(f"{name:12}", " ".join(f"{value:.3f}" for value in values))
near = models["SimCLR"].classifier(X[order[:50]], y[order[:50]], KNeighborsClassifier(1))
print(f"SimCLR, neighbours, 50 labels: {near.score(X[rest], y[rest]):.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for name, values in means.items():
    left.semilogx(counts, values, "o--" if name == "labels alone" else "o-", label=name)
left.set(xlabel="labels", ylabel="accuracy on the others", xticks=counts, xticklabels=counts)
left.minorticks_off()  # of a logarithmic axis, between the counts
left.legend()
for name, model in models.items():
    right.plot(model.history_["rank"], label=name)
right.set(xlabel="epoch", ylabel="directions that are used", title="how far from collapse")
plt.show()
