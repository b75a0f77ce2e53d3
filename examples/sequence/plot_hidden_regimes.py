r"""
Regimes behind a series
=======================

The daily moves of a price look like noise whose strength changes. A hidden chain of two states,
calm and wild, each with its own spread, finds the regimes from the moves alone, says how sure it
is at each day, and how long a regime lasts.
"""

# %%
# The moves are drawn from a known chain, so that the answer can be checked. Some days are missing.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.sequence import GaussianHMM, MarkovChain

chain = MarkovChain.from_transition([[0.985, 0.015], [0.04, 0.96]])
truth = chain.sample(750, random_state=3)
rng = np.random.default_rng(3)
moves = np.where(truth == 0, 0.05, -0.1) + np.where(truth == 0, 0.6, 2.2) * rng.normal(size=750)
moves[300:320] = np.nan

# %%
# Two states win over one and three by the Bayesian information criterion.

X = moves[:, None]
models = {k: GaussianHMM(k, n_init=5, tol=1e-5, max_iter=500, random_state=0) for k in (1, 2, 3)}
for k, model in models.items():
    print(f"{k} states: BIC {model.fit(X).bic(X):.1f}")
model = models[2]
wild = int(np.argmax(model.covars_.ravel()))
days = 1 / (1 - np.diag(model.transmat_))
print(
    f"spread of the wild state {model.covars_[wild, 0] ** 0.5:.2f}, it lasts {days[wild]:.0f} days"
)

# %%
# Above the price with the days that the most probable path calls wild; below the probability of
# the wild state, in the gap too, and the true regimes.

path, probability = model.predict(X), model.predict_proba(X)[:, wild]
price = np.exp(np.nancumsum(moves) / 100)
figure, (above, below) = plt.subplots(
    2, 1, figsize=(11, 6), sharex=True, layout="constrained", height_ratios=(2, 1)
)
day = np.arange(len(price))
above.plot(day, np.where(np.isnan(moves), np.nan, price), "k", linewidth=1)
above.fill_between(
    day,
    *above.get_ylim(),
    where=path == wild,
    color="C3",
    alpha=0.25,
    linewidth=0,
    label="called wild",
)
above.axvspan(300, 320, color="C7", alpha=0.3, label="missing days")
above.set(ylabel="price", xlim=(0, 750))
above.legend(loc="upper left")
below.plot(day, probability, color="C3", label="probability of the wild state")
below.fill_between(day, 0, truth == 1, step="mid", color="k", alpha=0.15, label="truly wild")
below.axvspan(300, 320, color="C7", alpha=0.3)
below.set(xlabel="day", ylim=(0, 1.02))
below.legend(loc="upper center")
plt.show()
