"""Non-negative factors, recommendations from clicks and from ratings, against their peers."""

import functools
import os

import numpy as np
import sklearn.decomposition as peer
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.harness import Workload
from panlearn.latent import NMF, MatrixFactorization, Ratings, ranking

ALPHA, RIDGE = 10.0, 0.05


def parts(n, d, k):
    rng = np.random.default_rng(1)
    rows = rng.gamma(0.5, size=(n, k)) @ rng.gamma(0.5, size=(k, d))
    return rows + 0.1 * rng.random((n, d))


@functools.cache
def clicks(n_users=100_000, n_items=20_000, n=5_000_000, n_groups=16):
    """Users pick popular items, four times in five of their own group; one in fifty is held out."""
    rng = np.random.default_rng(0)
    user_group, item_group = rng.integers(0, n_groups, n_users), rng.integers(0, n_groups, n_items)
    popularity = rng.permutation(1 / np.arange(1, n_items + 1) ** 0.7)
    users = rng.integers(0, n_users, n)
    items = _drawn(popularity, rng.random(n))
    own = rng.random(n) < 0.8
    for group in range(n_groups):
        members = np.flatnonzero(item_group == group)
        chosen = own & (user_group[users] == group)
        items[chosen] = members[_drawn(popularity[members], rng.random(chosen.sum()))]
    held_out = rng.random(n) < 0.02
    made = []
    for part in (~held_out, held_out):
        ones = np.ones(part.sum(), dtype=np.float32)
        matrix = sparse.csr_matrix((ones, (users[part], items[part])), shape=(n_users, n_items))
        matrix.sum_duplicates()
        matrix.data[:] = 1
        made.append(matrix)
    return tuple(made)


def _drawn(weights, uniform):
    edges = np.cumsum(weights) / weights.sum()
    return np.minimum(np.searchsorted(edges, uniform), len(weights) - 1)


def implicit_model(train):
    from implicit.als import AlternatingLeastSquares

    with threadpool_limits(1, user_api="blas"):  # as the peer advises
        model = AlternatingLeastSquares(
            factors=64,
            regularization=RIDGE,
            alpha=ALPHA,
            iterations=5,
            random_state=1,
            num_threads=os.cpu_count(),
        )
        model.fit(train, show_progress=False)
    return model


def our_model(train):
    # the peer's weight of a click is alpha, ours 1 + alpha
    return MatrixFactorization(
        64,
        feedback="implicit",
        alpha=ALPHA - 1,
        regularization=RIDGE,
        max_iter=5,
        tol=0,
        random_state=1,
    ).fit(train)


def click_quality(data, model):
    """The objective over all pairs, and how many of the clicks held out are among the ten best."""
    train, test = data
    ours = isinstance(model, MatrixFactorization)
    P = model.user_factors_ if ours else model.user_factors
    Q = model.item_factors_ if ours else model.item_factors
    P, Q = P.astype(float), Q.astype(float)
    loss = float(np.vdot(P.T @ P, Q.T @ Q)) + RIDGE * float((P**2).sum() + (Q**2).sum())
    user = np.repeat(np.arange(train.shape[0]), np.diff(train.indptr))
    for start in range(0, train.nnz, 500_000):
        part = slice(start, start + 500_000)
        product = np.einsum("ij,ij->i", P[user[part]], Q[train.indices[part]])
        loss += float((ALPHA * (1 - product) ** 2 - product**2).sum())
    asked = np.flatnonzero(np.diff(test.indptr))[:3000]
    if ours:
        top = model.recommend(asked, 10).items
    else:
        top = model.recommend(asked, train[asked], N=10)[0]
    return {"objective": loss, "recall at 10": ranking.recall_at_k(test[asked], top)}


