r"""
What a convolutional network sees in digits
===========================================

A small stack of convolutions reads nearly all of the handwritten digits that it never saw. Its
first filters look for edges, and the slopes of its answer show which pixels it rests on.
"""

# %%
# Three quarters of the digits are for training, moved by a pixel and turned a little each time.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from panlearn.neural import Augmentation, ConvNetClassifier
from panlearn.neural.layers import Conv, Dropout, Linear, Pool

digits = load_digits()
images, new, labels, answers = train_test_split(
    digits.images, digits.target, test_size=0.25, stratify=digits.target, random_state=0
)
layers = [
    *(Conv(32, 3), "relu", Conv(32, 3), "relu", Pool(2), Conv(64, 3), "relu"),
    *("flatten", Dropout(0.3), Linear(128), "relu"),
]
network = ConvNetClassifier(
    layers,
    augment=Augmentation(shift=1, rotate=8),
    max_epochs=25,
    learning_rate=2e-3,
    schedule="cosine",
    weight_decay=0.01,
    random_state=0,
)
start = time.perf_counter()
network.fit(images, labels)
print(f"{network.score(new, answers):.1%} right, after {time.perf_counter() - start:.0f} s")

# %%
# Above, the loss, filters of the first layer, and what they make of a digit; below, digits with the
# pixels in red on which the label depends most, and at the right those that it misread.

figure, axes = plt.subplot_mosaic(
    [["loss"] * 4 + ["filters"] * 2 + ["maps"] * 2, range(8)],
    figsize=(11, 6),
    height_ratios=[2, 1],
    layout="constrained",
)
panels = [axes[name] for name in ("filters", "maps", "loss")]
filters = network.weights_["0.weight"][:16, 0]
tiles = np.pad(filters, [(0, 0), (0, 1), (0, 1)], constant_values=np.nan)
panels[0].imshow(np.block([[*row] for row in tiles.reshape(4, 4, 4, 4)])[:-1, :-1], cmap="RdBu")
panels[0].set(title="filters of the first layer", xticks=[], yticks=[])
maps = network.feature_maps(new[:1], layer=1)[0, :16]
tiles = np.pad(maps, [(0, 0), (0, 1), (0, 1)], constant_values=np.nan)
panels[1].imshow(np.block([[*row] for row in tiles.reshape(4, 4, 9, 9)])[:-1, :-1], cmap="gray")
panels[1].set(title=f"what they make of a {answers[0]}", xticks=[], yticks=[])
panels[2].semilogy(network.history_["loss"])
panels[2].set(xlabel="epoch", ylabel="loss of training")

said = network.predict(new)
wrong = np.flatnonzero(said != answers)[:2]
shown = np.r_[np.arange(8 - len(wrong)), wrong]
slopes = network.saliency(new[shown], said[shown])
for place, (i, slope) in enumerate(zip(shown, slopes, strict=True)):
    panel, ink = axes[place], 1 - new[i] / 16
    red = (slope / slope.max())[..., None] * [0.0, 0.9, 0.9]
    panel.imshow(np.clip(0.3 + 0.7 * ink[..., None] - red, 0, 1))
    panel.set(title=f"{said[i]}" + ("" if said[i] == answers[i] else f", is {answers[i]}"))
    panel.set(xticks=[], yticks=[])
plt.show()
