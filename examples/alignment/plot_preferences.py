r"""
Preferences, and how far a policy goes for them
===============================================

A small language model says of everything that it stays as often as that it falls. Eight people in
ten would rather hear that things stay. Direct preference optimisation tunes the model on their
votes, and the parameter :math:`\beta` says how dear it is to leave the model as it was.
"""

# %%
# The model first: a decoder of bytes that is fine-tuned on both endings of six sentences.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.alignment import DPO, supervised_finetune
from panlearn.transformer import GPT, GPTConfig

subjects = ["ship", "tree", "wind", "king", "road", "star"]
prompts = [f"the {subject}" for subject in subjects]
endings = [" stays.", " falls."]

start = GPT(GPTConfig(2, 32, 2, 32), max_steps=1, random_state=0).fit(["the ship stays."])
examples = [(prompt, ending) for prompt in prompts for ending in endings]
how = {"schedule": "cosine", "random_state": 0}
reference = supervised_finetune(start, examples, max_epochs=200, learning_rate=1e-2, **how)


def scores(model):
    """The log-probability of each ending after each prompt."""
    found = [model.log_probabilities(prompts, [ending] * len(prompts)) for ending in endings]
    return np.array([[values.sum() for values in row] for row in found])


def chances(model):
    """How probable each ending is, of the two."""
    return np.exp(scores(model) - np.logaddexp(*scores(model)))


print("chance that things stay, before:", chances(reference)[0].round(2))

# %%
# Ten votes on each sentence, eight of them for "stays". Where people choose by the model of Bradley
# and Terry, this is a difference of rewards of :math:`\log(8/2)`, and the best policy under the
# penalty is known: it says "stays" with chance :math:`\sigma(\log 4 / \beta)`, if the reference
# says both alike.

votes = [
    (prompt, *(endings if vote < 8 else endings[::-1])) for prompt in prompts for vote in range(10)
]
betas = [0.3, 0.5, 1.0, 2.0, 4.0]
tuned = {
    beta: DPO(reference, beta, learning_rate=5e-4, max_epochs=60, batch_size=60, **how).fit(votes)
    for beta in betas
}

# %%
# The dots are what was learned, the line is the mathematics; on the right the price, the divergence
# of the tuned model from the reference. The rewards that a policy implies grow to the same
# difference whatever :math:`\beta` is.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
line = np.geomspace(0.25, 5, 100)
best = 1 / (1 + np.exp(-np.log(4) / line))
before = chances(reference)
for beta, tuner in tuned.items():
    after = chances(tuner.model_)
    divergence = (after * np.log(after / before)).sum(axis=0)
    axes[0].plot(beta, after[0].mean(), "o", color="C1")
    axes[1].plot(tuner.history_["reward_margin"], label=rf"$\beta$ = {beta}")
    axes[2].plot(beta, divergence.mean(), "o", color="C1")
axes[0].plot(line, best, color="C0", zorder=0)
axes[0].axhline(0.5, color="0.7")
axes[0].set(xlabel=r"$\beta$", ylabel='chance of "stays"', xscale="log", title="what it says")
axes[1].axhline(0.6 * np.log(4), color="0.7")  # eight votes of log 4 and two of -log 4
axes[1].set(xlabel="epoch", ylabel="mean margin of the votes", title="rewards it implies")
axes[1].set_ylim(-0.5, 3.4)
axes[1].legend(loc="upper center", ncols=2)
price = best * np.log(2 * best) + (1 - best) * np.log(2 * (1 - best))
axes[2].plot(line, price, color="C0", zorder=0)
axes[2].set(xlabel=r"$\beta$", ylabel="divergence", xscale="log", title="how far it went")
for panel in (axes[0], axes[2]):
    panel.set_xticks(betas, betas)
    panel.minorticks_off()
plt.show()

# %%
# Only the ratio of the two endings is in the votes. How often the model says one of the two at all
# is not, and the less it costs to leave the reference, the more of it gets lost to what nobody
# asked about. A term for what was chosen, more data, or a larger :math:`\beta` hold it.

print(f"one of the two, before: {np.exp(np.logaddexp(*scores(reference))).mean():.2f}")
for beta, tuner in tuned.items():
    either = np.exp(np.logaddexp(*scores(tuner.model_))).mean()
    print(f"one of the two, beta {beta}: {either:.2f}")
