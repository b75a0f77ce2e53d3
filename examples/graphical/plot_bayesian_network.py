r"""
Explaining away, and answers with entries missing
=================================================

An alarm has two causes that know nothing of each other. Once it rings they compete: an earthquake
on the news makes a burglary less likely. A Bayesian network gives such answers exactly, and learns
its tables from records in which much is missing.
"""

# %%
# The network of Pearl's alarm, with known tables.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.graphical import BayesianNetwork

names = ["burglary", "quake", "alarm", "john", "mary"]
network = BayesianNetwork.from_cpts(
    {
        "burglary": ([], [0.95, 0.05]),
        "quake": ([], [0.9, 0.1]),
        "alarm": (
            ["burglary", "quake"],
            [[[0.98, 0.02], [0.7, 0.3]], [[0.1, 0.9], [0.05, 0.95]]],
        ),
        "john": (["alarm"], [[0.9, 0.1], [0.1, 0.9]]),
        "mary": (["alarm"], [[0.95, 0.05], [0.3, 0.7]]),
    },
    states={name: ["no", "yes"] for name in names},
)
news = {
    "nothing known": {},
    "alarm": {"alarm": "yes"},
    "alarm, quake": {"alarm": "yes", "quake": "yes"},
    "both call": {"john": "yes", "mary": "yes"},
}
laws = {name: network.marginals(evidence) for name, evidence in news.items()}

# %%
# Records of 4000 days, of which more and more entries are lost; EM learns from what is left, while
# dropping every row with a gap soon leaves next to nothing to learn from.

days = network.sample(4000, random_state=0).astype(object)
rng = np.random.default_rng(0)
shares = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
errors = {"EM": [], "complete rows only": []}


def error(model):
    """The largest error of the probability that the alarm rings."""
    return np.abs(model.cpts_[2] - network.cpts_[2]).max()


for share in shares:
    seen = days.copy()
    seen[rng.random(days.shape) < share] = None
    whole = seen[(seen != None).all(axis=1)]  # noqa: E711
    edges = [(names.index(a), names.index(b)) for a, b in network.edges_]
    states = {f"x{j}": ["no", "yes"] for j in range(5)}
    errors["EM"].append(error(BayesianNetwork(edges, states=states, tol=1e-5).fit(seen)))
    errors["complete rows only"].append(error(BayesianNetwork(edges, states=states).fit(whole)))

# %%
# On the left what is believed of each variable under four pieces of news; on the right the error of
# the learned table of the alarm.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
for k, (name, law) in enumerate(laws.items()):
    left.bar(np.arange(5) + 0.2 * (k - 1.5), [law[v][1] for v in names], 0.2, label=name)
left.set_xticks(np.arange(5), names)
left.set(ylabel="probability of yes", ylim=(0, 1.3))
left.legend(ncols=2)
for name, values in errors.items():
    right.plot(shares, values, "o-", label=name)
right.set(xlabel="share of entries that are missing", ylabel="largest error of the alarm's table")
right.legend()
plt.show()
