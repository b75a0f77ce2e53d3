"""
From implicit and surprise
==========================

One estimator for clicks and for ratings, under any labels of users and items. ``alpha`` is that of
the paper: the weight of an entry is one and alpha times its count.
"""
# ruff: noqa: E402

# %% data
import numpy as np
from scipy import sparse

rng = np.random.default_rng(0)
clicks = sparse.csr_matrix(rng.poisson(rng.gamma(0.3, size=(60, 25))).astype(float))

# %% theirs: Lists for users from clicks (implicit)
from implicit.als import AlternatingLeastSquares
from threadpoolctl import threadpool_limits

with threadpool_limits(1):  # implicit warns if BLAS has more
    weights = clicks.copy()
    weights.data = 1 + 3.0 * weights.data
    theirs = AlternatingLeastSquares(
        factors=4, regularization=0.1, iterations=60, use_cg=False, dtype=np.float64, random_state=0
    )
    theirs.fit(weights, show_progress=False)
    their_items, their_scores = theirs.recommend(np.arange(60), weights, N=3)

# %% ours
from panlearn.latent import MatrixFactorization

ours = MatrixFactorization(
    4, feedback="implicit", alpha=3.0, regularization=0.1, max_iter=100, tol=1e-4, random_state=0
)
lists = ours.fit(clicks).recommend(range(60), 3)

# %% same
assert np.mean(lists.items == their_items) > 0.5  # from other starts to nearby optima

# %% theirs: Ratings (surprise)
import pandas as pd
from surprise import SVD, Dataset, Reader

user, item = np.divmod(rng.permutation(40 * 20)[:600], 20)
rating = np.clip(np.round(3 + rng.normal(size=40)[user] + rng.normal(size=20)[item]), 1, 5)
table = pd.DataFrame({"user": user, "item": item, "rating": rating})
data = Dataset.load_from_df(table, Reader(rating_scale=(1, 5))).build_full_trainset()
theirs = SVD(n_factors=2, n_epochs=200, random_state=0).fit(data)
estimates = [theirs.predict(u, i).est for u, i in zip(user, item, strict=True)]

# %% ours
from panlearn.latent import MatrixFactorization, Ratings

ours = MatrixFactorization(
    2, solver="sgd", regularization=0.02, max_iter=500, tol=1e-4, random_state=0
)
ours.fit(Ratings.from_table(user, item, rating))
found = ours.predict_ratings(user, item)

# %% same
errors = [np.sqrt(np.mean((rating - guess) ** 2)) for guess in (found, estimates)]
assert errors[0] < 1.1 * errors[1]
