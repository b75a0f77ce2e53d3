r"""
A long memory: S4 beside a recurrent network
============================================

For its first twenty steps a signal is lifted a little, or lowered; after that comes noise. Which
was it? To answer at the end, a network has to carry one bit through all of the noise, and to learn
that it should, a gradient has to find its way back. A plain recurrent network does so for short
signals. S4 starts with a memory of the right length, and is trained by one convolution.
"""

# %%
# Signals of three lengths, and both networks with as many passes over as many signals. The sizes
# of S4's steps start between one over the length of the longest signals and a tenth of that.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.neural import RecurrentClassifier
from panlearn.statespace import S4Classifier

rng = np.random.default_rng(0)
options = {"batch_size": 8, "max_epochs": 12, "random_state": 0}


def signals(n, length):
    """Noise that begins lifted or lowered, and which of both it was."""
    lifted = np.arange(n) % 2
    X = rng.normal(scale=0.3, size=(n, length, 1))
    X[:, :20] += (2 * lifted - 1)[:, None, None]
    return list(X), lifted


scores: dict[str, list[float]] = {"Elman": [], "S4": []}
for length in (30, 200, 1000):
    X, y = signals(96, length)
    new, answers = signals(200, length)
    elman = RecurrentClassifier(16, cell="elman", **options).fit(X, y)
    s4 = S4Classifier(
        16, n_layers=1, state_size=32, step_range=(1e-3, 1e-2), pooling="last", **options
    ).fit(X, y)
    scores["Elman"].append(elman.score(new, answers))
    scores["S4"].append(s4.score(new, answers))
print(scores)

# %%
# On the left how often new signals are told apart, by their length. On the right what the layer
# that learned from the longest signals listens to: the kernels of some channels, which weigh what
# came so many steps ago.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for name, marker in (("Elman", "s--"), ("S4", "o-")):
    left.plot((30, 200, 1000), scores[name], marker, label=name)
left.axhline(0.5, color="k", ls=":", lw=1)
left.set(xscale="log", xlabel="steps", ylabel="accuracy on new signals", ylim=(0.4, 1.03))
left.legend(loc="lower left")

kernels = s4.module_.blocks[0].layer.kernel(1000).detach().numpy()
longest = np.abs(kernels[:, 800:]).sum(axis=1).argsort()[-3:]
right.plot(kernels[longest].T, lw=1)
right.axvspan(980, 1000, color="0.9", label="where the bit is, at the end")
right.set(xlabel="steps ago", title="kernels of three channels", xlim=(0, 1000))
right.legend(loc="upper right")
plt.show()
