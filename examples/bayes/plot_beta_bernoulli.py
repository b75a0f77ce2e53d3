"""
What some tosses say about a coin
=================================

A beta prior on the chance of heads stays a beta distribution after any tosses: heads add to a,
tails to b. Three priors, one coin of chance 0.7, and how they come together. On the right, the
posterior mean and its 90 % interval toss by toss, beside the share of heads, which is the
maximum-likelihood estimate and sure of itself after one toss.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta

from panlearn.bayes import BetaBernoulli

rng = np.random.default_rng(6)
tosses = (rng.random((200, 1)) < 0.7).astype(int)
priors = {"uniform, a = b = 1": (1, 1), "fair coin, a = b = 20": (20, 20), "heads, 6 to 1": (6, 1)}

# %%
# The posterior after 0, 5, 25 and 200 tosses.
figure, panels = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
chance = np.linspace(0, 1, 500)
for shade, n in zip([0.25, 0.45, 0.7, 1.0], [0, 5, 25, 200], strict=True):
    for colour, (name, (a, b)) in zip(["C0", "C1", "C2"], priors.items(), strict=True):
        model = BetaBernoulli(a=a, b=b).fit(tosses[:n]) if n else None
        a, b = (model.a_[0], model.b_[0]) if n else (a, b)
        label = name if n == 200 else None
        panels[0].plot(chance, beta.pdf(chance, a, b), color=colour, alpha=shade, label=label)
panels[0].axvline(0.7, color="0.4", linestyle="--")
panels[0].set(xlabel="chance of heads", ylabel="density", xlim=(0, 1), ylim=(0, None))
panels[0].set_title("Priors, and posteriors after 5, 25 and 200 tosses (darker)")
panels[0].legend(title="prior", loc="upper left")

# One toss at a time with ``partial_fit``.
model, means, intervals = BetaBernoulli(), [], []
for toss in tosses:
    model.partial_fit(toss[None])
    means.append(model.predictive_[0])
    intervals.append(model.interval(0.9)[0])
count = np.arange(1, 201)
low, high = np.transpose(intervals)
panels[1].fill_between(count, low, high, color="C0", alpha=0.2, label="90 % interval")
panels[1].plot(count, means, color="C0", label="posterior mean, the chance of the next heads")
panels[1].plot(count, np.cumsum(tosses) / count, color="C3", linewidth=1, label="share of heads")
panels[1].axhline(0.7, color="0.4", linestyle="--")
panels[1].set(xscale="log", xlabel="tosses", ylabel="chance of heads", ylim=(0, 1.02))
panels[1].set_title("Uniform prior, toss by toss")
panels[1].legend(loc="lower right")
plt.show()
