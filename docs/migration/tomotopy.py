"""
From tomotopy
=============

The same collapsed Gibbs sampler behind ``fit`` and ``transform``: documents are given at once, and
a fitted model tells the topics of new ones.
"""
# ruff: noqa: E402

# %% data
import numpy as np

rng = np.random.default_rng(0)
laws = rng.dirichlet(np.full(60, 0.05), 3)
shares = rng.dirichlet(np.full(3, 0.2), 120)
documents = [[f"w{word}" for word in rng.choice(60, 40, p=share @ laws)] for share in shares]

# %% theirs: Topics of a collection
import tomotopy

theirs = tomotopy.LDAModel(k=3, alpha=0.2, eta=0.05, seed=1)
for document in documents:
    theirs.add_doc(document)
theirs.optim_interval = 0
theirs.train(200, workers=1)
likelihood = theirs.ll_per_word

# %% ours
from panlearn.text import LatentDirichletAllocation

ours = LatentDirichletAllocation(
    3, doc_topic_prior=0.2, topic_word_prior=0.05, optim_interval=0, random_state=0
)
ours.fit(documents)
reached = np.mean(ours.history_["log_likelihood"][-20:])

# %% same
np.testing.assert_allclose(reached, likelihood, atol=0.05)
