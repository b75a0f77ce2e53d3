r"""
Topics without a prior
======================

PLSA writes each document as a mixture of topics by maximum likelihood. Every step of EM raises the
likelihood of the documents it learns from; that of others falls once there are too many topics,
because nothing holds the shares back. The Dirichlet priors of LDA do.
"""

# %%
# Documents from five topics; half of them are held out.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.text import PLSA, LatentDirichletAllocation

rng = np.random.default_rng(0)
phi, theta = rng.dirichlet(np.full(150, 0.1), 5), rng.dirichlet(np.full(5, 0.3), 200)
counts = np.array([rng.multinomial(40, share @ phi) for share in theta])
train, test = counts[:100], counts[100:]
half = rng.binomial(test, 0.5)  # shares from one half of a document's words, scored on the other


def perplexity(model):
    """Of the other half, with the shares that the first half has."""
    law = model.transform(half) @ model.components_
    rest = test - half
    return np.exp(-(rest * np.log(np.maximum(law, 1e-12))).sum() / rest.sum())


# %%
# On the left the likelihood of each step, on the right the perplexity of words that were held out.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
sizes = [1, 2, 3, 5, 8, 12, 20]
found = []
for k in sizes:
    plsa = PLSA(k, tol=1e-2, max_iter=500, random_state=0).fit(train)
    lda = LatentDirichletAllocation(k, random_state=0).fit(train)
    found.append([perplexity(plsa), perplexity(lda)])
    if k in (2, 5, 12):
        left.plot(plsa.history_["log_likelihood"], label=f"{k} topics")
left.set(xlabel="iteration of EM", ylabel="log-likelihood of a document", xscale="log")
left.legend()
right.plot(sizes, found, "o-", label=["PLSA", "LDA"])
right.axvline(5, color="grey", linestyle=":", label="topics that there are")
right.set(xlabel="topics", ylabel="perplexity of held-out words", yscale="log")
right.legend()
plt.show()
