"""
AsK-LS: a kernel with a direction
=================================

Nodes of a directed graph fall into two groups: those of the first mostly point at others, those of
the second are mostly pointed at. How likely a short walk leads from one node to another is a kernel
with a direction. The machine for asymmetric kernels scores each node as a source and as a target;
made symmetric, the same kernel has lost the direction, and with it the groups.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.kernel import LSSVC, AsymmetricLSSVC

rng = np.random.default_rng(0)
n = 120
group = np.arange(n) % 2
likely = np.where(group[:, None] > group, 0.02, np.where(group[:, None] < group, 0.15, 0.06))
links = (rng.random((n, n)) < likely).astype(float)
walk = links / np.maximum(links.sum(axis=1, keepdims=True), 1)
reach = np.linalg.inv(np.eye(n) - 0.5 * walk) - np.eye(n)


def directed(A, B):
    """Discounted chance to walk from the node in a row of A to that in a row of B."""
    return n * reach[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]


def symmetric(A, B):
    """Both directions alike."""
    return (directed(A, B) + directed(B, A).T) / 2 + 2 * n * (A == B[:, 0])


nodes = np.arange(n)[:, None]
known = rng.permutation(n) < n // 2
ours = AsymmetricLSSVC(C=0.1, kernel=directed).fit(nodes[known], group[known])
blind = LSSVC(C=0.1, kernel=symmetric).fit(nodes[known], group[known])

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
order = np.argsort(group, kind="stable")
left.imshow(links[np.ix_(order, order)], cmap="Greys")
left.set(title="links, sorted by group", xlabel="to", ylabel="from")
new = nodes[~known]
right.scatter(
    ours.source_decision_function(new),
    ours.target_decision_function(new),
    c=group[~known],
    cmap="RdBu",
    edgecolor="black",
)
right.axline((0, 0), slope=-1, color="0.5", linestyle="--")
right.set(
    xlabel="score as source",
    ylabel="score as target",
    title=f"new nodes: {ours.score(new, group[~known]):.0%} right, "
    f"{blind.score(new, group[~known]):.0%} if made symmetric",
)
plt.show()
