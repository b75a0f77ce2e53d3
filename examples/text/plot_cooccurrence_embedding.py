r"""
Words by the company they keep
==============================

Words that stand near the same words get similar vectors, though they may never stand near each
other. The matrix of point-wise mutual information says which words meet more often than by chance;
its leading eigenvectors are the vectors.
"""

# %%
# A language with a known truth: in each sentence some creature of a place does something, mostly
# there, at times elsewhere. Creatures never meet each other, since a sentence has one.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.text import CooccurrenceEmbedding, cooccurrence, pmi

groups = {
    "sea": ["whale shark crab squid seal", "swims dives drifts", "deep salty blue wave coral"],
    "air": ["eagle swallow owl gull crow", "flies glides soars", "high windy cloud feather nest"],
    "wood": ["fox boar deer hare bear", "runs digs hides", "dark mossy tree root leaf"],
}
rng = np.random.default_rng(0)
sentences = []
for _ in range(400):
    creatures, verbs, places = (p.split() for p in groups[rng.choice(list(groups))])
    if rng.random() < 0.3:
        places = groups[rng.choice(list(groups))][2].split()
    middle = [rng.choice(verbs), "in", "the", *rng.choice(places, 2, replace=False)]
    sentences.append(["the", rng.choice(creatures), *middle])
model = CooccurrenceEmbedding(8, window=4).fit(sentences)

# %%
# On the left the mutual information of creatures with all words; in the middle the eigenvalues,
# some of them negative, which is why signs are kept; on the right the vectors of words in two
# components, coloured by the place that a word belongs to.

seen = cooccurrence(sentences, window=4)
words = seen.words.tolist()
creatures = " ".join(g[0] for g in groups.values()).split()
others = " ".join(p for g in groups.values() for p in g[1:]).split()
table = pmi(seen).toarray()[
    np.ix_([words.index(c) for c in creatures], [words.index(o) for o in others])
]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 6), layout="constrained")
image = left.imshow(table, cmap="RdBu_r", vmin=-2, vmax=2, aspect="auto")
left.set_xticks(range(len(others)), others, rotation=90, fontsize=10)
left.set_yticks(range(len(creatures)), creatures, fontsize=10)
left.set_title("PMI; white where two never met")
figure.colorbar(image, ax=left)
middle.bar(range(1, 9), model.eigenvalues_, color=np.where(model.signs_ > 0, "C0", "C3"))
middle.set(xlabel="component", ylabel="eigenvalue", title="largest in absolute value")
place = {word: i for i, word in enumerate(model.words_)}
for k, (name, parts) in enumerate(groups.items()):
    members = " ".join(parts).split()
    points = model.vectors_[[place[w] for w in members]][:, 1:3]
    right.scatter(*points.T, color=f"C{k}", marker="os^"[k], label=f"{name}: {members[0]} ...")
right.set(xlabel="second component", ylabel="third component", title="vectors of words")
right.legend()
plt.show()
