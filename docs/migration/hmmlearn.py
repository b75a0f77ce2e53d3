"""
From hmmlearn
=============

Classes, parameters and attributes have hmmlearn's names. Sequences are a list of arrays rather than
one array and ``lengths``, so that cross-validation splits sequences; NaN is a step, or an entry,
that was not seen.
"""
# ruff: noqa: E402

# %% data
import numpy as np

rng = np.random.default_rng(0)
sequences = [np.concatenate([rng.normal(0, 1, (n, 2)), rng.normal(3, 1, (n, 2))]) for n in (30, 50)]
start, move = np.array([0.6, 0.4]), np.array([[0.9, 0.1], [0.2, 0.8]])
means, spreads = np.array([[0.0, 0.0], [2.0, 2.0]]), np.ones((2, 2))

# %% theirs: Fit to several sequences
from hmmlearn import hmm

X, lengths = np.concatenate(sequences), [len(part) for part in sequences]
theirs = hmm.GaussianHMM(2, "diag", n_iter=20, tol=0, init_params="", covars_prior=0.0)
theirs.startprob_, theirs.transmat_, theirs.means_ = start, move, means
theirs.covars_ = spreads
theirs.fit(X, lengths)

# %% ours
from panlearn.sequence import GaussianHMM

ours = GaussianHMM(
    2,
    max_iter=20,
    tol=0,
    startprob_init=start,
    transmat_init=move,
    means_init=means,
    covars_init=spreads,
)
ours.fit(sequences)

# %% same
np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-6)
np.testing.assert_allclose(ours.transmat_, theirs.transmat_, atol=1e-6)

# %% theirs: The most probable path, and how likely the data are
value, path = theirs.decode(X, lengths)
likelihood = theirs.score(X, lengths)

# %% ours
values, paths = ours.decode(sequences)
likelihoods = ours.score_samples(sequences)

# %% same
np.testing.assert_array_equal(np.concatenate(paths), path)
np.testing.assert_allclose(likelihoods.sum(), likelihood, rtol=1e-8)

# %% theirs: Sequences with gaps
seen = sequences[0].copy()
seen[10:15] = np.nan
kept = seen[~np.isnan(seen).any(axis=1)]  # hmmlearn refuses NaN: the steps around a gap are joined
without = theirs.predict(kept)

# %% ours
whole = ours.predict(seen)  # the gap is marginalised, and has its states too

# %% same
assert len(whole) == len(seen) == len(without) + 5
