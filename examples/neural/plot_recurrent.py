r"""
What a recurrent network remembers
==================================

Now and then a switch is put on or off among signs that mean nothing, and at every step the network
is to say which it is. For that its state has to hold one bit through the noise.
"""

# %%
# One label a step; the networks learn from short sequences and are asked about longer ones.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.neural import RecurrentForecaster, RecurrentTagger

rng = np.random.default_rng(0)


def switches(n, length):
    """Signs, where the switch stands, and how many steps ago it was moved."""
    signs = rng.choice(
        ["on", "off", "x", "y", "z"], p=[0.03, 0.03, *[0.94 / 3] * 3], size=(n, length)
    )
    signs[:, 0] = rng.choice(["on", "off"], size=n)
    moved = np.where(np.isin(signs, ["on", "off"]), np.arange(length), 0)
    last = np.maximum.accumulate(moved, axis=1)
    return list(signs), list(np.take_along_axis(signs, last, axis=1)), np.arange(length) - last


X, y, _ = switches(150, 40)
new, answers, ago = switches(600, 80)
networks = {
    cell: RecurrentTagger(8, cell=cell, max_epochs=4, random_state=0).fit(X, y)
    for cell in ("elman", "gru", "lstm")
}

# %%
# On the left the accuracy by the steps since the switch was moved, after four passes: recurrent
# weights start orthogonal, so that even the plain network holds the bit; the LSTM is still learning
# what to keep. On the right a network that learned, without labels, what comes next in a sine of
# slowly changing speed.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
edges = np.arange(0, 48, 8)
for cell, network in networks.items():
    right_ones = np.array(network.predict(new)) == np.array(answers)
    shares = [right_ones[(ago >= low) & (ago < low + 8)].mean() for low in edges]
    left.plot(edges + 4, shares, "o-", label=f"{cell}, {right_ones.mean():.1%} in all")
left.axhline(0.5, color="k", ls="--", lw=1)
left.set(xlabel="steps since the switch was moved", ylabel="accuracy", ylim=(0.4, 1.02))
left.legend(loc="lower left")

phase = np.cumsum(0.25 + 0.15 * np.sin(np.arange(1200) / 60))
series = (np.sin(phase) + 0.05 * rng.normal(size=1200))[:, None]
pieces = list(series[:1000].reshape(20, 50, 1))
forecaster = RecurrentForecaster(24, cell="gru", max_epochs=60, random_state=0).fit(pieces)
late = series[1000:]
right.plot(late[1:], "k.", ms=4, label="what came")
right.plot(forecaster.predict(late)[:-1], label="what was foretold a step before")
right.set(xlabel="step", ylabel="value", ylim=(-1.9, 1.3))
right.set(title=f"R squared {forecaster.score(late):.3f} on new steps")
right.legend(loc="lower left")
plt.show()
