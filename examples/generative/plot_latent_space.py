"""
What a variational autoencoder makes of digits
==============================================

Handwritten digits are described by two numbers each. On the left the digits where the encoder puts
them; on the right what the decoder draws at the points of a grid: one kind goes over into the next.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_digits

from panlearn.generative import VAE, ImportanceWeightedVAE

X, y = load_digits(return_X_y=True)
X = (X.reshape(-1, 8, 8) > 7).astype(np.float32)
settings = dict(hidden_layer_sizes=(128,), likelihood="bernoulli", learning_rate=5e-3)
model = VAE(2, max_epochs=100, random_state=0, **settings).fit(X)
codes = model.transform(X)
paper = {"boxstyle": "circle", "facecolor": "white", "edgecolor": "none", "pad": 0.1}
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for digit in range(10):
    left.scatter(*codes[y == digit].T, s=8)
    left.text(*np.median(codes[y == digit], axis=0), digit, weight="bold", size=14, bbox=paper)
left.set(title="codes of the digits", xlabel="first number", ylabel="second number")
side = norm.ppf(np.linspace(0.02, 0.98, 9))
grid = np.stack(np.meshgrid(side, -side), axis=-1).reshape(-1, 2)
tiles = np.pad(model.inverse_transform(grid), ((0, 0), (2, 2), (2, 2))).reshape(9, 9, 12, 12)
right.imshow(tiles.transpose(0, 2, 1, 3).reshape(108, 108), cmap="gray_r")
right.set(title="what the decoder draws there", xlabel="first number", ylabel="second number")
right.set(xticks=[], yticks=[])
plt.show()

# %%
# The bound of the log density is tighter with more draws.

weighted = ImportanceWeightedVAE(2, n_importance=10, max_epochs=60, random_state=0, **settings)
weighted.fit(X)
for draws in (1, 10, 100):
    bound = weighted.elbo(X, draws, random_state=0).mean()
    print(f"bound with K = {draws}: {bound:.2f} nats")
