"""
A diffusion that runs backwards
===============================

A network learns to take noise away from handwritten digits of eight by eight pixels. Started from
noise alone and told which digit to make, it makes one in twenty steps without a draw. A classifier
that never saw the network says how many of them it reads as what was asked for.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from panlearn.evaluate import sample_quality
from panlearn.generative import DiffusionModel

X, y = load_digits(return_X_y=True)
X = X.reshape(-1, 8, 8).astype(np.float32)
model = DiffusionModel(
    (16, 32),
    200,
    prediction="velocity",
    sampler="ddim",
    n_sampling_steps=20,
    max_epochs=80,
    learning_rate=4e-3,
    schedule="cosine",
    ema_decay=0.99,
    random_state=0,
).fit(X, y)

# %%
# Each row is one way back, from noise on the left to a digit on the right.

way = model.trajectory(10, random_state=1, y=np.arange(10))
columns = (0, 4, 8, 11, 13, 15, 17, 18, 19, 20)
figure, axes = plt.subplots(10, len(columns), figsize=(6.6, 7.2))
for axis, step in zip(axes[0], columns, strict=True):
    axis.set_title(f"{step} steps" if step == 0 else f"{step}", fontsize=9)
for row, digit in zip(axes, range(10), strict=True):
    for axis, step in zip(row, columns, strict=True):
        axis.imshow(way[step, digit], cmap="gray_r", vmin=0, vmax=16)
        axis.axis("off")
figure.tight_layout()

# %%
# Which half is written by people?

made = model.sample(80, random_state=2, y=np.arange(80) // 8)
rng = np.random.default_rng(0)
real = np.stack([X[rng.choice(np.flatnonzero(y == d))] for d in np.arange(80) // 8])
figure, axes = plt.subplots(1, 2, figsize=(9, 6))
for axis, images, title in zip(axes, (real, made), ("people", "the network"), strict=True):
    tiles = np.pad(images.reshape(10, 8, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    axis.imshow(tiles.transpose(0, 2, 1, 3).reshape(100, 80), cmap="gray_r", vmin=0, vmax=16)
    axis.set_title(title)
    axis.axis("off")
figure.tight_layout()

# %%
# A support vector machine reads real digits, and what was drawn. More guidance gives purer digits
# and fewer kinds of them: the share of real digits with a drawn one nearby (coverage) falls.

pixels, reader = X.reshape(len(X), -1), SVC(gamma=0.001, C=10)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
right = cross_val_score(reader, pixels, y, cv=folds).mean()
print(f"real digits, held out: {right:.1%} are read right")
reader.fit(pixels, y)
asked = np.repeat(np.arange(10), 50)
for guidance in (1.0, 2.0, 4.0):
    drawn = model.set_params(guidance=guidance).sample(500, random_state=0, y=asked)
    drawn = drawn.reshape(500, -1)
    share = (reader.predict(drawn) == asked).mean()
    covered = sample_quality.density_coverage(pixels[:500], drawn)["coverage"]
    print(f"guidance {guidance:g}: {share:.1%} are read as asked, coverage {covered:.0%}")
plt.show()
