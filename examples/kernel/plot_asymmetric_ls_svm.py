"""
AsK-LS: a kernel with a direction
=================================

Players of rock, paper and scissors, each with a favourite, and who beat whom. That x beat z is a
kernel with a direction. The machine for asymmetric kernels finds the favourites of new players from
their games with known ones, by what they win against and by what they lose to. Made symmetric, the
same kernel only says that the two have played.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.kernel import LSSVC, AsymmetricLSSVC

rng = np.random.default_rng(0)
n = 200
style = np.sort(rng.integers(3, size=n))
chance = np.array([0.5, 0.8, 0.2])[(style - style[:, None]) % 3]
won = np.triu(rng.random((n, n)) < chance, 1).astype(float)
won += np.tril(1 - won.T)  # what one wins the other loses


def beats(A, B):
    """1 where the player in a row of A beat the one in a row of B."""
    return won[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]


def played(A, B):
    """Both directions alike."""
    return (beats(A, B) + beats(B, A).T) / 2 + (A == B[:, 0])


players = np.arange(n)[:, None]
known = rng.random(n) < 0.5
machines = {
    "who beat whom": AsymmetricLSSVC(C=0.1, kernel=beats),
    "made symmetric": LSSVC(C=0.1, kernel=played),
}

fig, (left, *others) = plt.subplots(1, 3, figsize=(13, 4.5), layout="constrained")
left.imshow(won, cmap="Greys")
left.set(title="dark: the row beat the column", xlabel="players, by favourite", ylabel="players")
corners = np.array([[0, 1], [-0.87, -0.5], [0.87, -0.5]])
for axis, (name, machine) in zip(others, machines.items(), strict=True):
    machine.fit(players[known], style[known])
    new, truth = players[~known], style[~known]
    at = machine.decision_function(new) @ corners
    for kind, label in enumerate(["rock", "scissors", "paper"]):
        axis.scatter(*at[truth == kind].T, label=label, edgecolor="black")
    right = machine.score(new, truth)
    axis.set(title=f"new players, {name}: {right:.0%} right", xticks=[], yticks=[])
    axis.set_aspect("equal", "datalim")
others[0].set(xlabel="scores of the three classes, each in its direction")
others[0].legend(loc="upper right")
others[1].text(0.5, 0.4, "all on one spot", ha="center", transform=others[1].transAxes)
plt.show()
