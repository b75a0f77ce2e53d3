"""
MatrixFactorization: what would this reader like?
=================================================

A generated catalogue of four genres with 30 books each, and 600 readers who mostly buy within one
or two. The factors, learned from purchases alone, bring books of a genre together; recommendations
are measured on purchases that were held out, against the best sellers; and a new reader with two
purchases is folded in without fitting again.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.latent import MatrixFactorization, Ratings, ranking

rng = np.random.default_rng(3)
genres = ["crime", "poetry", "travel", "cooking"]
books = np.array([f"{g} {i}" for g in genres for i in range(30)])
taste = rng.dirichlet(np.full(4, 0.25), size=600)
popularity = np.tile(1 / np.arange(1, 31) ** 0.8, 4)
chance = np.repeat(taste, 30, axis=1) * popularity
readers, bought = np.nonzero(rng.random(chance.shape) < 4 * chance)
purchases = Ratings.from_table([f"reader {r}" for r in readers], books[bought])

train, test = ranking.leave_k_out(purchases, k=2, random_state=0)
model = MatrixFactorization(8, feedback="implicit", alpha=5, random_state=0).fit(train)

# %%
# Books of one genre point the same way: their cosines. Among the first k recommended are many of
# the purchases that were held out. A new reader bought a book of poetry and one on travel.

fig, axes = plt.subplots(1, 3, figsize=(13.5, 4.3), layout="constrained")
order = np.argsort([list(books).index(b) for b in purchases.items])
units = model.item_factors_[order]
units = units / np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1e-12)
picture = axes[0].imshow(units @ units.T, cmap="RdBu_r", vmin=-1, vmax=1)
fig.colorbar(picture, ax=axes[0], shrink=0.85)
edges = [sum(b.startswith(g) for b in purchases.items) for g in genres]
middles = np.cumsum(edges) - np.array(edges) / 2
axes[0].set(title="Similarity of books", xticks=middles, yticks=middles)
axes[0].set_xticklabels(genres)
axes[0].set_yticklabels(genres, rotation=90, va="center")

some = np.diff(train.matrix.indptr) > 0
known, held = train.users[some], test.matrix[np.flatnonzero(some)]
held = Ratings(held, known, test.items)
top = model.recommend(known, 20).items
sold = np.asarray(train.matrix.sum(axis=0)).ravel()
unseen = np.where(train.matrix[np.flatnonzero(some)].toarray() > 0, -1, sold)
sellers = train.items[np.argsort(-unseen, axis=1, kind="stable")[:, :20]]
ks = range(1, 21)
for label, items in (("factors", top), ("best sellers", sellers)):
    axes[1].plot(ks, [ranking.recall_at_k(held, items, k) for k in ks], "o-", ms=3, label=label)
axes[1].set(xlabel="recommended books", ylabel="recall of two purchases held out")
axes[1].set_title(f"nDCG at 10: {ranking.ndcg_at_k(held, top):.2f}")
axes[1].legend()
axes[1].set_ylim(0)

new = Ratings.from_table(["new"] * 2, ["poetry 3", "travel 2"])
items, scores = model.recommend(new, 10)
colours = {genre: f"C{k}" for k, genre in enumerate(genres)}
axes[2].barh(range(10)[::-1], scores[0], color=[colours[b.split()[0]] for b in items[0]])
axes[2].set_yticks(range(10)[::-1], items[0])
axes[2].set(xlabel="score", title="After poetry 3 and travel 2")
plt.show()
