r"""
Where a classifier looks
========================

A vision transformer cuts an image into patches, lets them look at each other, and asks one more
token, which belongs to no patch, for the class. What that token looks at can be drawn.
"""

# %%
# Digits of 8 by 8 pixels, cut into patches of 2 by 2. In thirty passes it learns to tell nearly all
# of the digits that were kept out. A transformer knows nothing of images beforehand: with
# so few of them it needs small steps, and targets and states that are not too sure.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from panlearn.transformer import ViTClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = ViTClassifier(
    2,
    width=64,
    n_heads=4,
    dropout=0.1,
    label_smoothing=0.1,
    learning_rate=2e-3,
    schedule="cosine",
    batch_size=64,
    max_epochs=30,
    random_state=0,
)
model.fit(X_train, y_train)
print(f"share of new digits that it tells: {model.score(X_test, y_test):.3f}")

# %%
# What the token of the class looks at in the last layer, the mean over the heads, the brighter the
# more, with the outline of the digit: on strokes that tell it from others, hardly on the empty
# corners.

chosen = [int(np.flatnonzero(y_test == digit)[0]) for digit in range(10)]
maps = model.attention_maps(X_test[chosen])
figure, grid = plt.subplots(4, 5, figsize=(6.5, 5.8), layout="constrained")
pairs = grid.reshape(2, 2, 5).swapaxes(1, 2).reshape(10, 2)  # one below the other
for i, (above, below) in enumerate(pairs):
    image = X_test[chosen[i]].reshape(8, 8)
    above.imshow(image, cmap="gray_r")
    above.set_title(f"told {model.predict(X_test[chosen[i : i + 1]])[0]}")
    looks = maps[-1, i, :, 0, 1:].mean(axis=0).reshape(4, 4)
    below.imshow(looks, cmap="inferno", extent=(-0.5, 7.5, 7.5, -0.5))
    below.contour(image, levels=[8], colors="white")
    for axes in (above, below):
        axes.set_axis_off()
plt.show()
