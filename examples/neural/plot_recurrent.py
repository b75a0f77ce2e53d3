r"""
How far back a recurrent network remembers
==========================================

The label of a sequence is its first symbol, and what follows is noise. The gradient of a plain
network fades on its long way back; the gates of an LSTM and a GRU carry the state through.
"""

# %%
# Sequences of growing length, and the accuracy of each cell on new ones after the same training.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.neural import RecurrentNetwork

rng = np.random.default_rng(0)
lengths = [5, 15, 30, 60]
cells = ["elman", "gru", "lstm"]


def noise_after_a_symbol(length, n):
    X = rng.integers(2, size=(n, length))
    return list(X), X[:, 0]


accuracy = np.zeros((len(cells), len(lengths)))
for j, length in enumerate(lengths):
    X, y = noise_after_a_symbol(length, 300)
    new, answers = noise_after_a_symbol(length, 300)
    for i, cell in enumerate(cells):
        model = RecurrentNetwork(24, cell=cell, max_epochs=15, random_state=0)
        accuracy[i, j] = model.fit(X, y).score(new, answers)

# %%
# On the left the accuracy; on the right a network that learned, without labels, what comes next in
# a sine of slowly changing speed, against what came.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for cell, row in zip(cells, accuracy, strict=True):
    left.plot(lengths, row, "o-", label=cell)
left.axhline(0.5, color="k", ls="--", lw=1)
left.set(xlabel="steps between symbol and label", ylabel="accuracy on new sequences")
left.legend()

phase = np.cumsum(0.25 + 0.15 * np.sin(np.arange(1200) / 60))
series = (np.sin(phase) + 0.05 * rng.normal(size=1200))[:, None]
pieces = list(series[:1000].reshape(20, 50, 1))
forecaster = RecurrentNetwork(24, cell="gru", max_epochs=60, random_state=0).fit(pieces)
late = series[1000:]
right.plot(late[1:], "k.", ms=4, label="what came")
right.plot(forecaster.predict(late)[:-1], label="what was foretold a step before")
right.set(xlabel="step", title=f"R squared {forecaster.score(late):.3f} on new steps")
right.legend(loc="lower left")
plt.show()
