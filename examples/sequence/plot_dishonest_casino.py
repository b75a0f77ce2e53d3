r"""
The dishonest casino
====================

A casino throws a fair die and now and then swaps it for a loaded one. From the throws alone, a
hidden Markov model learns both dice and how often they are swapped, and finds the throws of the
loaded one. Some evenings were watched closely: there the die is known.
"""

# %%
# Twenty evenings of a few hundred throws each, of unequal lengths: a list of sequences. In the
# first three the die of every throw is known; -1 stands for the others.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.sequence import CategoricalHMM

rng = np.random.default_rng(7)
swap = np.array([[0.97, 0.03], [0.08, 0.92]])
dice = np.array([[1 / 6] * 6, [0.1, 0.1, 0.1, 0.1, 0.1, 0.5]])
evenings, truth = [], []
for length in rng.integers(150, 400, size=20):
    die = np.zeros(length, dtype=int)
    for t in range(1, length):
        die[t] = rng.random() < swap[die[t - 1], 1]
    truth.append(die)
    evenings.append(np.array([rng.choice(6, p=dice[d]) + 1 for d in die]))
known = [die if i < 3 else np.full(len(die), -1) for i, die in enumerate(truth)]

# %%
# One fit knows nothing, the other knows three evenings; both are shown the same throws.

blind = CategoricalHMM(2, n_init=5, tol=1e-6, max_iter=1000, random_state=0).fit(evenings)
watched = CategoricalHMM(2, tol=1e-6, max_iter=1000, random_state=0).fit(evenings, known)
if blind.emissionprob_[0, 5] > blind.emissionprob_[1, 5]:  # its states have no names
    order = [1, 0]
else:
    order = [0, 1]
for name, model, states in (("blind", blind, order), ("watched", watched, [0, 1])):
    path = [np.argsort(states)[p] for p in model.predict(evenings)]
    right = np.mean(np.concatenate(path) == np.concatenate(truth))
    print(f"{name}: {right:.1%} of the throws are put to the right die")

# %%
# Above the two dice as they are and as they were learned; below one evening that was not watched:
# the probability of the loaded die, and the throws that it made.

figure, (above, below) = plt.subplots(2, 1, figsize=(10, 6.5), layout="constrained")
face = np.arange(1, 7)
for i, (title, colour) in enumerate((("fair", "C0"), ("loaded", "C3"))):
    above.bar(face + 0.2 * i - 0.2, dice[i], 0.18, color=colour, alpha=0.3, label=f"{title}, true")
    learned = watched.emissionprob_[i]
    above.plot(face + 0.2 * i - 0.2, learned, "o", color=colour, label="learned, three evenings")
    blindly = blind.emissionprob_[order[i]]
    above.plot(face + 0.2 * i - 0.2, blindly, "x", color=colour, label="learned, none known")
above.set(xlabel="face", ylabel="probability", ylim=(0, 0.62))
above.legend(ncols=2)
night = 5
probability = watched.predict_proba(evenings[night])[:, 1]
below.fill_between(
    np.arange(len(probability)),
    0,
    truth[night],
    step="mid",
    color="k",
    alpha=0.15,
    label="truly loaded",
)
below.plot(probability, color="C3", label="probability of the loaded die")
sixes = np.flatnonzero(evenings[night] == 6)
below.plot(sixes, np.full(len(sixes), 1.05), "k|", label="sixes")
below.set(xlabel="throw", xlim=(0, len(probability)), ylim=(0, 1.3))
below.legend(loc="upper right", ncols=3)
plt.show()
