"""
Early stopping: the best weights, not the last
==============================================

A network that is large for its data learns the training rows by heart. The loss on rows that were
held out says when to stop; training goes back to the weights of its minimum. The boundaries of
moons with noise show the difference, and what dropout and weight decay do about it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from panlearn.neural import MLPClassifier

X, y = make_moons(150, noise=0.35, random_state=1)
X_test, y_test = make_moons(2000, noise=0.35, random_state=2)
large = dict(hidden_layer_sizes=(128, 128), schedule="constant", weight_decay=0.0, random_state=0)
models = {
    "last of 300 epochs": MLPClassifier(**large, max_epochs=300),
    "stopped early": MLPClassifier(**large, max_epochs=300, patience=30, validation_fraction=0.3),
    "dropout and decay": MLPClassifier(
        **{**large, "weight_decay": 0.5}, dropout=0.5, max_epochs=300
    ),
}
for model in models.values():
    model.fit(X, y)

# %%
a, b = np.meshgrid(np.linspace(-2, 3, 200), np.linspace(-1.6, 2.1, 200))
fig, axes = plt.subplots(2, 3, figsize=(12, 7.2), layout="constrained")
for (name, model), (top, bottom) in zip(models.items(), axes.T, strict=True):
    probability = model.predict_proba(np.c_[a.ravel(), b.ravel()])[:, 1].reshape(a.shape)
    top.contourf(a, b, probability, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.7)
    top.contour(a, b, probability, levels=[0.5], colors="k", linewidths=1)
    top.scatter(*X.T, c=y, cmap="RdBu_r", edgecolors="k", linewidths=0.3, s=15)
    top.set_title(f"{name}: {model.score(X_test, y_test):.1%} of new rows")
    bottom.plot(model.history_["loss"], label="training rows")
    if "validation_loss" in model.history_:
        losses = model.history_["validation_loss"]
        bottom.plot(losses, label="rows held out")
        bottom.axvline(int(np.argmin(losses)), color="k", ls=":", label="kept")
    bottom.set(xlabel="epoch", ylabel="loss", ylim=(0, 1.2), xlim=(-5, 305))
    bottom.legend()
plt.show()
