"""
A diffusion that runs backwards
===============================

A network learns to take noise away from handwritten digits. Started from noise alone and told which
digit to make, it makes one in twenty steps without a draw; each row is one way back.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from panlearn.generative import DiffusionModel

X, y = load_digits(return_X_y=True)
X = X.reshape(-1, 8, 8).astype(np.float32)
model = DiffusionModel(
    (24, 48),
    100,
    prediction="velocity",
    sampler="ddim",
    guidance=2.0,
    max_epochs=40,
    schedule="cosine",
    random_state=0,
).fit(X, y)

# %%
# The way back, cut short after more and more of its steps: what each step believes.

figure, axes = plt.subplots(10, 8, figsize=(7, 8.6))
for column, steps in enumerate((1, 2, 3, 5, 8, 12, 20, 50)):
    drawn = model.set_params(n_sampling_steps=steps).sample(10, random_state=1, y=np.arange(10))
    axes[0, column].set_title(f"{steps}", fontsize=9)
    for row, image in enumerate(drawn):
        axes[row, column].imshow(image, cmap="gray_r", vmin=0, vmax=16)
        axes[row, column].axis("off")
figure.suptitle("digits 0 to 9, in so many steps")
figure.tight_layout()

# %%
# An independent classifier reads what was drawn.

reader = KNeighborsClassifier(3).fit(X.reshape(len(X), -1), y)
asked = np.repeat(np.arange(10), 20)
drawn = model.set_params(n_sampling_steps=20).sample(200, random_state=0, y=asked)
share = (reader.predict(drawn.reshape(200, -1)) == asked).mean()
print(f"{share:.0%} are read as the digit that was asked for")
plt.show()
