r"""
Where a random walk on links goes
=================================

PageRank is the share of its time that a walk spends at each page, if it follows a link with
probability :math:`\alpha` and else jumps anywhere. What it depends on, and how fast it is found.
"""

# %%
# A graph in which new pages link to pages that are linked already: few collect most links.

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from panlearn.text import pagerank

rng = np.random.default_rng(0)
n, targets = 3000, [0]
links = []
for page in range(1, n):
    for _ in range(3):
        target = targets[rng.integers(len(targets))]
        links.append((page, target))
        targets += [target, page]
rows, columns = np.array(links).T
graph = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
rank = pagerank(graph)
incoming = graph.sum(axis=0)
print(f"the first of {n} pages has {rank.max():.1%} of the visits")

# %%
# On the left the rank against the number of links: links help, and links from pages of high rank
# help more. In the middle the same with jumps to one page alone, its neighbourhood rises. On the
# right the error of the power iteration, which falls by the factor alpha a step.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
left.loglog(incoming + 1, rank, ".", alpha=0.4)
left.set(xlabel="links to the page, plus one", ylabel="rank")
home = np.zeros(n)
home[1500] = 1
personal = pagerank(graph, personalization=home)
middle.loglog(rank, np.maximum(personal, 1e-8), ".", alpha=0.4)
middle.loglog(rank[1500], personal[1500], "r*", ms=14, label="where the jumps go")
middle.set(xlabel="rank", ylabel="rank seen from one page")
middle.legend()
steps = np.arange(1, 26)
for alpha in (0.5, 0.7, 0.85):
    exact, errors = pagerank(graph, alpha, tol=1e-15), []
    law = np.full(n, 1 / n)
    degree = graph.sum(axis=1)
    for _ in steps:
        lost = law[degree == 0].sum()
        law = alpha * (graph.T @ (law / np.where(degree, degree, 1)) + lost / n) + (1 - alpha) / n
        errors.append(np.abs(law - exact).sum())
    (line,) = right.semilogy(
        steps, np.maximum(errors, 1e-16), "o-", ms=3, label=rf"$\alpha$ = {alpha}"
    )
    right.semilogy(steps, 2 * alpha**steps, "--", color=line.get_color(), lw=0.8)
right.set(xlabel="step", ylabel="error, and its bound (dashed)", ylim=(1e-16, 3))
right.legend()
plt.show()