def ratings(n=1_000_000, n_users=10_000, n_items=5_000, k=10):
    rng = np.random.default_rng(0)
    P, Q = 0.4 * rng.normal(size=(n_users, k)), 0.4 * rng.normal(size=(n_items, k))
    user_bias, item_bias = 0.3 * rng.normal(size=n_users), 0.4 * rng.normal(size=n_items)
    u, i = rng.integers(0, n_users, n), rng.integers(0, n_items, n)
    r = 3.5 + user_bias[u] + item_bias[i] + (P[u] * Q[i]).sum(axis=1) + 0.5 * rng.normal(size=n)
    return u, i, r.clip(1, 5)


def our_ratings(data):
    u, i, r = (column[:900_000] for column in data)
    return MatrixFactorization(
        100, solver="sgd", regularization=0.02, max_iter=20, tol=0, random_state=0
    ).fit(Ratings.from_table(u, i, r, repeated="last"))


def surprise_ratings(data):
    import pandas as pd
    from surprise import SVD, Dataset, Reader

    table = pd.DataFrame(dict(zip("uir", (column[:900_000] for column in data), strict=True)))
    train = Dataset.load_from_df(table, Reader(rating_scale=(1, 5))).build_full_trainset()
    return SVD(n_factors=100, n_epochs=20, random_state=0).fit(train)


def rating_quality(data, model):
    u, i, r = (column[900_000:920_000] for column in data)
    if isinstance(model, MatrixFactorization):
        estimate = model.predict_ratings(u, i).clip(1, 5)
    else:
        estimate = np.array([model.predict(a, b).est for a, b in zip(u, i, strict=True)])
    return {"test error": float(np.sqrt(np.mean((r - estimate) ** 2)))}


def nmf(cls, data, **settings):
    X, W, H = data
    model = cls(20, tol=0, random_state=0, **settings)
    if settings["init"] != "custom":
        return model.fit(X)
    if cls is NMF:
        return model.fit(X, W=W, H=H)
    model.fit_transform(X, W=W.copy(), H=H.copy())
    return model


def with_start(n, d, k):
    X, rng = parts(n, d, k), np.random.default_rng(2)
    return X, rng.random((n, k)), rng.random((k, d))


def workloads():
    descent = dict(init="nndsvda", max_iter=50)
    poisson = dict(init="custom", max_iter=10, solver="mu", beta_loss="kullback-leibler")
    for name, same in (
        ("50 iterations", descent),
        ("Kullback-Leibler, 10 iterations from one start", poisson),
    ):
        yield Workload(
            f"NMF 5000 x 1000, 20 parts, {name}",
            "latent.NMF",
            lambda: with_start(5000, 1000, 20),
            {
                "panlearn": functools.partial(nmf, NMF, **same),
                "scikit-learn": functools.partial(nmf, peer.NMF, **same),
            },
            lambda data, m: {"error": float(m.reconstruction_err_)},
        )
    yield Workload(
        "implicit ALS 1e5 users, 2e4 items, 5e6 clicks, 64 factors, 5 iterations",
        "latent.MatrixFactorization",
        clicks,
        {"panlearn": lambda data: our_model(data[0]), "implicit": lambda d: implicit_model(d[0])},
        click_quality,
    )
    yield Workload(
        "ten recommendations each for 1e4 users",
        "latent.MatrixFactorization",
        lambda: (clicks()[0], our_model(clicks()[0]), implicit_model(clicks()[0])),
        {
            "panlearn": lambda data: data[1].recommend(np.arange(10_000), 10).items,
            "implicit": lambda data: data[2].recommend(np.arange(10_000), data[0][:10_000], N=10)[
                0
            ],
        },
        lambda data, items: {"recall at 10": ranking.recall_at_k(clicks()[1][:10_000], items)},
    )
    yield Workload(
        "SGD 9e5 ratings, 100 factors, 20 passes, from a table",
        "latent.MatrixFactorization",
        ratings,
        {"panlearn": our_ratings, "scikit-surprise": surprise_ratings},
        rating_quality,
        bar=10.0,
    )
