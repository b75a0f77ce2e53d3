r"""
How fast a chain forgets
========================

Whatever the weather today, the law of the weather in many days is the same: the stationary law.
The distance to it shrinks by the second eigenvalue of the transition matrix at each step.
"""

# %%
# Three kinds of weather; the chain is also learned again from a sequence of days that it drew.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.sequence import MarkovChain

states = ["rain", "clouds", "sun"]
P = [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.05, 0.25, 0.7]]
chain = MarkovChain.from_transition(P, states=states)
law = chain.stationary()
days = chain.sample(3000, start="sun", random_state=0)

# %%
# On the left the distance from each start to the stationary law, and the rate of the eigenvalue;
# on the right the error of the learned matrix, which falls as the root of the days.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
steps = np.arange(15)
for i, state in enumerate(states):
    distance = [np.abs(chain.law(n, np.eye(3)[i]) - law).sum() / 2 for n in steps]
    left.semilogy(steps, distance, "o-", label=f"from {state}")
second = np.sort(np.abs(np.linalg.eigvals(chain.transmat_)))[-2]
left.semilogy(steps, 0.5 * second**steps, "k--", label=f"{second:.2f} to the power of n")
left.set(xlabel="steps n", ylabel="distance in total variation")
left.legend()
lengths = np.unique(np.geomspace(30, 3000, 20).astype(int))
errors = [
    np.abs(MarkovChain(states, smoothing=0.5).fit(days[:n]).transmat_ - chain.transmat_)
    for n in lengths
]
right.loglog(lengths, [e.max() for e in errors], "s-", label="largest error")
right.loglog(lengths, 2 / np.sqrt(lengths), "k--", label="two over the root of the days")
right.set(xlabel="days seen", ylabel="error of the transition matrix")
right.legend()
plt.show()
